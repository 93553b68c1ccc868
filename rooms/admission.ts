/** Whether another turn may run. Pure. */
export function admits(running: number, maxConcurrentTurns: number): boolean {
  return running < maxConcurrentTurns;
}

/**
 * The places for turns over all rooms. A room that finds none free is called when one is, in the order of asking, so that
 * rooms take turns.
 */
export class Places {
  readonly #max: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a place; or notes `call`, which is called once when one may be free. */
  take(call: () => void): boolean {
    if (admits(this.#taken, this.#max)) {
      this.#taken++;
      return true;
    }
    this.#waiting.add(call);
    return false;
  }

  release(): void {
    this.#taken--;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }
}
