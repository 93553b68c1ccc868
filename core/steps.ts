/** Runs steps one after the other, so that what a step decides on still holds when it acts. */
export class Steps {
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** Steps that run or wait. */
  get pending(): number {
    return this.#pending;
  }

  /** Runs `step` when those before it are over; one that fails stops none behind it. */
  run<Result>(step: () => Result | Promise<Result>): Promise<Result> {
    this.#pending++;
    const result = this.#last.then(step).finally(() => {
      this.#pending--;
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when no step runs or waits. */
  async idle(): Promise<void> {
    while (this.#pending > 0) await this.#last;
  }
}
