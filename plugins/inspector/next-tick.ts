import type { Clock } from "../../core/index.ts";

/** Waits for the next interval, or until `stop`. */
export function nextTick(clock: Clock, intervalMs: number, stop: AbortSignal): Promise<"due" | "stopped"> {
  return new Promise((resolve) => {
    if (stop.aborted) return resolve("stopped");
    const onStop = (): void => {
      stopTimer();
      resolve("stopped");
    };
    const stopTimer = clock.after(intervalMs, () => {
      stop.removeEventListener("abort", onStop);
      resolve("due");
    });
    stop.addEventListener("abort", onStop, { once: true });
  });
}
