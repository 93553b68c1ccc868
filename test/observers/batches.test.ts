import { describe, expect, it } from "vitest";
import { envelopeBytes, estimateBytes, limits, type ActivityEvent, type Attempt } from "../../core/index.ts";
import { readOutcome } from "../../observers/batch-outcome.ts";
import type { BatchConsumerOptions, BatchOutcome } from "../../observers/index.ts";
import { kindsOf, openBus, type BatchWatcher, type Bus } from "../support/bus.ts";

/** A consumer whose batches wait until each is settled by the test. */
interface Held {
  readonly watcher: BatchWatcher;
  /** Settles the batch that runs, and lets what can follow start. */
  readonly settle: (outcome?: unknown) => Promise<void>;
  readonly fail: (fault: unknown) => Promise<void>;
}

function openHeld(bus: Bus, options: Partial<BatchConsumerOptions> = {}): Held {
  let call: { readonly resolve: (value: unknown) => void; readonly reject: (fault: unknown) => void } | null = null;
  const handler = (): Promise<unknown> => new Promise((resolve, reject) => (call = { resolve, reject }));
  return {
    watcher: bus.watchBatches({ ...options, handler }),
    settle: (outcome) => {
      call?.resolve(outcome);
      return bus.idle();
    },
    fail: (fault) => {
      call?.reject(fault);
      return bus.idle();
    },
  };
}

/** A number for an event, its range for a merged one, the counts of a gap. */
function shortOf(event: ActivityEvent): unknown {
  if (event.kind !== "gap") return event.n_from === undefined ? event.n : [event.n_from, event.n];
  const { dropped, withheld, first_n, last_n } = event.payload;
  return { dropped, withheld, first_n, last_n };
}

const numbers = ({ watcher }: Held): readonly unknown[] => watcher.batches.map((batch) => batch.map(shortOf));

const gap = (first_n: number, last_n: number, dropped = last_n - first_n + 1): object => ({
  ...{ dropped, withheld: 0, first_n, last_n },
});

/** Events that are no deltas. */
function errors(bus: Bus, attempt: Attempt, count: number): void {
  for (let k = 0; k < count; k++) bus.emit(attempt, "error", { message: "e" });
}

/** An event that takes so many bytes by estimate. */
function sized(bus: Bus, attempt: Attempt, bytes: number): void {
  const rest = envelopeBytes + estimateBytes({ message: "" });
  bus.emit(attempt, "error", { message: "e".repeat(bytes - rest) });
}

