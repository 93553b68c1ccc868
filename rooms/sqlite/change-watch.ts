import {
  createEmitter,
  messageOf,
  RoomtapError,
  type Clock,
  type Emitter,
  type Report,
  type Undo,
} from "../../core/index.ts";
import type { ChangeListener } from "../log.ts";
import type { SqliteDatabase } from "./database.ts";
import { isBusy, logFault } from "./faults.ts";

interface Events extends Record<string, unknown> {
  readonly change: Parameters<ChangeListener>[0];
}

/**
 * Tells listeners of commits: of this connection when it is told of them, of all others by looking at the database's
 * `data_version` at an interval, while anybody listens. SQLite changes that number for commits of others only; now and
 * then also for nothing, which listeners must bear.
 */
export class ChangeWatch {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #report: Report;
  readonly #emitter: Emitter<Events>;
  /** What was there before the first listener came: what was committed later is told to it. */
  #version: unknown;
  #listeners = 0;
  #look: Undo | undefined;
  #failed = false;
  #closed = false;

  constructor(database: SqliteDatabase, options: { clock: Clock; intervalMs: number; report: Report }) {
    this.#database = database;
    this.#clock = options.clock;
    this.#intervalMs = options.intervalMs;
    this.#report = options.report;
    this.#emitter = createEmitter<Events>((fault) =>
      options.report({ code: "handler_threw", message: messageOf(fault), subject: "watch", cause: fault }),
    );
    this.#version = this.#readVersion();
  }

  /** @throws RoomtapError `closed` */
  watch(listener: ChangeListener): Undo {
    if (this.#closed) throw new RoomtapError("closed", `${this.#database.file} was closed`);
    const off = this.#emitter.on("change", listener);
    this.#listeners += 1;
    this.#look ??= this.#clock.after(this.#intervalMs, () => this.#onLook());
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      off();
      this.#listeners -= 1;
      if (this.#listeners === 0) this.#stop();
    };
  }

  /** To be called after each commit of this connection. */
  committed(roomIds: ReadonlySet<string>): void {
    if (roomIds.size > 0) this.#emitter.emit("change", roomIds);
  }

  close(): void {
    this.#closed = true;
    this.#emitter.clear();
    this.#stop();
  }

  #stop(): void {
    this.#look?.();
    this.#look = undefined;
  }

  #onLook(): void {
    this.#look = this.#clock.after(this.#intervalMs, () => this.#onLook());
    const version = this.#readVersion();
    if (version === undefined || version === this.#version) return;
    this.#version = version;
    this.#emitter.emit("change", null);
  }

  /** undefined: it cannot be read for now, and the next look will tell. */
  #readVersion(): unknown {
    try {
      return this.#database.pragma("data_version");
    } catch (fault) {
      if (!isBusy(fault) && !this.#failed) {
        this.#failed = true;
        const { code, message } = logFault(fault, this.#database.file);
        this.#report({ code, message, subject: "watch", cause: fault });
      }
      return undefined;
    }
  }
}
