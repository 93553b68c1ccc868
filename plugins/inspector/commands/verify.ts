import { RoomtapError, systemClock } from "../../../core/index.ts";
import { verifyLog, type RoomVerdict, type SqliteLogReader, type VerifiableLog } from "../../../rooms/index.ts";
import { counted } from "../../counted.ts";
import type { Output } from "../../output.ts";
import { jsonText, oneLine } from "../../terminal-text.ts";
import type { LookOptions } from "../look-options.ts";
import { withLog } from "../open-log.ts";
import { noProgress, type Progress } from "../progress.ts";

/**
 * Checks the file, and every row of every room with what stands beside them: a line for each room and each open turn. 0: all
 * is right, open turns or not; 1: a room is not as it was written; 4: the file itself is damaged.
 * @param progress told how many of all rows were checked
 */
export async function verifyCommand(
  { db, json }: LookOptions,
  { out, note }: Output,
  progress: Progress = noProgress,
): Promise<number> {
  return withLog(db, async (log) => {
    const file = await log.fileProblems();
    let exit = file.length > 0 ? 4 : 0;
    if (!json) for (const problem of file) await out(oneLine(`the file is damaged: ${problem}`));
    const verdicts: RoomVerdict[] = [];
    for await (const verdict of verifyLog(counting(log, await rowsOf(log), progress), systemClock)) {
      verdicts.push(verdict);
      if (verdict.problem !== null) exit = Math.max(exit, verdict.problem.kind === "unreadable" ? 4 : 1);
      if (json) continue;
      progress.clear();
      for (const line of linesOf(verdict)) await out(oneLine(line));
    }
    progress.clear();
    if (json) await out(jsonText({ ok: exit === 0, file, rooms: verdicts }));
    if (exit !== 0) note("the log is damaged: restore the file from a backup; nothing is repaired by itself");
    return exit;
  });
}

/** How many rows there are, as far as their rooms say. */
async function rowsOf(log: SqliteLogReader): Promise<number> {
  let total = 0;
  for (const roomId of await log.roomIds()) {
    try {
      total += (await log.head(roomId)).seq;
    } catch (fault) {
      // A damaged room is the business of the check itself.
      if (!(fault instanceof RoomtapError) || fault.code !== "log_corrupt") throw fault;
    }
  }
  return total;
}

/** The log, whose rows are counted as they are read. */
function counting(log: SqliteLogReader, total: number, progress: Progress): VerifiableLog {
  let done = 0;
  return {
    fileProblems: () => log.fileProblems(),
    roomIds: () => log.roomIds(),
    orphans: () => log.orphans(),
    roomCheck: (roomId) => log.roomCheck(roomId),
    storedRows: async (roomId, afterSeq) => {
      const rows = await log.storedRows(roomId, afterSeq);
      done += rows.length;
      progress.step(done, total);
      return rows;
    },
  };
}

/** What stands in a damaged room may be anything. */
function linesOf({ room_id, rows, log_hash, digest, open_turns, problem }: RoomVerdict): readonly string[] {
  if (problem !== null) {
    // Turns that look open here may have settled behind the bad row.
    const where = problem.seq === null ? "what stands beside its rows" : `row ${problem.seq}`;
    return [`${room_id}: ${where} is bad (${problem.kind}): ${problem.message}`];
  }
  const open = open_turns.map(
    (turn) => `${room_id}: open turn ${turn.turn_id} of ${turn.member_id} since row ${turn.seq}`,
  );
  return [`${room_id}: ${counted(rows, "row")}, all right, log_hash ${log_hash}, digest ${digest}`, ...open];
}
