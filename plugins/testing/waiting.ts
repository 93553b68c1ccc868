import { RoomtapError, systemClock } from "../../core/index.ts";

/** How long of the machine's time a thing is waited for that should come by itself, unless it is said otherwise. */
export const patienceMs = 5_000;

/** Gives the event loop `turns` turns. */
export async function turnsOfLoop(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => systemClock.defer(resolve));
}

/**
 * What `work` gives, if it comes within the patience.
 * @param missing says what did not come and what to do
 * @throws RoomtapError `check_failed` when it takes longer, and what `work` rejects with
 */
export async function within<Value>(work: Promise<Value>, missing: () => string, limitMs = patienceMs): Promise<Value> {
  let stopTimer: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    stopTimer = systemClock.after(limitMs, () => reject(new RoomtapError("check_failed", missing())));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    stopTimer();
  }
}
