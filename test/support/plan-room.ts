import { limits, type Author, type TurnSettled } from "../../core/index.ts";
import {
  emptyState,
  messageId,
  parseMentions,
  parseRoster,
  planNext,
  RoomFold,
  rosterDigest,
  type MemberInput,
  type Plan,
  type PlannedStart,
} from "../../rooms/index.ts";
import type { InboxRow, RoomRecord, StartedRow } from "../../rooms/log.ts";
import { TestLog } from "./logs.ts";

/** Roster entries with these handles, all driven by a scripted runner. */
export function memberInputs(...handles: readonly string[]): readonly MemberInput[] {
  return handles.map((handle) => ({ handle, runner_kind: "scripted" }));
}

/** What a post says besides its text. */
export interface TestPost {
  readonly thread_id?: string;
  readonly author?: Author;
  readonly origin?: string;
  readonly attachments?: readonly string[];
}

/** A room in memory whose inbox does what a log's inbox does, so that plans can be made and carried out. */
export class PlanRoom {
  readonly log: TestLog;
  readonly room: RoomRecord;
  inbox: readonly InboxRow[] = [];
  readonly #fold: RoomFold;
  readonly #open = new Map<string, StartedRow>();
  #posts = 0;

  constructor(members: readonly MemberInput[] = memberInputs("a", "b", "c"), log = new TestLog()) {
    const parsed = parseRoster(members);
    this.log = log;
    this.#fold = new RoomFold(emptyState(log.roomId));
    this.room = {
      room_id: log.roomId,
      name: "Test",
      revision: 1,
      members: parsed,
      roster_digest: rosterDigest(parsed),
      created_at: 0,
    };
  }

  get state() {
    return this.#fold.state();
  }

  /** Accepts a post, whose message id it returns. */
  post(text: string, { thread_id = "main", author, origin, attachments = [] }: TestPost = {}): string {
    const number = ++this.#posts;
    const message_id = messageId(this.log.roomId, { number });
    const { addressed, named } = parseMentions(text, this.room.members);
    const post: InboxRow = {
      room_id: this.log.roomId,
      number,
      message_id,
      thread_id,
      author: author ?? { kind: "person", id: "local" },
      origin: origin ?? null,
      text,
      attachments,
      owed: addressed,
      named,
      row_seq: null,
      after_seq: this.log.rows.length,
      accepted_at: 0,
    };
    this.inbox = [...this.inbox, post];
    return message_id;
  }

  plan(): Plan {
    return planNext({ state: this.state, room: this.room, inbox: this.inbox });
  }

  /** Writes a planned start, and does to the inbox what its transaction does. */
  start({ coordinates, payload, inbox }: PlannedStart): void {
    const row = this.log.add({ kind: "turn.started", coordinates, payload });
    if (row.kind !== "turn.started") throw new TypeError("expected a start");
    this.#fold.apply(row);
    this.#open.set(coordinates.member_id, row);
    const shown = new Set(inbox.map((change) => change.message_id));
    this.inbox = this.inbox
      .map((post) =>
        shown.has(post.message_id)
          ? { ...post, row_seq: post.row_seq ?? row.seq, owed: post.owed.filter((id) => id !== coordinates.member_id) }
          : post,
      )
      .filter((post) => post.owed.length > 0 || !shown.has(post.message_id));
  }

  /** Starts all that may start now, and says who. */
  startAll(): readonly string[] {
    const { starts } = this.plan();
    for (const start of starts) this.start(start);
    return starts.map((start) => start.coordinates.member_id);
  }

  settle(memberId: string, end: Partial<TurnSettled> = {}): void {
    const start = this.#open.get(memberId);
    if (start === undefined) throw new TypeError(`${memberId} has no open turn`);
    this.#open.delete(memberId);
    this.#fold.apply(this.log.settle(start, end));
  }

  /** Plans, starts and settles until nothing is left; `answer` gives the text of each turn. Returns who ran, in order. */
  run(answer: (memberId: string) => string = () => "done"): readonly string[] {
    const ran: string[] = [];
    for (let turn = 0; turn < limits.maxInboxRows; turn++) {
      const started = this.startAll();
      if (started.length === 0) return ran;
      ran.push(...started);
      for (const memberId of started) this.settle(memberId, { status: "completed", text: answer(memberId) });
    }
    throw new RangeError("the plan finds no end");
  }
}
