/** What stands for all values beyond the bound, and for those that are none. */
export const otherLabel = "other";

/** Longest value of a label. UTF-16 units; a longer one is `other`. */
const maxLabelUnits = 128;

/** Values of one label, so many at most: the first ones that come. What comes later is told as `other`. */
export class BoundedLabels {
  readonly #values = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  of(value: string): string {
    if (this.#values.has(value)) return value;
    if (this.#values.size >= this.#most || value === "" || value.length > maxLabelUnits) return otherLabel;
    this.#values.add(value);
    return value;
  }
}

/** The word when it is one of a vocabulary; else `other`. */
export function wordOf(word: string, vocabulary: readonly string[]): string {
  return vocabulary.includes(word) ? word : otherLabel;
}
