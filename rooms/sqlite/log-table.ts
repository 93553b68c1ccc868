import { limits, type RoomtapError } from "../../core/index.ts";
import { zeroHash, type Head, type LogRow, type Page } from "../log.ts";
import { corruptRow, parseRow, type StoredRow } from "../stored-row.ts";
import type { SqliteDatabase } from "./database.ts";
import { isDamage } from "./faults.ts";
import { logColumns, rawRow, storedRow, type RawRow } from "./rows.ts";

/** Rows fetched at once. A page ends at its bytes, so what is fetched beyond is thrown away. */
const chunkRows = 64;

const query = `SELECT ${logColumns} FROM log WHERE room_id = ? AND seq > ? ORDER BY seq LIMIT ?`;

// The index says which rows there are, and each column comes from the row itself: where the two differ, the row is wrong.
const storedQuery =
  `SELECT ${logColumns.replace("payload", "CAST(payload AS BLOB)")} FROM` +
  " (SELECT rowid AS id FROM log WHERE room_id = ? AND seq > ? ORDER BY seq LIMIT ?) CROSS JOIN log ON log.rowid = id";

interface PageStatement {
  all(roomId: string, afterSeq: number, maxRows: number): RawRow<string | Uint8Array>[];
}

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

  /** @throws RoomtapError `log_corrupt` for the first row that is missing, cannot be read or is no row */
  page(roomId: string, afterSeq: number, maxRows: number): Page {
    const rows: LogRow[] = [];
    let cursor = afterSeq;
    for (let bytes = 0; rows.length < maxRows && bytes < limits.maxPageBytes;) {
      const chunk = this.#fetch(this.#page, roomId, cursor, Math.min(chunkRows, maxRows - rows.length));
      for (const stored of chunk) {
        if (stored.seq !== cursor + 1) throw corruptRow(roomId, cursor + 1, `is missing: row ${stored.seq} comes next`);
        bytes += Buffer.byteLength(stored.payload);
        if (bytes > limits.maxPageBytes && rows.length > 0) break;
        rows.push(parseRow(stored));
        cursor = stored.seq;
      }
      if (chunk.length < chunkRows) break;
    }
    return { rows, cursor, has_more: this.head(roomId).seq > cursor };
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

  #fetch(statement: PageStatement, roomId: string, afterSeq: number, maxRows: number): StoredRow[] {
    try {
      return statement.all(roomId, afterSeq, maxRows).map(storedRow);
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
