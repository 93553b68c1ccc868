/** Lines that wait for a reader. One more is not taken, and ends the command: a slow reader may not grow its memory. */
export const maxWaitingLines = 8_192;

/** Why no further lines are taken: there were as many as there may be, or nobody reads them. */
export type LinesEnd = "enough" | "unread";

/** Writes lines, or what becomes of them, one after the other, as fast as their reader takes them. */
export class LineQueue<Line = string> {
  /** Resolves when no further lines are taken; rejects when they cannot be written. */
  readonly ended: Promise<LinesEnd>;
  readonly #out: (line: Line) => Promise<void>;
  readonly #maxLines: number;
  #taken = 0;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();
  #isOver = false;
  #resolve: (end: LinesEnd) => void = () => undefined;
  #fail: (fault: unknown) => void = () => undefined;

  /** @param maxLines how many lines there may be in all, 1 or more; default any number */
  constructor(out: (line: Line) => Promise<void>, maxLines = Infinity) {
    this.#out = out;
    this.#maxLines = maxLines;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#fail = reject;
    });
    // Whoever waits for the end of lines hears of it; nobody may.
    this.ended.catch(() => undefined);
  }

  /** Nothing more is taken. */
  get isFull(): boolean {
    return this.#isOver;
  }

  push(line: Line): void {
    if (this.#isOver) return;
    if (this.#waiting >= maxWaitingLines) return this.#finish("unread");
    this.#waiting += 1;
    this.#last = this.#last.then(async () => {
      await this.#out(line);
      this.#waiting -= 1;
    });
    this.#last.catch((fault: unknown) => this.fail(fault));
    this.#taken += 1;
    if (this.#taken >= this.#maxLines) this.#finish("enough");
  }

  /** Nothing more is taken, because of this. */
  fail(fault: unknown): void {
    this.#isOver = true;
    this.#fail(fault);
  }

  /** Resolves when all that was taken is written. */
  written(): Promise<void> {
    this.#isOver = true;
    return this.#last;
  }

  #finish(end: LinesEnd): void {
    this.#isOver = true;
    this.#resolve(end);
  }
}
