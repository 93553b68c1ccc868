import { describe, expect, it } from "vitest";
import { envelopeBytes } from "../../core/index.ts";
import type { ConsumerOptions } from "../../observers/index.ts";
import { eventsOf, gate, numbersOf, openBus, textOf, upTo, type Bus, type Watcher } from "../support/bus.ts";

/** A handler that waits for ever at its first event. */
const blocked = (): Promise<void> => gate().opened;

/** Reads a blocked consumer to the end. */
async function readOn(bus: Bus, hold: { readonly open: () => void }): Promise<void> {
  hold.open();
  await bus.idle();
}

function openBlocked(bus: Bus, options: object = {}): { watcher: Watcher; hold: { readonly open: () => void } } {
  const hold = gate();
  return { watcher: bus.watch({ ...options, handler: () => hold.opened }), hold };
}

describe("a blocked consumer", () => {
  it("C-014 is bound for tool events too, is reported lagging once, and all is accounted for", async () => {
    const bus = openBus();
    const { watcher, hold } = openBlocked(bus, { kinds: ["tool.started"] });
    const attempt = bus.begin();
    for (let k = 1; k <= 5_000; k++) {
      bus.emit(attempt, "tool.start", { tool_id: `t${k}` });
      bus.emit(attempt, "tool.complete", { tool_id: `t${k}` });
      if (k % 100 === 0) await bus.idle();
    }
    const stats = watcher.stats();
    expect(stats).toMatchObject({
      published: 5_000,
      delivered: 1,
      depth: 1_024,
      dropped: 5_000 - 1_025,
      lagging: true,
    });
    expect(stats.dropped_by_kind).toEqual({ "tool.started": 3_975 });
    await readOn(bus, hold);
    expect(bus.notices.filter(({ code }) => code === "lagging")).toHaveLength(1);
    const lost = eventsOf(watcher.events, "gap").reduce((sum, { payload }) => sum + payload.dropped, 0);
    expect([watcher.stats().delivered, watcher.stats().delivered + lost]).toEqual([1_025, 5_000]);
  });

  it("C-019 holds its bound at any time, warns once, and every n has its place", async () => {
    const bus = openBus();
    const { watcher, hold } = openBlocked(bus);
    const attempt = bus.begin();
    const text = "m".repeat(1_024);
    for (let k = 1; k <= 50_000; k++) {
      bus.delta(attempt, text);
      if (k % 500 === 0) {
        await bus.idle();
        const { depth, bytes } = watcher.stats();
        expect(depth <= 1_024 && bytes <= 4_194_304).toBe(true);
      }
    }
    await readOn(bus, hold);
    bus.settle(attempt);
    await bus.idle();
    expect(bus.notices.map(({ code }) => code)).toEqual(["saturated"]);
    const [first, gap, ...rest] = watcher.events;
    expect([first?.n, gap?.kind]).toEqual([1, "gap"]);
    const { first_n, last_n, dropped } = eventsOf(watcher.events, "gap")[0]?.payload ?? {};
    expect([first_n, (last_n ?? 0) - (first_n ?? 0) + 1]).toEqual([2, dropped]);
    expect(numbersOf(rest)).toEqual(upTo(50_001).slice(last_n ?? 0));
    // The seam keeps 1 MiB of text: a consumer that lost more than that stays broken, and can tell.
    expect(textOf(watcher.events, "message.delta")).toBe(null);
  });

  it("C-018 C-060 costs the turn nothing, and a bounded drain tells what was left", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    bus.watch({ id: "blocked", handler: blocked });
    const attempt = bus.begin();
    for (let k = 0; k < 200; k++) expect(bus.delta(attempt, "m")).toBe("written");
    bus.settle(attempt);
    const drained = bus.observers.drain(2_000);
    await bus.idle();
    expect(numbersOf(events)).toEqual(upTo(201));
    bus.clock.advance(1_999);
    expect(await Promise.race([drained, Promise.resolve("pending")])).toBe("pending");
    bus.clock.advance(1);
    expect(await drained).toEqual({ undelivered: 200, unfinished: ["blocked"] });
    expect(bus.notices).toEqual([]);
    bus.clock.advance(28_000);
    await bus.idle();
    bus.clock.advance(100_000);
    await bus.idle();
    expect(bus.notices.map(({ code, subject }) => [code, subject])).toEqual([["stalled", "blocked"]]);
  });

  it("is whole again with the first delta behind a loss, without asking", async () => {
    const bus = openBus();
    const { watcher, hold } = openBlocked(bus, { maxEvents: 2 });
    const attempt = bus.start();
    await bus.idle();
    for (const text of ["a", "b", "c"]) {
      bus.delta(attempt, text);
      bus.reason(attempt, `r${text}`);
    }
    bus.settle(attempt);
    await readOn(bus, hold);
    expect(watcher.events.map(({ n, payload }) => n ?? payload)).toEqual([
      1,
      {
        dropped: 5,
        withheld: 0,
        first_n: 2,
        last_n: 6,
        kinds: { "message.delta": 3, "reasoning.delta": 2 },
        reason: "overflow",
      },
      7,
      8,
    ]);
    expect(watcher.events[2]?.payload).toEqual({ text: "rarbrc", offset: 0, snapshot: true });
    expect(watcher.stats().lagging).toBe(false);
  });
});

