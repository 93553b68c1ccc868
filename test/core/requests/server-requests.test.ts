import { describe, expect, it } from "vitest";
import { limits, type Attempt, type OpenRequest, type RequestOutcome } from "../../../core/index.ts";
import { eventsOf, kindsOf, openBus, secret, tapFrames, type Bus } from "../../support/bus.ts";

function ask(bus: Bus, attempt: Attempt, params: object = {}, lifetimeMs?: number): Promise<RequestOutcome> {
  return bus.tap.requests.ask(attempt, { method: "approval", params: { ...params } }, lifetimeMs);
}

function idsOf(requests: readonly OpenRequest[]): readonly string[] {
  return requests.map((request) => request.id);
}

const day = 86_400_000;

describe("server requests", () => {
  it("C-032 take the first answer; a later one learns the outcome", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const outcome = ask(bus, attempt);
    const [id = ""] = idsOf(bus.tap.requests.open());
    const stands = { outcome: "answered", choice: "once", by: { origin: "A" } };
    expect(bus.tap.requests.answer(id, { choice: "once" }, "A")).toEqual({ status: "ok", outcome: stands });
    expect(bus.tap.requests.answer(id, { choice: "deny" }, "B")).toEqual({
      status: "already_resolved",
      outcome: stands,
    });
    expect(bus.tap.requests.answer(id, { choice: "once" }, "A")).toEqual({
      status: "already_resolved",
      outcome: stands,
    });
    expect(bus.tap.requests.answer("srq-none", { choice: "once" }, "A")).toEqual({ status: "unknown_request" });
    await bus.idle();
    expect(await outcome).toEqual(stands);
    expect(kindsOf(events)).toEqual(["request.opened", "request.resolved"]);
  });

  it("C-032 expire once, for whoever notices first while the timer is late", async () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const { events } = bus.watch();
    const attempt = bus.begin();
    // The first timer of the same instant reads, before the request's own timer has run.
    let listed: readonly OpenRequest[] | null = null;
    bus.clock.after(1_000, () => (listed = bus.tap.requests.open(attempt)));
    const outcome = ask(bus, attempt, {}, 1_000);
    const [id = ""] = idsOf(bus.tap.requests.open());
    bus.clock.advance(1_000);
    expect(listed).toEqual([]);
    bus.clock.advance(1_000);
    const stands = { outcome: "expired", reason: "timeout", by: null };
    expect(bus.tap.requests.answer(id, { choice: "once" }, "B")).toEqual({
      status: "already_resolved",
      outcome: stands,
    });
    await bus.idle();
    expect(await outcome).toEqual(stands);
    const types = frames.map((frame) => ("id" in frame ? frame.method : frame.params.type));
    expect(types).toEqual(["approval", "request.cancel", "request.resolved"]);
    expect(eventsOf(events, "request.resolved").map(({ payload }) => payload.outcome)).toEqual(["expired"]);
  });

  it("C-032 expire at an answer that comes after the deadline and before the timer", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    let status = "";
    bus.clock.after(500, () => (status = bus.tap.requests.answer(id, { choice: "once" }, "B").status));
    const outcome = ask(bus, attempt, { tool_id: "t" }, 500);
    const [id = ""] = idsOf(bus.tap.requests.open());
    bus.clock.advance(500);
    expect([status, (await outcome).outcome, attempt.tool("t")]).toEqual(["already_resolved", "expired", "ended"]);
  });

  it("C-034 say `already_resolved` when the waiter has gone, and never `ok`", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const outcome = ask(bus, attempt);
    const [id = ""] = idsOf(bus.tap.requests.open());
    bus.tap.seal(attempt, "interrupted");
    const stands = { outcome: "cancelled", reason: "interrupted", by: null };
    expect(bus.tap.requests.answer(id, { choice: "once" }, "A")).toEqual({
      status: "already_resolved",
      outcome: stands,
    });
    expect(bus.tap.requests.answer("", { choice: "once" }, "A")).toEqual({ status: "unknown_request" });
    expect(await outcome).toEqual(stands);
    expect(await ask(bus, attempt)).toEqual(stands);
  });

  it("C-036 R52 deny one of three: its tool ends denied, the others stay open", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const outcomes = ["a", "b", "c"].map((tool_id) => ask(bus, attempt, { tool_id, tool_name: "shell" }));
    const [a = "", b = "", c = ""] = idsOf(bus.tap.requests.open(attempt));
    expect(bus.tap.requests.answer(b, { choice: "deny" }, "P").status).toBe("ok");
    expect(idsOf(bus.tap.requests.open(attempt))).toEqual([a, c]);
    expect(bus.delta(attempt, "going on")).toBe("written");
    bus.tap.requests.answer(a, { choice: "once" }, "P");
    bus.emit(attempt, "tool.complete", { tool_id: "a", outcome: "ok" });
    bus.settle(attempt);
    await bus.idle();
    expect((await Promise.all(outcomes)).map((each) => each.outcome)).toEqual(["answered", "denied", "cancelled"]);
    expect(eventsOf(events, "tool.completed").map(({ payload }) => [payload.tool_id, payload.outcome])).toEqual([
      ["b", "denied"],
      ["a", "ok"],
      ["c", "interrupted"],
    ]);
  });

  it.each([30 * day, 2 ** 31, Infinity])("C-038 keep a lifetime of %d ms", async (lifetimeMs) => {
    const bus = openBus();
    const attempt = bus.begin();
    void ask(bus, attempt, {}, lifetimeMs);
    bus.clock.advance(1_000);
    expect(bus.tap.requests.open()).toHaveLength(1);
    bus.clock.advance(30 * day - 1_001);
    expect(bus.tap.requests.open()).toHaveLength(lifetimeMs < 30 * day ? 0 : 1);
    bus.clock.advance(1);
    expect(bus.tap.requests.open()).toHaveLength(lifetimeMs === Infinity ? 1 : 0);
  });

  it.each([Number.NaN, 0, -1])("C-038 refuse a lifetime of %d ms when they are raised", (lifetimeMs) => {
    const bus = openBus();
    const attempt = bus.begin();
    expect(() => ask(bus, attempt, {}, lifetimeMs)).toThrow(expect.objectContaining({ code: "invalid_params" }));
    expect([bus.tap.requests.open(), attempt.n]).toEqual([[], 0]);
  });

  it("show people a fixed list of fields, masked, and only the choices that a room allows", async () => {
    const asked: OpenRequest[] = [];
    const bus = openBus({ onRequest: (request) => void asked.push(request) });
    const frames = tapFrames(bus);
    const { events } = bus.watch();
    const attempt = bus.begin();
    const now = bus.clock.now();
    const params = { command: `curl ${secret}`, choices: ["always", "once"], hidden: "x", tool_id: 7 };
    void ask(bus, attempt, params, 60_000);
    bus.tap.requests.answer(asked[0]?.request_id ?? "", { choice: "always", reason: `since ${secret}` }, "A");
    await bus.idle();
    const shown = { request_id: "apr-000000000004", command: "curl [redacted]", choices: ["once", "deny"] };
    const wire = { session_id: attempt.session.runtimeId, ...shown };
    expect([asked[0]?.params, asked[0]?.created_at, asked[0]?.expires_at]).toEqual([wire, now, now + 60_000]);
    expect(frames[0]?.params).toEqual(wire);
    const id = "srq-000000000003";
    expect(events.map(({ payload }) => payload)).toEqual([
      { id, method: "approval", ...shown, expires_at: now + 60_000 },
      // What was not offered is a no.
      {
        id,
        request_id: shown.request_id,
        method: "approval",
        outcome: "denied",
        choice: "deny",
        reason: "since [redacted]",
        by: { origin: "A" },
      },
    ]);
  });

  it("can only be denied when nobody can read all of the command", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    for (const extra of [-1, 0, 1])
      void ask(bus, attempt, { command: "x".repeat(limits.maxApprovalTextUnits + extra) });
    expect(
      bus.tap.requests.open().map(({ params }) => [(params["command"] as string).length, params["choices"]]),
    ).toEqual([
      [65_535, ["once", "deny"]],
      [65_536, ["once", "deny"]],
      [65_536, ["deny"]],
    ]);
  });

  it("stay open when who is told of them throws", async () => {
    const bus = openBus({
      onRequest: () => {
        throw new Error("broken listener");
      },
    });
    const attempt = bus.begin();
    const outcome = ask(bus, attempt);
    const [id = ""] = idsOf(bus.tap.requests.open());
    bus.tap.requests.answer(id, { choice: "once" }, null);
    await bus.idle();
    expect((await outcome).outcome).toBe("answered");
    expect(bus.notices.map((notice) => notice.code)).toEqual(["request_listener_threw"]);
  });

  it("may be answered at once by who is told of them", async () => {
    const bus = openBus({
      onRequest: ({ id }) => void bus.tap.requests.answer(id, { choice: "deny", reason: "policy" }, null),
    });
    const outcome = await ask(bus, bus.begin());
    expect(outcome).toEqual({ outcome: "denied", choice: "deny", reason: "policy", by: null });
  });

  it("forget an outcome after 10 minutes", () => {
    const bus = openBus();
    const attempt = bus.begin();
    void ask(bus, attempt);
    const [id = ""] = idsOf(bus.tap.requests.open());
    bus.tap.requests.answer(id, { choice: "once" }, null);
    bus.clock.advance(limits.keptOutcomeMs);
    expect(bus.tap.requests.answer(id, {}, null).status).toBe("already_resolved");
    bus.clock.advance(1);
    expect(bus.tap.requests.answer(id, {}, null).status).toBe("unknown_request");
  });
});

