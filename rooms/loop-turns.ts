import type { Clock } from "../core/index.ts";

/**
 * Turns of the event loop, one for each who asks, in the order of asking. Reads that wait for their turn hold the loop no
 * longer than one of them lasts, however many are asked for at once.
 */
export class LoopTurns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #isArmed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves in a turn of the event loop that nobody else has. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#arm();
    });
  }

  #arm(): void {
    if (this.#isArmed || this.#waiting.length === 0) return;
    this.#isArmed = true;
    this.#clock.defer(() => {
      this.#isArmed = false;
      this.#waiting.shift()?.();
      this.#arm();
    });
  }
}
