import type { Execution } from "./execution.ts";
import { limits } from "./options.ts";

/** An attempt that is over, as long as somebody else holds it, and the text it came with. */
interface Kept {
  readonly attempt: WeakRef<Execution>;
  readonly units: number;
}

/**
 * Bounds the streamed text of attempts that are over but still waited for: a consumer that never returns holds an attempt
 * by its queue, and each attempt 2 MiB of text with it (I8). Beyond 1,024 attempts or 8,388,608 units, the attempt that
 * ended first loses its text; those that still run keep theirs.
 */
export class KeptTexts {
  #kept: Kept[] = [];
  #units = 0;

  /** Units of text held at most: of an attempt that nobody holds any more the text may be gone already. */
  get units(): number {
    return this.#units;
  }

  /** Takes on an attempt that is over. */
  add(attempt: Execution): void {
    const units = attempt.keptUnits;
    if (units === 0) return;
    this.#kept.push({ attempt: new WeakRef(attempt), units });
    this.#units += units;
    if (!this.#isOver) return;
    this.#sweep();
    while (this.#isOver) this.#forgetOne();
  }

  get #isOver(): boolean {
    return this.#kept.length > limits.maxKeptTexts || this.#units > limits.maxKeptTextUnits;
  }

  /** Those that nobody holds count no longer. */
  #sweep(): void {
    this.#kept = this.#kept.filter(({ attempt }) => attempt.deref() !== undefined);
    this.#units = this.#kept.reduce((sum, { units }) => sum + units, 0);
  }

  #forgetOne(): void {
    const first = this.#kept.shift();
    if (first === undefined) return;
    this.#units -= first.units;
    first.attempt.deref()?.forgetText();
  }
}
