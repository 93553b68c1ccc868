import { limits } from "./options.ts";
import type { Redactor, StreamRedactor } from "./redact.ts";
import { cutUnits, ownText } from "./utf8.ts";

/**
 * One kind of delta in one attempt: what comes in piece by piece leaves well formed and without secrets, and is
 * remembered, so that a consumer that lost a piece can be given the whole.
 */
export class DeltaStream {
  #redactor: StreamRedactor | null;
  #isClosed = false;
  /** The first half of a surrogate pair whose second half has not come. */
  #half = "";
  /** Released text: small pieces are joined in steps, since a string per piece costs more than its text. */
  #pieces: string[] = [];
  #joined: string[] = [];
  #units = 0;
  #kept = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor.stream();
  }

  /** UTF-16 units released so far: the `offset` of what is released next. */
  get units(): number {
    return this.#units;
  }

  /** Takes a piece and gives what may leave now; "" when all of it is held, and once it is closed. */
  push(piece: string): string {
    if (this.#isClosed) return "";
    const text = this.#half === "" && piece.isWellFormed() ? piece : this.#mend(piece);
    return this.#redactor === null ? text : this.#redactor.push(text);
  }

  /** Lets out what is held: half a pair as U+FFFD, what may be a secret by the rules of the redactor. */
  flush(): string {
    const half = this.#half === "" ? "" : "\ufffd";
    this.#half = "";
    if (this.#redactor === null) return half;
    return (half === "" ? "" : this.#redactor.push(half)) + this.#redactor.flush();
  }

  /** Remembers what left. Call it with each text that `push` and `flush` gave, in order. */
  release(text: string): void {
    this.#units += text.length;
    if (this.#units > limits.maxReleasedUnits) return;
    this.#kept = this.#units;
    if (this.#pieces.push(text) >= 128) this.#join();
  }

  /** The text from offset 0 to `end`, or null when it is longer than what is kept (1,048,576 units). */
  upTo(end: number): string | null {
    if (end > this.#kept) return null;
    this.#join();
    const whole = this.#joined.join("");
    this.#joined = [whole];
    return whole.slice(0, end);
  }

  /** Units of released text that are kept. */
  get keptUnits(): number {
    return this.#kept;
  }

  /** Lets go of the released text: of this stream nobody is made whole any more. `units` stays. */
  forget(): void {
    this.#kept = 0;
    this.#pieces = [];
    this.#joined = [];
  }

  /** Nothing will be pushed any more: lets go of what is kept to look for secrets. */
  close(): void {
    this.#isClosed = true;
    this.#redactor = null;
    this.#half = "";
  }

  /** The released text, or its beginning when it is longer than what is kept. */
  get text(): string {
    return this.upTo(this.#kept) ?? "";
  }

  #join(): void {
    this.#joined.push(this.#pieces.join(""));
    this.#pieces = [];
  }

  #mend(piece: string): string {
    const text = this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    const open = last >= 0xd800 && last <= 0xdbff;
    this.#half = open ? text.slice(-1) : "";
    return (open ? text.slice(0, -1) : text).toWellFormed();
  }
}

/** The next delta of a text, with memory of its own where the text is longer: a slice would keep all of it alive. */
export function deltaAt(text: string, at: number): string {
  if (text.length <= limits.maxDeltaUnits) return text;
  const part = cutUnits(text.slice(at, at + limits.maxDeltaUnits + 1), limits.maxDeltaUnits);
  return part.length < text.length - at ? part : ownText(part);
}
