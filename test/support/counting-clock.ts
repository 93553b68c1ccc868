import { manualClock, type ManualClock } from "../../core/index.ts";

/** A manual clock that knows how many of its timers wait. */
export interface CountingClock extends ManualClock {
  readonly pending: () => number;
}

/** @param startMs wall time at the start, in ms */
export function countingClock(startMs: number): CountingClock {
  const clock = manualClock(startMs);
  const waiting = new Set<object>();
  return {
    ...clock,
    pending: () => waiting.size,
    after(ms, run) {
      const timer = {};
      waiting.add(timer);
      const undo = clock.after(ms, () => {
        waiting.delete(timer);
        run();
      });
      return () => {
        waiting.delete(timer);
        undo();
      };
    },
  };
}
