import { describe, expect, it } from "vitest";
import {
  cleanPayload,
  consumerDefaults,
  createRedactor,
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

  it("I8 a payload has 1,000,000 values, and no more", () => {
    const problemOf = (values: number): string | null =>
      cleanPayload({ list: Array(values - 2).fill(1) }, noRedaction).problem;
    expect(around(limits.maxPayloadValues).map(problemOf)).toEqual([null, null, "unserialisable"]);
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
