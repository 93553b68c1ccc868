import { describe, expect, it } from "vitest";
import { consumerDefaults, limits, type ActivityEvent } from "../../core/index.ts";
import type { Subscription } from "../../observers/index.ts";
import { eventsOf, gate, numbersOf, openBus, textOf, upTo, type Bus } from "../support/bus.ts";

type Mode = { readonly concurrency: number } | { readonly batch: number };

interface Blocked {
  readonly consumer: Subscription;
  readonly events: readonly ActivityEvent[];
  /** Lets all its calls go. */
  readonly release: () => Promise<void>;
}

/** A consumer in one of the modes, whose first calls hang until it is released. */
function openBlocked(bus: Bus, mode: Mode): Blocked {
  const hold = gate();
  const events: ActivityEvent[] = [];
  const take = (...taken: readonly ActivityEvent[]): Promise<void> => {
    events.push(...taken);
    return hold.opened;
  };
  const consumer =
    "batch" in mode
      ? bus.watchBatches({ ...mode, id: "blocked", handler: (batch) => take(...batch) })
      : bus.watch({ ...mode, id: "blocked", handler: (event) => take(event) });
  const release = (): Promise<void> => {
    hold.open();
    return bus.idle();
  };
  return { consumer, events, release };
}

const lostOf = (events: readonly ActivityEvent[]): number =>
  eventsOf(events, "gap").reduce((sum, { payload }) => sum + payload.dropped, 0);

describe.each<[string, Mode, number]>([
  ["attempts side by side", { concurrency: 4 }, 0],
  ["events in batches", { batch: 16 }, 16],
])("a blocked consumer with %s", (_, mode, inHand) => {
  it("C-014 is bound for tool events too, is reported lagging once, and all is accounted for", async () => {
    const bus = openBus();
    const { consumer, events, release } = openBlocked(bus, mode);
    const attempts = ["a", "b"].map((member_id) => bus.begin({ member_id }));
    for (let k = 1; k <= 2_500; k++) {
      for (const attempt of attempts) bus.emit(attempt, "error", { message: `e${k}` });
      if (k % 100 === 0) await bus.idle();
    }
    const full = consumer.stats();
    expect([full.published, full.depth, full.lagging]).toEqual([5_000, consumerDefaults.maxEvents + inHand, true]);
    expect(full.delivered + full.dropped + full.depth).toBe(5_000);
    await release();
    expect(bus.notices.filter(({ code }) => code === "lagging")).toHaveLength(1);
    const { delivered, depth, bytes } = consumer.stats();
    expect([delivered + lostOf(events), depth, bytes]).toEqual([5_000, 0, 0]);
  });

  it("C-019 holds its bound at any time, warns once, and every n has its place", async () => {
    const bus = openBus();
    const { consumer, events, release } = openBlocked(bus, mode);
    const attempt = bus.begin();
    const text = "m".repeat(1_024);
    for (let k = 1; k <= 50_000; k++) {
      bus.delta(attempt, text);
      if (k % 500 !== 0) continue;
      await bus.idle();
      const { depth, bytes } = consumer.stats();
      expect(depth).toBeLessThanOrEqual(consumerDefaults.maxEvents + inHand);
      expect(bytes).toBeLessThanOrEqual(consumerDefaults.maxBytes + (inHand > 0 ? limits.maxBatchBytes : 0));
    }
    await release();
    bus.settle(attempt);
    await bus.idle();
    expect(bus.notices.map(({ code }) => code)).toEqual(["saturated"]);
    const numbers = numbersOf(events);
    expect(numbers.map((n, index) => (n === "?" ? index + 1 : n))).toEqual(upTo(50_001));
    expect(eventsOf(events, "gap")).toHaveLength(1);
    const { delivered, merged, dropped, published } = consumer.stats();
    expect(delivered + merged + dropped).toBe(published);
  });

  it("C-018 costs the turn nothing, and a bounded drain tells what was left", async () => {
    const bus = openBus();
    const healthy = bus.watch();
    const { consumer } = openBlocked(bus, mode);
    const attempt = bus.begin();
    for (let k = 0; k < 200; k++) expect(bus.delta(attempt, "m")).toBe("written");
    bus.settle(attempt);
    const drained = bus.observers.drain(2_000);
    await bus.idle();
    expect(numbersOf(healthy.events)).toEqual(upTo(201));
    bus.clock.advance(2_000);
    // An event counts as delivered when its call begins, one of a batch when the call has settled.
    const undelivered = inHand > 0 ? 201 : 200;
    expect(await drained).toEqual({ undelivered, unfinished: ["blocked"] });
    expect([consumer.stats().running, bus.notices]).toEqual([1, []]);
  });

  it("is whole again behind a loss, without asking", async () => {
    const bus = openBus();
    const { events, release } = openBlocked(bus, mode);
    const attempt = bus.begin();
    for (let k = 0; k < 40_000; k++) {
      bus.delta(attempt, `${k};`);
      if (k % 500 === 0) await bus.idle();
    }
    await release();
    expect(lostOf(events)).toBeGreaterThan(0);
    expect(textOf(events, "message.delta")).toBe(attempt.message.text);
  });
});
