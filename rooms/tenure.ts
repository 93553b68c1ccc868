import { isPassing, messageOf, RoomtapError, type Attempt, type TurnSettled, type Undo } from "../core/index.ts";
import type { Place } from "./admission.ts";
import { AttemptRun, runInLane } from "./attempt-run.ts";
import { CheckpointWriter } from "./checkpoint-writer.ts";
import { sessionId } from "./ids.ts";
import type { InboxRow } from "./inbox-row.ts";
import { judgeEnd } from "./judge-end.ts";
import type { StartedRow } from "./log-row.ts";
import { Pauses } from "./pauses.ts";
import type { PlannedStart } from "./plan.ts";
import { planOf, type RoomLook } from "./room-look.ts";
import type { PlanInput } from "./room-reader.ts";
import { isLost, maxRetryMs, RoomWriter, type JudgedEnd } from "./room-writer.ts";
import { StartWaits } from "./start-waits.ts";
import type { HostParts, TenureParts } from "./tenure-parts.ts";
import type { Transcript } from "./transcript.ts";
import { readTranscript, type RowSource } from "./turn-rows.ts";

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
  readonly #startWaits = new StartWaits();
  #pumping: Promise<void> | null = null;
  #pumpAgain = false;
  /** A start is tried again when a pause is over. */
  #retrying = false;
  /** Set when nothing may be written any more. */
  #isOver = false;
  #stopDueTimer: Undo | null = null;
  readonly #checkpoints: CheckpointWriter;
  /** The database took no settle until the room was closed: it is not asked for less. */
  #gaveUp = false;

  constructor(parts: TenureParts, host: HostParts) {
    this.#host = host;
    this.#parts = parts;
    this.#pauses = new Pauses(host.clock);
    const { roomId, leaseGeneration, loaded } = parts;
    const { fold, logHash } = loaded;
    this.#rows = { log: host.log, roomId };
    this.#checkpoints = new CheckpointWriter(host.log, loaded, parts);
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
      else this.#startWaits.none();
      this.#parts.onChange();
    });
    return this.#pumping;
  }

  /**
   * Starts what the plan says now that the post is there. Gives whether a turn for it starts at once: false when it has to
   * wait for anything but the database's next commit.
   */
  startsNow(post: InboxRow): Promise<boolean> {
    const starts = this.#startWaits.add(post);
    void this.pump();
    if (this.writer.isHeldUp) this.#startWaits.none();
    return starts;
  }

  /** The room as it is now. Starts nothing. Outside a step rows may come while it is read. */
  async look(): Promise<RoomLook> {
    const input = await this.#input();
    const { state } = this.writer;
    const { plan, due } = await this.#planOf(input);
    return { input, state, plan, dueWaiting: due.waiting, runs: [...this.#runs] };
  }

  /** From now on no turn starts. What runs is the caller's to stop. */
  close(): void {
    this.#pauses.close();
    this.#stopDueTimer?.();
    this.#stopDueTimer = null;
    this.#host.places.withdraw(this.#parts.roomId);
    this.#startWaits.none();
  }

  /** The lease is lost: what runs is stopped, its frames are late, and nothing of it is written. */
  end(): void {
    this.#isOver = true;
    this.close();
    for (const run of this.#runs) run.fence();
  }

  /** Stores the folded state, if rows have come since it was and something may be written. */
  async storeCheckpoint(): Promise<void> {
    if (!this.#isOver && !this.#gaveUp) await this.#checkpoints.store(this.writer);
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

  #planOf(input: PlanInput): ReturnType<typeof planOf> {
    const [rows, runs] = [this.#rows, this.#runs];
    const { state } = this.writer;
    return planOf({ rows, input, state, policy: this.#parts.policy, runs, now: this.#host.clock.now() });
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
    const run = this.#runOf(start, row, { room, transcript, place });
    this.#runs.add(run);
    // Closed while the row was written: the turn settles, and its runner is not called.
    if (this.#isStopped) run.stop("shutdown");
    void this.#carryOut(run, place);
    this.#startWaits.started(start);
    return true;
  }

  /** Tells that the turn began. Its runner is not called yet. */
  #runOf(
    { coordinates, payload }: PlannedStart,
    { seq, hash }: StartedRow,
    { room, transcript, place }: Pick<PlanInput, "room"> & { readonly transcript: Transcript; readonly place: Place },
  ): AttemptRun {
    const { tap, clock, stopGraceMs, turnDeadlineMs } = this.#host;
    const { onChange } = this.#parts;
    const known = room.members.find(({ member_id }) => member_id === coordinates.member_id);
    const runner = this.#parts.runners().get(coordinates.member_id);
    if (known === undefined || runner === undefined) {
      throw new RoomtapError("internal", `no runner for ${coordinates.member_id}`);
    }
    const { member_id, handle, display_name } = known;
    const session = sessionId(coordinates.room_id, coordinates.thread_id, member_id);
    const execution = tap.begin(coordinates, session, payload.origin);
    execution.onTools = onChange;
    tap.started(execution, payload, { seq, hash });
    const member = { member_id, handle, display_name };
    const turn = { coordinates: execution.coordinates, member, session, ...transcript };
    const changed = (): void => {
      onChange();
      // A parked turn may let a newer post go on without it.
      if (run.isParked) void this.pump();
    };
    const bounds = { stopGraceMs, turnDeadlineMs };
    const run = new AttemptRun({ tap, execution, runner, turn, clock, place, ...bounds, onChange: changed });
    return run;
  }

  /** Never rejects. */
  async #carryOut(run: AttemptRun, place: Place): Promise<void> {
    try {
      const payload = await runInLane(this.#host.lane, run);
      await this.writer.inOrder(() => this.#settle(run.attempt, payload));
    } catch (fault) {
      this.#settleFailed(run.attempt, fault);
    }
    this.#runs.delete(run);
    run.markDone();
    place.leave();
    // Looked for at once: between a turn's end and the next one's start nothing is quiet.
    if (this.#isStopped) this.#parts.onChange();
    else void this.pump();
  }

  /** Inside a step. */
  async #settle(attempt: Attempt, ended: TurnSettled): Promise<void> {
    if (this.#isOver)
      throw new RoomtapError("lease_lost", `room ${this.#parts.roomId} was lost before its turn settled`);
    const { coordinates } = attempt;
    // Judged once: a try whose answer was lost may have written it.
    let judged: JudgedEnd | undefined;
    const { clock } = this.#host;
    const { state } = this.writer;
    const read = (): Promise<PlanInput> => this.#input();
    const { seq, hash, payload } = await this.writer.settle({
      coordinates,
      judge: async () => (judged ??= await judgeEnd(coordinates, ended, { state, read, clock })),
      onRefusal: ({ code, message }) => {
        this.#parts.report(code, `${message}; what ended is kept and tried again`);
        // What is to start waits for as long.
        this.#startWaits.none();
      },
    });
    this.#host.tap.settled(attempt, payload, { seq, hash });
    if (this.#checkpoints.isDue(seq)) await this.storeCheckpoint();
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
