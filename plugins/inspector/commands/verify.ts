import { systemClock } from "../../../core/index.ts";
import { verifyLog, type RoomVerdict } from "../../../rooms/index.ts";
import type { Output } from "../../output.ts";
import { oneLine } from "../../terminal-text.ts";
import type { LookOptions } from "../look-options.ts";
import { withLog } from "../open-log.ts";

/**
 * Checks every row of every room, a line for each room, and one for each open turn of a room without a problem. 0: all is
 * right, open turns or not; 1: a row is not as it was written; 4: the file cannot be read there.
 */
export async function verifyCommand({ db, json }: LookOptions, { out, note }: Output): Promise<number> {
  return withLog(db, async (log) => {
    let exit = 0;
    const verdicts: RoomVerdict[] = [];
    for await (const verdict of verifyLog(log, systemClock)) {
      verdicts.push(verdict);
      if (verdict.problem !== null) exit = Math.max(exit, verdict.problem.kind === "unreadable" ? 4 : 1);
      if (!json) for (const line of linesOf(verdict)) await out(line);
    }
    if (json) await out(JSON.stringify({ ok: exit === 0, rooms: verdicts }));
    if (exit !== 0) note("the log is damaged: restore the file from a backup; nothing is repaired by itself");
    return exit;
  });
}

function linesOf({ room_id, rows, log_hash, digest, open_turns, problem }: RoomVerdict): readonly string[] {
  if (problem !== null) {
    // Turns that look open here may have settled behind the bad row. What stands in that row may be anything.
    return [`${room_id}: row ${problem.seq} is bad (${problem.kind}): ${oneLine(problem.message)}`];
  }
  const open = open_turns.map(
    (turn) => `${room_id}: open turn ${turn.turn_id} of ${turn.member_id} since row ${turn.seq}`,
  );
  return [`${room_id}: ${rows} rows, all right, log_hash ${log_hash}, digest ${digest}`, ...open];
}
