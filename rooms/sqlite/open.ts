import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { hostDefaults, messageOf, RoomtapError, type Clock } from "../../core/index.ts";
import { connect, SqliteDatabase, type NativeConnection } from "./database.ts";
import { logFault } from "./faults.ts";
import { migrate, refuseNewer, refuseOther } from "./migrations.ts";
import { maxWalBytes } from "./wal-checkpoints.ts";

/** `rmtp` in ASCII: stands in the header of each of our files, so that a file of somebody else is told apart. */
const applicationId = 0x726d7470;

/** Where a database is, and how long a lock on it is borne. */
export interface OpenOptions {
  /** Path of the database, or `:memory:` (hosts only). */
  readonly file: string;
  readonly clock: Clock;
  /** How long a database that somebody else has locked is tried again, in ms. Default 5,000. */
  readonly busyTimeoutMs?: number | undefined;
}

/**
 * Opens the database for a host: creates it when there is none, brings its schema up to date. Several hosts may have it
 * open: who may write a room is said by its lease. A file that is refused is not changed.
 * @throws RoomtapError `log_foreign`, `log_newer_schema`, `log_read_only`, `log_busy`, `log_full`, `log_corrupt`,
 * `log_unavailable`
 */
export async function openHostDatabase(options: OpenOptions): Promise<SqliteDatabase> {
  const inMemory = options.file === ":memory:";
  const path = inMemory ? options.file : realPath(options.file);
  if (!inMemory) {
    refuseUnwritable(path);
    if (sizeOf(path) > 0) (await look(path, options, { connectTo: connectQuietly, judge: refuseNewer })).close();
  }
  let database: SqliteDatabase | undefined;
  try {
    database = assemble(connect(path), path, options, (connection) => {
      // Moves the WAL into the main file while that is cheap; what a reader keeps from it stays in the WAL.
      if (!inMemory) quietly(() => connection.pragma("wal_checkpoint(TRUNCATE)"));
      connection.close();
    });
    await configure(database);
    await migrate(database);
    return database;
  } catch (fault) {
    database?.close();
    throw logFault(fault, path);
  }
}

/**
 * Opens the database to look at it, also while a host lives and after one was killed. Nothing is created for a path
 * that leads nowhere, the main file keeps each byte, no `-wal` or `-shm` file is left that was not there before, and
 * rows that a host commits later are seen.
 * @throws RoomtapError `log_not_found`, `log_foreign`, `log_newer_schema`, `log_older_schema`, `log_busy`, `log_corrupt`,
 * `log_read_only` (the folder cannot be written, and SQLite needs its `-shm` file there), `log_unavailable`
 */
export async function openReadOnlyDatabase(options: OpenOptions): Promise<SqliteDatabase> {
  const path = realPath(options.file);
  if (sizeOf(path) < 0) throw new RoomtapError("log_not_found", `${options.file} does not exist`);
  return look(path, options, { connectTo: connectToLook, judge: refuseOther });
}

interface Looking {
  readonly connectTo: (path: string) => NativeConnection;
  /** Throws when the schema is none to go on with. */
  readonly judge: (version: number, file: string) => void;
}

async function look(path: string, options: OpenOptions, { connectTo, judge }: Looking): Promise<SqliteDatabase> {
  let connection: NativeConnection;
  try {
    connection = connectTo(path);
  } catch (fault) {
    throw logFault(fault, path);
  }
  const database = assemble(connection, path, options, (open) => closeWithoutTrace(open, path));
  try {
    const read = (): unknown[] => [database.pragma("application_id"), database.pragma("user_version")];
    const [mark, version] = await database.attempt(read);
    if (mark !== applicationId) throw new RoomtapError("log_foreign", `${path} is not a roomtap database`);
    judge(Number(version), path);
    return database;
  } catch (fault) {
    database.close();
    throw fault;
  }
}

function assemble(
  connection: NativeConnection,
  file: string,
  options: OpenOptions,
  dispose: (connection: NativeConnection) => void,
): SqliteDatabase {
  const busyTimeoutMs = options.busyTimeoutMs ?? hostDefaults.busyTimeoutMs;
  return new SqliteDatabase({ connection, file, clock: options.clock, busyTimeoutMs, dispose });
}

