import type { RoomtapError } from "../../core/index.ts";
import { zeroHash, type Head, type LogRow } from "../log-row.ts";
import { corruptRow, parseRow, type StoredRow } from "../stored-row.ts";
import type { SqliteDatabase } from "./database.ts";
import { isDamage } from "./faults.ts";
import { logColumns, rawRow, storedRow, type RawRow } from "./rows.ts";

/** Rows of a page that are read at once, and the UTF-16 units of payload after which no more are. */
const pieceRows = 32;
const pieceUnits = 262_144;

/** Rows that are fetched at once as they are stored. */
const chunkRows = 64;

/** Some rows of a page, read in one go. */
export interface Piece {
  readonly rows: readonly LogRow[];
  /** Of their payloads, in UTF-8. */
  readonly bytes: number;
  readonly cursor: number;
  /** The last row of the log. */
  readonly latest_seq: number;
  /** No more rows fit into the page, or there are none. */
  readonly isLast: boolean;
}

const query = `SELECT ${logColumns} FROM log WHERE room_id = ? AND seq > ? ORDER BY seq LIMIT ?`;

// The index says which rows there are, and each column comes from the row itself: where the two differ, the row is wrong.
const storedQuery =
  `SELECT ${logColumns.replace("payload", "CAST(payload AS BLOB)")} FROM` +
  " (SELECT rowid AS id FROM log WHERE room_id = ? AND seq > ? ORDER BY seq LIMIT ?) CROSS JOIN log ON log.rowid = id";

/** Statements over the table `log`. Each is synchronous; the caller holds the transaction. */
export class LogTable {
  readonly #head;
  readonly #byEvent;
  readonly #page;
  readonly #bytes;
  readonly #insert;

  constructor(database: SqliteDatabase) {
    this.#head = database
      .prepare<[string], [number, string]>("SELECT seq, hash FROM log WHERE room_id = ? ORDER BY seq DESC LIMIT 1")
      .raw();
    this.#byEvent = database.prepare<[string], RawRow>(`SELECT ${logColumns} FROM log WHERE event_id = ?`).raw();
    this.#page = database.prepare<[string, number, number], RawRow>(query).raw();
    this.#bytes = database.prepare<[string, number, number], RawRow<Uint8Array>>(storedQuery).raw();
    this.#insert = database.prepare<RawRow>(
      `INSERT INTO log (${logColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  head(roomId: string): Head {
    const raw = this.#head.get(roomId);
    return raw === undefined ? { seq: 0, hash: zeroHash } : { seq: raw[0], hash: raw[1] };
  }

  byEvent(eventId: string): StoredRow | undefined {
    const raw = this.#byEvent.get(eventId);
    return raw && storedRow(raw);
  }

  insert(row: StoredRow & { readonly payload: string }): void {
    this.#insert.run(...rawRow(row));
  }

  /**
   * The next rows of a page that has `maxRows` and `maxBytes` left; at least one if there is one and nothing is in the page.
   * @throws RoomtapError `log_corrupt` for the first row that is missing, cannot be read or is no row
   */
  piece(
    roomId: string,
    afterSeq: number,
    { maxRows, maxBytes, isFirst }: { readonly maxRows: number; readonly maxBytes: number; readonly isFirst: boolean },
  ): Piece {
    const latest_seq = this.head(roomId).seq;
    const rows: LogRow[] = [];
    let [cursor, bytes, isFull] = [afterSeq, 0, false];
    for (const stored of this.#fetch(roomId, afterSeq, Math.min(pieceRows, maxRows))) {
      if (stored.seq !== cursor + 1) throw corruptRow(roomId, cursor + 1, `is missing: row ${stored.seq} comes next`);
      const size = Buffer.byteLength(stored.payload);
      isFull = bytes + size > maxBytes && !(isFirst && rows.length === 0);
      if (isFull) break;
      bytes += size;
      rows.push(parseRow(stored));
      cursor = stored.seq;
    }
    const isLast = isFull || rows.length === maxRows || bytes >= maxBytes || cursor >= latest_seq || rows.length === 0;
    return { rows, bytes, cursor, latest_seq, isLast };
  }

  /**
   * Up to 64 rows as they are stored, with the bytes of their payloads; nothing checked, so also damaged ones. Ends before
   * a row that the file does not give any more.
   * @throws RoomtapError `log_corrupt` when that row is the first
   */
  stored(roomId: string, afterSeq: number): StoredRow[] {
    try {
      return this.#bytes.all(roomId, afterSeq, chunkRows).map(storedRow);
    } catch (fault) {
      if (!isDamage(fault)) throw fault;
      const readable = this.#storedBeforeDamage(roomId, afterSeq);
      if (readable.length > 0) return readable;
      throw this.#nameDamage(roomId, afterSeq, chunkRows, fault);
    }
  }

  #storedBeforeDamage(roomId: string, afterSeq: number): StoredRow[] {
    const rows: StoredRow[] = [];
    try {
      while (rows.length < chunkRows) {
        const raw = this.#bytes.get(roomId, rows.at(-1)?.seq ?? afterSeq, 1);
        if (raw === undefined) break;
        rows.push(storedRow(raw));
      }
    } catch {
      // Here the damage begins; whoever reads on from here is told so.
    }
    return rows;
  }

  #fetch(roomId: string, afterSeq: number, maxRows: number): StoredRow[] {
    const rows: StoredRow[] = [];
    let units = 0;
    try {
      for (const raw of this.#page.iterate(roomId, afterSeq, maxRows)) {
        units += raw[9].length;
        rows.push(storedRow(raw));
        if (units >= pieceUnits) break;
      }
      return rows;
    } catch (fault) {
      throw isDamage(fault) ? this.#nameDamage(roomId, afterSeq, maxRows, fault) : fault;
    }
  }

  // SQLite notices damage when it reads the page, and says of the whole query that it failed: row by row tells which.
  #nameDamage(roomId: string, afterSeq: number, maxRows: number, fault: unknown): RoomtapError {
    let seq = afterSeq;
    try {
      while (seq < afterSeq + maxRows && this.#page.get(roomId, seq, 1) !== undefined) seq += 1;
    } catch (again) {
      return corruptRow(roomId, seq + 1, "lies on a damaged page", again);
    }
    return corruptRow(roomId, seq + 1, "cannot be reached: a page is damaged", fault);
  }
}
