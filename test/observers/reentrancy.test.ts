import { describe, expect, it } from "vitest";
import type { ActivityEvent } from "../../core/index.ts";
import type { Subscription } from "../../observers/index.ts";
import { eventsOf, gate, numbersOf, openBus, upTo } from "../support/bus.ts";

describe("a handler", () => {
  it("that emits gets its own events frozen, in a later turn of the event loop", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    let turn = 0;
    const turns: number[] = [];
    const { events } = bus.watch({
      handler: () => {
        turns.push(turn);
        if (turns.length < 4) bus.delta(attempt, "echo");
      },
    });
    bus.delta(attempt, "first");
    while (bus.clock.tick() > 0) turn++;
    expect([turns, numbersOf(events)]).toEqual([[0, 1, 2, 3], upTo(4)]);
    expect(events.every((event) => Object.isFrozen(event) && Object.isFrozen(event.payload))).toBe(true);
  });

  it("that emits more than the ring holds while it runs loses nothing that its bound allows", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const watcher = bus.watch({
      handler: (event) => {
        if (event.n === 1) for (let k = 0; k < 3_000; k++) bus.delta(attempt, "m");
      },
    });
    const other = bus.watch();
    bus.delta(attempt, "m");
    await bus.idle();
    for (const each of [watcher, other]) {
      expect(numbersOf(each.events)).toEqual(upTo(3_001));
      expect(each.stats()).toMatchObject({ published: 3_001, dropped: 0, depth: 0, bytes: 0 });
    }
  });

  it("that disposes itself gets nothing more, and its books are closed", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const later: { subscription?: Subscription } = {};
    const watcher = bus.watch({ handler: () => later.subscription?.dispose() });
    later.subscription = watcher;
    for (let k = 0; k < 3; k++) bus.delta(attempt, "m");
    await bus.idle();
    expect(watcher.stats()).toMatchObject({ published: 3, delivered: 1, dropped: 2, depth: 0, bytes: 0 });
    // What comes later is none of its business, and asking for its books is safe.
    for (let k = 0; k < 2_000; k++) bus.delta(attempt, "m");
    await bus.idle();
    expect(watcher.stats().published).toBe(3);
    expect(bus.observers.stats()).toEqual([]);
  });

  it("that disposes another one, before or behind it, stops it at once", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const others: Subscription[] = [];
    const before = bus.watch();
    bus.watch({ handler: () => others.forEach((other) => other.dispose()) });
    const behind = bus.watch();
    others.push(before, behind);
    bus.delta(attempt, "a");
    bus.delta(attempt, "b");
    await bus.idle();
    bus.delta(attempt, "c");
    await bus.idle();
    expect([before.events.length, behind.events.length, behind.stats().dropped]).toEqual([2, 0, 2]);
  });

  it("that is disposed while it runs may finish, and is not watched for stalling", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const hold = gate();
    const watcher = bus.watch({ handler: () => hold.opened });
    for (const text of ["a", "b", "c"]) bus.delta(attempt, text);
    await bus.idle();
    watcher.dispose();
    watcher.dispose();
    expect(watcher.stats()).toMatchObject({ delivered: 1, dropped: 2, running: 1 });
    hold.open();
    await bus.idle();
    bus.clock.advance(60_000);
    await bus.idle();
    expect([watcher.events.length, watcher.stats().running, bus.notices]).toEqual([1, 0, []]);
  });

  it("that ends its registration in a call that hangs leaves no timer behind", async () => {
    const bus = openBus();
    const later: { subscription?: Subscription } = {};
    const watcher = bus.watch({
      handler: () => {
        later.subscription?.dispose();
        return gate().opened;
      },
    });
    later.subscription = watcher;
    bus.delta(bus.begin(), "m");
    await bus.idle();
    bus.clock.advance(60_000);
    await bus.idle();
    expect([watcher.stats().failures.stalled, bus.notices]).toEqual([0, []]);
  });

  it("that asks for stats is told its withheld events before the next one", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const watcher = bus.watch({ grants: [], handler: () => void bus.observers.stats() });
    bus.delta(attempt, "a");
    bus.reason(attempt, "hidden");
    bus.delta(attempt, "b");
    await bus.idle();
    expect(watcher.events.map(({ kind, n }) => [kind, n])).toEqual([
      ["message.delta", 1],
      ["gap", null],
      ["message.delta", 3],
    ]);
  });

  it("that registers another one lets it see what comes from then on", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const added: ActivityEvent[] = [];
    bus.watch({
      handler: ({ n }) => {
        if (n === 1) bus.observers.observe({ id: "added", handler: (event) => void added.push(event) });
      },
    });
    bus.delta(attempt, "a");
    bus.delta(attempt, "b");
    await bus.idle();
    bus.delta(attempt, "c");
    await bus.idle();
    expect(added.map(({ n }) => n)).toEqual([3]);
  });

  it("may take the id of one that it disposes, and the first one's second undo is no undo of the second", async () => {
    const bus = openBus();
    const first = bus.watch({ id: "same" });
    first.dispose();
    const second = bus.watch({ id: "same" });
    first.dispose();
    bus.delta(bus.begin(), "m");
    await bus.idle();
    expect([first.events.length, second.events.length]).toEqual([0, 1]);
  });
});

describe("a report", () => {
  it("comes in a later turn of the event loop, and may ask for the books or throw", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const watcher = bus.watch({ maxEvents: 1, kinds: ["tool.started"], handler: () => gate().opened });
    const codes: string[] = [];
    bus.notices.push = (notice) => {
      codes.push(notice.code);
      bus.observers.stats();
      throw new Error("broken reporter");
    };
    for (let k = 0; k < 2_000; k++) bus.emit(attempt, "tool.start", { tool_id: `t${k}` });
    expect([watcher.stats().dropped > 0, codes]).toEqual([true, []]);
    await bus.idle();
    expect(codes).toEqual(["lagging", "saturated"]);
    const { published, delivered, dropped, depth } = watcher.stats();
    expect(delivered + dropped + depth).toBe(published);
  });
});

describe("a ring that overflows", () => {
  it.each([
    ["by count", 5_000, 1],
    ["by bytes", 3_000, 8_000],
  ])("%s moves everybody on, and a consumer that keeps up loses nothing", async (_, count, units) => {
    const bus = openBus();
    const attempt = bus.begin();
    const watcher = bus.watch({ maxEvents: 1_048_576, maxBytes: 1_073_741_824 });
    for (let k = 0; k < count; k++) bus.delta(attempt, "m".repeat(units));
    await bus.idle();
    expect(numbersOf(watcher.events)).toEqual(upTo(count));
    expect(eventsOf(watcher.events, "gap")).toEqual([]);
  });
});
