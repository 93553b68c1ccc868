import { messageOf, RoomtapError, type Clock } from "../core/index.ts";
import { readStored, type IgnoredReason } from "./checkpoint.ts";
import { emptyState } from "./fold-state.ts";
import { RoomFold } from "./fold.ts";
import { chainStart, verifyRows, type ChainLink } from "./hash-chain.ts";
import { parseRow, type StoredRow } from "./stored-row.ts";

/** What a room's log gives when a host opens it. */
export interface LoadedRoom {
  readonly fold: RoomFold;
  /** Hash of the last row in the fold. */
  readonly logHash: string;
  /** Names the first bad row; null when the whole log is right. */
  readonly damage: RoomtapError | null;
  /** What became of the stored checkpoint: the row it spared reading up to, or why it was not used. */
  readonly checkpoint: { readonly through_seq: number } | { readonly ignored: IgnoredReason };
}

/** A log whose rows can be read as they are stored. */
export interface StoredLog {
  readonly file: string;
  storedRows(roomId: string, afterSeq: number): Promise<readonly StoredRow[]>;
  checkpoint(roomId: string): Promise<unknown>;
}

/**
 * Folds a room's log from its stored checkpoint, if that is bound to this log, else from its first row; the hash chain is
 * checked on the way, page by page. Damage is a value: it makes this room read-only and leaves the others alone.
 * @throws RoomtapError other than `log_corrupt`: the database as a whole cannot be used
 */
export async function loadRoom(log: StoredLog, roomId: string, clock: Clock): Promise<LoadedRoom> {
  const begin = await beginning(log, roomId);
  const { fold, checkpoint } = begin;
  let { link } = begin;
  try {
    for (;;) {
      const rows = await log.storedRows(roomId, link.seq);
      if (rows.length === 0) return { fold, logHash: link.hash, damage: null, checkpoint };
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
    const damage = new RoomtapError("log_corrupt", message, { cause: fault });
    return { fold, logHash: link.hash, damage, checkpoint };
  }
}

interface Beginning extends Pick<LoadedRoom, "fold" | "checkpoint"> {
  readonly link: ChainLink;
}

async function beginning(log: StoredLog, roomId: string): Promise<Beginning> {
  const hashes: string[] = [];
  const hashAt = async (seq: number): Promise<string | undefined> => {
    const [row] = await log.storedRows(roomId, seq - 1);
    if (row?.seq !== seq) return undefined;
    hashes.push(row.hash);
    return row.hash;
  };
  const reading = await readStored(await log.checkpoint(roomId), { room_id: roomId, hashAt });
  const [hash] = hashes;
  if (reading.status === "used" && hash !== undefined) {
    const { through_seq } = reading.state;
    return { fold: new RoomFold(reading.state), link: { seq: through_seq, hash }, checkpoint: { through_seq } };
  }
  const ignored = reading.status === "ignored" ? reading.reason : "none";
  return { fold: new RoomFold(emptyState(roomId)), link: chainStart, checkpoint: { ignored } };
}