async function configure(database: SqliteDatabase): Promise<void> {
  const mode = await database.attempt(() => {
    // The first write of a new file: it is ours from its first page on, wherever a kill may cut the rest.
    if (database.pragma("application_id") !== applicationId) database.pragma(`application_id = ${applicationId}`);
    const journal = database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    database.pragma("foreign_keys = ON");
    database.pragma("wal_autocheckpoint = 0");
    // Writing over what is there costs less than making a file longer: so that much is left of it when it begins anew.
    database.pragma(`journal_size_limit = ${maxWalBytes}`);
    return journal;
  });
  if (mode !== "wal" && mode !== "memory") {
    throw new RoomtapError(
      "log_unavailable",
      `${database.file} cannot use a write-ahead log here (got ${String(mode)})`,
    );
  }
}

/**
 * With a WAL in place a read-only connection works, and leaves it as it is. Without one, SQLite would make `-wal` and
 * `-shm` for it and leave them behind; a connection that could write takes them away again when it closes.
 */
function connectToLook(path: string): NativeConnection {
  if (sizeOf(`${path}-wal`) >= 0) return connect(path, { readonly: true });
  const reason = whyNotWritable(dirname(path));
  if (reason !== undefined) {
    const what = `${dirname(path)} cannot be written (${reason}), and reading needs a -shm file there`;
    throw new RoomtapError("log_read_only", `${what}: copy ${basename(path)} to another folder`);
  }
  if (whyNotWritable(path) !== undefined) return connect(path, { readonly: true });
  return connectQuietly(path);
}

/** A connection that could write and does not: other than a read-only one it needs nobody else to keep a WAL in place. */
function connectQuietly(path: string): NativeConnection {
  const connection = connect(path);
  connection.pragma("query_only = ON");
  return connection;
}

/**
 * The connection that closes last decides what stays: one that can write moves the WAL into the main file and removes
 * it, a read-only one leaves all as it is. An empty WAL is to go, one with frames belongs to a host that was killed.
 */
function closeWithoutTrace(connection: NativeConnection, path: string): void {
  const walBytes = sizeOf(`${path}-wal`);
  if (connection.readonly ? walBytes !== 0 : walBytes <= 0) {
    connection.close();
    return;
  }
  const last = quietly(() => {
    const other = connect(path, { readonly: !connection.readonly });
    other.pragma("user_version");
    return other;
  });
  connection.close();
  last?.close();
}

/** Absolute, through symbolic links, so that two names of one file meet at one WAL. */
function realPath(file: string): string {
  const path = resolve(file);
  try {
    return realpathSync(path);
  } catch {
    // No such file: its folder may be there, and be a link.
  }
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}

function refuseUnwritable(path: string): void {
  const folder = dirname(path);
  if (sizeOf(folder) < 0) throw new RoomtapError("log_unavailable", `the folder of ${path} does not exist`);
  const subject = sizeOf(path) >= 0 && whyNotWritable(folder) === undefined ? path : folder;
  const reason = whyNotWritable(subject);
  if (reason !== undefined) throw new RoomtapError("log_read_only", `${subject} cannot be written (${reason})`);
}

/** Why `path` cannot be written (`EACCES`, `EROFS`, ...); undefined when it can. */
function whyNotWritable(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (fault) {
    return fault instanceof Error && "code" in fault ? String(fault.code) : messageOf(fault);
  }
}

/** Bytes of the file; -1 when there is none. Opens nothing. */
function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
  } catch (fault) {
    // A part of the path is a file.
    if (fault instanceof Error && "code" in fault && fault.code === "ENOTDIR") return -1;
    throw logFault(fault, path);
  }
}

/** For steps of closing that may be refused (busy, full, read-only): what they would have done is done at the next open. */
function quietly<Result>(step: () => Result): Result | undefined {
  try {
    return step();
  } catch {
    return undefined;
  }
}
