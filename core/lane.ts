import pLimit from "p-limit";

/** Runs work side by side, up to a number of places. */
export interface Lane {
  /** Runs `work` when a place is free and gives what it gives. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** How many run now. */
  readonly active: number;
}

/**
 * A lane of a number of places. The waiting list inside has no bound, and a place is kept until the work's promise settles: so admit work first and
 * hand in only what has a place. Nested calls in one lane can deadlock.
 * @param places how many run side by side, at least 1
 */
export function createLane(places: number): Lane {
  const limit = pLimit(places);
  return {
    run: (work) => limit(work),
    get active() {
      return limit.activeCount;
    },
  };
}
