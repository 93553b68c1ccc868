import type { TurnSettled } from "./activity.ts";
import type { Clock, Undo } from "./clock.ts";
import { messageOf } from "./errors.ts";
import type { Execution } from "./execution.ts";
import { hostDefaults } from "./options.ts";
import type { Answered, Correction, Question, Runner, Turn, TurnEnd } from "./runner.ts";
import { cancelWordOf, roomRules, sessionRules, settle, type StopReason } from "./settlement.ts";
import { Signal } from "./signal.ts";
import { Stopwatch } from "./stopwatch.ts";
import type { Sealed, Tap } from "./tap.ts";
import { parseTurnEnd } from "./turn-end.ts";

/** What a turn holds while it works: it is given up while the turn waits for a person. */
export interface WorkPlace {
  park(): void;
  /** Resolves when the turn has a place again; false when it has left meanwhile. */
  resume(): Promise<boolean>;
}

/** Where places are not counted. */
const ownPlace: WorkPlace = { park: () => undefined, resume: () => Promise.resolve(true) };

/** What one execution needs; that it began is durable already. */
export interface TurnRunParts<Run extends Execution = Execution> {
  readonly tap: Tap;
  readonly execution: Run;
  readonly runner: Runner;
  readonly turn: Omit<Turn, "turn_id" | "signal" | "emit" | "ask">;
  readonly clock: Clock;
  /** Default: one of its own. */
  readonly place?: WorkPlace | undefined;
  /** How long the runner may take to end once it was asked to stop. Default 30,000. */
  readonly stopGraceMs?: number | undefined;
  /** How long the turn may run, parked time not counted. Default 1,800,000. */
  readonly turnDeadlineMs?: number | undefined;
  /** It began or ceased to wait for a person, or was asked to stop. */
  readonly onChange: () => void;
  /** The last moment in which its frames still leave: it has ended, or was given up. */
  readonly beforeSeal?: (() => void) | undefined;
}

/** What a question gets that is asked while the turn is to stop. */
const withdrawn: Answered = { outcome: "cancelled", reason: "interrupted", by: null };

/**
 * One call of a runner, from its start to the one end that is stored (I3). Whatever the runner does, throw, reject, hang
 * after a stop, emit after its end, the execution is sealed exactly once and has exactly one end.
 */
export class TurnRun<Run extends Execution = Execution> {
  /** Resolves when its end was told, or will never be stored by this host. */
  readonly done: Promise<void>;
  /** To be called by whoever stores the end. */
  readonly markDone: () => void;
  readonly #parts: TurnRunParts<Run>;
  readonly #place: WorkPlace;
  readonly #given: Turn;
  readonly #stop = new AbortController();
  readonly #graceOver = new Signal();
  /** Fires when the turn begins to wait for a person. */
  #parking = new Signal();
  /** Fires when it has a place again, or has ended. */
  #going = new Signal();
  #isParked = false;
  /** Set when the runner was handed the turn: nothing can be put to it before. */
  #isCalled = false;
  /** Set when the runner said its end, or the grace was over: a stop comes too late then. */
  #ended = false;
  #stopped: StopReason | null = null;
  /** Monotonic ms. */
  #graceEndsAt = Infinity;
  #stopTimer: Undo = () => undefined;
  #deadline: Undo = () => undefined;
  readonly #running: Stopwatch;
  readonly #since: number;
  readonly #startedAt: number;
  #sealed: Sealed | null = null;

