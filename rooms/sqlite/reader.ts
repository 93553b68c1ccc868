import { limits, RoomtapError } from "../../core/index.ts";
import type { StoredRow } from "../stored-row.ts";
import type { Orphan, RoomCheck } from "../verify.ts";
import type { InboxRow } from "../inbox-row.ts";
import type { LeaseRow } from "../lease-row.ts";
import type { Head, LogRow, Page } from "../log-row.ts";
import type { PlanInput, RoomPage, RoomPageRequest, RoomReader } from "../room-reader.ts";
import type { RoomRecord } from "../room-record.ts";
import type { SqliteDatabase } from "./database.ts";
import { pageLimit } from "../page-limit.ts";
import { logFault } from "./faults.ts";
import { openReadOnlyDatabase, type OpenOptions } from "./open.ts";
import { TableChecks } from "./table-checks.ts";
import { prepareTables, type Tables } from "./tables.ts";

/** Rooms read at once. */
const pieceRooms = 32;

/** What can be read of a log without a host: rows that a host commits later are seen by later calls. */
export class SqliteLogReader implements RoomReader, AsyncDisposable {
  readonly #database: SqliteDatabase;
  readonly #tables: Tables;
  /** Only whoever verifies needs them. */
  #tableChecks: TableChecks | undefined;

  /** @param database is closed with the reader */
  constructor(database: SqliteDatabase, tables = prepareTables(database)) {
    this.#database = database;
    this.#tables = tables;
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
    return this.#database.attempt(() => this.#tables.rooms.readable());
  }

  head(roomId: string): Promise<Head> {
    return this.#database.attempt(() => this.#tables.log.head(roomId));
  }

  async roomPage(page: RoomPageRequest): Promise<RoomPage> {
    const { include_disbanded = false, offset = 0 } = page;
    const limit = between(1, page.limit ?? limits.maxListedRooms, limits.maxListedRooms);
    const rooms: RoomRecord[] = [];
    let [after, count] = ["", 0];
    for (;;) {
      const skip = after === "" ? offset : 0;
      // One more than the page has: whether there are others behind it.
      const wanted = { after, skip, limit: Math.min(pieceRooms, limit + 1 - count), include_disbanded };
      const piece = await this.#database.attempt(() => this.#tables.rooms.after(wanted));
      count += piece.count;
      if (count > limit) {
        const isBeyond = piece.rooms.at(-1)?.room_id === piece.last;
        rooms.push(...(isBeyond ? piece.rooms.slice(0, -1) : piece.rooms));
        return { rooms, next_offset: offset + limit };
      }
      rooms.push(...piece.rooms);
      if (piece.count < wanted.limit) return { rooms, next_offset: null };
      after = piece.last;
      await this.#database.turns.next();
    }
  }

  /** As in `RoomLog`; at most 500 rows. @throws RoomtapError also `invalid_params` for a limit that is none */
  async read(roomId: string, page: { readonly after_seq: number; readonly limit?: number }): Promise<Page> {
    const maxRows = pageLimit(page.limit, limits.maxPageRows);
    const rows: LogRow[] = [];
    let [cursor, bytes] = [page.after_seq, 0];
    for (;;) {
      const left = {
        maxRows: maxRows - rows.length,
        maxBytes: limits.maxPageBytes - bytes,
        isFirst: rows.length === 0,
      };
      const piece = await this.#database.attempt(() => this.#tables.log.piece(roomId, cursor, left));
      rows.push(...piece.rows);
      cursor = piece.cursor;
      bytes += piece.bytes;
      const { latest_seq } = piece;
      if (piece.isLast) return { rows, cursor, latest_seq, has_more: latest_seq > cursor };
      await this.#database.turns.next();
    }
  }

  /** Posts that stand in the inbox, by number. */
  inbox(roomId: string): Promise<readonly InboxRow[]> {
    return this.#database.attempt(() => this.#tables.inbox.posts(roomId));
  }

  planInput(roomId: string): Promise<PlanInput | undefined> {
    return this.#database.snapshot(() => this.#planInput(roomId));
  }

  /** Who may write the room; generation 0 when nobody ever claimed it, or there is no such room. */
  lease(roomId: string): Promise<LeaseRow> {
    return this.#database.attempt(() => this.#tables.leases.lease(roomId));
  }

  checkpoint(roomId: string): Promise<unknown> {
    return this.#database.attempt(() => this.#tables.checkpoints.checkpoint(roomId));
  }

  /**
   * Up to 64 rows above `afterSeq` as they are stored, nothing checked: payloads are bytes. For verification, which
   * must see also what no longer is a row.
   * @throws RoomtapError `log_corrupt` (names the seq) when the file itself cannot be read there
   */
  storedRows(roomId: string, afterSeq: number): Promise<readonly StoredRow[]> {
    return this.#database.attempt(() => this.#tables.log.stored(roomId, afterSeq));
  }

  /** Ids of all rooms, also of those that cannot be read, in order. */
  roomIds(): Promise<readonly string[]> {
    return this.#database.attempt(() => this.#tables.rooms.ids());
  }

  /** What is wrong with the file itself, a line each. Reads all of it in one go. */
  fileProblems(): Promise<readonly string[]> {
    return this.#database.attempt(() => this.#checks().file());
  }

  /** What belongs to rooms that are not there. */
  orphans(): Promise<readonly Orphan[]> {
    return this.#database.snapshot(() => this.#checks().orphans());
  }

  /** What the tables beside the log say of a room, of one instant; undefined when there is no such room. */
  roomCheck(roomId: string): Promise<RoomCheck | undefined> {
    return this.#database.snapshot(() => this.#checks().room(roomId));
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    this.#database.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #checks(): TableChecks {
    return (this.#tableChecks ??= new TableChecks(this.#database, this.#tables));
  }

  #planInput(roomId: string): PlanInput | undefined {
    const { rooms, inbox, waiting, log, leases } = this.#tables;
    const room = rooms.room(roomId);
    if (room === undefined) return undefined;
    return {
      room,
      inbox: inbox.posts(roomId),
      retries: waiting.retries(roomId),
      due: waiting.due(roomId),
      head: log.head(roomId),
      log_bytes: rooms.state(roomId)?.log_bytes ?? 0,
      lease: leases.lease(roomId),
    };
  }
}

function between(least: number, value: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

/**
 * Opens a log to look at it, also while a host lives. Changes no byte of the file, leaves no file behind.
 * @throws RoomtapError `invalid_params` for options that are none, `log_not_found`, `log_foreign`, `log_newer_schema`,
 * `log_older_schema`, `log_corrupt`, ...
 */
export async function openSqliteLogReader(options: OpenOptions): Promise<SqliteLogReader> {
  const problem = problemOf(options);
  if (problem !== null) throw new RoomtapError("invalid_params", problem);
  const database = await openReadOnlyDatabase(options);
  try {
    return new SqliteLogReader(database);
  } catch (fault) {
    database.close();
    throw logFault(fault, database.file);
  }
}

/** What is wrong with options from a caller that no compiler has checked; null when nothing is. */
function problemOf(given: unknown): string | null {
  if (typeof given !== "object" || given === null) {
    return `openSqliteLogReader: expected { file, clock }, got ${typeof given}`;
  }
  const { file, clock } = given as { readonly file?: unknown; readonly clock?: unknown };
  if (typeof file !== "string" || file === "") return `file: expected the path of a database, got ${typeof file}`;
  if (typeof clock === "object" && clock !== null) return null;
  return `clock: expected a clock, such as systemClock, got ${typeof clock}`;
}
