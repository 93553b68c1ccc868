/** Chance that a seed decides: equal seeds give equal throws, on every machine. */
export class Dice {
  #state: number;

  constructor(seed: string) {
    // FNV-1a: seeds that differ in one character give unlike throws.
    let state = 0x811c9dc5;
    for (const character of seed) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
    this.#state = state;
    for (let warmUp = 0; warmUp < 4; warmUp++) this.#next();
  }

  /** A whole number from 0, below `limit`. */
  below(limit: number): number {
    return this.#next() % limit;
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True once in `times` throws. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }

  /** @throws RangeError for an empty list */
  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError("nothing to pick from");
    return value;
  }

  shuffled<Value>(values: readonly Value[]): readonly Value[] {
    const keyed = values.map((value) => ({ value, key: this.#next() }));
    return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value);
  }

  /** mulberry32: 32 bits. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
}
