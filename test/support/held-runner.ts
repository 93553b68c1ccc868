import type { Runner, Turn, TurnEnd } from "../../core/index.ts";
import { until } from "./turns-of-loop.ts";

/** A runner that does what it is told for each turn. */
export function runnerOf(run: (turn: Turn) => unknown): Runner {
  return {
    kind: "test",
    run: async (turn) => (await run(turn)) as TurnEnd,
    close: async () => undefined,
  };
}

/** Answers each turn with the same text, streamed. */
export const says = (text: string): Runner =>
  runnerOf((turn) => {
    turn.emit({ type: "message.delta", payload: { text } });
    return { status: "completed" };
  });

/** A turn that goes on until the test ends it. */
export interface HeldTurn {
  readonly turn: Turn;
  readonly end: (end: TurnEnd) => void;
  /** Completes it with a streamed text. */
  readonly say: (text: string) => void;
  readonly fail: (fault: unknown) => void;
}

/** A runner whose turns the test ends by hand. */
export class HeldRunner implements Runner {
  readonly kind = "held";
  readonly turns: HeldTurn[] = [];

  run(turn: Turn): Promise<TurnEnd> {
    return new Promise((resolve, reject) => {
      const say = (text: string): void => {
        turn.emit({ type: "message.delta", payload: { text } });
        resolve({ status: "completed" });
      };
      this.turns.push({ turn, end: resolve, fail: reject, say });
    });
  }

  async close(): Promise<void> {}

  /** The turn at this place, once it has begun. */
  async turn(index: number): Promise<HeldTurn> {
    await until(() => this.turns.length > index);
    const held = this.turns[index];
    if (held === undefined) throw new RangeError(`no turn ${index}`);
    return held;
  }
}
