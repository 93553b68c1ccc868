import { describe, expect, it } from "vitest";
import { gate, openBus } from "../support/bus.ts";

describe("I5 off the token path", () => {
  it("I5 writing returns before any handler or report runs, at the bound and beyond it", async () => {
    const bus = openBus();
    const ran: string[] = [];
    bus.watch({ handler: () => void ran.push("handler"), maxEvents: 1 });
    bus.notices.push = () => ran.push("report");
    const attempt = bus.begin();
    for (let k = 0; k < 5_000; k++) {
      bus.delta(attempt, "m");
      bus.emit(attempt, "tool.complete", { tool_id: `t${k}` });
    }
    bus.settle(attempt);
    expect(ran).toEqual([]);
    await bus.idle();
    expect(ran.filter((word) => word === "handler").length).toBeGreaterThan(0);
  });

  it("I5 one ring is written, however many listen and however far they lag", async () => {
    const bus = openBus();
    const fast = bus.watch();
    for (let k = 0; k < 100; k++) bus.watch({ handler: () => gate().opened });
    const attempt = bus.begin();
    for (let k = 0; k < 100; k++) {
      expect(bus.delta(attempt, "m")).toBe("written");
      await bus.idle();
    }
    expect(fast.events).toHaveLength(100);
    expect(
      bus.observers
        .stats()
        .slice(1)
        .every(({ delivered, depth }) => delivered === 1 && depth === 99),
    ).toBe(true);
  });

  it("I5 without listeners no event is built", () => {
    const bus = openBus();
    let reads = 0;
    const now = bus.clock.now.bind(bus.clock);
    bus.clock.now = () => {
      reads++;
      return now();
    };
    const attempt = bus.start();
    bus.delta(attempt, "m");
    bus.settle(attempt);
    expect([reads, attempt.n]).toEqual([0, 3]);
  });
});
