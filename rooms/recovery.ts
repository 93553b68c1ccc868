import { makeCoordinates, RoomtapError, type Tap } from "../core/index.ts";
import type { RoomFold } from "./fold.ts";
import { sessionId } from "./ids.ts";
import type { RoomLog } from "./log.ts";
import { abandoned } from "./settlement.ts";

/**
 * Settles the attempts that a dead host left open, in one transaction, and tells it. They may have run: nothing is run
 * again by itself. Returns how many there were.
 */
export async function abandonOpenAttempts(parts: {
  readonly log: RoomLog;
  readonly tap: Tap;
  readonly roomId: string;
  readonly fold: RoomFold;
}): Promise<number> {
  const { log, tap, roomId, fold } = parts;
  const open = fold
    .state()
    .tasks.filter((task) => task.status === null)
    .map(({ thread_id, member_id, turn_id, task_id, execution_generation }) =>
      makeCoordinates({ room_id: roomId, thread_id, member_id, turn_id, task_id, execution_generation }),
    );
  if (open.length === 0) return 0;
  const result = await log.append({
    room_id: roomId,
    rows: open.map((coordinates) => ({ kind: "turn.settled", coordinates, payload: abandoned })),
    inbox: [],
    expected_seq: fold.throughSeq,
  });
  if (result.status !== "appended") {
    const problem = "message" in result ? result.message : result.status;
    throw new RoomtapError("internal", `room ${roomId}: the attempts of a dead host could not be settled: ${problem}`);
  }
  for (const [index, row] of result.rows.entries()) {
    fold.apply(row);
    const coordinates = open[index];
    if (coordinates === undefined) continue;
    const attempt = tap.begin(coordinates, sessionId(roomId, coordinates.thread_id, coordinates.member_id), null);
    tap.seal(attempt, "runner_lost");
    tap.settled(attempt, abandoned, { seq: row.seq, hash: row.hash });
  }
  return open.length;
}
