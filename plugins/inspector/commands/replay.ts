import { RoomtapError } from "../../../core/index.ts";
import { checkpointOf, emptyState, RoomFold, zeroHash } from "../../../rooms/index.ts";
import { counted } from "../../counted.ts";
import type { Output } from "../../output.ts";
import { jsonText, oneLine } from "../../terminal-text.ts";
import type { LookOptions } from "../look-options.ts";
import { roomOf, withLog } from "../open-log.ts";

/** What `roomtap replay` is asked for. */
export interface ReplayOptions extends LookOptions {
  readonly room: string;
  /** Fold up to this row, 0 for none; undefined for all. */
  readonly at: number | undefined;
}

/**
 * Folds a room's log from its first row and prints the state with its digest. Hashes are the business of `verify`.
 * @throws RoomtapError `log_corrupt` for a row that cannot be folded, `invalid_params` for a row beyond the head
 */
export async function replayCommand(options: ReplayOptions, { out }: Output): Promise<number> {
  return withLog(options.db, async (log) => {
    const { room_id } = await roomOf(log, options.room);
    const head = await log.head(room_id);
    const last = options.at ?? head.seq;
    if (last > head.seq) {
      throw new RoomtapError("invalid_params", `--at: room ${room_id} has ${counted(head.seq, "row")}, got ${last}`);
    }
    const fold = new RoomFold(emptyState(room_id));
    let logHash = zeroHash;
    while (fold.throughSeq < last) {
      const after_seq = fold.throughSeq;
      const { rows } = await log.read(room_id, { after_seq, limit: last - after_seq });
      for (const row of rows) {
        fold.apply(row);
        logHash = row.hash;
      }
    }
    const { state, digest, log_hash } = checkpointOf(fold.state(), logHash);
    const open = state.tasks.filter(({ status }) => status === null);
    if (options.json) {
      await out(jsonText({ room_id, through_seq: last, digest, log_hash, open_turns: open, state }));
      return 0;
    }
    const lines = [
      `room ${room_id} through row ${last}`,
      `digest ${digest}`,
      `log_hash ${log_hash}`,
      ...open.map((turn) => `open ${turn.turn_id} of ${turn.member_id} since row ${turn.started_row}`),
    ];
    for (const line of lines) await out(oneLine(line));
    await out(`state ${jsonText(state, 2)}`);
    return 0;
  });
}