describe("batches", () => {
  it("have what is there, up to `batch` events; the next one comes when the one before has settled", async () => {
    const bus = openBus();
    const held = openHeld(bus, { batch: 3 });
    const attempt = bus.begin();
    errors(bus, attempt, 2);
    await bus.idle();
    errors(bus, attempt, 4);
    await bus.idle();
    expect(numbers(held)).toEqual([[1, 2]]);
    await held.settle();
    await held.settle();
    expect(numbers(held)).toEqual([[1, 2], [3, 4, 5], [6]]);
  });

  it("count as held until they have settled, and the books balance at any time", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const attempt = bus.begin();
    for (let k = 0; k < 3; k++) bus.delta(attempt, "m");
    await bus.idle();
    bus.clock.advance(5);
    bus.delta(attempt, "m");
    const { handler_ms: _, ...stats } = held.watcher.stats();
    expect(stats).toMatchObject({ published: 4, delivered: 0, depth: 4, bytes: 4 * (envelopeBytes + 1), running: 1 });
    expect(stats.oldest_age_ms).toBe(5);
    await held.settle();
    expect(held.watcher.stats()).toMatchObject({ published: 4, delivered: 3, depth: 1, bytes: envelopeBytes + 1 });
    await held.settle();
    expect(held.watcher.stats()).toMatchObject({ delivered: 4, depth: 0, bytes: 0, oldest_age_ms: null, running: 0 });
  });

  it("of a handler that awaits nothing follow each other in the same turn of the event loop", () => {
    const bus = openBus();
    const watcher = bus.watchBatches({ batch: 2 });
    errors(bus, bus.begin(), 5);
    bus.clock.tick();
    expect(watcher.batches.map((batch) => batch.length)).toEqual([2, 2, 1]);
    expect(watcher.stats()).toMatchObject({ delivered: 5, depth: 0 });
  });

  it("have gaps among them, at their places, and count them in `batch`", async () => {
    const bus = openBus();
    const held = openHeld(bus, { batch: 3, maxEvents: 2, grants: [] });
    const [a, b] = [bus.begin({ member_id: "a" }), bus.begin({ member_id: "b" })];
    errors(bus, a, 1);
    await bus.idle();
    errors(bus, b, 2);
    errors(bus, a, 2);
    bus.reason(a, "hidden");
    await bus.idle();
    await held.settle();
    expect(numbers(held)).toEqual([[1], [2, 3]]);
    errors(bus, a, 1);
    await held.settle();
    expect(numbers(held).at(-1)).toEqual([{ ...gap(4, 4, 0), withheld: 1 }, 5]);
    errors(bus, b, 1);
    await held.settle();
    expect(numbers(held).at(-1)).toEqual([gap(1, 2), 3]);
  });

  it.each([
    ["fills it to the byte", 0, [16, 1]],
    ["is one byte more", 1, [15, 2]],
  ])("end before the event that takes them over 1 MiB: one that %s", async (_, more, lengths) => {
    const bus = openBus();
    const held = openHeld(bus, { maxEventBytes: 200_000 });
    const attempt = bus.begin();
    const each = limits.maxBatchBytes / 16;
    for (let k = 1; k <= 17; k++) sized(bus, attempt, k === 16 ? each + more : each);
    await bus.idle();
    await held.settle();
    expect(held.watcher.batches.map((batch) => batch.length)).toEqual(lengths);
  });

  it("have one event at least, however large it is", async () => {
    const bus = openBus();
    const held = openHeld(bus, { payload: "full", maxBytes: 8 * limits.maxBatchBytes });
    const attempt = bus.begin();
    sized(bus, attempt, 2 * limits.maxBatchBytes);
    sized(bus, attempt, 2 * limits.maxBatchBytes);
    await bus.idle();
    expect(held.watcher.batches.map((batch) => batch.length)).toEqual([1]);
    expect(held.watcher.stats().bytes).toBe(4 * limits.maxBatchBytes);
  });

  it("count a snapshot with its whole text", async () => {
    const bus = openBus();
    const held = openHeld(bus, { maxEvents: 2 });
    const attempts = ["a", "b"].map((member_id) => bus.begin({ member_id }));
    for (let k = 0; k < 90; k++) for (const attempt of attempts) bus.delta(attempt, "m".repeat(8_000));
    await bus.idle();
    await held.settle();
    const lengths = held.watcher.batches.map((batch) =>
      batch.map(({ payload }) => ("text" in payload ? payload.text.length : 0)),
    );
    expect(lengths.map((batch) => batch.filter((length) => length > 0))).toEqual([[720_000], [720_000]]);
  });

  it("are watched for stalling, and a handler that fails has handled them", async () => {
    const bus = openBus();
    const held = openHeld(bus, { stallMs: 1_000 });
    const attempt = bus.begin();
    errors(bus, attempt, 2);
    await bus.idle();
    bus.clock.advance(1_000);
    await held.fail(new Error("no"));
    expect(held.watcher.stats()).toMatchObject({ delivered: 2, failures: { thrown: 0, rejected: 1, stalled: 1 } });
    const thrower = bus.watchBatches({
      handler: () => {
        throw new Error("no");
      },
    });
    errors(bus, attempt, 3);
    await bus.idle();
    expect(thrower.stats()).toMatchObject({ delivered: 3, depth: 0, dropped: 0, failures: { thrown: 1 } });
  });

  it("in the handler's hands at a dispose stay held until they settle, and what waited is dropped", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const attempt = bus.begin();
    errors(bus, attempt, 4);
    await bus.idle();
    errors(bus, attempt, 2);
    held.watcher.dispose();
    expect(held.watcher.stats()).toMatchObject({ published: 6, delivered: 0, dropped: 2, depth: 4, running: 1 });
    await held.settle({ handled: 3, fresh: true } satisfies BatchOutcome);
    expect(held.watcher.stats()).toMatchObject({ delivered: 3, dropped: 3, depth: 0, bytes: 0, running: 0 });
    expect([held.watcher.batches.length, bus.notices]).toEqual([1, []]);
  });

  it("hold up a drain, and are counted by it as not delivered", async () => {
    const bus = openBus();
    const held = openHeld(bus, { id: "slow" });
    errors(bus, bus.begin(), 4);
    await bus.idle();
    const late = bus.observers.drain(1_000);
    bus.clock.advance(1_000);
    expect(await late).toEqual({ undelivered: 4, unfinished: ["slow"] });
    const whole = bus.observers.drain(1_000);
    await held.settle();
    expect(await whole).toEqual({ undelivered: 0, unfinished: [] });
  });
});

