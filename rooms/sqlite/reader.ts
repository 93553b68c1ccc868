import { limits } from "../../core/index.ts";
import type { StoredRow } from "../stored-row.ts";
import type { Head, InboxRow, Page, RoomRecord } from "../log.ts";
import type { SqliteDatabase } from "./database.ts";
import { logFault } from "./faults.ts";
import { openReadOnlyDatabase, type OpenOptions } from "./open.ts";
import { prepareTables, type Tables } from "./tables.ts";

/** What can be read of a log without a host: rows that a host commits later are seen by later calls. */
export class SqliteLogReader implements AsyncDisposable {
  readonly #database: SqliteDatabase;
  readonly #tables: Tables;

  /** @param database is closed with the reader */
  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#tables = prepareTables(database);
  }

  /** Path of the database, for messages. */
  get file(): string {
    return this.#database.file;
  }

  room(roomId: string): Promise<RoomRecord | undefined> {
    return this.#database.attempt(() => this.#tables.rooms.room(roomId));
  }

  /** In order of `room_id` by UTF-16 units. */
  rooms(): Promise<readonly RoomRecord[]> {
    return this.#database.attempt(() => this.#tables.rooms.all());
  }

  head(roomId: string): Promise<Head> {
    return this.#database.attempt(() => this.#tables.log.head(roomId));
  }

  /** As in `RoomLog`; `limit` is brought into 1 .. 500. */
  read(roomId: string, page: { readonly after_seq: number; readonly limit?: number }): Promise<Page> {
    const maxRows = Math.min(Math.max(page.limit ?? limits.maxPageRows, 1), limits.maxPageRows);
    return this.#database.attempt(() => this.#tables.log.page(roomId, page.after_seq, maxRows));
  }

  /** Posts that stand in the inbox, by number. */
  inbox(roomId: string): Promise<readonly InboxRow[]> {
    return this.#database.attempt(() => this.#tables.inbox.posts(roomId));
  }

  /**
   * Up to 64 rows above `afterSeq` as they are stored, nothing checked: payloads are bytes. For verification, which
   * must see also what no longer is a row.
   * @throws RoomtapError `log_corrupt` (names the seq) when the file itself cannot be read there
   */
  storedRows(roomId: string, afterSeq: number): Promise<readonly StoredRow[]> {
    return this.#database.attempt(() => this.#tables.log.stored(roomId, afterSeq));
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    this.#database.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Opens a log to look at it, also while a host lives. Changes no byte of the file, leaves no file behind.
 * @throws RoomtapError `log_not_found`, `log_foreign`, `log_newer_schema`, `log_corrupt`, `log_busy`, ...
 */
export async function openSqliteLogReader(options: OpenOptions): Promise<SqliteLogReader> {
  const database = await openReadOnlyDatabase(options);
  try {
    return new SqliteLogReader(database);
  } catch (fault) {
    database.close();
    throw logFault(fault, database.file);
  }
}
