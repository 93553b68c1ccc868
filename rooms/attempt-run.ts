import {
  hostDefaults,
  messageOf,
  type Attempt,
  type CancelReason,
  type Clock,
  type RequestOutcome,
  type Runner,
  type Tap,
  type Turn,
  type TurnEnd,
  type TurnSettled,
  type Undo,
} from "../core/index.ts";
import { cancelWordOf, settle } from "./settlement.ts";
import { parseTurnEnd } from "./turn-end.ts";

/** What one attempt needs; its `turn.started` row is durable already. */
export interface AttemptParts {
  readonly tap: Tap;
  readonly attempt: Attempt;
  readonly runner: Runner;
  readonly turn: Omit<Turn, "coordinates" | "signal" | "emit" | "ask">;
  readonly clock: Clock;
  /** How long the runner may take to end once it was asked to stop. Default 30,000. */
  readonly stopGraceMs?: number | undefined;
}

/** What a question gets that is asked while the turn is to stop. */
const withdrawn: RequestOutcome = { outcome: "cancelled", reason: "interrupted", by: null };

/**
 * One call of a runner, from its start to the payload of its one settled row (I3). Whatever the runner does, throw,
 * reject, hang after a stop, emit after its end, the attempt is sealed exactly once and gets exactly one payload.
 */
export class AttemptRun {
  /** Resolves when its settled row was told, or could not be written before the host closed. */
  readonly done: Promise<void>;
  /** To be called by whoever writes the row. */
  readonly markDone: () => void;
  readonly #parts: AttemptParts;
  readonly #stop = new AbortController();
  /** Resolves when the grace of a stop is over. */
  readonly #graceOver: Promise<TurnEnd>;
  #giveUp: () => void = () => undefined;
  /** Set when the runner said its end, or the grace was over: a stop comes too late then. */
  #ended = false;
  #stopped: CancelReason | null = null;
  /** Monotonic ms. */
  #graceEndsAt = Infinity;
  #stopTimer: Undo = () => undefined;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    let markDone = (): void => undefined;
    this.done = new Promise((resolve) => {
      markDone = resolve;
    });
    this.markDone = markDone;
    this.#graceOver = new Promise((resolve) => {
      this.#giveUp = () => {
        this.#ended = true;
        resolve({ status: "cancelled" });
      };
    });
  }

  get attempt(): Attempt {
    return this.#parts.attempt;
  }

  /** Whether a question of it waits for a person. */
  get waits(): boolean {
    return this.#parts.tap.requests.open(this.#parts.attempt).length > 0;
  }

  /**
   * Asks the runner to stop and withdraws its questions; what it reports from now on is `cancelled`. After the grace the
   * attempt goes on without it. Asked again, the first reason and the shorter grace hold. What has ended stays as it is.
   * @param graceMs in place of `stopGraceMs`
   */
  stop(reason: CancelReason, graceMs = this.#parts.stopGraceMs ?? hostDefaults.stopGraceMs): void {
    if (this.#ended) return;
    const { tap, attempt, clock } = this.#parts;
    const graceEndsAt = clock.monotonic() + graceMs;
    if (graceEndsAt < this.#graceEndsAt) {
      this.#graceEndsAt = graceEndsAt;
      this.#stopTimer();
      this.#stopTimer = clock.after(graceMs, this.#giveUp);
    }
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    this.#stop.abort(reason);
    tap.requests.cancelAll(attempt, reason === "shutdown" ? "shutdown" : "interrupted");
  }

  /** Calls the runner and gives the payload of the settled row. */
  async run(): Promise<TurnSettled> {
    const { tap, attempt, clock } = this.#parts;
    const startedAt = clock.monotonic();
    const end = await Promise.race([this.#callRunner(), this.#graceOver]);
    this.#stopTimer();
    return settle({
      end,
      stopped: this.#stopped,
      sealed: tap.seal(attempt, cancelWordOf(end, this.#stopped)),
      durationMs: clock.monotonic() - startedAt,
      clean: (text) => tap.clean(text),
      cleanError: (text) => tap.cleanError(attempt, text),
    });
  }

  /** Never rejects. A runner is not called for a turn that is to stop already. */
  async #callRunner(): Promise<TurnEnd> {
    const { tap, attempt, runner, turn } = this.#parts;
    const given: Turn = {
      ...turn,
      coordinates: attempt.coordinates,
      signal: this.#stop.signal,
      emit: (frame) => tap.emit(attempt, frame),
      ask: (question) => (this.#stopped === null ? tap.requests.ask(attempt, question) : Promise.resolve(withdrawn)),
    };
    let end: TurnEnd = { status: "cancelled" };
    try {
      if (this.#stopped === null) end = parseTurnEnd(await runner.run(given));
    } catch (fault) {
      end = { status: "failed", reason_code: "runner_error", error: messageOf(fault) };
    }
    this.#ended = true;
    return end;
  }
}
