import { describe, expect, it } from "vitest";
import { openBus, tapFrames } from "../support/bus.ts";

describe("the frames of a hidden session", () => {
  it("reach only those sinks that take hidden sessions", () => {
    const bus = openBus();
    const [all, plain] = [tapFrames(bus), tapFrames(bus, { hidden: false })];
    const attempt = bus.start();
    const plainTurn = bus.claim("c-a");
    bus.delta(plainTurn, "hello");
    bus.complete(plainTurn);
    bus.delta(attempt, "hello");
    void bus.tap.requests.ask(attempt, { method: "approval", params: {} });
    bus.info(attempt.session);
    bus.settle(attempt);
    const hidden = all.filter(({ params }) => params.session_id === attempt.session.runtimeId);
    expect(hidden.map((frame) => ("id" in frame ? "request" : frame.params.type))).toEqual([
      "message.delta",
      "request",
      "session.info",
      "request.cancel",
      "request.resolved",
    ]);
    expect(plain.map(({ params }) => params.session_id)).toEqual(plain.map(() => plainTurn.session.runtimeId));
    expect([plain.length, all.length]).toEqual([2, 7]);
  });

  it("are numbered also while only plain sinks listen", () => {
    const bus = openBus();
    const plain = tapFrames(bus, { hidden: false });
    const attempt = bus.start();
    bus.delta(attempt, "hello");
    bus.emit(attempt, "tool.start", { tool_id: "c1" });
    bus.info(attempt.session);
    const all = tapFrames(bus);
    bus.info(attempt.session);
    expect([plain, all.map(({ params }) => ("seq" in params ? params.seq : null))]).toEqual([[], [4]]);
  });
});
