import type { Clock, Notice, Report, Undo } from "../core/index.ts";

/** So many notices of one plugin's faults in a second. */
export const maxFaultNoticesPerSecond = 5;

/**
 * Tells of a plugin's faults, and of no more than `maxFaultNoticesPerSecond`: the rest of a second are counted, and told in
 * one line when it is over. A second begins with the first fault behind the one before.
 */
export class FaultNotices {
  readonly #clock: Clock;
  readonly #report: Report;
  /** In the second that runs. */
  #told = 0;
  #untold = 0;
  #last: Notice | null = null;
  #stopTimer: Undo | null = null;
  #isClosed = false;

  constructor(clock: Clock, report: Report) {
    this.#clock = clock;
    this.#report = report;
  }

  tell(notice: Notice): void {
    if (!this.#isClosed) this.#stopTimer ??= this.#clock.after(1_000, () => this.#flush());
    if (this.#told < maxFaultNoticesPerSecond) {
      this.#told++;
      this.#report(notice);
      return;
    }
    this.#untold++;
    this.#last = notice;
  }

  /** Tells what was held back. What fails later is told up to the same number, and then no more: no timer runs any more. */
  close(): void {
    this.#flush();
    this.#isClosed = true;
  }

  #flush(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
    const [untold, last] = [this.#untold, this.#last];
    this.#told = 0;
    this.#untold = 0;
    this.#last = null;
    if (last === null) return;
    this.#report(untold === 1 ? last : { ...last, message: `${last.message} (the last of ${untold} more faults)` });
  }
}
