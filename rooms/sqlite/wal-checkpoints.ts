import { messageOf, type Clock, type Report, type Undo } from "../../core/index.ts";
import type { SqliteDatabase } from "./database.ts";
import { isBusy } from "./faults.ts";

/** With so much in it, the WAL is moved into the main file even while appends go on. Its file is not made shorter. */
export const maxWalBytes = 16 * 1_048_576;

/** Operations between two looks at what is in the WAL: a look costs as much as a statement. */
const operationsPerLook = 16;

/** Beside its page, each frame of the WAL has a header of so many bytes. */
const frameHeaderBytes = 24;

/** Without a commit for so long the log is idle: the WAL is moved and cut to nothing. */
const idleMs = 1_000;

/** The longest wait until an idle log tries again what a reader kept it from. */
const longestIdleMs = 30_000;

/**
 * Moves the WAL into the main file, never within an append: when the log is idle, and in a tick of its own when the WAL
 * holds 16 MiB. A reader that still needs the WAL puts it off until later. Our own readers need it for one call at
 * a time; if somebody else's keeps it until it has twice that size, that is reported, once until it is small again.
 */
export class WalCheckpoints {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #frames;
  readonly #frameBytes: number;
  #idle: Undo | undefined;
  #quiet = true;
  #operations = 0;
  #due = false;
  #isHeld = false;
  #closed = false;

  constructor(database: SqliteDatabase, clock: Clock, report: Report) {
    this.#database = database;
    this.#clock = clock;
    this.#report = report;
    this.#frames = database.prepare<[], [busy: number, frames: number]>("PRAGMA wal_checkpoint(NOOP)").raw();
    this.#frameBytes = Number(database.pragma("page_size")) + frameHeaderBytes;
  }

  /** To be called after each commit. */
  committed(operations: number): void {
    if (this.#closed || this.#database.file === ":memory:") return;
    this.#quiet = false;
    this.#idle ??= this.#clock.after(idleMs, () => this.#onIdle(idleMs));
    this.#operations += operations;
    if (this.#operations < operationsPerLook || this.#due) return;
    this.#operations = 0;
    const bytes = this.#walBytes();
    this.#tellIfHeld(bytes);
    if (bytes < maxWalBytes) return;
    this.#due = true;
    this.#clock.defer(() => {
      this.#due = false;
      this.#run("PASSIVE");
    });
  }

  close(): void {
    this.#closed = true;
    this.#idle?.();
  }

  #onIdle(waitedMs: number): void {
    this.#idle = undefined;
    let waitMs = idleMs;
    if (this.#quiet) {
      if (this.#run("TRUNCATE")) return;
      waitMs = Math.min(waitedMs * 2, longestIdleMs);
    }
    this.#quiet = true;
    this.#idle = this.#clock.after(waitMs, () => this.#onIdle(waitMs));
  }

  /** Whether nothing of it is left to be done. */
  #run(mode: "PASSIVE" | "TRUNCATE"): boolean {
    if (this.#closed) return true;
    try {
      const isBlocked = this.#database.pragma(`wal_checkpoint(${mode})`);
      return isBlocked === 0;
    } catch (fault) {
      // Rows are safe in the WAL; the next checkpoint tries again.
      if (isBusy(fault)) return false;
      this.#report({ code: "checkpoint_failed", message: messageOf(fault), cause: fault });
      return true;
    }
  }

  #tellIfHeld(bytes: number): void {
    const isHeld = bytes >= 2 * maxWalBytes;
    if (isHeld && !this.#isHeld) {
      const message = `${this.#database.file}-wal has ${bytes} bytes: a reader keeps it from being cut`;
      this.#report({ code: "wal_held", message });
    }
    this.#isHeld = isHeld;
  }

  /** Bytes of frames since the WAL was begun anew; its file may be longer. */
  #walBytes(): number {
    try {
      return (this.#frames.get()?.[1] ?? 0) * this.#frameBytes;
    } catch {
      // Somebody moves it right now, or the file is gone, which the next commit tells.
      return 0;
    }
  }
}
