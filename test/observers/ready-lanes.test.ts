import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ActivityEvent, Attempt } from "../../core/index.ts";
import { Lane, type Entry } from "../../observers/lane.ts";
import { ReadyLanes } from "../../observers/ready-lanes.ts";

function entryOf(lane: Lane, order: number): Entry {
  const event = {} as ActivityEvent;
  const neighbours = { before: null, after: null, older: null, newer: null };
  return { event, lane, kind: 0, order, first: order, count: 1, bytes: 1, merged: null, gap: null, ...neighbours };
}

const step = fc.record({
  lane: fc.nat(9),
  what: fc.constantFrom("push", "push", "push", "drop", "take", "take", "give" as const),
});

describe("the lanes that are ready", () => {
  it("have the one with the oldest event first, whatever comes, goes, or is in hand", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const ready = new ReadyLanes();
        const lanes = Array.from({ length: 10 }, () => new Lane({} as Attempt));
        const oldest = (): Lane | undefined =>
          lanes
            .filter(({ first, inHand }) => first !== null && inHand === 0)
            .toSorted((a, b) => (a.first?.order ?? 0) - (b.first?.order ?? 0))[0];
        for (const [order, { lane: index, what }] of steps.entries()) {
          const lane = what === "take" ? ready.first : lanes[index];
          if (lane === undefined) continue;
          if (what === "push") lane.push(entryOf(lane, order));
          else if (what === "give") lane.inHand = 0;
          else if (lane.first !== null) {
            lane.remove(lane.first);
            if (what === "take") lane.inHand = 1;
          }
          ready.look(lane);
          expect(ready.first).toBe(oldest());
          expect(
            lanes.filter(({ place }) => place !== -1).every(({ first, inHand }) => first !== null && inHand === 0),
          ).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});