describe("what a batch's outcome says was lost", () => {
  it("C-013 counts as dropped and is told before the next event of its attempt", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const [a, b] = [bus.begin({ member_id: "a" }), bus.begin({ member_id: "b" })];
    errors(bus, a, 2);
    errors(bus, b, 2);
    await bus.idle();
    errors(bus, b, 1);
    await held.settle({ handled: 1 } satisfies BatchOutcome);
    expect(numbers(held)).toEqual([
      [1, 2, 1, 2],
      [gap(1, 2), 3],
    ]);
    const { delivered, dropped, depth, dropped_by_kind, gaps, lagging } = held.watcher.stats();
    expect({ delivered, dropped, depth, dropped_by_kind, gaps, lagging }).toEqual({
      ...{ delivered: 1, dropped: 3, depth: 1, dropped_by_kind: { "turn.error": 3 }, gaps: 0, lagging: true },
    });
    await held.settle();
    errors(bus, a, 1);
    await bus.idle();
    expect(numbers(held).at(-1)).toEqual([gap(2, 2), 3]);
    expect(held.watcher.batches.at(-1)?.[0]).toMatchObject({
      coordinates: a.coordinates,
      payload: { kinds: { "turn.error": 1 }, reason: "overflow" },
    });
    expect(bus.notices.map(({ code, message }) => [code, message])).toEqual([
      [
        "unhandled",
        `consumer ${held.watcher.id}: what was handed to it reached nobody; it is counted as dropped and told as gaps`,
      ],
    ]);
  });

  it("C-015 leaves `merged` with all its members when it was merged", async () => {
    const bus = openBus();
    const held = openHeld(bus, { maxEvents: 1 });
    const attempt = bus.begin();
    bus.delta(attempt, "1");
    await bus.idle();
    for (const text of ["2", "3", "4"]) bus.delta(attempt, text);
    await held.settle();
    expect([numbers(held).at(-1), held.watcher.stats().merged]).toEqual([[[2, 4]], 2]);
    await held.settle({ handled: 0 });
    expect(held.watcher.stats()).toMatchObject({
      published: 4,
      delivered: 1,
      merged: 0,
      dropped: 3,
      depth: 0,
      bytes: 0,
    });
    bus.delta(attempt, "5");
    await bus.idle();
    expect(numbers(held).at(-1)).toEqual([gap(2, 4), 5]);
    expect(held.watcher.batches.at(-1)?.[1]?.payload).toEqual({ text: "12345", offset: 0, snapshot: true });
  });

  it("is told with what was dropped and withheld behind it, in one gap", async () => {
    const bus = openBus();
    const held = openHeld(bus, { maxEvents: 1, grants: [] });
    const attempt = bus.begin();
    errors(bus, attempt, 1);
    await bus.idle();
    bus.reason(attempt, "hidden");
    errors(bus, attempt, 2);
    await held.settle({ handled: 0 });
    expect(numbers(held).at(-1)).toEqual([{ dropped: 2, withheld: 1, first_n: 1, last_n: 3 }, 4]);
    // A gap that is lost with its event is told again with it.
    await held.settle({ handled: 0 });
    errors(bus, attempt, 1);
    await bus.idle();
    expect(numbers(held).at(-1)).toEqual([{ dropped: 3, withheld: 1, first_n: 1, last_n: 4 }, 5]);
    expect(held.watcher.stats().gaps).toBe(0);
    await held.settle({ handled: 1 });
    expect(held.watcher.stats()).toMatchObject({ gaps: 1, dropped: 4, delivered: 0 });
  });

  it.each([
    ["was among it", undefined],
    ["is not wanted", ["turn.error"] as const],
  ])("is told before the next event of anybody when the end of its attempt %s", async (_, kinds) => {
    const bus = openBus();
    const held = openHeld(bus, kinds === undefined ? {} : { kinds });
    const [a, b] = [bus.begin({ member_id: "a" }), bus.begin({ member_id: "b" })];
    errors(bus, a, 2);
    bus.settle(a);
    await bus.idle();
    errors(bus, b, 1);
    await held.settle({ handled: 1 });
    expect(numbers(held).at(-1)).toEqual([gap(2, kinds === undefined ? 3 : 2), 1]);
    // Told and lost again, it comes again; nothing else has to come for that.
    await held.settle({ handled: 0 });
    expect(numbers(held).at(-1)).toEqual([gap(2, kinds === undefined ? 3 : 2)]);
    await held.settle();
    expect(held.watcher.stats()).toMatchObject({ depth: 0, gaps: 1, running: 0 });
  });

  it("tells a gap without coordinates again", async () => {
    const bus = openBus();
    const held = openHeld(bus, { maxEvents: 1 });
    bus.delta(bus.begin({ member_id: "filler" }), "m");
    await bus.idle();
    for (let k = 0; k < limits.maxGapAttempts + 3; k++) bus.settle(bus.begin({ member_id: `m${k}` }));
    await held.settle();
    const last = (): readonly ActivityEvent[] => held.watcher.batches.at(-1) ?? [];
    const nameless = (): readonly unknown[] => last().filter(({ coordinates }) => coordinates === null);
    const counts = { dropped: 2, withheld: 0, first_n: null, last_n: null };
    expect([last().length, nameless()]).toMatchObject([limits.maxGapAttempts + 2, [{ payload: counts }]]);
    // It is lost together with the one event that was left.
    await held.settle({ handled: limits.maxGapAttempts });
    expect(last().map(shortOf)).toEqual([gap(1, 1), counts]);
    await held.settle({ handled: 1 });
    expect(last().map(shortOf)).toEqual([counts]);
  });

  it("C-019 holds its bounds when batches of 1,024 attempts that have ended are lost", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    for (let k = 0; k < 1_024; k++) bus.settle(bus.begin({ member_id: `m${k}` }));
    await bus.idle();
    await held.settle({ handled: 0 });
    const last = held.watcher.batches.at(-1) ?? [];
    expect(last).toHaveLength(limits.maxGapAttempts + 1);
    const told = last.reduce((sum, event) => sum + (event.kind === "gap" ? event.payload.dropped : 0), 0);
    expect([told, last.at(-1)?.coordinates]).toEqual([1_024, null]);
  });
});

