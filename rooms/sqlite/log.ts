import { idSchema, limits, RoomtapError, type Clock, type Report } from "../../core/index.ts";
import { canonicalJson } from "../canonical-json.ts";
import type { AcceptResult, Append, AppendResult, Member, NewPost, RoomLog, RoomRecord } from "../log.ts";
import { acceptPost, preparePost } from "./accept.ts";
import { appendRows, prepareAppend } from "./append.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { SqliteDatabase } from "./database.ts";
import { logFault } from "./faults.ts";
import { GroupCommit } from "./group-commit.ts";
import { openHostDatabase, type OpenOptions } from "./open.ts";
import { defaultQuota, type Quota } from "./quota.ts";
import { SqliteLogReader } from "./reader.ts";
import { prepareTables, type Tables } from "./tables.ts";

/** How a log on SQLite is opened. */
export interface SqliteLogOptions {
  readonly clock: Clock;
  /** Told what nobody awaits: a checkpoint of the WAL that failed. Default: nobody is told. */
  readonly report?: Report | undefined;
  /** What each room may take, smaller than the default for tests and small machines. */
  readonly quota?: Quota | undefined;
}

interface RoomContent {
  readonly room_id: string;
  readonly name: string;
  readonly members: readonly Member[];
  readonly roster_digest: string;
}

/**
 * The room log of a host, on SQLite. All that is asked for within one tick of the event loop is one commit. Nothing is
 * kept in memory between calls: what a call sees is what the file holds.
 */
export class SqliteRoomLog extends SqliteLogReader implements RoomLog {
  readonly #clock: Clock;
  readonly #quota: Quota;
  readonly #tables: Tables;
  readonly #checkpoints: Checkpoints;
  readonly #commits: GroupCommit;

  /** @param database from `openHostDatabase`; it is closed with the log */
  constructor(database: SqliteDatabase, options: SqliteLogOptions) {
    super(database);
    this.#clock = options.clock;
    this.#quota = options.quota ?? defaultQuota;
    this.#tables = prepareTables(database);
    this.#checkpoints = new Checkpoints(database, options.clock, options.report ?? (() => undefined));
    this.#commits = new GroupCommit(database, options.clock, () => this.#checkpoints.committed());
  }

  /** @throws RoomtapError `invalid_params` when a row is no row or takes more than `maxRowBytes` */
  async append(append: Append): Promise<AppendResult> {
    const prepared = prepareAppend(append);
    return this.#commits.run(() => appendRows(this.#tables, prepared, this.#terms()));
  }

  /** @throws RoomtapError `invalid_params` when a text of the post is no Unicode, `text_too_large` when no row can hold it */
  async accept(post: NewPost): Promise<AcceptResult> {
    const prepared = preparePost(post);
    return this.#commits.run(() => acceptPost(this.#tables, prepared, this.#terms()));
  }

  /** @throws RoomtapError `invalid_params` for an id that is none, and for more than `maxRooms` rooms */
  async putRoom(room: RoomContent): Promise<RoomRecord> {
    const id = idSchema.safeParse(room.room_id);
    if (!id.success) throw new RoomtapError("invalid_params", `invalid room_id: ${id.error.message}`);
    // Refuses texts that would come back different.
    canonicalJson(room);
    return this.#commits.run(() => this.#put(room));
  }

  /** Waits for what was asked for, then closes the file and lets other hosts in. */
  override async close(): Promise<void> {
    await this.#commits.close();
    this.#checkpoints.close();
    await super.close();
  }

  // Wall time may be set back between two rows: order is by `seq` alone.
  #terms(): { quota: Quota; now: number } {
    return { quota: this.#quota, now: Math.trunc(this.#clock.now()) };
  }

  #put(room: RoomContent): RoomRecord {
    const { room_id, name, members, roster_digest } = room;
    const { rooms } = this.#tables;
    const present = rooms.room(room_id);
    const revision = (present?.revision ?? 0) + 1;
    if (present === undefined) {
      if (rooms.count() >= limits.maxRooms) {
        throw new RoomtapError("invalid_params", `a database holds at most ${limits.maxRooms} rooms`);
      }
      rooms.insert(room_id, name, Math.trunc(this.#clock.now()));
    } else {
      const before = { name: present.name, members: present.members, roster_digest: present.roster_digest };
      if (canonicalJson(before) === canonicalJson({ name, members, roster_digest })) return present;
      rooms.revise(room_id, name, revision);
    }
    rooms.insertRoster(room_id, revision, members, roster_digest);
    const stored = rooms.room(room_id);
    if (stored === undefined) throw new RoomtapError("internal", `room ${room_id} was stored and is not there`);
    return stored;
  }
}

/**
 * Opens the log of a host; creates the file when there is none. One host at a time: see `openHostDatabase`, whose
 * errors these are.
 */
export async function openSqliteLog(options: OpenOptions & SqliteLogOptions): Promise<SqliteRoomLog> {
  const database = await openHostDatabase(options);
  try {
    return new SqliteRoomLog(database, options);
  } catch (fault) {
    database.close();
    throw logFault(fault, database.file);
  }
}