describe("draining", () => {
  it("ends as soon as everything is read", async () => {
    const bus = openBus();
    const watcher = bus.watch();
    expect(await bus.observers.drain(1_000)).toEqual({ undelivered: 0, unfinished: [] });
    bus.delta(bus.begin(), "m");
    const drained = bus.observers.drain(1_000);
    await bus.idle();
    expect(await drained).toEqual({ undelivered: 0, unfinished: [] });
    expect(watcher.stats().delivered).toBe(1);
  });

  it("ends when the last consumer with something to read is taken off", async () => {
    const bus = openBus();
    const { watcher } = openBlocked(bus);
    bus.delta(bus.begin(), "m");
    await bus.idle();
    const drained = bus.observers.drain(1_000);
    watcher.dispose();
    expect(await drained).toEqual({ undelivered: 0, unfinished: [] });
  });
});

describe("registering", () => {
  it.each([
    [{ id: "" }, "invalid_params", "id"],
    [{ maxEvents: 0 }, "invalid_params", "maxEvents is a whole number from 1 to 1048576, got 0"],
    [{ maxEvents: 1.5 }, "invalid_params", "maxEvents"],
    [{ maxBytes: 16_383 }, "invalid_params", "maxBytes is a whole number from 16384"],
    [{ maxEventBytes: 511 }, "invalid_params", "maxEventBytes"],
    [{ maxBytes: 20_000, maxEventBytes: 20_001 }, "invalid_params", "maxEventBytes"],
    [{ stallMs: Number.NaN }, "invalid_params", "stallMs"],
    [{ concurrency: 0 }, "invalid_params", "concurrency is a whole number from 1 to 64, got 0"],
    [{ concurrency: 65 }, "invalid_params", "concurrency is a whole number from 1 to 64, got 65"],
    [{ concurrency: 1.5 }, "invalid_params", "concurrency"],
    [{ batch: 0 }, "invalid_params", "batch is a whole number from 1 to 1024, got 0"],
    [{ batch: 1_025 }, "invalid_params", "batch is a whole number from 1 to 1024, got 1025"],
    [{ batch: "all" }, "invalid_params", "batch is a whole number"],
    [
      { batch: 4, concurrency: 2 },
      "invalid_params",
      "batch goes with concurrency 1, got 2: a batch has events of several",
    ],
    [{ batches: 4 }, "invalid_params", "batches: no such option; known: id, kinds, rooms"],
    [{ payload: "full" }, "invalid_params", 'needs the grant "full"'],
    [{ payload: "all" }, "invalid_params", 'payload takes meta, standard, full; got "all"'],
    [{ grants: ["admin"] }, "invalid_params", 'grants takes reasoning, approvals, full; got "admin"'],
    [{ kinds: ["tool.finished"] }, "unknown_kind", 'no kind "tool.finished"; known: turn.started'],
    [{ id: "taken" }, "duplicate_id", "taken"],
  ])("refuses %j", (options, code, message) => {
    const bus = openBus();
    bus.watch({ id: "taken", grants: [] });
    const register = (): unknown => bus.watch({ grants: [], ...(options as object) });
    expect(register).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
    expect(bus.observers.stats().map(({ id }) => id)).toEqual(["taken"]);
  });

  it.each([{ concurrency: 1 }, { concurrency: 64 }, { batch: 1 }, { batch: 1_024, concurrency: 1 }])(
    "takes %j",
    (options) => {
      const bus = openBus();
      bus.observers.observe({ id: "taken", handler: () => undefined, ...options } as ConsumerOptions);
      expect(bus.observers.stats()).toMatchObject([{ id: "taken", running: 0 }]);
    },
  );

  it("gives what is published from then on, and counts nothing when nobody listens", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    bus.delta(attempt, "unheard");
    expect(bus.observers.listening).toBe(false);
    const early = bus.watch();
    bus.delta(attempt, "a");
    const late = bus.watch();
    bus.delta(attempt, "b");
    expect(early.stats()).toMatchObject({ published: 2, depth: 2, bytes: 2 * (envelopeBytes + 1), oldest_age_ms: 0 });
    await bus.idle();
    expect([early.events, late.events].map((events) => events.map(({ n }) => n))).toEqual([[2, 3], [3]]);
  });
});
