/** When a worker that ended is started again. */
export interface RestartBounds {
  readonly minBackOffMs: number;
  readonly maxBackOffMs: number;
  readonly maxEnds: number;
  readonly endsWithinMs: number;
}

/** What becomes of a worker that has ended; `ends` are those that still count. */
export type Verdict =
  | { readonly again: true; readonly delayMs: number; readonly ends: readonly number[] }
  | { readonly again: false; readonly ends: readonly number[] };

/**
 * Judges an end at `at`, after those at `before`, all monotonic ms. Pure. Ends that lie further back than `endsWithinMs`
 * are forgotten: a time without any makes a worker as good as new.
 */
export function judgeEnd(before: readonly number[], at: number, bounds: RestartBounds): Verdict {
  const { minBackOffMs, maxBackOffMs, maxEnds, endsWithinMs } = bounds;
  const ends = [...before.filter((end) => at - end < endsWithinMs), at];
  if (ends.length >= maxEnds) return { again: false, ends };
  return { again: true, ends, delayMs: Math.min(maxBackOffMs, minBackOffMs * 2 ** (ends.length - 1)) };
}
