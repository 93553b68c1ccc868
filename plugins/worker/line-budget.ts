import { limits, type Clock } from "../../core/index.ts";

/** How many lines may be logged in a second. */
export class LineBudget {
  readonly #clock: Clock;
  /** Monotonic ms. */
  #since = -Infinity;
  #taken = 0;
  #dropped = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether one more may be logged, and how many were dropped before it; null: it is one too many. */
  take(): { readonly dropped: number } | null {
    const at = this.#clock.monotonic();
    if (at - this.#since >= 1_000) {
      this.#since = at;
      this.#taken = 0;
    }
    if (this.#taken >= limits.maxLogLinesPerSecond) {
      this.#dropped++;
      return null;
    }
    this.#taken++;
    const dropped = this.#dropped;
    this.#dropped = 0;
    return { dropped };
  }
}

/** A line's fields, with the count of those that were dropped before it. */
export function withDropped(
  fields: Readonly<Record<string, unknown>>,
  dropped: number,
): Readonly<Record<string, unknown>> {
  return dropped === 0 ? fields : { ...fields, dropped_lines: dropped };
}
