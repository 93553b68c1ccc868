import {
  hostDefaults,
  messageOf,
  reasonCodes,
  type Attempt,
  type CancelReason,
  type Clock,
  type Runner,
  type Tap,
  type Turn,
  type TurnEnd,
  type TurnSettled,
  type Undo,
} from "../core/index.ts";
import { cancelWordOf, settle } from "./settlement.ts";

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
  #stopped: CancelReason | null = null;
  #stopTimer: Undo = () => undefined;
  #giveUp: (end: TurnEnd) => void = () => undefined;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    let markDone = (): void => undefined;
    this.done = new Promise((resolve) => {
      markDone = resolve;
    });
    this.markDone = markDone;
  }

  get attempt(): Attempt {
    return this.#parts.attempt;
  }

  /** Whether a question of it waits for a person. */
  get waits(): boolean {
    return this.#parts.tap.requests.open(this.#parts.attempt).length > 0;
  }

  /**
   * Asks the runner to stop; what it reports from now on is `cancelled`. After the grace the attempt goes on without it.
   * @param graceMs in place of `stopGraceMs`
   */
  stop(reason: CancelReason, graceMs = this.#parts.stopGraceMs ?? hostDefaults.stopGraceMs): void {
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    this.#stopTimer = this.#parts.clock.after(graceMs, () => this.#giveUp({ status: "cancelled" }));
    this.#stop.abort(reason);
  }

  /** Calls the runner and gives the payload of the settled row. Never rejects. */
  async run(): Promise<TurnSettled> {
    const { tap, attempt, runner, turn, clock } = this.#parts;
    const startedAt = clock.monotonic();
    const gaveUp = new Promise<TurnEnd>((resolve) => {
      this.#giveUp = resolve;
    });
    const given: Turn = {
      ...turn,
      coordinates: attempt.coordinates,
      signal: this.#stop.signal,
      emit: (frame) => tap.emit(attempt, frame),
      ask: (question) => tap.requests.ask(attempt, question),
    };
    const end = await Promise.race([endOf(runner, given), gaveUp]);
    const stopped = this.#stopped;
    this.#stopTimer();
    const sealed = tap.seal(attempt, cancelWordOf(end, stopped));
    return settle({
      end,
      stopped,
      sealed,
      durationMs: clock.monotonic() - startedAt,
      clean: (text) => tap.clean(text),
    });
  }
}

async function endOf(runner: Runner, turn: Turn): Promise<TurnEnd> {
  try {
    const end: unknown = await runner.run(turn);
    if (isTurnEnd(end)) return end;
    return { status: "failed", reason_code: "runner_error", error: "the runner did not say how its turn ended" };
  } catch (fault) {
    return { status: "failed", reason_code: "runner_error", error: messageOf(fault) };
  }
}

/** A runner may be anybody's JavaScript: an end that is none must not leave the attempt without its row. */
function isTurnEnd(value: unknown): value is TurnEnd {
  if (typeof value !== "object" || value === null || !("status" in value)) return false;
  const { status } = value;
  if (status === "failed") {
    return "reason_code" in value && reasonCodes.failed.some((code) => code === value.reason_code);
  }
  return status === "completed" || status === "passed" || status === "cancelled";
}
