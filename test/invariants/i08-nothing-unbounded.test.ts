import { describe, expect, it } from "vitest";
import {
  cleanPayload,
  consumerDefaults,
  createRedactor,
  envelopeBytes,
  estimateBytes,
  limits,
  noRedaction,
  type Attempt,
} from "../../core/index.ts";
import { eventsOf, gate, kindsOf, openBus, textOf, type Bus } from "../support/bus.ts";

/** One below, at, and one above a bound. */
function around(bound: number): readonly number[] {
  return [bound - 1, bound, bound + 1];
}

function askTimes(bus: Bus, attempt: Attempt, count: number): void {
  for (let k = 0; k < count; k++) void bus.tap.requests.ask(attempt, { method: "approval", params: {} });
}

describe("I8 nothing unbounded", () => {
  it.each(around(consumerDefaults.maxEvents))("I8 a queue holds 1,024 of %i events", async (count) => {
    const bus = openBus();
    const watcher = bus.watch({ handler: () => gate().opened, kinds: ["tool.started"] });
    const attempt = bus.begin();
    bus.emit(attempt, "tool.start", { tool_id: "running" });
    await bus.idle();
    for (let k = 0; k < count; k++) bus.emit(attempt, "tool.complete", { tool_id: `t${k}` });
    const { depth, dropped, lagging } = watcher.stats();
    const over = Math.max(0, count - 1_024);
    expect([depth, dropped, lagging]).toEqual([count - over, over, over > 0]);
  });

  it.each(around(20_000))("I8 a queue of 20,000 bytes holds %i, or loses a delta", (bytes) => {
    const bus = openBus();
    const watcher = bus.watch({ maxBytes: 20_000, maxEventBytes: 512 });
    const attempt = bus.begin();
    bus.delta(attempt, "m".repeat(8_000));
    bus.reason(attempt, "m".repeat(8_000));
    bus.delta(attempt, "m".repeat(bytes - 16_000 - 3 * 160));
    const { depth, bytes: held, dropped } = watcher.stats();
    expect([depth, held, dropped]).toEqual(bytes <= 20_000 ? [3, bytes, 0] : [2, bytes - 8_160, 1]);
  });

  it.each([1, 16_384])(
    "I8 an event larger than a queue of %i times 16 KiB is cut to fit, not dropped",
    async (events) => {
      const bus = openBus();
      const watcher = bus.watch({ maxEvents: events, maxBytes: limits.minQueueBytes, payload: "full" });
      bus.emit(bus.begin(), "error", { message: "m".repeat(100_000), reason: "r" });
      expect(watcher.stats().bytes).toBeLessThanOrEqual(limits.minQueueBytes);
      await bus.idle();
      expect(kindsOf(watcher.events)).toEqual(["turn.error"]);
      expect(watcher.events[0]).toMatchObject({
        truncated: [{ field: "message", bytes: 100_000 }],
        payload: { reason: "r" },
      });
    },
  );

  it.each(around(consumerDefaults.maxEventBytes))("I8 an event of %i bytes is whole up to 16 KiB", async (bytes) => {
    const bus = openBus();
    const { events } = bus.watch();
    bus.emit(bus.begin(), "error", { message: "m".repeat(bytes - estimateBytes({ message: "" })) });
    await bus.idle();
    expect(estimateBytes(events[0]?.payload)).toBe(Math.min(bytes, 16_384));
    expect(events[0]?.truncated === undefined).toBe(bytes <= 16_384);
  });

  it.each(around(limits.maxConcurrency))("I8 of %i attempts 64 run side by side, the others wait", async (count) => {
    const bus = openBus();
    const watcher = bus.watch({ concurrency: limits.maxConcurrency, handler: () => gate().opened });
    for (let k = 0; k < count; k++) bus.delta(bus.begin({ member_id: `m${k}` }), "m");
    await bus.idle();
    expect(watcher.stats()).toMatchObject({ running: Math.min(count, 64), depth: Math.max(0, count - 64) });
  });

  it.each(around(limits.maxBatchEvents))("I8 a batch has 1,024 of %i events, the others wait", async (count) => {
    const bus = openBus();
    const { batches } = bus.watchBatches({ maxEvents: 2_048, handler: () => gate().opened });
    const attempt = bus.begin();
    for (let k = 0; k < count; k++) bus.emit(attempt, "error", { message: "e" });
    await bus.idle();
    expect(batches.map((batch) => batch.length)).toEqual([Math.min(count, 1_024)]);
  });

  it.each(around(limits.maxBatchBytes))("I8 a batch of %i bytes is whole up to 1 MiB", async (bytes) => {
    const bus = openBus();
    const { batches } = bus.watchBatches({ payload: "full", maxBytes: 8_388_608, handler: () => gate().opened });
    const attempt = bus.begin();
    const rest = 2 * (envelopeBytes + estimateBytes({ message: "" }));
    bus.emit(attempt, "error", { message: "e".repeat(524_288) });
    bus.emit(attempt, "error", { message: "e".repeat(bytes - rest - 524_288) });
    await bus.idle();
    expect(batches.map((batch) => batch.length)).toEqual([bytes <= 1_048_576 ? 2 : 1]);
  });

  it.each(around(limits.maxBrokenAttempts))(
    "I8 a consumer that began anew knows 1,024 of %i attempts; others come whole once more",
    async (count) => {
      const bus = openBus({ redactor: noRedaction });
      const { batches } = bus.watchBatches({ maxEvents: 4_096, handler: () => ({ fresh: batches.length === 1 }) });
      const attempts = Array.from({ length: count }, (_, k) => bus.begin({ member_id: `m${k}` }));
      for (let round = 0; round < 3; round++) {
        for (const attempt of attempts) bus.delta(attempt, "m");
        await bus.idle();
      }
      const deltas = eventsOf(batches.flat().slice(count), "message.delta");
      const snapshots = deltas.filter(({ payload }) => payload.snapshot === true).length;
      expect([deltas.length, snapshots - count > 0]).toEqual([2 * count, count > 1_024]);
    },
  );

  it.each(around(limits.maxOpenTools))(
    "I8 an attempt has 1,024 of %i calls open; a further start is refused",
    (count) => {
      const bus = openBus();
      const attempt = bus.begin();
      for (let k = 0; k < count; k++) bus.emit(attempt, "tool.start", { tool_id: `t${k}` });
      expect([[...attempt.openTools].length, bus.tap.seam.refused("invalid_frame")]).toEqual([
        Math.min(count, 1_024),
        Math.max(0, count - 1_024),
      ]);
    },
  );

  it.each(around(limits.maxEndedTools))("I8 of %i ended calls the last 4,096 are known", (count) => {
    const bus = openBus();
    const attempt = bus.begin();
    for (let k = 0; k < count; k++) bus.emit(attempt, "tool.complete", { tool_id: `t${k}` });
    expect([attempt.tool("t0"), attempt.tool("t1")]).toEqual([count > 4_096 ? "unknown" : "ended", "ended"]);
  });

  it.each(around(limits.maxOpenRequestsPerSession))("I8 a session has 32 of %i requests open", async (count) => {
    const bus = openBus();
    const attempt = bus.begin();
    askTimes(bus, attempt, count - 1);
    const last = bus.tap.requests.ask(attempt, { method: "approval", params: {} });
    expect(bus.tap.requests.open(attempt)).toHaveLength(Math.min(count, 32));
    bus.tap.seal(attempt, "interrupted");
    expect((await last).reason).toBe(count > 32 ? "too_many_requests" : "interrupted");
  });

  it.each(around(limits.maxOpenRequests))("I8 a process has 1,024 of %i requests open", (count) => {
    const bus = openBus();
    for (let left = count; left > 0; left -= 32) {
      askTimes(bus, bus.begin({ member_id: `m${left}` }), Math.min(left, 32));
    }
    expect(bus.tap.requests.open()).toHaveLength(Math.min(count, 1_024));
  });

  it.each(around(limits.maxKeptOutcomes))("I8 of %i outcomes the last 1,024 are kept", (count) => {
    const bus = openBus();
    const attempt = bus.begin();
    const ids = Array.from({ length: count }, () => {
      askTimes(bus, attempt, 1);
      const id = bus.tap.requests.open()[0]?.id ?? "";
      bus.tap.requests.answer(id, { choice: "once" }, null);
      return id;
    });
    const known = ids.filter((id) => bus.tap.requests.answer(id, {}, null).status === "already_resolved");
    expect(known).toEqual(ids.slice(-1_024));
  });

  it.each(around(limits.maxReleasedUnits))(
    "I8 a gap in %i characters heals as long as 1,048,576 are kept",
    async (units) => {
      const bus = openBus({ redactor: noRedaction });
      const hold = gate();
      const watcher = bus.watch({ maxEvents: 1, handler: () => hold.opened });
      const attempt = bus.start();
      await bus.idle();
      bus.delta(attempt, "m".repeat(units - 1));
      bus.emit(attempt, "tool.start", { tool_id: "t" });
      hold.open();
      await bus.idle();
      bus.delta(attempt, "e");
      await bus.idle();
      const isKept = units <= 1_048_576;
      expect(eventsOf(watcher.events, "message.delta").map(({ payload }) => payload.snapshot)).toEqual([
        isKept ? true : undefined,
      ]);
      expect(textOf(watcher.events, "message.delta")?.length).toBe(isKept ? units : undefined);
    },
  );

  it.each(around(limits.maxBrokenAttempts))(
    "I8 of %i broken texts 1,024 heal, ended ones forgotten first",
    async (count) => {
      const bus = openBus({ redactor: noRedaction });
      const hold = gate();
      const watcher = bus.watch({ maxEvents: 1, kinds: ["message.delta"], handler: () => hold.opened });
      const attempts = Array.from({ length: count }, (_, k) => bus.begin({ member_id: `m${k}` }));
      const filler = bus.begin();
      bus.delta(filler, "running");
      await bus.idle();
      for (const attempt of attempts) bus.delta(attempt, "lost;");
      bus.delta(filler, "held");
      hold.open();
      await bus.idle();
      for (const attempt of attempts) {
        bus.delta(attempt, "more");
        await bus.idle();
      }
      const healed = eventsOf(watcher.events, "message.delta").filter(({ payload }) => payload.snapshot === true);
      expect(healed).toHaveLength(Math.min(count, 1_024));
    },
  );

  it.each(around(limits.maxPayloadValues))("I8 of %i values in a payload 65,536 stay, and the cut is told", (count) => {
    const told = count > 65_536 ? ["[cut: more than 65536 values]"] : [];
    const ones = (length: number): readonly number[] => Array<number>(length).fill(1);
    const { payload, bytes } = cleanPayload({ list: ones(count), tool_id: "t" }, noRedaction);
    expect(payload).toEqual({ list: [...ones(Math.min(count, 65_536)), ...told], tool_id: "t" });
    expect(bytes).toBe(estimateBytes(payload));
    const fields = Object.fromEntries(ones(count).map((one, k) => [`k${k}`, one]));
    const cleaned = cleanPayload({ args: { fields, more: 1 }, name: "run" }, noRedaction).payload["args"];
    // The object itself is a value too, and what stands behind it is cut with it.
    expect(Object.keys((cleaned as { fields: object }).fields)).toHaveLength(Math.min(count, 65_536));
    expect(cleaned).toHaveProperty(["[cut]"], "[cut: more than 65536 values]");
  });

  it("I8 an array of a billion holes is cut like any other", () => {
    const { payload } = cleanPayload({ list: Array(1_000_000_000), outcome: "ok" }, noRedaction);
    expect([(payload["list"] as unknown[]).length, payload["outcome"]]).toEqual([65_537, "ok"]);
  });

  it.each(around(limits.maxTruncatedFields))(
    "I8 of %i cut texts up to 64 are named, of more their field",
    async (count) => {
      const bus = openBus();
      const { events } = bus.watch();
      bus.emit(bus.begin(), "tool.start", { tool_id: "t", args: Array(count).fill("x".repeat(1_000)), context: "c" });
      await bus.idle();
      expect(events[0]?.truncated).toHaveLength(count > 64 ? 1 : count);
      const whole = JSON.stringify(Array(count).fill("x".repeat(1_000))).length;
      expect(events[0]?.truncated?.[0]).toEqual(
        count > 64 ? { field: "args", bytes: whole } : { field: "args.0", bytes: 1_000 },
      );
      expect(eventsOf(events, "tool.started")[0]?.payload.args).toHaveLength(count);
    },
  );

  it.each(around(8))("I8 of %i ended attempts with 1 MiB of text the last 8 keep it, and a live one does", (count) => {
    const bus = openBus({ redactor: noRedaction });
    const text = "m".repeat(1_048_576);
    const live = bus.begin({ member_id: "live" });
    bus.delta(live, text);
    const ended = Array.from({ length: count }, (_, k) => {
      const attempt = bus.begin({ member_id: `m${k}` });
      bus.delta(attempt, text);
      expect(bus.tap.seal(attempt, "interrupted")).toMatchObject({ text, cut: false });
      return attempt;
    });
    const lengthOf = (attempt: Attempt): number | undefined => attempt.message.upTo(1_048_576)?.length;
    expect(ended.map(lengthOf)).toEqual(ended.map((_, k) => (k < count - 8 ? undefined : 1_048_576)));
    expect(lengthOf(live)).toBe(1_048_576);
    expect(limits.maxKeptTextUnits).toBe(8 * 1_048_576);
  });

  it.each(around(limits.maxKeptTexts))("I8 of %i ended attempts the last 1,024 keep their text", (count) => {
    const bus = openBus({ redactor: noRedaction });
    const ended = Array.from({ length: count }, (_, k) => {
      const attempt = bus.begin({ member_id: `m${k}` });
      bus.reason(attempt, "m");
      bus.settle(attempt);
      return attempt;
    });
    const forgotten = ended.filter((attempt) => attempt.reasoning.upTo(1) === null);
    expect(forgotten).toEqual(ended.slice(0, Math.max(0, count - 1_024)));
  });

  it.each([7, 8])("I8 a consumer that comes back is made whole unless %i MiB were told meanwhile", async (others) => {
    const bus = openBus({ redactor: noRedaction });
    const hold = gate();
    const watcher = bus.watch({ rooms: ["r1"], kinds: ["message.delta"], maxEvents: 1, handler: () => hold.opened });
    bus.delta(bus.begin({ member_id: "first" }), "running");
    await bus.idle();
    const attempt = bus.begin();
    bus.delta(attempt, "m".repeat(1_048_570));
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    bus.delta(attempt, "end");
    bus.settle(attempt);
    for (let k = 0; k < others; k++) {
      const other = bus.begin({ room_id: "r2", member_id: `m${k}` });
      bus.delta(other, "m".repeat(1_048_576));
      bus.settle(other);
    }
    hold.open();
    await bus.idle();
    expect(kindsOf(watcher.events)).toEqual(["message.delta", "gap", "message.delta"]);
    const isWhole = others < 8;
    const { text, ...rest } = eventsOf(watcher.events, "message.delta")[1]?.payload ?? {};
    expect([text?.length, rest]).toEqual(
      isWhole ? [1_048_573, { snapshot: true, offset: 0 }] : [3, { offset: 1_048_570 }],
    );
  });

  it("I8 a redactor takes literals of 9 to 4,096 characters, and 1,024 of them", () => {
    const takes = (literals: readonly string[]): boolean => {
      try {
        return createRedactor({ literals, rules: [] }) !== null;
      } catch {
        return false;
      }
    };
    expect(around(limits.minLiteralUnits).map((units) => takes(["y".repeat(units)]))).toEqual([false, true, true]);
    expect(around(limits.maxLiteralUnits).map((units) => takes(["y".repeat(units)]))).toEqual([true, true, false]);
    const many = (count: number): readonly string[] => Array.from({ length: count }, (_, k) => `literal-number-${k}`);
    expect(around(limits.maxLiterals).map((count) => takes(many(count)))).toEqual([true, true, false]);
  });

  it.each(around(limits.maxToolIdUnits))("I8 a tool's id of %i characters passes up to 512", (units) => {
    const bus = openBus();
    expect(bus.emit(bus.begin(), "tool.start", { tool_id: "y".repeat(units) })).toBe(
      units <= 512 ? "written" : "invalid_frame",
    );
  });
});
