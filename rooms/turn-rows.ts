import type { TurnStarted } from "../core/index.ts";
import type { FoldState } from "./fold-state.ts";
import type { RoomReader } from "./room-reader.ts";
import type { Member } from "./room-record.ts";
import type { PlannedStart } from "./plan.ts";
import { readRows } from "./read-rows.ts";
import { transcriptOf, transcriptRows, type Transcript } from "./transcript.ts";

/** Where a room's rows are read. */
export interface RowSource {
  readonly log: Pick<RoomReader, "read">;
  readonly roomId: string;
}

/** What a turn that is to start shows its member, read from the rows that it refers to. */
export async function readTranscript(
  { log, roomId }: RowSource,
  { payload, coordinates }: PlannedStart,
  state: FoldState,
  members: readonly Member[],
): Promise<Transcript> {
  const thread = state.threads.find(({ thread_id }) => thread_id === coordinates.thread_id);
  const rows = await readRows(log, roomId, transcriptRows({ payload, thread }));
  return transcriptOf({ payload, thread, row: (seq) => rows.get(seq), members });
}

/** Payloads of the last starts of tasks that are to be tried again, by task id; of unknown tasks there is none. */
export async function readStarts(
  { log, roomId }: RowSource,
  state: FoldState,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, TurnStarted>> {
  const asked = new Set(taskIds);
  const tasks = state.tasks.filter(({ task_id }) => asked.has(task_id));
  const seqs = tasks.map(({ started_row }) => started_row).toSorted((one, other) => one - other);
  const rows = await readRows(log, roomId, seqs);
  const started = new Map<string, TurnStarted>();
  for (const { task_id, started_row } of tasks) {
    const row = rows.get(started_row);
    if (row?.kind === "turn.started") started.set(task_id, row.payload);
  }
  return started;
}
