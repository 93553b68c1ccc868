import {
  messageOf,
  RoomtapError,
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
import type { Append, LogRow, RoomLog, RoomRecord, StartedRow } from "./log.ts";
import { planNext, type PlannedStart } from "./plan.ts";
import { preparePostInput, type PostInput, type PostReceipt } from "./post.ts";
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

export interface RoomParts {
  readonly record: RoomRecord;
  readonly fold: RoomFold;
  /** Why the room is read-only from the start, or null. */
  readonly damage: RoomtapError | null;
  /** By member id. */
  readonly runners: ReadonlyMap<string, Runner>;
}

/** Waits between tries to write what the database refused for now: 250 ms, doubling to 5 s. */
const firstRetryMs = 250;
const maxRetryMs = 5_000;

/**
 * One room that is driven: posts come in, the plan says who is next, attempts carry it out. All changes of its log go
 * through one line of steps, so that a plan is still true when its row is appended.
 */
export class Room {
  readonly #host: HostParts;
  readonly #record: RoomRecord;
  readonly #fold: RoomFold;
  readonly #runners: ReadonlyMap<string, Runner>;
  readonly #runs = new Set<AttemptRun>();
  readonly #reported = new Set<string>();
  #damage: RoomtapError | null;
  #closed = false;
  #steps: Promise<unknown> = Promise.resolve();
  #pumping = false;
  #pumpAgain = false;
  /** Ends a wait for the database early. */
  readonly #waits = new Set<() => void>();

  constructor(parts: RoomParts, host: HostParts) {
    this.#host = host;
    this.#record = parts.record;
    this.#fold = parts.fold;
    this.#damage = parts.damage;
    this.#runners = parts.runners;
    if (parts.damage !== null) this.#report(parts.damage.code, `${parts.damage.message}; the room takes no posts`);
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
    return this.#fold.state();
  }

  /** Attempts that have started and not settled. */
  get runs(): ReadonlySet<AttemptRun> {
    return this.#runs;
  }

  /** Whether a start is being looked for or made. */
  get isPlanning(): boolean {
    return this.#pumping;
  }

  /**
   * Accepts a post: when this resolves it is durable, and the turns of those it addresses follow.
   * @throws RoomtapError `invalid_params`, `text_too_large`, `idempotency_conflict`, `inbox_full`, `room_full`,
   * `log_corrupt` (the room is read-only), `closed`, and what the log throws
   */
  async post(input: PostInput): Promise<PostReceipt> {
    if (this.#closed) throw new RoomtapError("closed", `room ${this.#record.room_id} is closed`);
    if (this.#damage !== null) throw this.#damage;
    const { post, unresolved } = preparePostInput(input, this.#record);
    const result = await this.#host.log.accept(post);
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
    this.#closed = true;
    for (const end of this.#waits) end();
  }

  /** Resolves when the steps that were begun are over: a start among them has its attempt then. */
  async idle(): Promise<void> {
    await this.#steps;
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    try {
      while (this.#pumpAgain) {
        this.#pumpAgain = false;
        while (await this.#inOrder(() => this.#startNext()));
      }
    } catch (fault) {
      this.#startFailed(fault);
    } finally {
      this.#pumping = false;
      this.#host.onChange();
    }
  }

  /** Runs `step` when those before it are over. */
  #inOrder<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#steps.then(step);
    this.#steps = result.catch(() => undefined);
    return result;
  }

  async #startNext(): Promise<boolean> {
    if (this.#closed || this.#damage !== null) return false;
    const { log, places } = this.#host;
    const state = this.#fold.state();
    const inbox = await log.inbox(this.#record.room_id);
    const { starts, diagnostics } = planNext({ state, room: this.#record, inbox });
    for (const { code, message } of diagnostics) this.#report(code, message);
    const start = starts.find(({ coordinates }) => this.#runners.has(coordinates.member_id));
    if (start === undefined || !places.take(() => this.pump())) return false;
    let launched = false;
    try {
      launched = await this.#start(start, state);
    } finally {
      if (!launched) places.release();
    }
    return launched;
  }

  async #start(start: PlannedStart, state: FoldState): Promise<boolean> {
    const { coordinates, payload, inbox } = start;
    const transcript = await this.#transcript(start, state);
    const rows = await this.#append({
      room_id: this.#record.room_id,
      rows: [{ kind: "turn.started", coordinates, payload }],
      inbox,
      expected_seq: this.#fold.throughSeq,
    });
    const row = rows?.[0];
    if (row?.kind !== "turn.started") return false;
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
    void lane.run(() => this.#carryOut(run));
  }

  async #carryOut(run: AttemptRun): Promise<void> {
    const payload = await run.run();
    try {
      await this.#inOrder(() => this.#settle(run, payload));
    } catch (fault) {
      this.#report("settle_lost", `${messageOf(fault)}; the turn settles as abandoned at the next start`);
    }
    this.#runs.delete(run);
    run.markDone();
    this.#host.places.release();
    this.pump();
  }

  /** Tries until the row is durable, or the host closes while the database still refuses: nobody was told then. */
  async #settle({ attempt }: AttemptRun, payload: TurnSettled): Promise<void> {
    const { coordinates } = attempt;
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, maxRetryMs)) {
      try {
        const rows = await this.#append({
          room_id: this.#record.room_id,
          rows: [{ kind: "turn.settled", coordinates, payload }],
          inbox: [],
          expected_seq: this.#fold.throughSeq,
        });
        const row = rows?.[0];
        if (row !== undefined) this.#host.tap.settled(attempt, payload, { seq: row.seq, hash: row.hash });
        return;
      } catch (fault) {
        if (!isPassing(fault) || this.#closed) throw fault;
        this.#report(fault.code, `${fault.message}; what ended is kept and tried again`);
        await this.#wait(waitMs);
      }
    }
  }

  /** The appended rows, folded; undefined when the log's answer ends the matter. */
  async #append(append: Append): Promise<readonly LogRow[] | undefined> {
    const result = await this.#host.log.append(append);
    if (result.status === "appended") {
      for (const row of result.rows) this.#fold.apply(row);
      return result.rows;
    }
    if (result.status === "exists") throw new RoomtapError("internal", "a row was appended twice");
    if (result.status === "room_full") {
      this.#report("room_full", result.message);
      return undefined;
    }
    throw new RoomtapError(result.status, result.message);
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
    if (fault instanceof RoomtapError && fault.code === "log_corrupt") {
      this.#damage = fault;
      this.#report(fault.code, `${fault.message}; the room takes no posts`);
    } else if (isPassing(fault)) {
      this.#report(fault.code, `${fault.message}; what waits is tried again`);
      void this.#wait(maxRetryMs).then(() => this.pump());
    } else {
      const error = new RoomtapError("internal", `room ${this.#record.room_id}: ${messageOf(fault)}`, { cause: fault });
      this.#damage = error;
      this.#report(error.code, error.message, fault);
    }
  }

  /** Ends early when the room is closed. */
  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waits.delete(end);
        undo();
        resolve();
      };
      const undo = this.#host.clock.after(ms, end);
      this.#waits.add(end);
    });
  }

  /** Each kind of trouble of a room is told once. */
  #report(code: string, message: string, cause?: unknown): void {
    const key = `${code} ${message}`;
    if (this.#reported.has(key) || this.#reported.size >= 256) return;
    this.#reported.add(key);
    this.#host.report({ code, message, subject: this.#record.room_id, cause });
  }
}

/** Trouble of the database that may go by itself. */
function isPassing(fault: unknown): fault is RoomtapError {
  return fault instanceof RoomtapError && ["log_busy", "log_full", "log_read_only", "log_unavailable"].includes(fault.code);
}
