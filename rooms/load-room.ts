import { messageOf, RoomtapError, type Clock } from "../core/index.ts";
import { emptyState } from "./fold-state.ts";
import { RoomFold } from "./fold.ts";
import { chainStart, verifyRows, type ChainLink } from "./hash-chain.ts";
import { parseRow, type StoredRow } from "./stored-row.ts";

/** What a room's log gives when a host opens it. */
export interface LoadedRoom {
  readonly fold: RoomFold;
  /** Names the first bad row; null when the whole log is right. */
  readonly damage: RoomtapError | null;
}

/** A log whose rows can be read as they are stored. */
export interface StoredLog {
  readonly file: string;
  storedRows(roomId: string, afterSeq: number): Promise<readonly StoredRow[]>;
}

/**
 * Folds a room's log from its first row, its hash chain checked on the way, page by page. Damage is a value: it makes this
 * room read-only and leaves the others alone.
 * @throws RoomtapError other than `log_corrupt`: the database as a whole cannot be used
 */
export async function loadRoom(log: StoredLog, roomId: string, clock: Clock): Promise<LoadedRoom> {
  const fold = new RoomFold(emptyState(roomId));
  let link: ChainLink = chainStart;
  try {
    for (;;) {
      const rows = await log.storedRows(roomId, link.seq);
      if (rows.length === 0) return { fold, damage: null };
      for (const row of rows) {
        // One by one: the fold ends at the last row that is right, whatever is wrong with the next.
        const next = verifyRows([row], link);
        if ("kind" in next) throw new RoomtapError("log_corrupt", next.message);
        fold.apply(parseRow(row));
        link = next;
      }
      await new Promise<void>((go) => clock.defer(go));
    }
  } catch (fault) {
    if (!(fault instanceof RoomtapError) || fault.code !== "log_corrupt") throw fault;
    const message = `room ${roomId} in ${log.file} is damaged, first at row ${fold.throughSeq + 1}: ${messageOf(fault)}`;
    return { fold, damage: new RoomtapError("log_corrupt", message, { cause: fault }) };
  }
}
