import type { Clock, Coordinates, TurnSettled } from "../core/index.ts";
import type { FoldState } from "./fold-state.ts";
import { dueAfter } from "./retryable.ts";
import type { PlanInput } from "./room-reader.ts";
import type { JudgedEnd } from "./room-writer.ts";
import { isSuperseded } from "./supersede.ts";

/**
 * How an attempt is written down as ended. A text that a person's newer post overtook is kept and shown as late. A turn
 * that was not admitted is tried again by itself, unless a stop was drawn behind its start: then it ended too late to be
 * told of it.
 * @param read what stands in the database, asked for only where it matters
 */
export async function judgeEnd(
  { task_id, execution_generation }: Coordinates,
  ended: TurnSettled,
  { state, read, clock }: { readonly state: FoldState; readonly read: () => Promise<PlanInput>; readonly clock: Clock },
): Promise<JudgedEnd> {
  const asIs = { payload: ended };
  const isRefused = ended.reason_code === "not_admitted";
  if (ended.status !== "completed" && !isRefused) return asIs;
  const task = state.tasks.find((each) => each.task_id === task_id);
  const { room, inbox } = await read();
  if (task === undefined) return asIs;
  if (isRefused) {
    const delayMs = dueAfter(execution_generation);
    if (delayMs === null || task.started_row <= (room.stop?.seq ?? 0)) return asIs;
    return { ...asIs, due: { task_id, execution_generation, due_at: clock.now() + delayMs } };
  }
  if (!isSuperseded({ state, room, inbox, task })) return asIs;
  return { payload: { ...ended, status: "superseded", reason_code: "newer_message" } };
}
