import { limits, type Author, type TurnSettled, type TurnStarted } from "../../core/index.ts";
import {
  emptyState,
  messageId,
  parseMentions,
  parsePolicy,
  parseRoster,
  planNext,
  RoomFold,
  rosterDigest,
  type FoldState,
  type MemberInput,
  type Plan,
  type PlannedStart,
  type PlanSource,
  type RoomPolicy,
  type ThreadPlan,
} from "../../rooms/index.ts";
import type { InboxRow, RetryRow } from "../../rooms/inbox-row.ts";
import type { StartedRow } from "../../rooms/log-row.ts";
import type { RoomRecord } from "../../rooms/room-record.ts";
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

/** Each post is answered once by everybody it addresses, and that is all. */
const oneRound: Partial<RoomPolicy> = { maxRounds: 1, maxOwedPasses: 0 };

/** A room in memory that keeps what a log engine keeps, so that plans can be made and carried out. */
export class PlanRoom {
  readonly log: TestLog;
  readonly policy: RoomPolicy;
  room: RoomRecord;
  inbox: readonly InboxRow[] = [];
  retries: readonly RetryRow[] = [];
  due: PlanSource["due"] = { passed: [], waiting: [] };
  /** Turn ids of attempts that wait for a person. */
  readonly parked = new Set<string>();
  readonly #fold: RoomFold;
  readonly #open = new Map<string, StartedRow>();
  readonly #startedOf = new Map<string, TurnStarted>();
  #posts = 0;

  constructor(members: readonly MemberInput[] = memberInputs("a", "b", "c"), policy: Partial<RoomPolicy> = oneRound) {
    const parsed = parseRoster(members);
    this.log = new TestLog();
    this.policy = parsePolicy(policy);
    this.#fold = new RoomFold(emptyState(this.log.roomId));
    this.room = {
      room_id: this.log.roomId,
      name: "Test",
      revision: 1,
      members: parsed,
      roster_digest: rosterDigest(parsed),
      created_at: 0,
      paused: [],
      stop: null,
      disbanded_at: null,
    };
  }

  get state(): FoldState {
    return this.#fold.state();
  }

  /** Members with an open attempt. */
  get open(): readonly string[] {
    return [...this.#open.keys()];
  }

  source(): PlanSource {
    const { state, room, inbox, retries, due, policy, parked } = this;
    return { state, room, inbox, retries, due, policy, parked: new Set(parked), startedOf: this.#startedOf };
  }

  plan(): Plan {
    return planNext(this.source());
  }

  /** How a thread stands. */
  thread(threadId = "main"): ThreadPlan | undefined {
    return this.plan().threads.find(({ thread_id }) => thread_id === threadId);
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

  pause(...memberIds: readonly string[]): void {
    this.room = { ...this.room, paused: [...new Set([...this.room.paused, ...memberIds])].sort() };
  }

  resume(...memberIds: readonly string[]): void {
    this.room = { ...this.room, paused: this.room.paused.filter((memberId) => !memberIds.includes(memberId)) };
  }

  /** Closes a post, or all of them; what some row holds already leaves the inbox. */
  withdraw(messageId?: string): void {
    this.inbox = this.inbox
      .map((post) => (messageId === undefined || post.message_id === messageId ? { ...post, owed: [] } : post))
      .filter((post) => post.owed.length > 0 || post.row_seq === null);
  }

  /** Draws the fence, then ends what is open. */
  stop(): void {
    this.room = { ...this.room, stop: { post_number: this.#posts, seq: this.log.rows.length } };
    this.withdraw();
    this.retries = [];
    this.due = { passed: [], waiting: [] };
    for (const memberId of this.open) this.settle(memberId, { status: "cancelled", reason_code: "stopped" });
  }

  /** Asks for one more attempt of the task whose attempt `row` started. */
  retry(row: StartedRow, asked: Partial<RetryRow> = {}): void {
    const { room_id, task_id } = row;
    const execution_generation =
      this.state.tasks.find((task) => task.task_id === task_id)?.execution_generation ?? row.execution_generation;
    const retry: RetryRow = { room_id, task_id, execution_generation, origin: null, cause: "retry", ...asked };
    this.retries = [...this.retries, retry];
  }

  /** Writes a planned start, and does to what waits what its transaction does. */
  start({ coordinates, payload, inbox, retries, due }: PlannedStart): StartedRow {
    const row = this.log.add({ kind: "turn.started", coordinates, payload });
    if (row.kind !== "turn.started") throw new TypeError("expected a start");
    this.#fold.apply(row);
    this.#open.set(coordinates.member_id, row);
    this.#startedOf.set(coordinates.task_id, payload);
    const shown = new Set(inbox.map((change) => change.message_id));
    this.inbox = this.inbox
      .map((post) =>
        shown.has(post.message_id)
          ? { ...post, row_seq: post.row_seq ?? row.seq, owed: post.owed.filter((id) => id !== coordinates.member_id) }
          : post,
      )
      .filter((post) => post.owed.length > 0 || !shown.has(post.message_id));
    const isOver = (taskId: string): boolean => due.take.includes(taskId);
    this.due = {
      passed: this.due.passed.filter((taskId) => !isOver(taskId)),
      waiting: this.due.waiting.filter((taskId) => !isOver(taskId)),
    };
    this.retries = this.retries.filter(
      (retry) =>
        !retries.some(
          (taken) => taken.task_id === retry.task_id && taken.execution_generation === retry.execution_generation,
        ),
    );
    return row;
  }

  /** Starts all that may start now, and says who. */
  startAll(): readonly string[] {
    const { starts } = this.plan();
    for (const start of starts) this.start(start);
    return starts.map((start) => start.coordinates.member_id);
  }

  /** Marks the open attempt of a member as one that waits for a person. */
  park(memberId: string): void {
    this.parked.add(this.#openOf(memberId).turn_id);
  }

  /** Ends the open attempt of a member, whose start it returns. */
  settle(memberId: string, end: Partial<TurnSettled> = {}): StartedRow {
    const start = this.#openOf(memberId);
    this.#open.delete(memberId);
    this.parked.delete(start.turn_id);
    this.#fold.apply(this.log.settle(start, end));
    return start;
  }

  /**
   * Plans, starts and settles until nothing is left; `answer` gives the text of each turn, "" for a pass. Returns who ran,
   * in order.
   */
  run(answer: (memberId: string, payload: TurnStarted) => string = () => "done"): readonly string[] {
    const ran: string[] = [];
    for (let turn = 0; turn < limits.maxInboxRows; turn++) {
      const started = this.startAll();
      if (started.length === 0) return ran;
      ran.push(...started);
      for (const memberId of started) {
        const text = answer(memberId, this.#openOf(memberId).payload);
        this.settle(memberId, text === "" ? { status: "passed", text } : { status: "completed", text });
      }
    }
    throw new RangeError("the plan finds no end");
  }

  #openOf(memberId: string): StartedRow {
    const start = this.#open.get(memberId);
    if (start === undefined) throw new TypeError(`${memberId} has no open turn`);
    return start;
  }
}
