import {
  hostDefaults,
  messageOf,
  type Attempt,
  type Clock,
  type LiveAttempt,
  liveAttemptOf,
  type Question,
  type RequestOutcome,
  type Runner,
  type Sealed,
  type Tap,
  type Turn,
  type TurnEnd,
  type TurnSettled,
  type Undo,
} from "../core/index.ts";
import type { Place } from "./admission.ts";
import { cancelWordOf, settle, type StopReason } from "./settlement.ts";
import { Signal } from "./signal.ts";
import { Stopwatch } from "./stopwatch.ts";
import { parseTurnEnd } from "./turn-end.ts";

/** What one attempt needs; its `turn.started` row is durable already. */
export interface AttemptParts {
  readonly tap: Tap;
  readonly attempt: Attempt;
  readonly runner: Runner;
  readonly turn: Omit<Turn, "coordinates" | "signal" | "emit" | "ask">;
  readonly clock: Clock;
  /** Given up while the turn waits for a person. */
  readonly place: Place;
  /** How long the runner may take to end once it was asked to stop. Default 30,000. */
  readonly stopGraceMs?: number | undefined;
  /** How long the turn may run, parked time not counted. Default 1,800,000. */
  readonly turnDeadlineMs?: number | undefined;
  /** It began or ceased to wait for a person, or was asked to stop. */
  readonly onChange: () => void;
}

/** What a question gets that is asked while the turn is to stop. */
const withdrawn: RequestOutcome = { outcome: "cancelled", reason: "interrupted", by: null };

/**
 * One call of a runner, from its start to the payload of its one settled row (I3). Whatever the runner does, throw,
 * reject, hang after a stop, emit after its end, the attempt is sealed exactly once and gets exactly one payload.
 */
export class AttemptRun {
  /** Resolves when its settled row was told, or will never be written by this host. */
  readonly done: Promise<void>;
  /** To be called by whoever writes the row. */
  readonly markDone: () => void;
  readonly #parts: AttemptParts;
  readonly #stop = new AbortController();
  readonly #graceOver = new Signal();
  /** Fires when the turn begins to wait for a person. */
  #parking = new Signal();
  /** Fires when it has a place again, or has ended. */
  #going = new Signal();
  #isParked = false;
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

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    const done = new Signal();
    this.done = done.fired;
    this.markDone = done.fire;
    this.#since = parts.clock.now();
    this.#startedAt = parts.clock.monotonic();
    this.#running = new Stopwatch(parts.clock);
  }

  get attempt(): Attempt {
    return this.#parts.attempt;
  }

  /** Whether a question of it waits for a person. */
  get waits(): boolean {
    return this.#parts.tap.requests.open(this.#parts.attempt).length > 0;
  }

  /** Whether it holds no place because it waits for a person, or for a place after the answer. */
  get isParked(): boolean {
    return this.#isParked;
  }

  /** Whether its runner has ended, or was given up. */
  get hasEnded(): boolean {
    return this.#ended;
  }

  /** What its member's state follows from. */
  get live(): LiveAttempt {
    const { tap, attempt } = this.#parts;
    return liveAttemptOf(attempt, {
      since: this.#since,
      startedAt: this.#startedAt,
      open_requests: tap.requests.open(attempt).map(({ id }) => id),
      stopping: this.#stopped !== null,
    });
  }

  /**
   * Asks the runner to stop and withdraws its questions; what it reports from now on is `cancelled`. After the grace the
   * attempt goes on without it. Asked again, the first reason and the shorter grace hold. What has ended stays as it is.
   * @param graceMs in place of `stopGraceMs`
   */
  stop(reason: StopReason, graceMs = this.#parts.stopGraceMs ?? hostDefaults.stopGraceMs): void {
    if (this.#ended) return;
    const { tap, attempt, clock } = this.#parts;
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
    tap.requests.cancelAll(attempt, reason === "shutdown" ? "shutdown" : "interrupted");
    this.#parts.onChange();
  }

  /** The room is somebody else's now: what the runner still says is late, and nothing of it is written. */
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

  /** Calls the runner and gives the payload of the settled row. */
  async run(): Promise<TurnSettled> {
    const { tap, attempt } = this.#parts;
    this.#running.start();
    this.#armDeadline();
    const gaveUp = this.#graceOver.fired.then((): TurnEnd => ({ status: "cancelled" }));
    const end = await Promise.race([this.#callRunner(), gaveUp]);
    this.#stopTimer();
    this.#deadline();
    this.#running.stop();
    this.#going.fire();
    return settle({
      end,
      stopped: this.#stopped,
      sealed: this.#seal(end),
      durationMs: this.#running.elapsedMs,
      clean: (text) => tap.clean(text),
      cleanError: (text) => tap.cleanError(attempt, text),
    });
  }

  #seal(end: TurnEnd): Sealed {
    const { tap, attempt } = this.#parts;
    this.#sealed ??= tap.seal(attempt, cancelWordOf(end, this.#stopped));
    return this.#sealed;
  }

  /** Never rejects. A runner is not called for a turn that is to stop already. */
  async #callRunner(): Promise<TurnEnd> {
    const { tap, attempt, runner, turn } = this.#parts;
    const given: Turn = {
      ...turn,
      coordinates: attempt.coordinates,
      signal: this.#stop.signal,
      emit: (frame) => tap.emit(attempt, frame),
      ask: (question) => this.#ask(question),
    };
    let end: TurnEnd = { status: "cancelled" };
    try {
      if (this.#stopped === null) end = parseTurnEnd(await runner.run(given), (text) => tap.clean(text));
    } catch (fault) {
      end = { status: "failed", reason_code: "runner_error", error: messageOf(fault) };
    }
    this.#ended = true;
    return end;
  }

  /** The answer decides the request at once; the runner is told when the turn has a place again. */
  async #ask(question: Question): Promise<RequestOutcome> {
    if (this.#stopped !== null) return withdrawn;
    const answer = this.#parts.tap.requests.ask(this.#parts.attempt, question);
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
    this.#parts.place.park();
    this.#parking.fire();
    this.#parts.onChange();
  }

  async #goOn(): Promise<void> {
    const hasPlace = await this.#parts.place.resume();
    if (!hasPlace || !this.#isParked || this.#ended) return;
    if (this.waits) {
      // The answer is handed over; for the other questions it goes on waiting.
      this.#parts.place.park();
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
