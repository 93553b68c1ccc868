import { consumerDefaults, limits, workerBounds, type ActivityEvent, type Clock } from "../../core/index.ts";
import type { BatchOutcome } from "../../observers/index.ts";
import type { HandlerRegistration } from "../services.ts";
import type { Seat, Sitter } from "./seats.ts";

/** Within `stallMs` a worker is looked at so often. */
const looks = 4;

/**
 * How many events go to a worker at once: as many as cost little each; of a handler of batches a multiple of its own.
 */
export function relayedBatch(options: HandlerRegistration["options"]): number {
  const { batchEvents } = workerBounds;
  const batch = "batch" in options ? options.batch : undefined;
  if (batch === undefined || !(batch >= 1)) return batchEvents;
  return Math.min(limits.maxBatchEvents, Math.max(1, Math.floor(batchEvents / batch)) * batch);
}

/**
 * Hands a batch to whoever sits behind a handler, and says what became of it. While nobody sits there it waits: its queue
 * holds what comes. A worker that does not get on with it is ended; what it had not handled reached nobody.
 */
export async function relay(
  {
    seat,
    options,
    clock,
  }: { readonly seat: Seat; readonly options: HandlerRegistration["options"]; readonly clock: Clock },
  events: readonly ActivityEvent[],
): Promise<BatchOutcome> {
  const sitter = await seat.taken();
  if (sitter === null) return { handled: 0 };
  sitter.marks?.fill(0);
  const stalled = watchProgress(sitter, options.stallMs ?? consumerDefaults.stallMs, clock);
  const { guest, registration } = sitter;
  try {
    return { failures: await guest.line.call("batch", { registration, events }) };
  } catch {
    // Why it ended is told where its end is; here it counts how far it came.
    const lost = unhandledBy(sitter, events.length);
    return stalled.isSo ? { lost, failures: { stalled: 1 } } : { lost };
  } finally {
    stalled.stop();
  }
}

/** Places that it has not marked. */
function unhandledBy({ marks }: Sitter, length: number): readonly number[] {
  return Array.from({ length }, (_, place) => place).filter((place) => marks?.[place] !== 1);
}

/** Ends a worker that has handled nothing for `stallMs`. */
function watchProgress(
  { guest, marks }: Sitter,
  stallMs: number,
  clock: Clock,
): { readonly isSo: boolean; readonly stop: () => void } {
  let isSo = false;
  let before = 0;
  let idle = 0;
  const look = (): void => {
    const handled = marks?.reduce((sum, mark) => sum + mark, 0) ?? 0;
    idle = handled > before ? 0 : idle + 1;
    before = handled;
    if (idle < looks) {
      stopTimer = clock.after(stallMs / looks, look);
      return;
    }
    isSo = true;
    void guest.end(`a handler of it got nowhere for ${stallMs} ms`);
  };
  let stopTimer = clock.after(stallMs / looks, look);
  return {
    get isSo() {
      return isSo;
    },
    stop: () => stopTimer(),
  };
}
