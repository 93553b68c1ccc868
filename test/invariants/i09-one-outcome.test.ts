import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestOutcome } from "../../core/index.ts";
import { Bus, eventsOf, kindsOf } from "../support/bus.ts";

const step = fc.constantFrom("once", "deny", "nonsense", "deadline", "late timer", "seal", "list" as const);

describe("I9 one outcome", () => {
  it("I9 of answers, expiry and the end of the turn the first decides, and all learn the same", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const bus = new Bus();
        const { events } = bus.watch();
        const attempt = bus.start();
        const params = { tool_id: "t", choices: ["once", "deny"] };
        const outcome = bus.tap.requests.ask(attempt, { method: "approval", params }, 1_000);
        const [id = ""] = bus.tap.requests.open().map((request) => request.id);
        const told: RequestOutcome[] = [];
        let accepted = 0;
        for (const each of steps) {
          if (each === "deadline") bus.clock.advance(1_000);
          else if (each === "late timer") bus.clock.advance(999);
          else if (each === "seal") bus.tap.seal(attempt, "interrupted");
          else if (each === "list") bus.tap.requests.open(attempt);
          else {
            const result = bus.tap.requests.answer(id, { choice: each }, "A");
            if (!("outcome" in result)) throw new Error(`an answer was ${result.status}`);
            if (result.status === "ok") accepted++;
            told.push(result.outcome);
          }
        }
        bus.settle(attempt);
        await bus.idle();
        const stands = await outcome;
        for (const each of told) expect(each).toEqual(stands);
        expect(accepted).toBe(stands.outcome === "answered" || stands.outcome === "denied" ? 1 : 0);
        const resolved = eventsOf(events, "request.resolved");
        expect(resolved.map(({ payload }) => payload.outcome)).toEqual([stands.outcome]);
        const ends = {
          answered: "interrupted",
          denied: "denied",
          expired: "timeout",
          cancelled: "interrupted",
        } as const;
        expect(eventsOf(events, "tool.completed").map(({ payload }) => payload.outcome)).toEqual([
          ends[stands.outcome],
        ]);
        expect(kindsOf(events).at(-1)).toBe("turn.settled");
        bus.close();
      }),
      { numRuns: 300 },
    );
  });
});
