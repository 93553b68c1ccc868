import type { Clock } from "../../core/index.ts";

/** What a client needs of time: timers, and a clock that never steps. A `Clock` of core has both. */
export type ClientClock = Pick<Clock, "after" | "monotonic">;

/** Where a client's chance comes from. */
export interface Chance {
  /** A number from 0 to below 1. */
  unit(): number;
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string;
}

// Platforms keep timer delays in a signed 32-bit number; a larger one fires at once.
const longestTimerMs = 2 ** 31 - 1;

/** The timers of the platform. A delay of more than 24 days is one of 24 days. */
export const platformClock: ClientClock = {
  monotonic: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, longestTimerMs));
    return () => clearTimeout(timer);
  },
};

/** Random numbers of the platform, fit for keys that nobody else may guess. */
export const platformChance: Chance = {
  unit: () => crypto.getRandomValues(new Uint32Array(1)).reduce((_, word) => word / 2 ** 32, 0),
  hex(bytes) {
    const random = crypto.getRandomValues(new Uint8Array(bytes));
    return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  },
};
