import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { kindTable, noRedaction } from "../../core/index.ts";
import { Bus, eventsOf, gate } from "../support/bus.ts";

const step = fc.constantFrom("message", "reasoning", "tool", "ask", "error" as const);

describe("I7 ends outlive middles", () => {
  it("I7 as long as a delta is held, nothing that starts or ends something is dropped", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 12 }), async (steps, maxEvents) => {
        const bus = new Bus({ redactor: noRedaction });
        const hold = gate();
        const watcher = bus.watch({ maxEvents, handler: () => hold.opened });
        const attempt = bus.start();
        await bus.idle();
        for (const [k, each] of steps.entries()) {
          const before = watcher.stats().dropped_by_kind;
          if (each === "message") bus.delta(attempt, "m");
          else if (each === "reasoning") bus.reason(attempt, "m");
          else if (each === "tool") bus.emit(attempt, "tool.start", { tool_id: `t${k}` });
          else if (each === "error") bus.emit(attempt, "error", { message: "e" });
          else void bus.tap.requests.ask(attempt, { method: "approval", params: {} });
          const after = watcher.stats().dropped_by_kind;
          const lost = Object.keys(after).filter((kind) => after[kind] !== before[kind]);
          const isEnd = lost.some(
            (kind) => kind !== "gap" && kindTable[kind as keyof typeof kindTable].class !== "middle",
          );
          // Everything held is then something else than a delta: there was no delta left to drop.
          if (isEnd) expect(attempt.n - deltasOf(attempt.counts())).toBeGreaterThan(maxEvents);
        }
        hold.open();
        await bus.idle();
        const ends = watcher.events.filter(({ kind }) => kindTable[kind].class !== "middle" && kind !== "gap").length;
        const others = attempt.n - deltasOf(attempt.counts());
        expect(ends).toBe(Math.min(others, maxEvents + 1));
        expect(eventsOf(watcher.events, "message.delta").length > 0 && ends < others).toBe(false);
        bus.close();
      }),
      { numRuns: 200 },
    );
  });
});

function deltasOf(counts: { readonly [kind: string]: number }): number {
  return (counts["message.delta"] ?? 0) + (counts["reasoning.delta"] ?? 0);
}
