import { describe, expect, it } from "vitest";
import { kindsOf, openBus } from "../support/bus.ts";

describe("grants and levels", () => {
  it("R55 withhold reasoning, explain it before the next event, and count it as no loss", async () => {
    const bus = openBus();
    const watcher = bus.watch({ grants: [] });
    const attempt = bus.start();
    for (let k = 0; k < 5; k++) bus.reason(attempt, "hm");
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    const settled = bus.settle(attempt);
    await bus.idle();
    expect(kindsOf(watcher.events)).toEqual(["turn.started", "gap", "tool.started", "tool.completed", "turn.settled"]);
    const gap = {
      dropped: 0,
      withheld: 5,
      first_n: 2,
      last_n: 6,
      kinds: { "reasoning.delta": 5 },
      reason: "not_granted",
    };
    expect(watcher.events[1]).toMatchObject({ n: null, seq: null, coordinates: attempt.coordinates, payload: gap });
    expect(watcher.stats()).toMatchObject({ published: 4, delivered: 4, dropped: 0, gaps: 1, dropped_by_kind: {} });
    expect([settled.activity_count, watcher.events.at(-1)?.n]).toEqual([9, 9]);
  });

  it("R55 make no gap of what a consumer's own filter leaves out", async () => {
    const bus = openBus();
    const watcher = bus.watch({ kinds: ["tool.started"], rooms: ["r1"], grants: [] });
    const attempt = bus.start();
    bus.reason(attempt, "hm");
    bus.emit(bus.begin({ room_id: "r2", member_id: "m-other" }), "tool.start", { tool_id: "t" });
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    await bus.idle();
    expect(watcher.events.map(({ n, coordinates }) => [n, coordinates?.room_id])).toEqual([[3, "r1"]]);
    expect(watcher.stats()).toMatchObject({ published: 1, delivered: 1, gaps: 0 });
  });

  it("R56 show of a result of 40 KiB its size, a cut, or all of it, and its outcome always", async () => {
    const bus = openBus();
    const result = "é".repeat(20_480);
    const watchers = (["meta", "standard", "full"] as const).map((payload) => bus.watch({ payload }));
    bus.emit(bus.begin(), "tool.complete", { tool_id: "t", outcome: "ok", result });
    await bus.idle();
    const [meta, standard, full] = watchers.map(({ events }) => events[1]);
    const fixed = { tool_id: "t", name: "t", outcome: "ok", duration_ms: 0 };
    expect(meta).toMatchObject({ payload: { ...fixed, sizes: { result: 40_960 } } });
    expect(meta).not.toHaveProperty("payload.result");
    expect(meta).not.toHaveProperty("truncated");
    expect(standard).toMatchObject({ payload: fixed, truncated: [{ field: "result", bytes: 40_960 }] });
    expect(standard?.payload).toHaveProperty("result", "é".repeat(16_384 - 135));
    expect(full?.payload).toEqual({ ...fixed, result });
    expect(full).not.toHaveProperty("truncated");
  });

  it("show another question whole without the grant for approvals", async () => {
    const bus = openBus();
    const { events } = bus.watch({ grants: [] });
    const attempt = bus.begin();
    void bus.tap.requests.ask(attempt, { method: "clarify", params: { question: "Which?" } }, Infinity);
    bus.settle(attempt);
    await bus.idle();
    expect(kindsOf(events)).toEqual(["request.opened", "request.resolved", "turn.settled"]);
    expect(events[0]?.payload).toMatchObject({ method: "clarify", question: "Which?" });
    expect(events[1]?.payload).toMatchObject({ method: "clarify", outcome: "cancelled" });
    for (const event of events) expect(event).not.toHaveProperty("payload.sizes");
  });

  it("show an approval at meta without its grant", async () => {
    const bus = openBus();
    const { events } = bus.watch({ grants: ["full"], payload: "full" });
    const attempt = bus.begin();
    void bus.tap.requests.ask(attempt, { method: "approval", params: { command: "ls" } }, Infinity);
    bus.tap.requests.answer(bus.tap.requests.open()[0]?.id ?? "", { choice: "once" }, "c-ada");
    await bus.idle();
    expect(events.map(({ payload }) => payload)).toEqual([
      expect.objectContaining({ method: "approval", expires_at: null, sizes: { command: 2, choices: 15 } }),
      expect.objectContaining({ outcome: "answered", by: { origin: "c-ada" }, sizes: { choice: 4 } }),
    ]);
    expect(JSON.stringify(events)).not.toContain("ls");
  });
});
