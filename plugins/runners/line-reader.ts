const newline = 0x0a;

/** What a reader keeps ready for the beginning of a line. Bytes. */
const readyBytes = 65_536;

/** Cuts a stream of bytes into lines. It holds the beginning of one line, and at most twice the memory that this takes. */
export class LineReader {
  readonly #maxBytes: number;
  #held = Buffer.alloc(0);
  #heldBytes = 0;

  /** @param maxBytes of one line, its end not counted */
  constructor(maxBytes = Infinity) {
    this.#maxBytes = maxBytes;
  }

  /**
   * The lines that end in a chunk, in order; one that is longer than the bound is undefined, and nothing may follow it.
   * Bytes that are no UTF-8 come as U+FFFD.
   */
  *push(chunk: Buffer): Generator<string | undefined, void> {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const last = chunk.subarray(from, end);
      if (this.#isTooLong(last)) return yield undefined;
      yield this.#line(last);
      from = end + 1;
    }
    const rest = chunk.subarray(from);
    if (this.#isTooLong(rest)) return yield undefined;
    this.#hold(rest);
  }

  #isTooLong(more: Buffer): boolean {
    return this.#heldBytes + more.length > this.#maxBytes;
  }

  #line(last: Buffer): string {
    if (this.#heldBytes === 0) return last.toString("utf8");
    this.#hold(last);
    const line = this.#held.toString("utf8", 0, this.#heldBytes);
    this.#heldBytes = 0;
    if (this.#held.length > readyBytes) this.#held = Buffer.alloc(0);
    return line;
  }

  // Grown by doubling: a line may come byte by byte.
  #hold(more: Buffer): void {
    const bytes = this.#heldBytes + more.length;
    if (bytes > this.#held.length) {
      const grown = Buffer.alloc(Math.max(bytes, 2 * this.#held.length));
      this.#held.copy(grown, 0, 0, this.#heldBytes);
      this.#held = grown;
    }
    more.copy(this.#held, this.#heldBytes);
    this.#heldBytes = bytes;
  }
}
