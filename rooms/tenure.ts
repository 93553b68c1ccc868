import {
  messageOf,
  RoomtapError,
  type Attempt,
  type Clock,
  type Coordinates,
  type Lane,
  type Report,
  type Runner,
  type Tap,
  type TurnSettled,
  type Undo,
} from "../core/index.ts";
import type { Place, Places } from "./admission.ts";
import { AttemptRun } from "./attempt-run.ts";
import { toStored } from "./checkpoint.ts";
import { dueTasks, type DueTasks } from "./due-tasks.ts";
import { sessionId } from "./ids.ts";
import type { LoadedRoom } from "./load-room.ts";
import type { PlanInput, RoomLog, StartedRow } from "./log.ts";
import { Pauses } from "./pauses.ts";
import { planNext, type Plan, type PlannedStart } from "./plan.ts";
import type { RoomPolicy } from "./policy.ts";
import { dueAfter } from "./retryable.ts";
import { isLost, isPassing, maxRetryMs, RoomWriter, type JudgedEnd } from "./room-writer.ts";
import { isSuperseded } from "./supersede.ts";
import type { Transcript } from "./transcript.ts";
import { readStarts, readTranscript, type RowSource } from "./turn-rows.ts";

/** What a host tried to write in rooms that were not its own any more. None of it changed anything. */
export interface StaleWrites {
  /** Ends of attempts. */
  settles: number;
  /** Stops, pauses, retries, rosters, and what else is asked for by a call. */
  changes: number;
}

/** What all rooms of a host share. */
export interface HostParts {
  readonly log: RoomLog;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly report: Report;
  readonly places: Places;
  readonly lane: Lane;
  readonly stopGraceMs?: number | undefined;
  readonly turnDeadlineMs?: number | undefined;
  readonly refused: StaleWrites;
  /** Something moved: a turn started, ended or began to wait, or nothing is left to start. */
  readonly onChange: () => void;
}

/** What one tenure is made of. */
export interface TenureParts {
  readonly roomId: string;
  readonly leaseGeneration: number;
  /** The room as recovery left it. */
  readonly loaded: LoadedRoom;
  readonly policy: RoomPolicy;
  /** By member id; may change with the roster. */
  readonly runners: () => ReadonlyMap<string, Runner>;
  /** A write was refused because the lease is somebody else's. */
  readonly onLost: () => void;
  /** The log and memory do not agree: nothing more is written. */
  readonly onDamage: (fault: unknown) => void;
  /** Tells trouble of the room, each kind once. */
  readonly report: (code: string, message: string, cause?: unknown) => void;
}

/** Rows after which the folded state is stored, so that the next start reads only what follows. */
const rowsPerCheckpoint = 256;

/**
 * The driving of one room under one lease: it carries out what the plan says and decides nothing. When the lease is lost
 * or given back, it is over, and the next tenure begins with what the log says.
 */
export class Tenure {
  readonly writer: RoomWriter;
  readonly #host: HostParts;
  readonly #parts: TenureParts;
  readonly #pauses: Pauses;
  readonly #runs = new Set<AttemptRun>();
  readonly #rows: RowSource;
  #pumping: Promise<void> | null = null;
  #pumpAgain = false;
  /** A start is tried again when a pause is over. */
  #retrying = false;
  /** Set when nothing may be written any more. */
  #isOver = false;
  #stopDueTimer: Undo | null = null;
  #checkpointed: number;
  /** The database took no settle until the room was closed: it is not asked for less. */
  #gaveUp = false;