describe("equal questions", () => {
  const shell = (tool_id: string, command = "rm") => ({ tool_name: "shell", command, tool_id });

  it("R53 I9 are one request, whose outcome is that of each call and is told once", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const outcomes = [ask(bus, attempt, shell("c1")), ask(bus, attempt, shell("c2")), ask(bus, attempt, shell("c1"))];
    const [request, ...more] = bus.tap.requests.open();
    expect(more).toEqual([]);
    expect(bus.tap.requests.answer(request?.id ?? "", { choice: "deny" }, "A")).toMatchObject({ status: "ok" });
    expect((await Promise.all(outcomes)).map(({ outcome }) => outcome)).toEqual(["denied", "denied", "denied"]);
    await bus.idle();
    expect(kindsOf(events)).toEqual([
      "tool.started",
      "request.opened",
      "tool.started",
      "request.resolved",
      "tool.completed",
      "tool.completed",
    ]);
    expect(eventsOf(events, "tool.completed").map(({ payload }) => [payload.tool_id, payload.outcome])).toEqual([
      ["c1", "denied"],
      ["c2", "denied"],
    ]);
  });

  it.each([
    ["another command", shell("c2", "rm -f"), 2],
    ["another tool", { ...shell("c2"), tool_name: "other" }, 2],
    ["other choices", { ...shell("c2"), choices: ["deny"] }, 2],
    ["a description of its own", { ...shell("c2"), description: "again" }, 1],
  ])("R53 with %s", async (_, second, open) => {
    const bus = openBus();
    const attempt = bus.begin();
    void ask(bus, attempt, shell("c1"));
    void ask(bus, attempt, second);
    expect(bus.tap.requests.open()).toHaveLength(open);
  });

  it("R53 are not told apart by what is masked, so they are not taken for equal", () => {
    const bus = openBus();
    const attempt = bus.begin();
    for (const tool of ["c1", "c2"]) void ask(bus, attempt, shell(tool, `login ${secret}`));
    expect(bus.tap.requests.open()).toHaveLength(2);
  });

  it("R53 of two sessions, and one asked again behind the answer, are requests of their own", async () => {
    const bus = openBus();
    const [one, other] = [bus.begin({ member_id: "m-a" }), bus.begin({ member_id: "m-b" })];
    const first = ask(bus, one, shell("c1"));
    void ask(bus, other, shell("c1"));
    expect(bus.tap.requests.open()).toHaveLength(2);
    bus.tap.requests.answer(bus.tap.requests.open()[0]?.id ?? "", { choice: "once" }, "A");
    await first;
    void ask(bus, one, shell("c2"));
    expect(bus.tap.requests.open()).toHaveLength(2);
  });

  it("R53 I8 count each: the 33rd call of a session that waits is refused", async () => {
    const bus = openBus();
    const attempt = bus.begin();
    const asked = Array.from({ length: 33 }, (_, index) => ask(bus, attempt, shell(`c${index}`)));
    expect(await asked[32]).toMatchObject({ outcome: "cancelled", reason: "too_many_requests" });
    expect(bus.tap.requests.open()).toHaveLength(1);
  });
});