describe("a batch's outcome that says `lost`", () => {
  it("tells by gaps what was lost of each attempt, and counts the rest as delivered", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const [a, b] = [bus.begin({ member_id: "m-a" }), bus.begin({ member_id: "m-b" })];
    for (const attempt of [a, b, a, b, a]) errors(bus, attempt, 1);
    await bus.idle();
    // Of a 1 was handled, of b both: the places 0, 1 and 3.
    await held.settle({ lost: [2, 4] } satisfies BatchOutcome);
    errors(bus, a, 1);
    errors(bus, b, 1);
    await bus.idle();
    await held.settle();
    expect(numbers(held)).toEqual([
      [1, 1, 2, 2, 3],
      [gap(2, 3), 4, 3],
    ]);
    const { published, delivered, dropped, gaps } = held.watcher.stats();
    expect([published, delivered, dropped, gaps]).toEqual([7, 5, 2, 1]);
  });
});

describe("a batch's outcome that says `fresh`", () => {
  it("makes the first delta of each kind of each live attempt a snapshot, and no gap", async () => {
    const bus = openBus();
    const held = openHeld(bus);
    const [a, b] = [bus.begin({ member_id: "a" }), bus.begin({ member_id: "b" })];
    const say = (text: string): void => {
      for (const attempt of [a, b]) {
        bus.delta(attempt, text);
        bus.reason(attempt, `r${text}`);
      }
    };
    say("1");
    await bus.idle();
    await held.settle({ fresh: true });
    const later = bus.begin({ member_id: "later" });
    say("2");
    say("3");
    bus.delta(later, "new");
    bus.delta(later, "er");
    await bus.idle();
    const batch = held.watcher.batches.at(-1) ?? [];
    expect(new Set(kindsOf(batch))).toEqual(new Set(["message.delta", "reasoning.delta"]));
    expect(batch.map(({ payload }) => payload)).toEqual([
      { text: "12", offset: 0, snapshot: true },
      { text: "r1r2", offset: 0, snapshot: true },
      { text: "12", offset: 0, snapshot: true },
      { text: "r1r2", offset: 0, snapshot: true },
      { text: "3", offset: 2 },
      { text: "r3", offset: 4 },
      { text: "3", offset: 2 },
      { text: "r3", offset: 4 },
      { text: "new", offset: 0 },
      { text: "er", offset: 3 },
    ]);
    expect(held.watcher.stats().gaps).toBe(0);
    // And once more, each time that it is said.
    await held.settle({ fresh: true });
    bus.delta(later, "!");
    await bus.idle();
    expect(held.watcher.batches.at(-1)?.[0]?.payload).toEqual({ text: "newer!", offset: 0, snapshot: true });
  });

  it("does the same beside a loss, behind its gap", async () => {
    const bus = openBus();
    const held = openHeld(bus, { batch: 2 });
    const attempt = bus.begin();
    for (const text of ["1", "2", "3", "4"]) bus.delta(attempt, text);
    await bus.idle();
    await held.settle({ handled: 1, fresh: true });
    expect(numbers(held).at(-1)).toEqual([gap(2, 2), 3]);
    expect(held.watcher.batches.at(-1)?.[1]?.payload).toEqual({ text: "123", offset: 0, snapshot: true });
    await held.settle();
    expect(held.watcher.batches.at(-1)?.[0]?.payload).toEqual({ text: "4", offset: 3 });
  });
});

