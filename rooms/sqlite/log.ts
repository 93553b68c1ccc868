import { hostDefaults, idSchema, RoomtapError, type Clock, type Report, type Undo } from "../../core/index.ts";
import { canonicalJson } from "../canonical-json.ts";
import type { AcceptResult, NewPost } from "../inbox-row.ts";
import type { LeaseRow } from "../lease-row.ts";
import type { Append, AppendResult, ChangeListener, RoomLog } from "../log.ts";
import { problemText } from "../problem-text.ts";
import { acceptPost, preparePost } from "./accept.ts";
import { appendRows, prepareAppend } from "./append.ts";
import { ChangeWatch } from "./change-watch.ts";
import { closePost, disbandRoom, putCheckpoint, putRetry, setPaused, stopRoom } from "./changes.ts";
import type { SqliteDatabase } from "./database.ts";
import { logFault } from "./faults.ts";
import { GroupCommit } from "./group-commit.ts";
import { SqliteNamedValues } from "./named-values.ts";
import { openHostDatabase, type OpenOptions } from "./open.ts";
import { putRoom, type PutRoomResult, type RoomContent } from "./put-room.ts";
import { defaultQuota, type Quota } from "./quota.ts";
import { SqliteLogReader } from "./reader.ts";
import { renameRoom } from "./rename-room.ts";
import { defaultSessionQuota, type SessionQuota } from "./put-session.ts";
import { SqliteSessionStore } from "./sessions.ts";
import { prepareTables, type Tables } from "./tables.ts";
import { WalCheckpoints } from "./wal-checkpoints.ts";

/** How a log on SQLite is opened. */
export interface SqliteLogOptions {
  readonly clock: Clock;
  /**
   * Told what nobody awaits: a checkpoint of the WAL that failed, a WAL that a reader of somebody else keeps large, a
   * listener that threw. Default: nobody is told.
   */
  readonly report?: Report | undefined;
  /** What each room may take, smaller than the default for tests and small machines. */
  readonly quota?: Quota | undefined;
  /** What ordinary sessions may take, smaller than the default for tests and small machines. */
  readonly sessionQuota?: SessionQuota | undefined;
  /** How often a watched log looks for commits of other processes, in ms. Default 250. */
  readonly watchIntervalMs?: number | undefined;
}

/** What is given to one of the methods. */
type Given<Method extends keyof RoomLog> = Parameters<RoomLog[Method]>[0];

/**
 * The room log of a host, on SQLite. All that is asked for within one tick of the event loop is one commit. Nothing is
 * kept in memory between calls: what a call sees is what the file holds, so several hosts may have one file open.
 */
export class SqliteRoomLog extends SqliteLogReader implements RoomLog {
  /** Ordinary sessions, in the same file, written by the same hand; closed with the log. */
  readonly sessions: SqliteSessionStore;
  /** What plugins store, in the same file, written by the same hand. */
  readonly values: SqliteNamedValues;
  readonly #clock: Clock;
  readonly #quota: Quota;
  readonly #tables: Tables;
  readonly #walCheckpoints: WalCheckpoints;
  readonly #changes: ChangeWatch;
  readonly #commits: GroupCommit;

