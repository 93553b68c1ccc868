import type {
  Answered,
  Correction,
  JsonObject,
  Question,
  Runner,
  Turn,
  TurnEnd,
  WriteResult,
} from "../../core/index.ts";
import { until } from "./turns-of-loop.ts";

/** How an agent of a test takes things. */
export interface DrivenOptions {
  /** Says what becomes of a correction. Default: the agent takes none, and has no `steer`. */
  readonly takes?: ((correction: Correction, turn: Turn) => boolean | Promise<boolean>) | undefined;
  readonly rerun?: "safe" | undefined;
  /** Whether it ends its turn when it is asked to stop. Default true. */
  readonly heedsStop?: boolean | undefined;
}

/** A turn that goes on until the test ends it. */
export class DrivenTurn {
  readonly turn: Turn;
  /** How the runner ended it. */
  readonly ended: Promise<TurnEnd>;
  #resolve: (end: TurnEnd) => void = () => undefined;
  #reject: (fault: unknown) => void = () => undefined;

  constructor(turn: Turn, heedsStop: boolean) {
    this.turn = turn;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (heedsStop) turn.signal.addEventListener("abort", () => this.end({ status: "cancelled" }));
  }

  /** The words that began it. */
  get text(): string {
    return this.turn.unseen.map((entry) => entry.text).join("\n");
  }

  emit(type: string, payload: JsonObject = {}): WriteResult {
    return this.turn.emit({ type, payload });
  }

  delta(text: string): WriteResult {
    return this.emit("message.delta", { text });
  }

  ask(method: string, params: Question["params"]): Promise<Answered> {
    return this.turn.ask({ method, params });
  }

  end(end: TurnEnd = { status: "completed" }): void {
    this.#resolve(end);
  }

  /** Completes it with a streamed text. */
  say(text: string): void {
    this.delta(text);
    this.end();
  }

  fail(fault: unknown): void {
    this.#reject(fault);
  }
}

/** An agent whose turns the test drives by hand: it emits, asks, and ends them. */
export class DrivenAgent implements Runner {
  readonly kind = "driven";
  readonly rerun: "safe" | undefined;
  readonly steer?: (turn: Turn, correction: Correction) => boolean | Promise<boolean>;
  /** In the order in which they began. */
  readonly turns: DrivenTurn[] = [];
  /** Offered so far, taken or not. */
  readonly corrections: Correction[] = [];
  readonly #heedsStop: boolean;

  constructor({ takes, rerun, heedsStop = true }: DrivenOptions = {}) {
    this.rerun = rerun;
    this.#heedsStop = heedsStop;
    if (takes === undefined) return;
    this.steer = (turn, correction) => {
      this.corrections.push(correction);
      return takes(correction, turn);
    };
  }

  run(turn: Turn): Promise<TurnEnd> {
    const driven = new DrivenTurn(turn, this.#heedsStop);
    this.turns.push(driven);
    return driven.ended;
  }

  async close(): Promise<void> {}

  /** The turn at this place, once it has begun. */
  async turn(index = 0): Promise<DrivenTurn> {
    await until(() => this.turns.length > index);
    const driven = this.turns[index];
    if (driven === undefined) throw new RangeError(`no turn ${index}`);
    return driven;
  }
}
