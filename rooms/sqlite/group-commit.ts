import { RoomtapError, type Clock, type ErrorCode } from "../../core/index.ts";
import type { SqliteDatabase } from "./database.ts";

/** Operations in one transaction. More than these give way to the event loop before the next ones. */
const maxGroup = 256;

/** Faults of the database as a whole: no operation of the group would do better by itself. */
const sharedFaults: ReadonlySet<ErrorCode> = new Set(["log_busy", "log_full", "log_read_only", "closed"]);

interface Operation {
  /** The room that it is about, if it is about one. */
  readonly roomId: string | undefined;
  /** Synchronous; a refusal is its value. May run more than once, each time in a new transaction. */
  readonly run: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (fault: unknown) => void;
}

/** What a commit may have changed. */
export interface Commit {
  readonly operations: number;
  readonly roomIds: ReadonlySet<string>;
}

/**
 * Commits together what is asked for within one tick of the event loop. Each operation decides by itself: its refusal
 * is a value. One that throws has its group rolled back, and then each of them runs alone, so that the fault meets only
 * its owner. Promises settle in the order of the calls, after the commit.
 */
export class GroupCommit {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #committed: (commit: Commit) => void;
  #waiting: Operation[] = [];
  #pump: Promise<void> | undefined;
  #closed = false;

  /** @param committed told after each commit */
  constructor(database: SqliteDatabase, clock: Clock, committed: (commit: Commit) => void) {
    this.#database = database;
    this.#clock = clock;
    this.#committed = committed;
  }

  /**
   * @param roomId of the room it is about: those who watch are told
   * @throws RoomtapError `closed`, and the coded fault of a failed commit, of which nothing was written
   */
  run<Result>(run: () => Result, roomId?: string): Promise<Result> {
    if (this.#closed) return Promise.reject(new RoomtapError("closed", `${this.#database.file} was closed`));
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ run, roomId, resolve, reject });
      this.#pump ??= this.#commitAll();
    });
  }

  /** Takes nothing more; resolves when all that was asked for has been committed or refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#pump;
  }

  async #commitAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => this.#clock.defer(resolve));
      const group = this.#waiting.splice(0, maxGroup);
      await this.#commit(group);
    }
    this.#pump = undefined;
  }

  async #commit(group: readonly Operation[]): Promise<void> {
    let values: unknown[];
    try {
      values = await this.#database.transact(() => group.map((operation) => operation.run()));
    } catch (fault) {
      if (group.length > 1 && !(fault instanceof RoomtapError && sharedFaults.has(fault.code))) {
        for (const operation of group) await this.#commit([operation]);
      } else {
        for (const operation of group) operation.reject(fault);
      }
      return;
    }
    group.forEach((operation, index) => operation.resolve(values[index] as never));
    const roomIds = new Set(group.flatMap(({ roomId }) => (roomId === undefined ? [] : [roomId])));
    this.#committed({ operations: group.length, roomIds });
  }
}
