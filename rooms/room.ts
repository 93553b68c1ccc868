import {
  messageOf,
  RoomtapError,
  type Attempt,
  type Clock,
  type Lane,
  type Report,
  type Runner,
  type Tap,
  type TurnSettled,
} from "../core/index.ts";
import type { Places } from "./admission.ts";
import { AttemptRun } from "./attempt-run.ts";
import type { FoldState } from "./fold-state.ts";
import type { RoomFold } from "./fold.ts";
import { sessionId } from "./ids.ts";
import type { AcceptResult, LogRow, NewPost, RoomLog, RoomRecord, StartedRow } from "./log.ts";
import { Pauses } from "./pauses.ts";
import { planNext, type PlannedStart } from "./plan.ts";
import { preparePostInput, type PostInput, type PostReceipt } from "./post.ts";
import { isPassing, maxRetryMs, RoomWriter } from "./room-writer.ts";
import { transcriptOf, transcriptRows, type Transcript } from "./transcript.ts";

/** What all rooms of a host share. */
export interface HostParts {
  readonly log: RoomLog;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly report: Report;
  readonly places: Places;
  readonly lane: Lane;
  readonly stopGraceMs?: number | undefined;
  /** Something moved: a turn started or ended, or nothing is left to start. */
  readonly onChange: () => void;
}

/** What one room is made of. */
export interface RoomParts {
  readonly record: RoomRecord;
  readonly fold: RoomFold;
  /** Why the room is read-only from the start, or null. */
  readonly damage: RoomtapError | null;
  /** By member id. */
  readonly runners: ReadonlyMap<string, Runner>;
}

/** Kinds of trouble of one room that are told; what goes beyond them is not. */
const maxReported = 256;

/** One room that is driven: posts come in, the plan says who is next, attempts carry it out. */
export class Room {
  readonly #host: HostParts;
  readonly #record: RoomRecord;
  readonly #runners: ReadonlyMap<string, Runner>;
  readonly #pauses: Pauses;
  readonly #writer: RoomWriter;
  readonly #runs = new Set<AttemptRun>();
  readonly #reported = new Set<string>();
  readonly #seek = (): void => this.pump();
  #damage: RoomtapError | null = null;
  #pumping = false;
  #pumpAgain = false;
  /** A start is tried again when a pause is over. */
  #retrying = false;

  constructor(parts: RoomParts, host: HostParts) {
    this.#host = host;
    this.#record = parts.record;
    this.#runners = parts.runners;
    this.#pauses = new Pauses(host.clock);
    const { log } = host;
    this.#writer = new RoomWriter({ roomId: parts.record.room_id, log, fold: parts.fold, pauses: this.#pauses });
    if (parts.damage !== null) this.#becomeReadOnly(parts.damage);
  }

  /** Its name, members and revision. */
  get record(): RoomRecord {
    return this.#record;
  }

  /** Why it is read-only; null while it is not. */
  get damage(): RoomtapError | null {
    return this.#damage;
  }

  /** The folded state after the last row. */
  get state(): FoldState {
    return this.#writer.state;
  }

  /** Attempts that have started and not settled. */
  get runs(): ReadonlySet<AttemptRun> {
    return this.#runs;
  }

  /** Whether a start is being looked for, made, or to be tried again. */
  get isPlanning(): boolean {
    return this.#pumping || this.#retrying;
  }