describe("a batch's outcome", () => {
  it("adds failures to those of the consumer, and each kind is reported once", async () => {
    const bus = openBus();
    const held = openHeld(bus, { id: "w" });
    const attempt = bus.begin();
    const outcomes: readonly BatchOutcome[] = [
      { failures: { thrown: 2, message: "no such card" } },
      { failures: { thrown: 1, rejected: 3, message: "again" } },
      { failures: { stalled: 1 } },
    ];
    for (const outcome of outcomes) {
      errors(bus, attempt, 1);
      await bus.idle();
      await held.settle(outcome);
    }
    expect(held.watcher.stats()).toMatchObject({ failures: { thrown: 3, rejected: 3, stalled: 1 }, delivered: 3 });
    expect(bus.notices.map(({ code, message }) => [code, message])).toEqual([
      ["handler_threw", "consumer w: its handler threw: no such card"],
      ["handler_rejected", "consumer w: its handler rejected: again"],
      ["stalled", "consumer w: a call of its handler has run for longer than stallMs"],
    ]);
  });

  const none = { thrown: 0, rejected: 0, stalled: 0, message: undefined };
  const nothing = { handled: 4, failures: {}, fresh: false };
  it.each<[string, unknown, object]>([
    ["undefined", undefined, nothing],
    ["null", null, nothing],
    ["a text", "handled", nothing],
    ["a number", 0, nothing],
    ["a list", [1], nothing],
    ["another object", { status: 200 }, nothing],
    ["less than the length", { handled: 3 }, { ...nothing, handled: 3 }],
    ["0", { handled: 0 }, { ...nothing, handled: 0 }],
    ["more than the length", { handled: 5 }, nothing],
    ["a negative count", { handled: -1 }, nothing],
    ["a part of an event", { handled: 1.5 }, nothing],
    ["no number", { handled: Number.NaN }, nothing],
    ["a text for a count", { handled: "1" }, nothing],
    ["places as lost", { lost: [1, -1, "2"] }, { ...nothing, lost: new Set([1]) }],
    ["only a list as lost", { lost: 1 }, nothing],
    ["only true as fresh", { fresh: 1 }, nothing],
    ["fresh", { fresh: true }, { ...nothing, fresh: true }],
    ["no failures", { failures: null }, nothing],
    ["counts of failures", { failures: { thrown: 2 } }, { ...nothing, failures: { ...none, thrown: 2 } }],
    [
      "wrong counts",
      { failures: { thrown: -2, rejected: "1", stalled: 0.5, message: 7 } },
      { ...nothing, failures: none },
    ],
  ])("read from %s", (_, value, outcome) => {
    expect(readOutcome(value, 4)).toEqual(outcome);
  });

  it("that throws when it is read says nothing", () => {
    const trap = {
      get handled(): number {
        throw new Error("no");
      },
    };
    expect(readOutcome(trap, 4)).toEqual(nothing);
  });

  it("is read of a batch that awaits nothing too", async () => {
    const bus = openBus();
    let calls = 0;
    const watcher = bus.watchBatches({ handler: () => (++calls === 1 ? { handled: 1 } : undefined) });
    const attempt = bus.begin();
    errors(bus, attempt, 3);
    bus.settle(attempt);
    await bus.idle();
    expect(watcher.batches.map((batch) => batch.map(shortOf))).toEqual([[1, 2, 3, 4], [gap(2, 4)]]);
    expect(watcher.stats()).toMatchObject({ delivered: 1, dropped: 3, gaps: 1, depth: 0 });
  });
});