  /** @param database from `openHostDatabase`; it is closed with the log */
  constructor(database: SqliteDatabase, options: SqliteLogOptions) {
    const tables = prepareTables(database);
    super(database, tables);
    const { clock, report = () => undefined, watchIntervalMs: intervalMs = hostDefaults.watchIntervalMs } = options;
    this.#clock = clock;
    this.#quota = options.quota ?? defaultQuota;
    this.#tables = tables;
    this.#walCheckpoints = new WalCheckpoints(database, clock, report);
    this.#changes = new ChangeWatch(database, { clock, intervalMs, report });
    this.#commits = new GroupCommit(database, clock, ({ operations, roomIds }) => {
      this.#walCheckpoints.committed(operations);
      this.#changes.committed(roomIds);
    });
    const parts = { database, tables, commits: this.#commits, report };
    this.sessions = new SqliteSessionStore({ ...parts, quota: options.sessionQuota ?? defaultSessionQuota });
    this.values = new SqliteNamedValues({ database, table: tables.namedValues, commits: this.#commits });
  }

  /** @throws RoomtapError `invalid_params` when a row is no row or takes more than `maxRowBytes` */
  async append(append: Append): Promise<AppendResult> {
    const prepared = prepareAppend(append);
    return this.#commits.run(() => appendRows(this.#tables, prepared, this.#terms()), append.room_id);
  }

  /** @throws RoomtapError `invalid_params` when a text of the post is no Unicode, `text_too_large` when no row can hold it */
  async accept(post: NewPost): Promise<AcceptResult> {
    const prepared = preparePost(post);
    return this.#commits.run(() => acceptPost(this.#tables, prepared, this.#terms()), post.room_id);
  }

  /** @throws RoomtapError `invalid_params` for an id that is none */
  async putRoom(room: RoomContent): Promise<PutRoomResult> {
    const id = idSchema.safeParse(room.room_id);
    if (!id.success) throw new RoomtapError("invalid_params", `room_id: ${problemText(id.error)}`);
    refuseBadText({ name: room.name, members: room.members, roster_digest: room.roster_digest });
    return this.#commits.run(() => putRoom(this.#tables, room, this.#now()), room.room_id);
  }

  async rename(rename: Given<"rename">) {
    refuseBadText([rename.event_id, rename.name]);
    return this.#commits.run(() => renameRoom(this.#tables, rename, this.#now()), rename.room_id);
  }

  async stop(stop: Given<"stop">) {
    refuseBadText(stop.cancel_id);
    return this.#commits.run(() => stopRoom(this.#tables, stop), stop.room_id);
  }

  async closePost(post: Given<"closePost">) {
    return this.#commits.run(() => closePost(this.#tables, post), post.room_id);
  }

  async setPaused(pause: Given<"setPaused">) {
    return this.#commits.run(() => setPaused(this.#tables, pause), pause.room_id);
  }

  async putRetry(retry: Given<"putRetry">) {
    refuseBadText(retry.origin);
    return this.#commits.run(() => putRetry(this.#tables, retry), retry.room_id);
  }

  async disband(room: Given<"disband">) {
    return this.#commits.run(() => disbandRoom(this.#tables, room, this.#now()), room.room_id);
  }

  /** Tells nobody who watches: it is a cache. */
  async putCheckpoint(checkpoint: Given<"putCheckpoint">) {
    return this.#commits.run(() => putCheckpoint(this.#tables, checkpoint));
  }

  async claimLease(claim: Given<"claimLease">) {
    return this.#commits.run(() => this.#claim(claim), claim.seen.room_id);
  }

  /** Tells nobody who watches here: nothing changed hands. */
  async renewLeases(held: Given<"renewLeases">, holder: string): Promise<readonly string[]> {
    const isLost = (lease: (typeof held)[number]): boolean =>
      !this.#tables.leases.renew(lease.room_id, lease.generation, holder);
    return this.#commits.run(() => held.filter(isLost).map(({ room_id }) => room_id));
  }

  async releaseLease(roomId: string, generation: number, holder: string): Promise<boolean> {
    return this.#commits.run(() => this.#tables.leases.release(roomId, generation, holder), roomId);
  }

  watch(listener: ChangeListener): Undo {
    return this.#changes.watch(listener);
  }

  /** Waits for what was asked for, then closes the file. Leases stay as they are. */
  override async close(): Promise<void> {
    await this.#commits.close();
    this.#walCheckpoints.close();
    this.#changes.close();
    await super.close();
  }

  // Wall time may be set back between two rows: order is by `seq` alone.
  #now(): number {
    return Math.trunc(this.#clock.now());
  }

  #terms(): { quota: Quota; now: number } {
    return { quota: this.#quota, now: this.#now() };
  }

  #claim({ seen, holder, process }: Given<"claimLease">): { status: "claimed" | "changed"; lease: LeaseRow } {
    const { leases, rooms } = this.#tables;
    const { room_id } = seen;
    if (rooms.state(room_id) === undefined) throw new RoomtapError("unknown_room", `there is no room ${room_id}`);
    const present = leases.lease(room_id);
    if (present.generation !== seen.generation || present.renewal !== seen.renewal) {
      return { status: "changed", lease: present };
    }
    leases.claim({ room_id, generation: present.generation + 1, holder, process });
    return { status: "claimed", lease: leases.lease(room_id) };
  }
}

/** Refuses texts that would come back different. */
function refuseBadText(value: unknown): void {
  canonicalJson(value);
}

/** Opens the log of a host; creates the file when there is none. Errors as in `openHostDatabase`. */
export async function openSqliteLog(options: OpenOptions & SqliteLogOptions): Promise<SqliteRoomLog> {
  const database = await openHostDatabase(options);
  try {
    return new SqliteRoomLog(database, options);
  } catch (fault) {
    database.close();
    throw logFault(fault, database.file);
  }
}
