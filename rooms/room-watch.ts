import {
  createEmitter,
  isPassing,
  limits,
  messageOf,
  RoomtapError,
  type Emitter,
  type MemberEntry,
  type Undo,
} from "../core/index.ts";
import type { InboxRow } from "./inbox-row.ts";
import { maskedRow } from "./masked-row.ts";
import { changedEntries } from "./member-states.ts";
import { changedMessages, messagesOfRow, type RoomChange, type RoomMessage } from "./room-change.ts";
import type { RoomDrive } from "./room-drive.ts";
import type { RoomLook } from "./room-look.ts";
import type { RoomView } from "./room-view.ts";
import { maxRetryMs } from "./room-writer.ts";
import type { HostParts } from "./tenure-parts.ts";

/** Rows read in one go: they are masked before they are told. */
const rowsAtOnce = 16;

/** What those who watch have been told of. */
interface Told {
  members: readonly MemberEntry[];
  /** By message id. */
  posts: ReadonlyMap<string, InboxRow>;
  throughSeq: number;
  /** Posts of the rows since the last look. */
  carried: readonly RoomMessage[];
  /** Ids of posts that left by rows behind `throughSeq`: when these are told, nothing more is to be told of them. */
  gone: ReadonlySet<string>;
}

interface Events extends Record<string, unknown> {
  readonly change: RoomChange;
}

/**
 * Tells those who watch a room what changed in it. Whoever changes something touches it; then it looks, once for all
 * watchers and for all touches that came meanwhile, and tells how the room differs from what was told before. So nobody
 * polls, nothing is told twice, and while nobody watches nothing is looked at.
 */
export class RoomWatch {
  readonly #roomId: string;
  readonly #view: RoomView;
  readonly #drive: RoomDrive;
  readonly #host: HostParts;
  readonly #events: Emitter<Events>;
  #watchers = 0;
  /** null while nobody watches. */
  #told: Told | null = null;
  #beginning: Promise<void> | null = null;
  #isLooking = false;
  #isTouched = false;

  constructor(roomId: string, parts: { view: RoomView; drive: RoomDrive; host: HostParts }) {
    const { view, drive, host } = parts;
    this.#roomId = roomId;
    this.#view = view;
    this.#drive = drive;
    this.#host = host;
    this.#events = createEmitter((fault) =>
      host.report({ code: "handler_threw", message: messageOf(fault), subject: roomId, cause: fault }),
    );
  }

  /** As `Room.watch`. */
  async watch(listener: (change: RoomChange) => void): Promise<Undo> {
    const off = this.#events.on("change", listener);
    this.#watchers += 1;
    let isOver = false;
    const undo = (): void => {
      if (isOver) return;
      isOver = true;
      off();
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#told = null;
    };
    try {
      // Begun for somebody who left meanwhile, it is begun anew.
      while (this.#told === null) await this.#begin();
    } catch (fault) {
      undo();
      throw fault;
    }
    return undo;
  }

  /** Something may have changed. Costs next to nothing, and nothing while nobody watches. */
  touch(): void {
    if (this.#watchers === 0) return;
    this.#isTouched = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    void this.#lookOn().finally(() => {
      this.#isLooking = false;
      // Touched while the last look was ending.
      if (this.#isTouched) this.touch();
    });
  }

  /** What was before the first watcher came is told to nobody. */
  #begin(): Promise<void> {
    if (this.#told !== null) return Promise.resolve();
    return (this.#beginning ??= this.#view
      .look((look) => {
        if (this.#watchers > 0)
          this.#told = { ...this.#read(look), throughSeq: look.state.through_seq, carried: [], gone: new Set() };
      })
      .finally(() => {
        this.#beginning = null;
      }));
  }

  /** Never rejects. */
  async #lookOn(): Promise<void> {
    while (this.#isTouched) {
      await this.#host.turns.next();
      this.#isTouched = false;
      if (this.#watchers === 0) return;
      try {
        await this.#tellChanges();
      } catch (fault) {
        if (!(await this.#isToGoOn(fault))) return;
        this.#isTouched = true;
      }
    }
  }

  async #isToGoOn(fault: unknown): Promise<boolean> {
    const { pauses } = this.#drive;
    if (pauses.closed) return false;
    const code = fault instanceof RoomtapError ? fault.code : "internal";
    this.#drive.report(code, `those who watch it are not told: ${messageOf(fault)}`, fault);
    if (!isPassing(fault)) return false;
    await pauses.wait(maxRetryMs);
    return !pauses.closed;
  }

  async #tellChanges(): Promise<void> {
    await this.#begin();
    const told = this.#told;
    if (told === null) return;
    await this.#tellRows(told);
    await this.#view.look((look) => this.#tellLook(told, look));
  }

  async #tellRows(told: Told): Promise<void> {
    const { log, tap, turns } = this.#host;
    for (let isMore = true; isMore && told === this.#told;) {
      const page = await log.read(this.#roomId, { after_seq: told.throughSeq, limit: rowsAtOnce });
      for (const row of page.rows) {
        told.throughSeq = row.seq;
        // As many as the inbox holds: only while no look succeeds more of them may come.
        told.carried = [...told.carried, ...messagesOfRow(row)].slice(-limits.maxInboxRows);
        this.#events.emit("change", { type: "room.log", row: maskedRow(row, tap) });
      }
      isMore = page.has_more;
      if (isMore) await turns.next();
    }
  }

  /** Within the look: whoever takes a snapshot later is told nothing older than that. */
  #tellLook(told: Told, look: RoomLook): void {
    if (told !== this.#told) return;
    const { members, posts } = this.#read(look);
    const carried = told.carried.filter(({ message_id }) => !told.gone.has(message_id));
    for (const message of changedMessages(told.posts, posts, carried)) {
      this.#events.emit("change", { type: "room.message", message: this.#masked(message) });
    }
    for (const member of changedEntries(told.members, members)) {
      this.#events.emit("change", { type: "room.member", member });
    }
    // Rows may have come between those that were told and this look.
    const isBehind = told.throughSeq < look.state.through_seq;
    const left = [...told.posts.keys()].filter((messageId) => !posts.has(messageId));
    told.gone = isBehind ? new Set([...told.gone, ...left]) : new Set();
    Object.assign(told, { members, posts, carried: [] });
  }

  #masked({ author, ...message }: RoomMessage): RoomMessage {
    const { tap } = this.#host;
    const { display_name } = author;
    const known = display_name === undefined ? author : { ...author, display_name: tap.clean(display_name) };
    return { ...message, author: known, text: tap.clean(message.text) };
  }

  #read(look: RoomLook): Pick<Told, "members" | "posts"> {
    const posts = new Map(look.input.inbox.map((post) => [post.message_id, post]));
    return { members: this.#view.members(look), posts };
  }
}
