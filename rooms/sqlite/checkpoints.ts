import { statSync } from "node:fs";
import { messageOf, type Clock, type Report, type Undo } from "../../core/index.ts";
import type { SqliteDatabase } from "./database.ts";
import { isBusy } from "./faults.ts";

/** Above this size the WAL is moved into the main file even while appends go on. Bytes. */
const maxWalBytes = 16 * 1_048_576;

/** Commits between two looks at the size of the WAL: a look costs as much as some statements. */
const commitsPerLook = 16;

/** Without a commit for so long the log is idle: the WAL is moved and cut to nothing. */
const idleMs = 1_000;

/**
 * Moves the WAL into the main file, never within an append: when the log is idle, and in a tick of its own when the WAL
 * has grown to 16 MiB. A reader that still needs the WAL puts it off until later.
 */
export class Checkpoints {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #report: Report;
  #idle: Undo | undefined;
  #quiet = true;
  #commits = 0;
  #due = false;
  #closed = false;

  constructor(database: SqliteDatabase, clock: Clock, report: Report) {
    this.#database = database;
    this.#clock = clock;
    this.#report = report;
  }

  /** To be called after each commit. */
  committed(): void {
    if (this.#closed || this.#database.file === ":memory:") return;
    this.#quiet = false;
    this.#idle ??= this.#clock.after(idleMs, () => this.#onIdle());
    this.#commits += 1;
    if (this.#commits % commitsPerLook === 0 && !this.#due && this.#walBytes() >= maxWalBytes) {
      this.#due = true;
      this.#clock.defer(() => {
        this.#due = false;
        this.#run("PASSIVE");
      });
    }
  }

  close(): void {
    this.#closed = true;
    this.#idle?.();
  }

  #onIdle(): void {
    this.#idle = undefined;
    if (this.#quiet) {
      this.#run("TRUNCATE");
    } else {
      this.#quiet = true;
      this.#idle = this.#clock.after(idleMs, () => this.#onIdle());
    }
  }

  #run(mode: "PASSIVE" | "TRUNCATE"): void {
    if (this.#closed) return;
    try {
      this.#database.pragma(`wal_checkpoint(${mode})`);
    } catch (fault) {
      // Rows are safe in the WAL; the next checkpoint tries again.
      if (!isBusy(fault)) this.#report({ code: "checkpoint_failed", message: messageOf(fault), cause: fault });
    }
  }

  #walBytes(): number {
    try {
      return statSync(`${this.#database.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    } catch {
      // The folder cannot be read any more: the next commit tells.
      return 0;
    }
  }
}