  constructor(parts: TenureParts, host: HostParts) {
    this.#host = host;
    this.#parts = parts;
    this.#pauses = new Pauses(host.clock);
    const { roomId, leaseGeneration, loaded } = parts;
    const { fold, logHash, checkpoint } = loaded;
    this.#rows = { log: host.log, roomId };
    this.#checkpointed = "through_seq" in checkpoint ? checkpoint.through_seq : 0;
    this.writer = new RoomWriter({ roomId, leaseGeneration, log: host.log, fold, logHash, pauses: this.#pauses });
  }

  get leaseGeneration(): number {
    return this.#parts.leaseGeneration;
  }

  /** Attempts that have started and not settled. */
  get runs(): ReadonlySet<AttemptRun> {
    return this.#runs;
  }

  /** Whether a start is being looked for or made, is to be tried again, or will be due. */
  get isPlanning(): boolean {
    return this.#pumping !== null || this.#retrying || this.#stopDueTimer !== null;
  }

  /** Starts what the plan says, as far as there are places. Resolves when there is nothing to start now. */
  pump(): Promise<void> {
    this.#pumpAgain = true;
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = null;
      // Asked for while the last look was ending.
      if (this.#pumpAgain && !this.#isStopped) void this.pump();
      this.#host.onChange();
    });
    return this.#pumping;
  }

  /** What the plan says now, without starting anything. */
  async look(): Promise<{ readonly input: PlanInput; readonly plan: Plan; readonly dueWaiting: readonly string[] }> {
    const input = await this.#input();
    const { plan, due } = await this.#planOf(input);
    return { input, plan, dueWaiting: due.waiting };
  }

  /** From now on no turn starts. What runs is the caller's to stop. */
  close(): void {
    this.#pauses.close();
    this.#stopDueTimer?.();
    this.#stopDueTimer = null;
    this.#host.places.withdraw(this.#parts.roomId);
  }

  /** The lease is lost: what runs is stopped, its frames are late, and nothing of it is written. */
  end(): void {
    this.#isOver = true;
    this.close();
    for (const run of this.#runs) run.fence();
  }

  /** Stores the folded state, if rows have come since it was. It is a cache: what hinders it is told and harms nothing. */
  async storeCheckpoint(): Promise<void> {
    const { state, logHash, fence } = this.writer;
    if (this.#isOver || this.#gaveUp || state.through_seq === this.#checkpointed) return;
    this.#checkpointed = state.through_seq;
    try {
      const { status } = await this.#host.log.putCheckpoint({ ...toStored(state, logHash), ...fence });
      if (status === "lease_lost") this.#parts.onLost();
    } catch (fault) {
      const code = fault instanceof RoomtapError ? fault.code : "internal";
      this.#parts.report(code, `its checkpoint was not stored: ${messageOf(fault)}`, fault);
    }
  }

  get #isStopped(): boolean {
    return this.#isOver || this.#pauses.closed;
  }

  async #pump(): Promise<void> {
    try {
      while (this.#pumpAgain) {
        this.#pumpAgain = false;
        while (await this.writer.inOrder(() => this.#startNext()));
      }
    } catch (fault) {
      this.#startFailed(fault);
    }
  }

  async #input(): Promise<PlanInput> {
    const { roomId } = this.#parts;
    const input = await this.#host.log.planInput(roomId);
    if (input === undefined) throw new RoomtapError("unknown_room", `room ${roomId} is not in the database any more`);
    return input;
  }

  async #planOf(input: PlanInput): Promise<{ readonly plan: Plan; readonly due: DueTasks }> {
    const { room, inbox, retries } = input;
    const { state } = this.writer;
    const due = dueTasks(input.due, this.#host.clock.now());
    const startedOf = await readStarts(this.#rows, state, [...retries.map(({ task_id }) => task_id), ...due.passed]);
    const parked = new Set([...this.#runs].flatMap((run) => (run.isParked ? run.attempt.coordinates.turn_id : [])));
    const plan = planNext({ state, room, inbox, retries, due, policy: this.#parts.policy, parked, startedOf });
    return { plan, due };
  }

  /** Whether a turn started: there may be more then. */
  async #startNext(): Promise<boolean> {
    if (this.#isStopped) return false;
    const { places } = this.#host;
    const { roomId, runners } = this.#parts;
    const input = await this.#input();
    const { plan, due } = await this.#planOf(input);
    // Closed, or lost, while the log was read: a new tenure may stand in line for this room already.
    if (this.#isStopped) return false;
    for (const { code, message } of plan.diagnostics) this.#parts.report(code, message);
    this.#armDueTimer(due.nextInMs);
    const start = plan.starts.find(({ coordinates }) => runners().has(coordinates.member_id));
    if (start === undefined) {
      places.withdraw(roomId);
      return false;
    }
    const place = places.enter(roomId, () => this.pump());
    if (place === undefined) return false;
    try {
      return await this.#start(start, input, place);
    } catch (fault) {
      place.leave();
      throw fault;
    }
  }

  async #start(start: PlannedStart, { room }: PlanInput, place: Place): Promise<boolean> {
    const transcript = await readTranscript(this.#rows, start, this.writer.state, room.members);
    const row = await this.writer.start(start);
    if ("roomFull" in row) {
      place.leave();
      this.#parts.report("room_full", row.roomFull);
      return false;
    }
    if (this.#isOver) {
      // Lost while the row was written: whoever has the room now settles it.
      place.leave();
      return false;
    }
    const member = room.members.find(({ member_id }) => member_id === start.coordinates.member_id);
    const runner = this.#parts.runners().get(start.coordinates.member_id);
    if (member === undefined || runner === undefined) {
      throw new RoomtapError("internal", `no runner for ${start.coordinates.member_id}`);
    }
    const { member_id, handle, display_name } = member;
    this.#launch(start, row, { runner, member: { member_id, handle, display_name }, transcript, place });
    return true;
  }

  #launch(
    { coordinates, payload }: PlannedStart,
    row: StartedRow,
    {
      runner,
      member,
      transcript,
      place,
    }: Pick<ConstructorParameters<typeof AttemptRun>[0], "runner" | "place"> & {
      readonly member: { readonly member_id: string; readonly handle: string; readonly display_name: string };
      readonly transcript: Transcript;
    },
  ): void {
    const { tap, clock, stopGraceMs, turnDeadlineMs, onChange } = this.#host;
    const session = sessionId(coordinates.room_id, coordinates.thread_id, coordinates.member_id);
    const attempt = tap.begin(coordinates, session, payload.origin);
    tap.started(attempt, payload, { seq: row.seq, hash: row.hash });
    const turn = { member, session, ...transcript };
    const changed = (): void => {
      onChange();
      // A parked turn may let a newer post go on without it.
      if (run.isParked) void this.pump();
    };
    const run = new AttemptRun({
      tap,
      attempt,
      runner,
      turn,
      clock,
      place,
      stopGraceMs,
      turnDeadlineMs,
      onChange: changed,
    });
    this.#runs.add(run);
    // Closed while the row was written: the turn settles, and its runner is not called.
    if (this.#isStopped) run.stop("shutdown");
    void this.#carryOut(run, place);
  }

  /** Never rejects. */
  async #carryOut(run: AttemptRun, place: Place): Promise<void> {
    try {
      const payload = await this.#inLane(run);
      await this.writer.inOrder(() => this.#settle(run.attempt, payload));
    } catch (fault) {
      this.#settleFailed(run.attempt, fault);
    }
    this.#runs.delete(run);
    run.markDone();
    place.leave();
    // Looked for at once: between a turn's end and the next one's start nothing is quiet.
    if (this.#isStopped) this.#host.onChange();
    else void this.pump();
  }

  /** The lane sees a turn only while it holds a place: a parked one would keep others out. */
  async #inLane(run: AttemptRun): Promise<TurnSettled> {
    const { lane } = this.#host;
    let result: Promise<TurnSettled> | undefined;
    for (;;) {
      const end = await lane.run(async () => Promise.race([(result ??= run.run()), run.parked()]));
      if (end !== "parked") return end;
      await run.going();
      if (run.hasEnded && result !== undefined) return result;
    }
  }

  /** Inside a step. */
  async #settle(attempt: Attempt, ended: TurnSettled): Promise<void> {
    if (this.#isOver)
      throw new RoomtapError("lease_lost", `room ${this.#parts.roomId} was lost before its turn settled`);
    const { coordinates } = attempt;
    // Judged once: a try whose answer was lost may have written it.
    let judged: JudgedEnd | undefined;
    const { seq, hash, payload } = await this.writer.settle({
      coordinates,
      judge: async () => (judged ??= await this.#judge(coordinates, ended)),
      onRefusal: ({ code, message }) => this.#parts.report(code, `${message}; what ended is kept and tried again`),
    });
    this.#host.tap.settled(attempt, payload, { seq, hash });
    if (seq - this.#checkpointed >= rowsPerCheckpoint) await this.storeCheckpoint();
  }

  /**
   * A text that a person's newer post overtook is kept and shown as late. A turn that was not admitted is tried again by
   * itself, unless a stop was drawn behind its start: then it ended too late to be told of it.
   */
  async #judge({ task_id, execution_generation }: Coordinates, ended: TurnSettled): Promise<JudgedEnd> {
    const asIs = { payload: ended };
    const isRefused = ended.reason_code === "not_admitted";
    if (ended.status !== "completed" && !isRefused) return asIs;
    const { state } = this.writer;
    const task = state.tasks.find((each) => each.task_id === task_id);
    const { room, inbox } = await this.#input();
    if (task === undefined) return asIs;
    if (isRefused) {
      const delayMs = dueAfter(execution_generation);
      if (delayMs === null || task.started_row <= (room.stop?.seq ?? 0)) return asIs;
      return { ...asIs, due: { task_id, execution_generation, due_at: this.#host.clock.now() + delayMs } };
    }
    if (!isSuperseded({ state, room, inbox, task })) return asIs;
    return { payload: { ...ended, status: "superseded", reason_code: "newer_message" } };
  }

  #armDueTimer(inMs: number | null): void {
    this.#stopDueTimer?.();
    this.#stopDueTimer = null;
    if (inMs === null || this.#isStopped) return;
    this.#stopDueTimer = this.#host.clock.after(inMs, () => {
      this.#stopDueTimer = null;
      void this.pump();
    });
  }

  #startFailed(fault: unknown): void {
    if (isLost(fault)) {
      this.#parts.onLost();
      return;
    }
    if (!isPassing(fault)) {
      this.#parts.onDamage(fault);
      return;
    }
    this.#parts.report(fault.code, `${fault.message}; what waits is tried again`);
    if (this.#retrying || this.#isStopped) return;
    this.#retrying = true;
    void this.#pauses.wait(maxRetryMs).then(() => {
      this.#retrying = false;
      if (!this.#isStopped) void this.pump();
    });
  }

  /** Nobody is told that the turn settled; its row is written by the next holder of the lease. */
  #settleFailed({ coordinates }: Attempt, fault: unknown): void {
    if (isLost(fault)) {
      this.#host.refused.settles++;
      this.#parts.onLost();
      return;
    }
    const { turn_id } = coordinates;
    this.#gaveUp = true;
    const message = `turn ${turn_id}: ${messageOf(fault)}; it settles as abandoned at the next start`;
    this.#parts.report("settle_lost", message, fault);
    if (!isPassing(fault)) this.#parts.onDamage(fault);
  }
}
