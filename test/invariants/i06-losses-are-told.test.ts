import { describe, expect, it } from "vitest";
import type { ActivityKind } from "../../core/index.ts";
import { eventsOf, gate, numbersOf, openBus, upTo, type Watcher } from "../support/bus.ts";

/** Everything that was lost, as the gaps tell it, by kind. */
function toldBy({ events }: Watcher): Record<string, number> {
  const told: Record<string, number> = {};
  for (const { payload } of eventsOf(events, "gap")) {
    for (const [kind, count] of Object.entries(payload.kinds)) told[kind] = (told[kind] ?? 0) + count;
  }
  return told;
}

describe("I6 every loss is counted and placed", () => {
  it("I6 the gaps add up to the counters, kind by kind, and stand before the next event", async () => {
    const bus = openBus();
    const hold = gate();
    const watcher = bus.watch({ maxEvents: 3, handler: () => hold.opened });
    const attempt = bus.start();
    await bus.idle();
    for (let k = 0; k < 20; k++) {
      bus.delta(attempt, `m${k} `);
      bus.emit(attempt, "tool.complete", { tool_id: `t${k}` });
    }
    hold.open();
    await bus.idle();
    bus.settle(attempt);
    await bus.idle();
    expect(toldBy(watcher)).toEqual(watcher.stats().dropped_by_kind);
    const numbers = numbersOf(watcher.events);
    expect(numbers.map((n, index) => (n === "?" ? index + 1 : n))).toEqual(upTo(62));
  });

  const settling: readonly (readonly ActivityKind[])[] = [["message.delta"], ["message.delta", "turn.settled"]];
  it.each(settling)(
    "I6 a loss at the end of an attempt is told with or without its settled event: %j",
    async (...kinds) => {
      const bus = openBus();
      const hold = gate();
      const watcher = bus.watch({ kinds, maxEvents: 1, handler: () => hold.opened });
      const attempt = bus.begin();
      bus.delta(attempt, "one");
      await bus.idle();
      const other = bus.begin({ member_id: "m-other" });
      bus.delta(attempt, "gone");
      bus.delta(other, "here");
      bus.settle(attempt);
      hold.open();
      await bus.idle();
      bus.settle(other);
      await bus.idle();
      expect(toldBy(watcher)).toEqual(watcher.stats().dropped_by_kind);
      expect(eventsOf(watcher.events, "gap").some(({ coordinates }) => coordinates === attempt.coordinates)).toBe(true);
    },
  );
});
