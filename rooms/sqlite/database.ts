import Connection, { type Database, type Statement as NativeStatement } from "better-sqlite3";
import { RoomtapError, type Clock } from "../../core/index.ts";
import { LoopTurns } from "../loop-turns.ts";
import { isBusy, logFault } from "./faults.ts";

/** A connection of better-sqlite3, whose home this file is. */
export type NativeConnection = Database;

/** A prepared statement: what is bound, and the row it gives. */
export type Statement<Bound extends unknown[] = [], Row = unknown> = NativeStatement<Bound, Row>;

/** Waits between two attempts on a busy database, in ms: short at first, because most locks last a few. */
const firstWaitMs = 1;
const longestWaitMs = 25;

/**
 * Opens a connection. It never waits inside SQLite, where a wait would stop the event loop: a lock that is held by
 * somebody else throws SQLITE_BUSY at once, and `SqliteDatabase` tries again.
 * @param path absolute, or `:memory:`
 */
export function connect(path: string, options: { readonly readonly?: boolean } = {}): NativeConnection {
  const readonly = options.readonly ?? false;
  return new Connection(path, { timeout: 0, readonly, fileMustExist: readonly });
}

export interface DatabaseParts {
  readonly connection: NativeConnection;
  /** The path, for messages; `:memory:` has none. */
  readonly file: string;
  readonly clock: Clock;
  readonly busyTimeoutMs: number;
  /** Closes the connection and lets go of what else was opened with it. */
  readonly dispose: (connection: NativeConnection) => void;
}

/** One connection, with all faults coded and a busy database tried again without stopping the event loop. */
export class SqliteDatabase {
  readonly file: string;
  /** For reads that are made in pieces. */
  readonly turns: LoopTurns;
  readonly #connection: NativeConnection;
  readonly #clock: Clock;
  readonly #busyTimeoutMs: number;
  readonly #dispose: (connection: NativeConnection) => void;

  constructor(parts: DatabaseParts) {
    this.file = parts.file;
    this.turns = new LoopTurns(parts.clock);
    this.#connection = parts.connection;
    this.#clock = parts.clock;
    this.#busyTimeoutMs = parts.busyTimeoutMs;
    this.#dispose = parts.dispose;
  }

  prepare<Bound extends unknown[] = [], Row = unknown>(sql: string): Statement<Bound, Row> {
    return this.#connection.prepare<Bound, Row>(sql);
  }

  exec(sql: string): void {
    this.#connection.exec(sql);
  }

  /** The first value that the pragma gives. */
  pragma(text: string): unknown {
    return this.#connection.pragma(text, { simple: true });
  }

  /**
   * Runs `work` in one transaction that holds the write lock from its start, so what it reads stays true until the
   * commit. `work` is synchronous, and is run again from its beginning while the database is busy: it must keep
   * nothing from a run that failed. When it throws, or the commit fails, nothing was written.
   * @throws RoomtapError `log_busy` after `busyTimeoutMs`, `log_full`, `log_read_only`, `log_corrupt`, ...
   */
  transact<Result>(work: () => Result): Promise<Result> {
    return this.attempt(() => this.#transaction("BEGIN IMMEDIATE", work));
  }

  /** Runs `work`, which only reads, so that all it reads is of one instant. Nothing is held when it has returned. */
  snapshot<Result>(work: () => Result): Promise<Result> {
    return this.attempt(() => this.#transaction("BEGIN", work));
  }

  /** Runs `work` without a transaction of its own; coded faults and further attempts as in `transact`. */
  async attempt<Result>(work: () => Result): Promise<Result> {
    const deadline = this.#clock.monotonic() + this.#busyTimeoutMs;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      if (!this.#connection.open) throw new RoomtapError("closed", `${this.file} was closed`);
      try {
        return work();
      } catch (fault) {
        const leftMs = deadline - this.#clock.monotonic();
        if (!isBusy(fault) || leftMs <= 0) throw logFault(fault, this.file);
        await this.#pause(Math.min(waitMs, leftMs));
      }
    }
  }

  /** Safe to call twice. */
  close(): void {
    if (this.#connection.open) this.#dispose(this.#connection);
  }

  #transaction<Result>(begin: string, work: () => Result): Result {
    this.#connection.exec(begin);
    try {
      const result = work();
      this.#connection.exec("COMMIT");
      return result;
    } catch (fault) {
      // After SQLITE_FULL and some I/O errors SQLite has rolled back by itself, and a ROLLBACK would throw.
      if (this.#connection.inTransaction) this.#connection.exec("ROLLBACK");
      throw fault;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }
}
