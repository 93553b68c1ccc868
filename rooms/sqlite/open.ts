import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { hostDefaults, messageOf, RoomtapError, type Clock } from "../../core/index.ts";
import { connect, SqliteDatabase, type NativeConnection } from "./database.ts";
import { isBusy, logFault } from "./faults.ts";
import { migrate, refuseNewer } from "./migrations.ts";

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
 * Opens the database for a host, which alone may write rooms: creates it when there is none, brings its schema up to
 * date. Until it is closed, an exclusive lock on the companion `FILE-host` keeps other hosts out; the kernel drops that
 * lock however the process ends. A file that is refused is not changed.
 * @throws RoomtapError `database_in_use`, `log_foreign`, `log_newer_schema`, `log_read_only`, `log_busy`, `log_full`,
 * `log_corrupt`, `log_unavailable`
 */
export async function openHostDatabase(options: OpenOptions): Promise<SqliteDatabase> {
  const inMemory = options.file === ":memory:";
  const path = inMemory ? options.file : realPath(options.file);
  if (!inMemory) {
    refuseUnwritable(path);
    if (sizeOf(path) > 0) (await openReadOnlyDatabase({ ...options, file: path })).close();
  }
  const unlock = inMemory ? () => undefined : lockHost(path);
  let database: SqliteDatabase | undefined;
  try {
    database = assemble(connect(path), path, options, (connection) => {
      // Moves the WAL into the main file while that is cheap; what a reader keeps from it stays in the WAL.
      if (!inMemory) quietly(() => connection.pragma("wal_checkpoint(TRUNCATE)"));
      connection.close();
      unlock();
    });
    await configure(database);
    await migrate(database);
    return database;
  } catch (fault) {
    if (database === undefined) unlock();
    else database.close();
    throw logFault(fault, path);
  }
}

/**
 * Opens the database to look at it, also while a host lives and after one was killed. Nothing is created for a path
 * that leads nowhere, the main file keeps each byte, no `-wal` or `-shm` file is left that was not there before, and
 * rows that a host commits later are seen.
 * @throws RoomtapError `log_not_found`, `log_foreign`, `log_newer_schema`, `log_busy`, `log_corrupt`, `log_read_only`
 * (the folder cannot be written, and SQLite needs its `-shm` file there), `log_unavailable`
 */
export async function openReadOnlyDatabase(options: OpenOptions): Promise<SqliteDatabase> {
  const path = realPath(options.file);
  if (sizeOf(path) < 0) throw new RoomtapError("log_not_found", `${options.file} does not exist`);
  let connection: NativeConnection;
  try {
    connection = connectToLook(path);
  } catch (fault) {
    throw logFault(fault, path);
  }
  const database = assemble(connection, path, options, (open) => closeWithoutTrace(open, path));
  try {
    const read = (): unknown[] => [database.pragma("application_id"), database.pragma("user_version")];
    const [mark, version] = await database.attempt(read);
    if (mark !== applicationId) throw new RoomtapError("log_foreign", `${path} is not a roomtap database`);
    refuseNewer(Number(version), path);
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
 * Takes the lock that only one host can have. A database of its own, so that readers and their locks never meet it.
 * Nobody may open and close `FILE-host` by other means in this process: POSIX drops a file's locks with any close.
 */
function lockHost(path: string): () => void {
  let connection: NativeConnection | undefined;
  try {
    connection = connect(`${path}-host`);
    // Nothing is ever written there, so there is no need for a journal file beside it.
    connection.pragma("journal_mode = MEMORY");
    connection.exec("BEGIN EXCLUSIVE");
  } catch (fault) {
    connection?.close();
    if (!isBusy(fault)) throw logFault(fault, `${path}-host`);
    throw new RoomtapError("database_in_use", `another host has ${path} open`, { cause: fault });
  }
  const held = connection;
  return () => void held.close();
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

/** Absolute, through symbolic links, so that two names of one file meet at one companion file. */
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