  /**
   * Accepts a post: when this resolves it is durable, and the turns of those it addresses follow.
   * @throws RoomtapError `invalid_params`, `text_too_large`, `idempotency_conflict`, `inbox_full`, `room_full`, `closed`,
   * `log_corrupt` (the room is read-only), and what the log throws
   */
  async post(input: PostInput): Promise<PostReceipt> {
    if (this.#pauses.closed) throw new RoomtapError("closed", `room ${this.#record.room_id} is closed`);
    if (this.#damage !== null) throw this.#damage;
    const { post, unresolved } = preparePostInput(input, this.#record);
    const result = await this.#accept(post);
    const base = { room_id: post.room_id, thread_id: post.thread_id, unresolved };
    if (result.status === "accepted") {
      this.pump();
      return { ...base, message_id: result.post.message_id, addressed: post.owed, duplicate: false };
    }
    if (result.status === "duplicate") {
      return { ...base, message_id: result.message_id, addressed: post.owed, duplicate: true };
    }
    throw new RoomtapError(result.status, result.message);
  }

  /** Starts what the plan says, as far as there are places; comes back by itself when one is free. */
  pump(): void {
    this.#pumpAgain = true;
    if (!this.#pumping) void this.#pump();
  }

  /** From now on no turn starts and no post is taken. What runs is the caller's to stop. */
  close(): void {
    this.#pauses.close();
  }

  /** Resolves when the steps that were begun are over: a start among them has its attempt then. */
  async idle(): Promise<void> {
    await this.#writer.idle();
  }

  async #accept(post: NewPost): Promise<AcceptResult> {
    try {
      return await this.#host.log.accept(post);
    } catch (fault) {
      if (fault instanceof RoomtapError && fault.code === "log_corrupt") this.#becomeReadOnly(fault);
      throw fault;
    }
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    try {
      while (this.#pumpAgain) {
        this.#pumpAgain = false;
        while (await this.#writer.inOrder(() => this.#startNext()));
      }
    } catch (fault) {
      this.#startFailed(fault);
    } finally {
      this.#pumping = false;
      this.#host.places.decline(this.#seek);
      this.#host.onChange();
    }
  }

  /** Whether a turn started: there may be more then. */
  async #startNext(): Promise<boolean> {
    if (this.#pauses.closed || this.#damage !== null) return false;
    const { log, places } = this.#host;
    const { state } = this.#writer;
    const inbox = await log.inbox(this.#record.room_id);
    const { starts, diagnostics } = planNext({ state, room: this.#record, inbox });
    for (const { code, message } of diagnostics) this.#report(code, message);
    const start = starts.find(({ coordinates }) => this.#runners.has(coordinates.member_id));
    if (start === undefined || !places.take(this.#seek)) return false;
    let started = false;
    try {
      started = await this.#start(start, state);
    } finally {
      if (!started) places.release();
    }
    return started;
  }

  async #start(start: PlannedStart, state: FoldState): Promise<boolean> {
    const transcript = await this.#transcript(start, state);
    const row = await this.#writer.start(start);
    if ("roomFull" in row) {
      this.#report("room_full", row.roomFull);
      return false;
    }
    this.#launch(start, row, transcript);
    return true;
  }

  #launch({ coordinates, payload }: PlannedStart, row: StartedRow, transcript: Transcript): void {
    const { tap, lane, clock, stopGraceMs } = this.#host;
    const { room_id, thread_id, member_id } = coordinates;
    const member = this.#record.members.find((candidate) => candidate.member_id === member_id);
    const runner = this.#runners.get(member_id);
    if (member === undefined || runner === undefined) throw new RoomtapError("internal", `no runner for ${member_id}`);
    const session = sessionId(room_id, thread_id, member_id);
    const attempt = tap.begin(coordinates, session, payload.origin);
    tap.started(attempt, payload, { seq: row.seq, hash: row.hash });
    const { handle, display_name } = member;
    const turn = { member: { member_id, handle, display_name }, session, ...transcript };
    const run = new AttemptRun({ tap, attempt, runner, turn, clock, stopGraceMs });
    this.#runs.add(run);
    // Closed while the row was written: the turn settles, and its runner is not called.
    if (this.#pauses.closed) run.stop("shutdown");
    void lane.run(() => this.#carryOut(run));
  }

  /** Never rejects. */
  async #carryOut(run: AttemptRun): Promise<void> {
    try {
      const payload = await run.run();
      await this.#writer.inOrder(() => this.#settle(run.attempt, payload));
    } catch (fault) {
      this.#settleFailed(run.attempt, fault);
    }
    this.#runs.delete(run);
    run.markDone();
    this.#host.places.release();
    this.pump();
  }

  async #settle(attempt: Attempt, payload: TurnSettled): Promise<void> {
    const { seq, hash } = await this.#writer.settle(attempt.coordinates, payload, ({ code, message }) =>
      this.#report(code, `${message}; what ended is kept and tried again`),
    );
    this.#host.tap.settled(attempt, payload, { seq, hash });
  }

  async #transcript({ payload, coordinates }: PlannedStart, state: FoldState): Promise<Transcript> {
    const thread = state.threads.find(({ thread_id }) => thread_id === coordinates.thread_id);
    const rows = new Map<number, LogRow>();
    for (const seq of transcriptRows({ payload, thread })) {
      const page = await this.#host.log.read(this.#record.room_id, { after_seq: seq - 1, limit: 1 });
      for (const row of page.rows) rows.set(row.seq, row);
    }
    return transcriptOf({ payload, thread, row: (seq) => rows.get(seq), members: this.#record.members });
  }

  #startFailed(fault: unknown): void {
    if (!isPassing(fault)) {
      this.#becomeReadOnly(fault);
      return;
    }
    this.#report(fault.code, `${fault.message}; what waits is tried again`);
    if (this.#retrying || this.#pauses.closed) return;
    this.#retrying = true;
    void this.#pauses.wait(maxRetryMs).then(() => {
      this.#retrying = false;
      this.pump();
    });
  }

  /** Nobody is told that the turn settled; its row is written by the next host. */
  #settleFailed({ coordinates }: Attempt, fault: unknown): void {
    const { turn_id } = coordinates;
    this.#report(
      "settle_lost",
      `turn ${turn_id}: ${messageOf(fault)}; it settles as abandoned at the next start`,
      fault,
    );
    if (!isPassing(fault)) this.#becomeReadOnly(fault);
  }

  /** At the first sign that log and memory do not agree: nothing is repaired by itself. */
  #becomeReadOnly(fault: unknown): void {
    if (this.#damage !== null) return;
    const where = `room ${this.#record.room_id}`;
    this.#damage =
      fault instanceof RoomtapError
        ? fault
        : new RoomtapError("internal", `${where}: ${messageOf(fault)}`, { cause: fault });
    const { code, message, remedy } = this.#damage;
    this.#report(code, `${message}; ${where} takes no posts. ${remedy}`, fault);
  }

  /** Each kind of trouble of a room is told once. */
  #report(code: string, message: string, cause?: unknown): void {
    const key = `${code} ${message}`;
    if (this.#reported.has(key) || this.#reported.size >= maxReported) return;
    this.#reported.add(key);
    this.#host.report({ code, message, subject: this.#record.room_id, cause });
  }
}
