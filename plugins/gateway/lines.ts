const newline = 0x0a;

/** A line without its end, or the size in bytes of one that is too long to be kept. */
export type Line = Buffer | number;

/** Cuts a stream of bytes into lines, of which it never holds more than `maxBytes`. */
export class LineReader {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that the piece completes. */
  push(piece: Buffer): readonly Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, from)) {
      this.#keep(piece.subarray(from, at));
      lines.push(this.#take());
      from = at + 1;
    }
    this.#keep(piece.subarray(from));
    return lines;
  }

  /** What stands behind the last end of a line. */
  rest(): Line {
    return this.#take();
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #take(): Line {
    const line = this.#bytes > this.#maxBytes ? this.#bytes : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    return line;
  }
}