  constructor(parts: TurnRunParts<Run>) {
    this.#parts = parts;
    this.#place = parts.place ?? ownPlace;
    const done = new Signal();
    this.done = done.fired;
    this.markDone = done.fire;
    this.#since = parts.clock.now();
    this.#startedAt = parts.clock.monotonic();
    this.#running = new Stopwatch(parts.clock);
    const { tap, execution, turn } = parts;
    this.#given = {
      ...turn,
      turn_id: execution.turnId,
      signal: this.#stop.signal,
      emit: (frame) => tap.emit(execution, frame),
      ask: (question) => this.#ask(question),
    };
  }

  get execution(): Run {
    return this.#parts.execution;
  }

  /** Wall ms of its start. */
  get since(): number {
    return this.#since;
  }

  /** Monotonic ms of its start. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** Whether it was asked to stop. */
  get isStopping(): boolean {
    return this.#stopped !== null;
  }

  /** Whether a question of it waits for a person. */
  get waits(): boolean {
    return this.#parts.tap.requests.open(this.#parts.execution).length > 0;
  }

  /** Whether it holds no place because it waits for a person, or for a place after the answer. */
  get isParked(): boolean {
    return this.#isParked;
  }

  /** Whether its runner has ended, or was given up. */
  get hasEnded(): boolean {
    return this.#ended;
  }

  /**
   * Asks the runner to stop and withdraws its questions; what it reports from now on is `cancelled`. After the grace the
   * attempt goes on without it. Asked again, the first reason and the shorter grace hold. What has ended stays as it is.
   * @param graceMs in place of `stopGraceMs`
   */
  stop(reason: StopReason, graceMs = this.#parts.stopGraceMs ?? hostDefaults.stopGraceMs): void {
    if (this.#ended) return;
    const { tap, execution, clock } = this.#parts;
    const graceEndsAt = clock.monotonic() + graceMs;
    if (graceEndsAt < this.#graceEndsAt) {
      this.#graceEndsAt = graceEndsAt;
      this.#stopTimer();
      this.#stopTimer = clock.after(graceMs, () => {
        this.#ended = true;
        this.#graceOver.fire();
      });
    }
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    this.#deadline();
    this.#stop.abort(reason);
    tap.requests.cancelAll(execution, reason === "shutdown" ? "shutdown" : "interrupted");
    this.#parts.onChange();
  }

  /**
   * Hands a text to the runner while it works. `refused`: it cannot take any, takes this one not, has not been called yet or
   * has ended.
   * @throws what the runner throws or rejects with
   */
  async correct(correction: Correction): Promise<"taken" | "refused"> {
    const { runner } = this.#parts;
    const isAtWork = this.#isCalled && !this.#ended && this.#stopped === null;
    if (runner.steer === undefined || !isAtWork) return "refused";
    return (await runner.steer(this.#given, correction)) ? "taken" : "refused";
  }

  /** The session is somebody else's now: what the runner still says is late, and nothing of it is stored. */
  fence(): void {
    this.stop("shutdown", 0);
    this.#seal({ status: "cancelled" });
  }

  /** Resolves when the turn waits for a person and has given its place up. */
  parked(): Promise<"parked"> {
    return this.#parking.fired.then(() => "parked" as const);
  }

  /** Resolves when a parked turn has a place again, or needs none because it has ended. */
  going(): Promise<void> {
    return this.#going.fired;
  }

  /** Calls the runner and gives the end that is to be stored. */
  async run(): Promise<TurnSettled> {
    const { tap, execution } = this.#parts;
    this.#running.start();
    this.#armDeadline();
    const gaveUp = this.#graceOver.fired.then((): TurnEnd => ({ status: "cancelled" }));
    const end = await Promise.race([this.#callRunner(), gaveUp]);
    this.#stopTimer();
    this.#deadline();
    this.#running.stop();
    this.#going.fire();
    const source = {
      end,
      stopped: this.#stopped,
      sealed: this.#seal(end),
      durationMs: this.#running.elapsedMs,
      clean: (text: string) => tap.clean(text),
      cleanError: (text: string) => tap.cleanError(execution, text),
    };
    return settle(source, this.#parts.turn.coordinates === null ? sessionRules : roomRules);
  }

  #seal(end: TurnEnd): Sealed {
    const { tap, execution, beforeSeal } = this.#parts;
    if (this.#sealed === null) beforeSeal?.();
    this.#sealed ??= tap.seal(execution, cancelWordOf(end, this.#stopped));
    return this.#sealed;
  }

  /** Never rejects. A runner is not called for a turn that is to stop already. */
  async #callRunner(): Promise<TurnEnd> {
    const { tap, runner } = this.#parts;
    let end: TurnEnd = { status: "cancelled" };
    try {
      if (this.#stopped === null) {
        this.#isCalled = true;
        end = parseTurnEnd(await runner.run(this.#given), (text) => tap.clean(text));
      }
    } catch (fault) {
      end = { status: "failed", reason_code: "runner_error", error: messageOf(fault) };
    }
    this.#ended = true;
    return end;
  }

  /** The answer decides the request at once; the runner is told when the turn has a place again. */
  async #ask(question: Question): Promise<Answered> {
    if (this.#stopped !== null) return withdrawn;
    const answer = this.#parts.tap.requests.ask(this.#parts.execution, question);
    if (this.waits) this.#park();
    const outcome = await answer;
    if (this.#isParked && this.#stopped === null && !this.#ended) await this.#goOn();
    return outcome;
  }

  #park(): void {
    if (this.#isParked || this.#ended) return;
    this.#isParked = true;
    this.#going = new Signal();
    this.#running.stop();
    this.#deadline();
    this.#place.park();
    this.#parking.fire();
    this.#parts.onChange();
  }

  async #goOn(): Promise<void> {
    const hasPlace = await this.#place.resume();
    if (!hasPlace || !this.#isParked || this.#ended) return;
    if (this.waits) {
      // The answer is handed over; for the other questions it goes on waiting.
      this.#place.park();
      return;
    }
    this.#isParked = false;
    this.#parking = new Signal();
    this.#running.start();
    this.#armDeadline();
    this.#going.fire();
    this.#parts.onChange();
  }

  #armDeadline(): void {
    const { clock, turnDeadlineMs = hostDefaults.turnDeadlineMs } = this.#parts;
    const leftMs = Math.max(0, turnDeadlineMs - this.#running.elapsedMs);
    this.#deadline = clock.after(leftMs, () => this.stop("turn_deadline"));
  }
}
