import type { TurnStarted } from "../../core/index.ts";
import { rosterDigest, type Member, type NewRow, type RoomLog } from "../../rooms/index.ts";
import { TestLog } from "../support/logs.ts";

const memberIds = ["m-planner", "m-coder", "m-reviewer"];
const plain = `I looked at it, and the second step can go: nothing reads what it writes. Please check it. ${"x".repeat(160)}`;
const naming = plain.replace("Please", "@reviewer please");

/** Who takes part in a talk. */
export const talkers: readonly Member[] = memberIds.map((member_id) => {
  const handle = member_id.slice(2);
  return { member_id, handle, display_name: handle, runner_kind: "acp" };
});

/** Writes a new room with a talk of so many rows, and leaves its lease to whoever comes. */
export async function writeTalk(log: RoomLog, roomId: string, rowCount: number): Promise<void> {
  await log.putRoom({ room_id: roomId, name: "Talk", members: talkers, roster_digest: rosterDigest(talkers) });
  const mark = { boot_id: "", pid_namespace: "", pid: 1, started: "" };
  const { lease } = await log.claimLease({ seen: await log.lease(roomId), holder: "bench", process: mark });
  const rows = talk(roomId, rowCount);
  for (let seq = 0; seq < rows.length; seq += 1_000) {
    const result = await log.append({
      room_id: roomId,
      rows: rows.slice(seq, seq + 1_000),
      inbox: [],
      expected_seq: seq,
      lease_generation: lease.generation,
    });
    if (result.status !== "appended") throw new Error(`could not write the log: ${JSON.stringify(result)}`);
  }
  await log.releaseLease(roomId, lease.generation, "bench");
}

/** A talk of three members in four threads: each post is answered by all of them, one after the other. */
function talk(roomId: string, rowCount: number): readonly NewRow[] {
  const log = new TestLog(roomId);
  for (let turn = 0; log.rows.length < rowCount; turn++) {
    const slot = turn % memberIds.length;
    const message_id = `msg-${turn - slot}`;
    const before = log.rows.length;
    const post = { message_id, text: `@all step ${turn}: what do you make of this? ${"y".repeat(150)}` };
    const input: TurnStarted["input"] = Array.from({ length: slot + 1 }, (_, k) =>
      k === 0 ? { message_id, row_seq: before - 2 * slot + 1 } : { row_seq: before - 2 * (slot - k) },
    );
    const start = log.start({
      member_id: memberIds[slot] ?? "m-planner",
      thread_id: `thread-${Math.floor(turn / memberIds.length) % 4}`,
      ...(slot === 0 ? { post } : { input }),
      slot,
      seen_through_seq: slot === 0 ? 0 : before,
    });
    log.settle(start, { text: slot === 1 ? naming : plain, usage: { input_tokens: 1_200, output_tokens: 90 } });
  }
  return log.rows.map((row) => {
    const { room_id, thread_id, member_id, turn_id, task_id, execution_generation } = row;
    const coordinates = { room_id, thread_id, member_id, turn_id, task_id, execution_generation };
    return { kind: row.kind, coordinates, payload: row.payload } as NewRow;
  });
}
