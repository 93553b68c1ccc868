/** Undoes a registration. Safe to call twice. */
export type Undo = () => void;

/** Time, as roomtap reads it. Wall time is for display only: order and durations use the monotonic clock. */
export interface Clock {
  /** Wall time in ms since 1970. */
  now(): number;
  /** Monotonic time in ms, with fractions. */
  monotonic(): number;
  /**
   * Calls `run` once after `delayMs` >= 0; any finite delay, also above 2^31 - 1 ms, and `Infinity` (never).
   * @throws RangeError for NaN and negative delays
   */
  after(delayMs: number, run: () => void): Undo;
  /** Calls `run` in the next turn of the event loop, behind I/O that is ready now. */
  defer(run: () => void): void;
}

/** Where ids that must not repeat come from. */
export interface IdSource {
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string;
}

// Node and browsers keep timer delays in a signed 32-bit number; a larger one fires at once.
const longestTimerMs = 2 ** 31 - 1;

interface Platform {
  setImmediate?: (run: () => void) => unknown;
}

const platform = globalThis as Platform;
const setNext: (run: () => void) => unknown = platform.setImmediate ?? ((run) => setTimeout(run, 0));

/** The clocks and timers of the platform. Timers keep the process alive until they are undone. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, run) {
    checkDelay(delayMs);
    if (delayMs === Infinity) return () => undefined;
    let left = delayMs;
    let timer: ReturnType<typeof setTimeout>;
    const step = (): void => {
      const wait = Math.min(left, longestTimerMs);
      left -= wait;
      timer = setTimeout(left > 0 ? step : run, wait);
    };
    step();
    return () => clearTimeout(timer);
  },
  defer: (run) => void setNext(run),
};

/** Random ids of the platform, fit for secrets. */
export const systemIds: IdSource = {
  hex(bytes) {
    const random = crypto.getRandomValues(new Uint8Array(bytes));
    return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  },
};

/** A clock that stands still until it is told to go on, for tests. */
export interface ManualClock extends Clock {
  /** Moves both clocks forward and runs what falls due, in order of due time. */
  advance(ms: number): void;
  /** Sets the wall clock alone, as an operator or NTP would. */
  setNow(ms: number): void;
  /** Runs what was deferred up to now; what that defers waits for the next call. Returns how many ran. */
  tick(): number;
}

/** @param startMs wall time at the start, in ms */
export function manualClock(startMs = 1_764_512_345_678): ManualClock {
  let wall = startMs;
  let elapsed = 0;
  let order = 0;
  let timers: { due: number; order: number; run: () => void }[] = [];
  let deferred: (() => void)[] = [];
  return {
    now: () => wall,
    monotonic: () => elapsed,
    after(delayMs, run) {
      checkDelay(delayMs);
      const timer = { due: elapsed + delayMs, order: order++, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    defer: (run) => void deferred.push(run),
    advance(ms) {
      const until = elapsed + ms;
      for (;;) {
        const next = timers
          .filter((timer) => timer.due <= until)
          .toSorted((a, b) => a.due - b.due || a.order - b.order)[0];
        if (next === undefined) break;
        timers = timers.filter((other) => other !== next);
        wall += next.due - elapsed;
        elapsed = next.due;
        next.run();
      }
      wall += until - elapsed;
      elapsed = until;
    },
    setNow(ms) {
      wall = ms;
    },
    tick() {
      const batch = deferred;
      deferred = [];
      for (const run of batch) run();
      return batch.length;
    },
  };
}

/** Ids that count up, for tests: `00000001`, `00000002`, ... cut or padded to the asked length. */
export function countingIds(): IdSource {
  let count = 0;
  return {
    hex: (bytes) =>
      (++count)
        .toString(16)
        .padStart(bytes * 2, "0")
        .slice(-bytes * 2),
  };
}

function checkDelay(delayMs: number): void {
  if (!(delayMs >= 0)) throw new RangeError(`a delay must be 0 or more milliseconds, got ${delayMs}`);
}
