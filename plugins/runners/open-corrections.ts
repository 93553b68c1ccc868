interface OpenCorrection {
  readonly settle: (taken: boolean) => void;
  readonly fail: (fault: Error) => void;
}

/** Corrections that were handed to a child and are not answered. */
export class OpenCorrections {
  readonly #max: number;
  readonly #open = new Map<number, OpenCorrection>();
  #last = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#open.size >= this.#max;
  }

  /**
   * Hands one over under a number of its own; gives whether it was taken.
   * @throws Error with the text of what the runner threw
   */
  add(hand: (steer: number) => void): Promise<boolean> {
    const steer = ++this.#last;
    return new Promise((settle, fail) => {
      this.#open.set(steer, { settle, fail });
      hand(steer);
    });
  }

  /** The child's answer; without effect when there was one before. @param problem what its runner threw */
  answer(steer: number, taken: boolean, problem: string | undefined): void {
    const open = this.#open.get(steer);
    this.#open.delete(steer);
    if (problem === undefined) open?.settle(taken);
    else open?.fail(new Error(problem));
  }

  /** The child is gone: none of them was taken. */
  close(): void {
    for (const { settle } of this.#open.values()) settle(false);
    this.#open.clear();
  }
}
