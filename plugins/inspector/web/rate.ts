/** Events per second over the last ten seconds. */
export class Rate {
  static readonly #seconds = 10;
  readonly #counts: number[] = Array.from({ length: Rate.#seconds }, () => 0);
  #second = 0;

  /** @param now monotonic ms */
  add(now: number, count = 1): void {
    this.#goTo(now);
    this.#counts[this.#second % Rate.#seconds] = (this.#counts[this.#second % Rate.#seconds] ?? 0) + count;
  }

  /** @param now monotonic ms */
  perSecond(now: number): number {
    this.#goTo(now);
    return this.#counts.reduce((sum, count) => sum + count, 0) / Rate.#seconds;
  }

  #goTo(now: number): void {
    const second = Math.floor(now / 1_000);
    for (let empty = Math.min(second - this.#second, Rate.#seconds); empty > 0; empty--) {
      this.#counts[(second - empty + 1) % Rate.#seconds] = 0;
    }
    this.#second = Math.max(this.#second, second);
  }
}
