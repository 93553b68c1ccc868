/** The page's time: one place, as the rest of roomtap has it. */
export const pageClock = {
  /** Wall ms. */
  now: (): number => Date.now(),
  /** Monotonic ms. */
  monotonic: (): number => performance.now(),
  /** Calls `run` every `ms`, until the undo. */
  every(ms: number, run: () => void): () => void {
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  },
};

/** Calls `run` once in the next frame that is painted, however often it was asked for until then. */
export function oncePerFrame(run: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      run();
    });
  };
}
