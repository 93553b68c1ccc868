import { abandoned, makeCoordinates, RoomtapError, type Coordinates, type Runner, type Tap } from "../core/index.ts";
import type { TaskState } from "./fold-state.ts";
import { sessionId } from "./ids.ts";
import type { LoadedRoom } from "./load-room.ts";
import type { Fenced } from "./lease-row.ts";
import type { RoomLog } from "./log.ts";
import type { StopFence } from "./room-record.ts";
import { dueAfter } from "./retryable.ts";

/** What recovery works on: a room whose lease was just claimed, and what its log says. */
export interface RecoveryParts {
  readonly log: RoomLog;
  readonly tap: Tap;
  readonly fence: Fenced;
  readonly loaded: LoadedRoom;
  /** By member id. */
  readonly runners: ReadonlyMap<string, Runner>;
  /** The room's last stop: what it was to end is not asked for again. */
  readonly stop: StopFence | null;
}

/**
 * Settles the attempts that a dead host left open, in one transaction, and tells it. They may have run, so none is run
 * again by itself; but those of runners that say `rerun: "safe"` are asked for before, so that a crash between the two
 * steps loses nothing. Gives the room as it is then.
 * @throws RoomtapError `lease_lost`, and what the log throws
 */
export async function abandonOpenAttempts(parts: RecoveryParts): Promise<LoadedRoom> {
  const { log, tap, fence, loaded, runners, stop } = parts;
  const { fold } = loaded;
  const open = fold.state().tasks.filter((task) => task.status === null);
  if (open.length === 0) return loaded;
  for (const task of open) {
    if (task.started_row > (stop?.seq ?? 0)) await askAgain(log, fence, task, runners.get(task.member_id));
  }
  const coordinates = open.map((task) => coordinatesOf(fence.room_id, task));
  const result = await log.append({
    ...fence,
    rows: coordinates.map((each) => ({ kind: "turn.settled", coordinates: each, payload: abandoned })),
    inbox: [],
    expected_seq: fold.throughSeq,
  });
  // By the next holder, or by a commit of this one whose answer was lost: to be read again.
  if (result.status === "exists") throw new RoomtapError("lease_lost", "what was left open is settled already");
  if (result.status !== "appended") throw new RoomtapError(result.status, result.message);
  for (const [index, row] of result.rows.entries()) {
    fold.apply(row);
    const at = coordinates[index];
    if (at === undefined) continue;
    const attempt = tap.begin(at, sessionId(at.room_id, at.thread_id, at.member_id), null);
    tap.seal(attempt, "runner_lost");
    tap.settled(attempt, abandoned, { seq: row.seq, hash: row.hash });
  }
  return { ...loaded, logHash: result.rows.at(-1)?.hash ?? loaded.logHash };
}

async function askAgain(log: RoomLog, fence: Fenced, task: TaskState, runner: Runner | undefined): Promise<void> {
  const { task_id, execution_generation } = task;
  // Unasked attempts are bounded, or a turn that kills its host would do so for ever.
  if (runner?.rerun !== "safe" || dueAfter(execution_generation) === null) return;
  const retry = { ...fence, task_id, execution_generation, origin: "auto_continue", cause: "auto_continue" } as const;
  const result = await log.putRetry(retry);
  // A full inbox, or a disbanded room, has no place for it: it stays abandoned, and somebody may ask for it.
  if (result.status === "lease_lost") throw new RoomtapError("lease_lost", result.message);
}

function coordinatesOf(roomId: string, task: TaskState): Coordinates {
  const { thread_id, member_id, turn_id, task_id, execution_generation } = task;
  return makeCoordinates({ room_id: roomId, thread_id, member_id, turn_id, task_id, execution_generation });
}
