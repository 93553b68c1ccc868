import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noRedaction, type Coordinates } from "../../core/index.ts";
import { Bus, eventsOf, openBus } from "../support/bus.ts";

const member = fc.constantFrom("m-a", "m-b");
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ member, does: fc.constantFrom("delta", "tool", "late") }) },
  { weight: 1, arbitrary: fc.record({ member, does: fc.constantFrom("next turn", "new runtime id", "tick") }) },
);

describe("I2 bound, not looked up", () => {
  it("I2 in any interleaving of two members' frames no event wears the other's coordinates", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const bus = new Bus({ redactor: noRedaction });
        const { events } = bus.watch();
        const open = new Map(["m-a", "m-b"].map((id) => [id, bus.start({ member_id: id })]));
        const ended = new Map([...open].map(([id, attempt]) => [id, attempt]));
        let late = 0;
        for (const { member: id, does } of steps) {
          const attempt = open.get(id) ?? expect.unreachable();
          const name = `${id}/${attempt.coordinates.turn_id}`;
          if (does === "delta") bus.delta(attempt, `${name};`);
          else if (does === "tool") bus.emit(attempt, "tool.complete", { tool_id: name, name });
          else if (does === "tick") bus.clock.tick();
          else if (does === "new runtime id") bus.tap.sessions.renew(attempt.session);
          else if (does === "next turn") {
            bus.settle(attempt);
            ended.set(id, attempt);
            open.set(id, bus.start({ member_id: id }));
          } else {
            const gone = ended.get(id) ?? attempt;
            if (gone.sealed) late++;
            bus.delta(gone, `${id}/${gone.coordinates.turn_id};`);
          }
        }
        while (bus.clock.tick() > 0);
        for (const { coordinates, payload } of eventsOf(events, "message.delta")) {
          for (const name of payload.text.split(";").slice(0, -1)) expect(name).toBe(nameOf(coordinates));
        }
        for (const { coordinates, payload } of eventsOf(events, "tool.started"))
          expect(payload.name).toBe(nameOf(coordinates));
        expect(bus.tap.seam.refused("late_frame")).toBe(late);
        bus.close();
      }),
      { numRuns: 200 },
    );
  });

  it("I2 all events of an attempt share one frozen object, also when its maker changes his own", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const mine = { ...bus.begin().coordinates, turn_id: "t-mine" };
    const attempt = bus.tap.begin(mine, "other session", null);
    bus.delta(attempt, "a");
    mine.turn_id = "t-other";
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    await bus.idle();
    expect(events.map(({ coordinates }) => coordinates?.turn_id)).toEqual(["t-mine", "t-mine"]);
    expect([
      Object.isFrozen(attempt.coordinates),
      events.every(({ coordinates }) => coordinates === attempt.coordinates),
    ]).toEqual([true, true]);
  });
});

function nameOf({ member_id, turn_id }: Coordinates): string {
  return `${member_id}/${turn_id}`;
}
