import { describe, expect, it } from "vitest";
import { limits, type ActivityEvent, type Attempt } from "../../core/index.ts";
import type { EventConsumerOptions } from "../../observers/index.ts";
import { eventsOf, numbersOf, openBus, upTo, type Bus, type Watcher } from "../support/bus.ts";

/** A consumer whose calls wait, each until it is let go. */
interface Held {
  readonly watcher: Watcher;
  /** Members whose calls run, in order of their start. */
  readonly running: () => readonly (string | null)[];
  /** Lets the oldest call of a member go (null: of a gap without coordinates), and all that can follow start. */
  readonly release: (member: string | null) => Promise<void>;
}

function openHeld(bus: Bus, options: Partial<EventConsumerOptions> = {}): Held {
  const calls: { member: string | null; go: () => void }[] = [];
  const handler = ({ coordinates }: ActivityEvent): Promise<void> =>
    new Promise((resolve) => calls.push({ member: coordinates?.member_id ?? null, go: resolve }));
  const watcher = bus.watch({ concurrency: 2, ...options, handler });
  return {
    watcher,
    running: () => calls.map(({ member }) => member),
    release: async (member) => {
      calls
        .splice(
          calls.findIndex((call) => call.member === member),
          1,
        )[0]
        ?.go();
      await bus.idle();
    },
  };
}

function begin(bus: Bus, ...members: readonly string[]): readonly [Attempt, Attempt, ...Attempt[]] {
  const [a, b, ...more] = members.map((member_id) => bus.begin({ member_id }));
  if (a === undefined || b === undefined) throw new Error("two members at least");
  return [a, b, ...more];
}

/** What a consumer got of one member, in order: a number, or the numbers of a gap. */
function seen({ events }: Watcher, member: string): readonly unknown[] {
  return events
    .filter(({ coordinates }) => coordinates?.member_id === member)
    .map((event) => (event.kind === "gap" ? [event.payload.first_n, event.payload.last_n] : event.n));
}

