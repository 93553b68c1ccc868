import type { Clock } from "../core/index.ts";

/** Waits on a clock that closing ends early, so that no timer outlives its owner. */
export class Pauses {
  readonly #clock: Clock;
  readonly #ends = new Set<() => void>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves after `ms`, or as soon as this is closed. */
  wait(ms: number): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#ends.delete(end);
        stopTimer();
        resolve();
      };
      const stopTimer = this.#clock.after(ms, end);
      this.#ends.add(end);
    });
  }

  /** Ends all waits. Safe to call twice. */
  close(): void {
    this.#closed = true;
    for (const end of [...this.#ends]) end();
  }
}
