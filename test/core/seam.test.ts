import { describe, expect, it } from "vitest";
import type { ActivityEvent, Frame } from "../../core/index.ts";
import { eventsOf, kindsOf, openBus, tapFrames, upTo } from "../support/bus.ts";

function eventFrame(type: string, sessionId: string, payload?: object): Frame {
  return { jsonrpc: "2.0", method: "event", params: { type, session_id: sessionId, payload: { ...payload } } };
}

function seqsOf(frames: readonly Frame[]): readonly unknown[] {
  return frames.flatMap((frame) => ("id" in frame ? [] : [frame.params["seq"]]));
}

describe("the seam", () => {
  it("C-001 tells a turn's frames in order with all six coordinates, and a plain session's not at all", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.start();
    const plain = bus.tap.sessions.open("plain", { roomPlumbing: false });
    const frames = [
      ["message.delta", { text: "a" }],
      ["message.delta", { text: "b" }],
      ["tool.start", { tool_id: "t", name: "read" }],
      ["tool.complete", { tool_id: "t", outcome: "ok" }],
    ] as const;
    for (const [type, payload] of frames) {
      bus.emit(attempt, type, payload);
      bus.tap.seam.writeJson(eventFrame(type, plain.runtimeId, payload));
    }
    const outcome = bus.tap.requests.ask(attempt, { method: "approval", params: { command: "ls" } });
    const params = { session_id: plain.runtimeId, command: "ls" };
    bus.tap.seam.writeJson({ jsonrpc: "2.0", id: "srq-1", method: "approval", params });
    bus.reason(attempt, "hm");
    bus.tap.seam.writeJson(eventFrame("reasoning.delta", plain.runtimeId, { text: "hm" }));
    bus.settle(attempt);
    await bus.idle();
    expect(kindsOf(events)).toEqual([
      "turn.started",
      "message.delta",
      "message.delta",
      "tool.started",
      "tool.completed",
      "request.opened",
      "reasoning.delta",
      "request.resolved",
      "turn.settled",
    ]);
    expect(events.map((event) => event.n)).toEqual(upTo(9));
    expect(events.every((event) => event.coordinates === attempt.coordinates)).toBe(true);
    expect(await outcome).toEqual({ outcome: "cancelled", reason: "interrupted", by: null });
    expect(events.at(-1)?.payload).toMatchObject({ activity_count: 9, row: { seq: 2, hash: "h2" } });
  });

  it("R54 tells five events of a room's session and none of another one", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.start();
    bus.delta(attempt, "a");
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    bus.emit(attempt, "tool.complete", { tool_id: "t", outcome: "ok" });
    void bus.tap.requests.ask(attempt, { method: "approval", params: {} });
    expect(bus.emit(attempt, "session.info", {})).toBe("written");
    for (const type of ["message.start", "message.complete"]) {
      bus.tap.seam.writeJson(eventFrame(type, attempt.session.runtimeId), attempt);
    }
    bus.settle(attempt);
    await bus.idle();
    expect(kindsOf(events).slice(1, -1)).toEqual([
      "message.delta",
      "tool.started",
      "tool.completed",
      "request.opened",
      "request.resolved",
    ]);
    expect(Object.keys(events[0]?.coordinates ?? {})).toHaveLength(6);
  });

  it("C-002 counts late frames of a cancelled turn and gives them to nobody", async () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const { events } = bus.watch();
    const first = bus.start();
    bus.settle(first, { status: "cancelled", reason_code: "stopped" });
    const second = bus.start();
    const before = frames.length;
    for (const text of ["x", "y", "z"]) expect(bus.delta(first, text)).toBe("late_frame");
    expect(bus.emit(first, "message.complete", { text: "xyz" })).toBe("late_frame");
    expect([bus.tap.seam.refused("late_frame"), frames.length - before]).toEqual([4, 0]);
    bus.delta(second, "own");
    expect(bus.settle(second).text).toBe("own");
    await bus.idle();
    expect(eventsOf(events, "turn.settled").map((event) => event.payload.status)).toEqual(["cancelled", "completed"]);
    expect(eventsOf(events, "message.delta").map((event) => event.payload.text)).toEqual(["own"]);
  });

  it("R58 leaves no hole in the next turn's numbers for a late frame", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const first = bus.start();
    bus.settle(first);
    const second = bus.start();
    bus.delta(second, "a");
    bus.delta(first, "late");
    bus.delta(second, "b");
    bus.settle(second);
    await bus.idle();
    expect(events.filter((event) => event.coordinates === second.coordinates).map((event) => event.n)).toEqual(upTo(4));
    expect(bus.tap.seam.refused("late_frame")).toBe(1);
  });

  it("C-003 goes on counting when the runtime id changes in mid-turn", async () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const { events } = bus.watch();
    const attempt = bus.begin();
    const old = attempt.session.runtimeId;
    for (const text of ["a", "b", "c"]) bus.delta(attempt, text);
    const renewed = bus.tap.sessions.renew(attempt.session);
    bus.delta(attempt, "d");
    // A runner that has not heard of the change still names the old id.
    expect(bus.tap.seam.writeJson(eventFrame("message.delta", old, { text: "e" }), attempt)).toBe("written");
    await bus.idle();
    expect(seqsOf(frames)).toEqual([1, 2, 3, 4, 5]);
    expect(frames.map((frame) => frame.params.session_id)).toEqual([old, old, old, renewed, renewed]);
    expect(events.map((event) => event.n)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(events.map((event) => event.coordinates))).toEqual(new Set([attempt.coordinates]));
    expect(bus.tap.sessions.byRuntimeId(old)).toBe(bus.tap.sessions.byRuntimeId(renewed));
  });

  it("C-004 leaves a parent's coordinates alone while its child runs", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const parent = bus.begin({ task_id: "k-parent" }, "parent");
    const unbound = bus.tap.sessions.open("unbound child", { roomPlumbing: true });
    bus.delta(parent, "1");
    const child = bus.begin({ task_id: "k-child" }, "child");
    for (const text of ["a", "b", "c"]) bus.delta(child, text);
    bus.delta(parent, "2");
    bus.tap.seam.writeJson(eventFrame("message.delta", unbound.runtimeId, { text: "nobody's" }));
    bus.tap.seal(child, "interrupted");
    bus.delta(parent, "3");
    await bus.idle();
    const tasks = events.map((event) => event.coordinates?.task_id);
    expect(tasks).toEqual(["k-parent", "k-child", "k-child", "k-child", "k-parent", "k-parent"]);
  });

  it("C-009 numbers an attempt's events apart from the session's frames", async () => {
    const bus = openBus();
    const watcher = bus.watch();
    const attempt = bus.begin();
    bus.emit(attempt, "tool.start", { tool_id: "t" });
    for (let k = 0; k < 3; k++) bus.emit(attempt, "session.info", { k });
    bus.tap.seam.writeJson(eventFrame("message.start", attempt.session.runtimeId), attempt);
    bus.emit(attempt, "tool.complete", { tool_id: "t" });
    await bus.idle();
    expect(watcher.events.map(({ seq, n }) => [seq, n])).toEqual([
      [1, 1],
      [6, 2],
    ]);
    expect(watcher.stats().gaps).toBe(0);
  });

  it("goes on when a frame sink throws, and reports it once", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    bus.tap.seam.addFrameSink(() => {
      throw new Error("broken sink");
    });
    const frames = tapFrames(bus);
    const attempt = bus.begin();
    expect([bus.delta(attempt, "a"), bus.delta(attempt, "b")]).toEqual(["written", "written"]);
    await bus.idle();
    expect([frames.length, events.length]).toEqual([2, 2]);
    expect(bus.notices.map((notice) => notice.code)).toEqual(["frame_sink_threw"]);
  });

  it("gives all events of one turn of the event loop one time", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const at = bus.clock.now();
    bus.delta(attempt, "a");
    bus.clock.setNow(at + 5);
    bus.delta(attempt, "b");
    bus.clock.tick();
    bus.delta(attempt, "c");
    await bus.idle();
    expect(events.map((event: ActivityEvent) => event.at)).toEqual([at, at, at + 5]);
  });

  it("runs one attempt at a time on a session", () => {
    const bus = openBus();
    const first = bus.begin();
    expect(() => bus.begin()).toThrow(/already runs t-1/);
    bus.tap.seal(first, "interrupted");
    const third = bus.begin();
    // Sealing the first again frees nothing that is not its own.
    expect(bus.tap.seal(first, "interrupted").activity_count).toBe(1);
    expect(third.session.running).toBe(third);
  });

  it("I9 tells the end of a turn once", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const payload = bus.settle(attempt);
    bus.tap.settled(attempt, payload, { seq: 2, hash: "h2" });
    await bus.idle();
    expect(kindsOf(events)).toEqual(["turn.settled"]);
  });

  it("tells the end of an abandoned attempt without a number", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    bus.settle(attempt, { status: "abandoned", reason_code: "host_lost", activity_count: null, duration_ms: null });
    await bus.idle();
    expect(events.map(({ n, payload }) => [n, payload])).toEqual([
      [null, expect.objectContaining({ status: "abandoned", counts: {} })],
    ]);
  });
});
