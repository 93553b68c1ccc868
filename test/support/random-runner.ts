import fc from "fast-check";
import type { Runner, Turn, TurnEnd } from "../../core/index.ts";
import { turnsOfLoop } from "./open-log.ts";

/** What a turn does, one after the other; the last step says how it ends. */
const steps = ["delta", "reasoning", "open", "close", "strange", "ask", "wait", "late"] as const;
const ends = ["completed", "silent", "text", "pass", "failed", "cancelled", "throw", "garbage", "hang"] as const;

export interface Conduct {
  readonly steps: readonly (typeof steps)[number][];
  readonly end: (typeof ends)[number];
}

/** How a runner that nobody wrote with care behaves. `hang` ends at no stop; the host has to go on without it. */
export const conduct: fc.Arbitrary<Conduct> = fc.record({
  steps: fc.array(fc.constantFrom(...steps), { maxLength: 8 }),
  end: fc.constantFrom(...ends),
});

/** A runner whose turns behave as `conducts` say, in the order in which they begin. */
export function randomRunner(conducts: readonly Conduct[]): Runner {
  let next = 0;
  return {
    kind: "random",
    run: (turn) => behave(turn, conducts[next++ % conducts.length] ?? { steps: [], end: "completed" }),
    close: async () => undefined,
  };
}

async function behave(turn: Turn, { steps: plan, end }: Conduct): Promise<TurnEnd> {
  let tools = 0;
  for (const step of plan) {
    if (step === "delta") turn.emit({ type: "message.delta", payload: { text: "word " } });
    else if (step === "reasoning") turn.emit({ type: "reasoning.delta", payload: { text: "hm " } });
    else if (step === "open") turn.emit({ type: "tool.start", payload: { tool_id: `c${tools++}`, name: "read" } });
    else if (step === "close") turn.emit({ type: "tool.complete", payload: { tool_id: `c${tools}`, outcome: "ok" } });
    else if (step === "strange") turn.emit({ type: "turn.settled", payload: { status: "completed" } });
    else if (step === "ask") void turn.ask({ method: "approval", params: { command: "rm" } });
    else if (step === "wait") await turnsOfLoop(1);
    else void turnsOfLoop(3).then(() => turn.emit({ type: "message.delta", payload: { text: "late" } }));
  }
  switch (end) {
    case "completed":
      turn.emit({ type: "message.delta", payload: { text: "done" } });
      return { status: "completed" };
    case "silent":
      return { status: "completed" };
    case "text":
      return { status: "completed", text: "by itself" };
    case "pass":
      return { status: "passed" };
    case "failed":
      return { status: "failed", reason_code: "provider_rate_limit", error: "later" };
    case "cancelled":
      return { status: "cancelled" };
    case "throw":
      throw new Error("broken");
    case "garbage":
      return { status: "done" } as unknown as TurnEnd;
    case "hang":
      return new Promise(() => undefined);
  }
}
