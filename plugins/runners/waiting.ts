import type { Clock } from "../../core/index.ts";

/** Waits `ms`, or until `stop`, whichever comes first. */
export function sleep(clock: Clock, ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) return resolve();
    const wake = (): void => {
      undo();
      stop.removeEventListener("abort", wake);
      resolve();
    };
    const undo = clock.after(ms, wake);
    stop.addEventListener("abort", wake);
  });
}

/** What `work` gives, or undefined when `stop` comes first. */
export function untilStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (stop.aborted) return resolve(undefined);
    const stopped = (): void => resolve(undefined);
    stop.addEventListener("abort", stopped);
    void work.then(resolve, reject).finally(() => stop.removeEventListener("abort", stopped));
  });
}

/** What `work` gives, or undefined when it takes longer than `ms`. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const undo = clock.after(ms, () => resolve(undefined));
    void work.then(resolve, reject).finally(undo);
  });
}

/** Settles once `signal` is aborted. One for a turn serves all that waits in it: a signal warns of many listeners. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
