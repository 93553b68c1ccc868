import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noRedaction } from "../../core/index.ts";
import { Bus, openBus, tapFrames, upTo } from "../support/bus.ts";

const step = fc.oneof(
  fc.record({
    type: fc.constantFrom("message.delta", "reasoning.delta"),
    text: fc.string({ minLength: 1, maxLength: 9_000 }),
  }),
  fc.record({
    type: fc.constantFrom("tool.start", "tool.complete", "error", "session.info", "ask"),
    text: fc.string({ maxLength: 3 }),
  }),
);

describe("I1 one seam", () => {
  it("I1 every frame leaves numbered, in order, whatever a turn does and ends", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const bus = new Bus({ redactor: noRedaction });
        const frames = tapFrames(bus);
        const { events } = bus.watch();
        const attempt = bus.start();
        for (const { type, text } of steps) {
          if (type === "ask") void bus.tap.requests.ask(attempt, { method: "approval", params: { tool_id: text } });
          else bus.emit(attempt, type, { text, tool_id: text, message: text });
        }
        bus.settle(attempt);
        while (bus.clock.tick() > 0);
        const seqs = frames.flatMap((frame) => ("id" in frame ? [] : [frame.params.seq]));
        expect(seqs).toEqual(upTo(attempt.session.seq));
        // Each event that stands for an event frame names that frame, and none is named twice.
        const named = events.flatMap(({ seq }) => seq ?? []);
        expect(named).toEqual([...new Set(named)].toSorted((a, b) => a - b));
        expect(events.flatMap((event) => event.n ?? []).at(-1)).toBe(attempt.n);
        bus.close();
      }),
      { numRuns: 200 },
    );
  });

  it("I1 what waits behind the seam leaves it before the frame that follows", () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const attempt = bus.begin();
    bus.delta(attempt, "sk-");
    bus.reason(attempt, "\ud83d");
    bus.emit(attempt, "status.update", {});
    expect(frames.map((frame) => ("id" in frame ? "request" : frame.params.type))).toEqual([
      "message.delta",
      "reasoning.delta",
      "status.update",
    ]);
  });
});
