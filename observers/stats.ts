/** Durations in buckets that double, from 1 us: a fixed size, and percentiles right to a factor of 2. */
export class DurationBuckets {
  readonly #counts = new Uint32Array(40);
  #total = 0;

  add(ms: number): void {
    const bucket = Math.min(this.#counts.length - 1, Math.max(0, Math.ceil(Math.log2(Math.max(ms * 1_000, 1)))));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total++;
  }

  /** The upper edge of the bucket that holds the percentile, in ms; null when nothing was added. */
  percentile(fraction: number): number | null {
    let left = Math.ceil(this.#total * fraction);
    if (left === 0) return null;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return 2 ** bucket / 1_000;
    }
    return null;
  }
}