describe("attempts side by side", () => {
  it("go on beside a slow one, each in its own order", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const [a, b] = begin(bus, "a", "b");
    for (const attempt of [a, a, b, a, b, b]) bus.emit(attempt, "tool.start", { tool_id: `t${attempt.n}` });
    await bus.idle();
    expect(held.running()).toEqual(["a", "b"]);
    await held.release("b");
    await held.release("b");
    expect([seen(held.watcher, "a"), seen(held.watcher, "b"), held.running()]).toEqual([[1], [1, 2, 3], ["a", "b"]]);
    expect(held.watcher.stats()).toMatchObject({ published: 6, delivered: 4, depth: 2, running: 2 });
    await held.release("b");
    for (let k = 0; k < 3; k++) await held.release("a");
    expect(numbersOf(held.watcher.events).filter((n) => n === 3)).toEqual([3, 3]);
    expect(held.watcher.stats()).toMatchObject({ delivered: 6, depth: 0, bytes: 0, running: 0 });
  });

  it("are as many as `concurrency`, the ones that wait longest first", async () => {
    const bus = openBus();
    const held = openHeld(bus, { concurrency: 3 });
    const attempts = begin(bus, "a", "b", "c", "d", "e");
    for (const attempt of attempts) bus.delta(attempt, "m");
    await bus.idle();
    expect(held.running()).toEqual(["a", "b", "c"]);
    bus.delta(attempts[0], "m");
    await held.release("a");
    expect(held.running()).toEqual(["b", "c", "d"]);
    await held.release("c");
    expect(held.running()).toEqual(["b", "d", "e"]);
    await held.release("b");
    expect(held.running()).toEqual(["d", "e", "a"]);
  });

  it("keep the order of all events while no call is awaited", async () => {
    const bus = openBus();
    const watcher = bus.watch({ concurrency: 4 });
    const attempts = begin(bus, "a", "b", "c");
    for (let k = 0; k < 30; k++) bus.delta(attempts[(k * 7) % 3] ?? attempts[0], `${k}`);
    await bus.idle();
    expect(eventsOf(watcher.events, "message.delta").map(({ payload }) => payload.text)).toEqual(
      Array.from({ length: 30 }, (_, k) => `${k}`),
    );
  });

  it("get a gap at its place in their own order, while others go on", async () => {
    const bus = openBus();
    const held = openHeld(bus, { maxEvents: 2 });
    const [a, b] = begin(bus, "a", "b");
    bus.emit(a, "tool.start", { tool_id: "t1" });
    await bus.idle();
    for (let k = 2; k <= 4; k++) bus.emit(a, "tool.start", { tool_id: `t${k}` });
    bus.emit(b, "tool.start", { tool_id: "t1" });
    await bus.idle();
    expect(held.running()).toEqual(["a", "b"]);
    await held.release("a");
    expect(seen(held.watcher, "a")).toEqual([1, [2, 3]]);
    await held.release("a");
    expect([seen(held.watcher, "a"), held.running()]).toEqual([
      [1, [2, 3], 4],
      ["b", "a"],
    ]);
  });

  it("are told the loss of their end when their last call is over, and nobody waits for that", async () => {
    const bus = openBus();
    const held = openHeld(bus, { maxEvents: 1 });
    const [a, b] = begin(bus, "a", "b");
    bus.emit(a, "tool.start", { tool_id: "t1" });
    await bus.idle();
    bus.emit(a, "tool.complete", { tool_id: "t1" });
    bus.settle(a);
    bus.emit(b, "tool.start", { tool_id: "t1" });
    await bus.idle();
    expect([seen(held.watcher, "a"), held.running()]).toEqual([[1], ["a", "b"]]);
    bus.emit(b, "tool.complete", { tool_id: "t1" });
    await held.release("a");
    expect([seen(held.watcher, "a"), held.running()]).toEqual([
      [1, [2, 3]],
      ["b", "a"],
    ]);
    await held.release("b");
    expect(held.running()).toEqual(["a", "b"]);
  });

  it("are told a gap without coordinates before the next event of anybody", async () => {
    const bus = openBus();
    const held = openHeld(bus, { concurrency: 2, maxEvents: 1 });
    const filler = bus.begin({ member_id: "filler" });
    const other = bus.begin({ member_id: "other" });
    for (const attempt of [filler, other]) {
      bus.delta(attempt, "m");
      await bus.idle();
    }
    for (let k = 0; k <= limits.maxGapAttempts; k++) bus.settle(bus.begin({ member_id: `m${k}` }));
    bus.emit(other, "tool.start", { tool_id: "t" });
    for (let k = 0; k < limits.maxGapAttempts; k++) await held.release(k === 0 ? "other" : `m${k - 1}`);
    expect(held.running()).toEqual(["filler", "m255"]);
    await held.release("m255");
    expect(held.running()).toEqual(["filler", null]);
    const nameless = held.watcher.events.filter(({ coordinates }) => coordinates === null);
    expect(nameless.map(({ payload }) => payload)).toMatchObject([{ dropped: 1, first_n: null }]);
    // Its call counts as one, and as nobody's.
    await held.release("filler");
    expect(held.running()).toEqual([null, "other"]);
  });

  it("may fail, each for itself: others and their own next event go on", async () => {
    const bus = openBus();
    const [a, b] = begin(bus, "a", "b");
    const watcher = bus.watch({
      concurrency: 2,
      handler: ({ coordinates, n }) => {
        if (coordinates?.member_id === "a" && n === 1) throw new Error("thrown");
        return coordinates?.member_id === "b" && n === 1 ? Promise.reject(new Error("rejected")) : Promise.resolve();
      },
    });
    for (const attempt of [a, b, a, b]) bus.delta(attempt, "m");
    await bus.idle();
    expect([seen(watcher, "a"), seen(watcher, "b")]).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect(watcher.stats()).toMatchObject({ failures: { thrown: 1, rejected: 1, stalled: 0 }, running: 0 });
  });

  it("are watched for stalling call by call, and reported once", async () => {
    const bus = openBus();
    const held = openHeld(bus, { concurrency: 3, stallMs: 1_000 });
    const attempts = begin(bus, "a", "b", "c");
    for (const attempt of attempts) {
      bus.delta(attempt, "m");
      await bus.idle();
      bus.clock.advance(400);
    }
    expect(held.watcher.stats().failures.stalled).toBe(1);
    await held.release("b");
    bus.clock.advance(599);
    expect(held.watcher.stats().failures.stalled).toBe(1);
    bus.clock.advance(1);
    await bus.idle();
    expect(held.watcher.stats()).toMatchObject({ failures: { stalled: 2 }, running: 2 });
    bus.clock.advance(100_000);
    await bus.idle();
    expect(held.watcher.stats().failures.stalled).toBe(2);
    expect(bus.notices.map(({ code }) => code)).toEqual(["stalled"]);
    // A call that comes later is watched like the first.
    bus.delta(attempts[1], "m");
    await bus.idle();
    bus.clock.advance(1_000);
    expect(held.watcher.stats().failures.stalled).toBe(3);
  });

  it("are timed with every 64th call, from its start until it settled", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const [a, b] = begin(bus, "a", "b");
    bus.delta(a, "m");
    bus.delta(b, "m");
    await bus.idle();
    bus.clock.advance(3);
    await held.release("b");
    expect(held.watcher.stats().handler_ms).toBe(null);
    await held.release("a");
    expect(held.watcher.stats().handler_ms).toEqual({ p50: 4.096, p99: 4.096 });
  });

  it("start no further call once disposed, and may finish", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const [a, b] = begin(bus, "a", "b");
    for (const attempt of [a, b, a, b]) bus.delta(attempt, "m");
    await bus.idle();
    held.watcher.dispose();
    expect(held.watcher.stats()).toMatchObject({ published: 4, delivered: 2, dropped: 2, depth: 0, running: 2 });
    await held.release("a");
    await held.release("b");
    bus.clock.advance(60_000);
    await bus.idle();
    expect([held.watcher.events.length, held.watcher.stats().running, bus.notices]).toEqual([2, 0, []]);
  });

  it("end with a handler that disposes itself: no call starts beside its own", async () => {
    const bus = openBus();
    const [a, b] = begin(bus, "a", "b");
    const watcher: Watcher = bus.watch({ concurrency: 4, handler: () => watcher.dispose() });
    for (const attempt of [a, b]) bus.delta(attempt, "m");
    await bus.idle();
    expect(watcher.stats()).toMatchObject({ published: 2, delivered: 1, dropped: 1, depth: 0, bytes: 0 });
  });

  it("hold up a drain until the last call has settled", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const [a, b] = begin(bus, "a", "b");
    for (const attempt of [a, b, b]) bus.delta(attempt, "m");
    await bus.idle();
    const late = bus.observers.drain(1_000);
    bus.clock.advance(1_000);
    expect(await late).toEqual({ undelivered: 1, unfinished: [held.watcher.id] });
    const whole = bus.observers.drain(1_000);
    await held.release("b");
    await held.release("b");
    expect(await Promise.race([whole, Promise.resolve("pending")])).toBe("pending");
    await held.release("a");
    expect(await whole).toEqual({ undelivered: 0, unfinished: [] });
  });

  it("heal the text of each attempt behind its own gap", async () => {
    const bus = openBus();
    const held = openHeld(bus, { maxEvents: 2 });
    const [a, b] = begin(bus, "a", "b");
    for (const attempt of [a, b]) bus.delta(attempt, "1");
    await bus.idle();
    bus.delta(a, "2");
    bus.delta(b, "2");
    bus.emit(a, "tool.start", { tool_id: "t" });
    bus.delta(a, "3");
    for (const member of ["a", "a", "a", "a", "b", "b"]) await held.release(member);
    bus.delta(b, "3");
    await bus.idle();
    await held.release("b");
    const texts = (member: string): readonly unknown[] =>
      eventsOf(held.watcher.events, "message.delta")
        .filter(({ coordinates }) => coordinates?.member_id === member)
        .map(({ payload }) => payload);
    expect(texts("a")).toEqual([
      { text: "1", offset: 0 },
      { text: "123", offset: 0, snapshot: true },
    ]);
    expect(texts("b").at(-1)).toEqual({ text: "123", offset: 0, snapshot: true });
  });

  it("go on in a later turn of the event loop when the time of this one is over, without being woken", async () => {
    const bus = openBus();
    const [a, b] = begin(bus, "a", "b");
    const watcher = bus.watch({ concurrency: 2, handler: () => bus.clock.advance(10) });
    for (let k = 0; k < 20; k++) bus.delta(k % 2 === 0 ? a : b, "m");
    bus.clock.tick();
    const { delivered } = watcher.stats();
    expect(delivered > 0 && delivered < 20).toBe(true);
    await bus.idle();
    expect([numbersOf(watcher.events).length, seen(watcher, "a")]).toEqual([20, upTo(10)]);
  });
});
