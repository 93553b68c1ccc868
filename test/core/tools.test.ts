import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventsOf, kindsOf, openBus, secret, upTo, type Bus } from "../support/bus.ts";

function ids(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => "c".repeat(78) + String(index).padStart(2, "0"));
}

/** Starts as many tools, ends them in the given order, the chosen ones with an error. Gives tool id -> outcome. */
async function pairUp(bus: Bus, order: readonly string[], failed: readonly string[]): Promise<Map<string, string>> {
  const { events } = bus.watch();
  const attempt = bus.start();
  for (const tool_id of order.toSorted()) bus.emit(attempt, "tool.start", { tool_id, name: "run" });
  for (const tool_id of order) {
    bus.emit(attempt, "tool.complete", { tool_id, outcome: failed.includes(tool_id) ? "error" : "ok" });
  }
  bus.settle(attempt);
  await bus.idle();
  expect(eventsOf(events, "tool.started").map(({ payload }) => payload.tool_id)).toEqual(order.toSorted());
  return new Map(eventsOf(events, "tool.completed").map(({ payload }) => [payload.tool_id, payload.outcome]));
}

describe("tool calls", () => {
  it.each([1, 3, 4, 64])("C-007 pairs %i parallel calls by their full ids", async (count) => {
    const order = ids(count).toSorted((a, b) => Number(a.slice(-1)) - Number(b.slice(-1)) || (a < b ? 1 : -1));
    const failed = count === 64 ? [order[5] ?? "", order[40] ?? ""] : [];
    const outcomes = await pairUp(openBus(), order, failed);
    expect(outcomes.size).toBe(count);
    expect([...outcomes].filter(([, outcome]) => outcome !== "ok").map(([id]) => id)).toEqual(failed);
  });

  it("C-007 pairs calls in whatever order they end", async () => {
    const shuffled = fc.shuffledSubarray([...ids(64)], { minLength: 64 });
    await fc.assert(
      fc.asyncProperty(shuffled, async (order) => {
        const failed = order.slice(0, 2);
        const outcomes = await pairUp(openBus(), order, failed);
        expect([...outcomes.keys()]).toEqual(order);
        expect([...outcomes].filter(([, outcome]) => outcome === "error").map(([id]) => id)).toEqual(failed);
      }),
      { numRuns: 25 },
    );
  });

  it("C-006 opens a tool first heard of in an approval", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const params = { tool_id: "X", tool_name: "shell", command: "ls", choices: ["once", "deny"] };
    const outcome = bus.tap.requests.ask(attempt, { method: "approval", params });
    bus.tap.requests.answer(bus.tap.requests.open()[0]?.id ?? "", { choice: "once" }, "c-ada");
    bus.emit(attempt, "tool.complete", { tool_id: "X", outcome: "ok" });
    await bus.idle();
    expect(kindsOf(events)).toEqual(["tool.started", "request.opened", "request.resolved", "tool.completed"]);
    expect(events.map((event) => event.n)).toEqual(upTo(4));
    expect(events[0]?.payload).toEqual({ tool_id: "X", name: "shell" });
    expect(events[3]?.payload).toEqual({ tool_id: "X", name: "shell", outcome: "ok", duration_ms: 0 });
    expect(await outcome).toEqual({ outcome: "answered", choice: "once", by: { origin: "c-ada" } });
  });

  it("C-006 ends a tool once with outcome denied when its permission is refused", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    void bus.tap.requests.ask(attempt, { method: "approval", params: { tool_id: "X" } });
    bus.tap.requests.answer(bus.tap.requests.open()[0]?.id ?? "", { choice: "deny" }, null);
    expect(bus.emit(attempt, "tool.complete", { tool_id: "X", outcome: "error" })).toBe("duplicate_end");
    bus.settle(attempt);
    await bus.idle();
    expect(eventsOf(events, "tool.completed").map(({ payload }) => payload.outcome)).toEqual(["denied"]);
    expect(bus.tap.seam.refused("duplicate_end")).toBe(1);
  });

  it.each([
    ["an end", "tool.complete", ["tool.started", "tool.completed"]],
    ["an update", "tool.output_risk", ["tool.started", "tool.output_risk"]],
  ])("C-006 opens a tool first heard of in %s", async (_, type, kinds) => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    bus.emit(attempt, type, { tool_id: "X", name: "shell", args: { not: "carried" } });
    await bus.idle();
    expect(kindsOf(events)).toEqual(kinds);
    expect(events[0]?.payload).toEqual({ tool_id: "X", name: "shell" });
  });

  it("C-005 ends requests, then tools, then the turn, whichever way it ends", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.start();
    bus.emit(attempt, "tool.start", { tool_id: "A" });
    bus.emit(attempt, "tool.start", { tool_id: "B", name: "shell" });
    bus.emit(attempt, "tool.complete", { tool_id: "A", outcome: "ok" });
    const outcome = bus.tap.requests.ask(attempt, { method: "approval", params: { command: "ls" } });
    bus.clock.advance(7);
    const error = bus.tap.clean(`it broke: ${secret}`);
    bus.settle(attempt, { status: "failed", reason_code: "runner_error", error });
    expect(bus.emit(attempt, "tool.complete", { tool_id: "B" })).toBe("late_frame");
    await bus.idle();
    expect(events.slice(-3).map(({ kind, payload }) => [kind, payload])).toEqual([
      [
        "request.resolved",
        expect.objectContaining({ method: "approval", outcome: "cancelled", reason: "interrupted", by: null }),
      ],
      ["tool.completed", { tool_id: "B", name: "shell", outcome: "interrupted", duration_ms: 7 }],
      ["turn.settled", expect.objectContaining({ status: "failed", error: "it broke: [redacted]" })],
    ]);
    expect((await outcome).outcome).toBe("cancelled");
    expect(bus.tap.requests.open()).toEqual([]);
    expect(bus.tap.seam.refused("late_frame")).toBe(1);
  });

  it("R57 closes an open tool once before the end, and refuses a second end and start", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.start();
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    expect(bus.emit(attempt, "tool.start", { tool_id: "t" })).toBe("duplicate_start");
    bus.emit(attempt, "tool.start", { tool_id: "u" });
    expect(bus.emit(attempt, "tool.complete", { tool_id: "u", outcome: "timeout" })).toBe("written");
    expect(bus.emit(attempt, "tool.complete", { tool_id: "u", outcome: "ok" })).toBe("duplicate_end");
    expect(bus.emit(attempt, "tool.start", { tool_id: "u" })).toBe("duplicate_start");
    bus.settle(attempt);
    await bus.idle();
    expect(eventsOf(events, "tool.completed").map(({ payload }) => [payload.tool_id, payload.outcome])).toEqual([
      ["u", "timeout"],
      ["t", "interrupted"],
    ]);
    expect(events.at(-1)?.payload).toMatchObject({
      counts: { "tool.started": 2, "tool.completed": 2, "turn.settled": 1 },
    });
  });

  it.each([
    [{ outcome: "ok", duration_s: 1.5 }, "ok", 1_500],
    [{ outcome: "fine" }, "unknown", 30],
    [{}, "unknown", 30],
    [{ duration_s: -1 }, "unknown", 30],
    [{ duration_s: 1e300 }, "unknown", 30],
  ])("states outcome and duration of %j", async (payload, outcome, duration) => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    bus.clock.advance(30);
    bus.emit(attempt, "tool.complete", { tool_id: "t", ...payload });
    await bus.idle();
    expect(events[1]?.payload).toMatchObject({ outcome, duration_ms: duration });
  });
});
