import { describe, expect, it } from "vitest";
import { cleanReport, createRedactor, type Frame, type Notice } from "../../core/index.ts";
import { openBus, secret, tapFrames } from "../support/bus.ts";

function eventFrame(type: string, sessionId: string, payload?: object): Frame {
  return { jsonrpc: "2.0", method: "event", params: { type, session_id: sessionId, payload: { ...payload } } };
}

describe("what a runner sends", () => {
  it("lets an unknown frame type pass, masked, and never makes activity of it", async () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const { events } = bus.watch();
    const attempt = bus.begin();
    expect(bus.emit(attempt, "agent.mood", { mood: "calm", note: secret })).toBe("written");
    expect(bus.emit(attempt, `x.${secret}`)).toBe("written");
    await bus.idle();
    expect(frames.map((frame) => frame.params)).toEqual([
      {
        type: "agent.mood",
        session_id: attempt.session.runtimeId,
        seq: 1,
        ...attempt.mark,
        payload: { mood: "calm", note: "[redacted]" },
      },
      { type: "x.[redacted]", session_id: attempt.session.runtimeId, seq: 2, ...attempt.mark },
    ]);
    expect(events).toEqual([]);
  });

  it.each([
    "message.start",
    "message.input",
    "message.complete",
    "request.cancel",
    "request.resolved",
    "session.sharing",
  ])("refuses %s from a runner", (type) => {
    const bus = openBus();
    const attempt = bus.begin();
    expect(bus.emit(attempt, type, {})).toBe("invalid_frame");
    expect([attempt.n, attempt.session.seq]).toEqual([0, 0]);
  });

  it.each([
    ["a delta without text", "message.delta", { text: 7 }],
    ["a tool without id", "tool.start", { name: "x" }],
    ["a tool id of 513 characters", "tool.start", { tool_id: "x".repeat(513) }],
    ["an end without id", "tool.complete", {}],
    ["an empty type", "", {}],
  ])("refuses %s without any effect", (_, type, payload) => {
    const bus = openBus();
    const attempt = bus.begin();
    bus.delta(attempt, secret.slice(0, 5));
    expect(bus.emit(attempt, type, payload)).toBe("invalid_frame");
    // The held text has not been let out by it either.
    expect([attempt.n, attempt.session.seq, bus.tap.seam.refused("invalid_frame")]).toEqual([0, 0, 1]);
  });

  it("refuses a frame that names another session, or none that is known", () => {
    const bus = openBus();
    const attempt = bus.begin();
    const other = bus.begin({ member_id: "m-other" });
    const { seam } = bus.tap;
    expect(seam.writeJson(eventFrame("message.delta", other.session.runtimeId, { text: "x" }), attempt)).toBe(
      "unknown_session",
    );
    expect(seam.writeJson(eventFrame("message.delta", "s-none", { text: "x" }))).toBe("unknown_session");
    expect(seam.refused("unknown_session")).toBe(2);
  });

  it("never throws at its caller, and numbers nothing for a frame that throws", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const throwing = {
      get type(): string {
        throw new Error("no type");
      },
    };
    expect(bus.tap.emit(attempt, throwing)).toBe("invalid_frame");
    const params = {
      type: "x",
      session_id: attempt.session.runtimeId,
      get payload(): never {
        throw new Error("no payload");
      },
    };
    expect(bus.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params }, attempt)).toBe("invalid_frame");
    expect(bus.tap.seam.writeJson(null as unknown as Frame, attempt)).toBe("invalid_frame");
    expect(attempt.session.seq).toBe(0);
    await bus.idle();
    expect(bus.notices.map((notice) => notice.code)).toEqual(["invalid_frame"]);
  });

  it("I13 masks what a frame or a sink threw, in the notice and in its cause", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const fault = Object.assign(new TypeError(`got ${secret}`), { config: { headers: secret } });
    bus.tap.seam.addFrameSink(() => {
      throw fault;
    });
    const payload = {
      get text(): never {
        throw fault;
      },
    };
    expect(bus.emit(attempt, "message.delta", payload)).toBe("invalid_frame");
    bus.delta(attempt, "text");
    await bus.idle();
    expect(bus.notices.map(({ code, message }) => [code, message])).toEqual([
      ["invalid_frame", "a frame threw: got [redacted]"],
      ["frame_sink_threw", "a frame sink threw: got [redacted]"],
    ]);
    for (const { cause } of bus.notices) {
      expect(cause).toMatchObject({ name: "TypeError", message: "got [redacted]" });
      expect((cause as Error).stack).not.toContain(secret);
      expect(Object.values(cause as object)).not.toContainEqual({ headers: secret });
    }
  });

  it("I8 cuts the text of a notice to 4,096 bytes, after it is masked", () => {
    const notices: Notice[] = [];
    const report = cleanReport((notice) => void notices.push(notice), createRedactor({ literals: [secret] }));
    report({ code: "x", message: `${"m".repeat(4_080)}${secret}${secret}`, subject: secret });
    report({ code: "y", message: "plain", cause: { toString: () => secret } });
    expect(notices[0]).toEqual({ code: "x", message: `${"m".repeat(4_080)}[redacted][redac`, subject: "[redacted]" });
    expect(notices[1]).toMatchObject({ message: "plain", cause: { message: "[object Object]" } });
  });
});
