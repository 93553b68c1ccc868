/** Whether another turn may run. Pure. */
export function admits(running: number, maxConcurrentTurns: number): boolean {
  return running < maxConcurrentTurns;
}

/** Comes back for a place. Each asker is known by this function: it is one and the same in all its calls. */
export type Seek = () => void;

/**
 * The places for turns over all rooms. Whoever finds none free waits in line, once, however often it asks. A place that
 * becomes free is kept for the first in line until that takes or declines it, so rooms take turns and no free place is
 * overlooked.
 */
export class Places {
  readonly #max: number;
  readonly #waiting = new Set<Seek>();
  readonly #kept = new Set<Seek>();
  /** Places in use, those that are kept for somebody among them. While somebody waits, all are. */
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a place; or, when none is free, has `seek` called once as soon as one is kept for it. */
  take(seek: Seek): boolean {
    if (this.#kept.delete(seek)) return true;
    if (!admits(this.#used, this.#max)) {
      this.#waiting.add(seek);
      return false;
    }
    this.#used++;
    return true;
  }

  /** Says that `seek` needs no place for now: one that is kept for it goes to the next in line. */
  decline(seek: Seek): void {
    if (this.#kept.delete(seek)) this.release();
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#used--;
      return;
    }
    this.#waiting.delete(next);
    this.#kept.add(next);
    next();
  }
}
