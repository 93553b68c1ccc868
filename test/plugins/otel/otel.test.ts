import { SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, it, onTestFinished } from "vitest";
import { otel, PluginHost, type OtelConfig, type PluginHostOptions } from "../../../plugins/index.ts";
import { loadOtelApi } from "../../../plugins/otel/api.ts";
import { openBus, startedPayload, type Bus } from "../../support/bus.ts";
import { msOf, openTraces, type Traced } from "../../support/traced.ts";

interface Setup extends Traced {
  readonly bus: Bus;
  readonly host: PluginHost;
}

/** A room as the host of plugins is told of it. */
const room = {
  record: {
    room_id: "r1",
    name: "Room",
    members: [{ member_id: "m-planner", handle: "planner", display_name: "Planner", runner_kind: "acp" }],
  },
};

async function openOtel(config?: OtelConfig, options: Partial<PluginHostOptions> = {}): Promise<Setup> {
  const traced = openTraces();
  const bus = openBus();
  const { observers, clock, notices } = bus;
  const host = new PluginHost({ observers, clock, report: (notice) => notices.push(notice), ...options });
  onTestFinished(() => host.close());
  await host.load({ plugin: otel(), config });
  return { ...traced, bus, host };
}

/** Until the handler has had all, whatever it waits for. */
async function calm(bus: Bus): Promise<void> {
  do await bus.idle();
  while (bus.observers.stats().some(({ depth, running }) => depth > 0 || Boolean(running)));
}

/** Wall time is read once per turn of the event loop. */
async function pass(bus: Bus, ms: number): Promise<void> {
  await calm(bus);
  bus.clock.advance(ms);
}

describe("a turn", () => {
  it("is a span invoke_agent from its start to its end, with its tool calls below it", async () => {
    const { bus, span, spans } = await openOtel(
      { provider: "anthropic" },
      { rooms: async () => ({ rooms: [room] }) as never },
    );
    const began = bus.clock.now();
    const attempt = bus.start();
    await pass(bus, 100);
    bus.emit(attempt, "tool.start", { tool_id: "c1", name: "read_file", args: { path: "a" } });
    await pass(bus, 50);
    bus.emit(attempt, "tool.complete", { tool_id: "c1", outcome: "ok", result: "text" });
    await pass(bus, 100);
    bus.settle(attempt, { usage: { input_tokens: 12, output_tokens: 3, cachedReadTokens: 7 } });
    await calm(bus);
    const turn = span("invoke_agent Planner");
    const tool = span("execute_tool read_file");
    expect([turn, tool].map(({ startTime, endTime }) => [msOf(startTime) - began, msOf(endTime) - began])).toEqual([
      [0, 250],
      [100, 150],
    ]);
    expect(turn.attributes).toEqual({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.agent.name": "Planner",
      "gen_ai.agent.id": "m-planner",
      "gen_ai.conversation.id": "r1/main",
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 3,
      "gen_ai.usage.cache_read.input_tokens": 7,
      "roomtap.room_id": "r1",
      "roomtap.thread_id": "main",
      "roomtap.turn_id": "t-1",
      "roomtap.task_id": "k-1",
      "roomtap.execution_generation": 1,
      "roomtap.turn.cause": "message",
      "roomtap.turn.status": "completed",
    });
    expect(tool.attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "read_file",
      "gen_ai.tool.call.id": "c1",
      "roomtap.tool.outcome": "ok",
    });
    expect(tool.parentSpanContext?.spanId).toBe(turn.spanContext().spanId);
    expect(turn.parentSpanContext).toBeUndefined();
    expect([turn, tool].map(({ status }) => status.code)).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET]);
    expect(spans()).toHaveLength(2);
  });

  it("of a member that nobody knows has no name", async () => {
    const { bus, span } = await openOtel();
    bus.settle(bus.start());
    await calm(bus);
    expect(span("invoke_agent").attributes).not.toHaveProperty(["gen_ai.agent.name"]);
  });

  it.each([
    [
      { status: "failed", reason_code: "provider_rate_limit", error: "too many" },
      SpanStatusCode.ERROR,
      "provider_rate_limit",
    ],
    [{ status: "failed", reason_code: null }, SpanStatusCode.ERROR, "_OTHER"],
    [{ status: "cancelled", reason_code: "stopped" }, SpanStatusCode.UNSET, undefined],
    [{ status: "superseded", reason_code: "newer_message" }, SpanStatusCode.UNSET, undefined],
    [{ status: "passed" }, SpanStatusCode.UNSET, undefined],
    [{ status: "abandoned", reason_code: "host_lost", duration_ms: null }, SpanStatusCode.UNSET, undefined],
  ] as const)("that ends with %j has the status %j and the error type %j", async (fields, code, errorType) => {
    const { bus, span } = await openOtel();
    bus.settle(bus.start(), fields);
    await calm(bus);
    const { status, attributes } = span("invoke_agent");
    expect([status, attributes["error.type"]]).toEqual([{ code }, errorType]);
    expect(attributes["roomtap.turn.status"]).toBe(fields.status);
    expect(attributes["roomtap.turn.may_have_run"]).toBe(fields.status === "abandoned" ? true : undefined);
  });

  it.each([
    ["ok", SpanStatusCode.UNSET, undefined],
    ["error", SpanStatusCode.ERROR, "error"],
    ["timeout", SpanStatusCode.ERROR, "timeout"],
    ["denied", SpanStatusCode.UNSET, undefined],
    ["cancelled", SpanStatusCode.UNSET, undefined],
    ["nonsense", SpanStatusCode.UNSET, undefined],
  ] as const)(
    "C-072 has a tool of outcome %s with the status %j and the error type %j",
    async (outcome, code, type) => {
      const { bus, span } = await openOtel();
      const attempt = bus.start();
      bus.emit(attempt, "tool.start", { tool_id: "1", name: "t" });
      bus.emit(attempt, "tool.complete", { tool_id: "1", outcome, error: "why" });
      bus.settle(attempt);
      await calm(bus);
      const { status, attributes } = span("execute_tool t");
      expect([status, attributes["error.type"]]).toEqual([{ code }, type]);
      expect(attributes["roomtap.tool.outcome"]).toBe(outcome === "nonsense" ? "unknown" : outcome);
      expect(span("invoke_agent").attributes).not.toHaveProperty(["gen_ai.usage.input_tokens"]);
    },
  );

  it("tells questions and errors as events, without what they say", async () => {
    const { bus, span } = await openOtel();
    const attempt = bus.start();
    void bus.tap.requests.ask(attempt, { method: "approval", params: { command: "make", choices: ["once"] } });
    bus.tap.requests.answer(bus.tap.requests.open()[0]?.id ?? "", { choice: "once" }, "ada");
    bus.emit(attempt, "error", { message: "it broke", reason: "provider" });
    bus.settle(attempt);
    await calm(bus);
    const { events } = span("invoke_agent");
    expect(events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ["request.opened", { "roomtap.request.id": expect.any(String) as string, "roomtap.request.method": "approval" }],
      [
        "request.resolved",
        {
          "roomtap.request.id": expect.any(String) as string,
          "roomtap.request.method": "approval",
          "roomtap.request.outcome": "answered",
        },
      ],
      ["turn.error", { "roomtap.reason": "provider" }],
    ]);
  });
});

describe("texts", () => {
  const play = async (config?: OtelConfig): Promise<Setup> => {
    const setup = await openOtel(config);
    const { bus } = setup;
    const attempt = bus.start();
    bus.emit(attempt, "tool.start", { tool_id: "1", name: "t", args: { path: "TEXT" } });
    bus.emit(attempt, "tool.complete", { tool_id: "1", outcome: "error", result: "TEXT", error: "TEXT" });
    bus.delta(attempt, "TEXT");
    bus.emit(attempt, "error", { message: "TEXT" });
    bus.settle(attempt, { status: "failed", reason_code: "runner_error", error: "TEXT", text: "TEXT" });
    await calm(bus);
    return setup;
  };
  const textOf = ({ spans }: Setup): string =>
    JSON.stringify(spans().map(({ attributes, events, status }) => ({ attributes, events, status })));

  it("are in no span unless the config says so", async () => {
    expect(textOf(await play())).not.toMatch(/TEXT|hello/);
  });

  it("stand where the conventions want them when it does", async () => {
    const setup = await play({ content: true });
    const turn = setup.span("invoke_agent");
    const tool = setup.span("execute_tool t");
    expect(JSON.parse(String(turn.attributes["gen_ai.input.messages"]))).toEqual([
      { role: "user", name: "ada", parts: [{ type: "text", content: "hello" }] },
    ]);
    expect(JSON.parse(String(turn.attributes["gen_ai.output.messages"]))).toEqual([
      { role: "assistant", parts: [{ type: "text", content: "TEXT" }], finish_reason: "error" },
    ]);
    expect(tool.attributes).toMatchObject({
      "gen_ai.tool.call.arguments": '{"path":"TEXT"}',
      "gen_ai.tool.call.result": "TEXT",
    });
    expect([turn.status.message, tool.status.message]).toEqual(["TEXT", "TEXT"]);
  });
});

describe("spans of several attempts", () => {
  it("are linked when they are of one task", async () => {
    const { bus, spans } = await openOtel();
    const task = { task_id: "k", turn_id: "t" };
    bus.settle(bus.start({ ...task, execution_generation: 1 }), { status: "failed", reason_code: "runner_lost" });
    bus.settle(bus.start({ ...task, execution_generation: 2 }));
    await calm(bus);
    const [first, second] = spans();
    expect(first?.links).toEqual([]);
    expect(second?.links).toMatchObject([
      { context: { spanId: first?.spanContext().spanId }, attributes: { "roomtap.link": "earlier_attempt" } },
    ]);
  });

  it.each([
    ["none", 2, []],
    ["discussion", 1, ["discussion r1"]],
    ["room", 1, ["room r1"]],
  ] as const)("hang below %s: %i traces", async (parent, traces, roots) => {
    const { bus, spans } = await openOtel({ parent });
    bus.settle(bus.start());
    bus.settle(bus.start({ member_id: "m-other" }));
    await calm(bus);
    const turns = spans().filter(({ name }) => name === "invoke_agent");
    expect(new Set(turns.map((each) => each.spanContext().traceId)).size).toBe(traces);
    const others = spans().filter(({ name }) => name !== "invoke_agent");
    expect(others.map(({ name }) => name)).toEqual(roots);
    const above = turns.map(({ parentSpanContext }) => parentSpanContext?.spanId);
    expect(new Set(above)).toEqual(new Set(others.length === 0 ? [undefined] : [others[0]?.spanContext().spanId]));
  });

  it("are two traces for two discussions of one room", async () => {
    const { bus, spans } = await openOtel({ parent: "discussion" });
    for (const message_id of ["m1", "m2"]) {
      const attempt = bus.begin();
      const discussion = { message_id, round: 0, slot: 0 };
      bus.tap.started(attempt, { ...startedPayload, discussion }, { seq: 1, hash: "h" });
      bus.settle(attempt);
    }
    await calm(bus);
    expect(new Set(spans().map((each) => each.spanContext().traceId)).size).toBe(2);
  });
});

describe("what is not whole", () => {
  it("ends at the unloading as interrupted, tools too", async () => {
    const { bus, host, span, spans } = await openOtel();
    const began = bus.clock.now();
    const attempt = bus.start();
    bus.emit(attempt, "tool.start", { tool_id: "1", name: "t" });
    await pass(bus, 500);
    await host.unload("otel");
    expect(span("invoke_agent").attributes["roomtap.interrupted"]).toBe(true);
    expect(span("execute_tool t").attributes["roomtap.tool.outcome"]).toBe("unknown");
    expect(spans().map(({ endTime }) => msOf(endTime) - began)).toEqual([500, 500]);
    bus.settle(attempt);
    await calm(bus);
    expect(spans()).toHaveLength(2);
  });

  it("is ended when more attempts run than may be open, the oldest first", async () => {
    const { bus, spans } = await openOtel({ maxOpenTurns: 2 });
    for (const member_id of ["m-1", "m-2", "m-3"]) bus.start({ member_id });
    await calm(bus);
    expect(spans().map(({ attributes }) => [attributes["gen_ai.agent.id"], attributes["roomtap.interrupted"]])).toEqual(
      [["m-1", true]],
    );
  });

  it("is marked when its start was not told: its span begins so long before its end as it took", async () => {
    const { bus, host, span } = await openOtel();
    await host.unload("otel");
    const attempt = bus.start();
    await pass(bus, 100);
    await host.load({ plugin: otel() });
    const now = bus.clock.now();
    bus.settle(attempt, { duration_ms: 40 });
    await calm(bus);
    const { attributes, startTime, endTime } = span("invoke_agent");
    expect(attributes["roomtap.start_unknown"]).toBe(true);
    expect([msOf(startTime) - now, msOf(endTime) - now]).toEqual([-40, 0]);
  });

  it("says how many of its events were lost, and one whose end was lost that nobody knows how it ended", async () => {
    const { bus, host, spans } = await openOtel();
    const watched = bus.start({ member_id: "m-kept" }, "kept");
    await calm(bus);
    // More than the queue holds, in one turn of the event loop: the oldest go, and with them whole attempts.
    for (let index = 0; index < 600; index++) bus.settle(bus.start({}, `s-${index}`), {});
    bus.settle(watched);
    await calm(bus);
    const [stats] = bus.observers.stats();
    const marked = spans().filter(({ attributes }) => attributes["roomtap.lost_events"] !== undefined);
    const told = marked.reduce((sum, { attributes }) => sum + Number(attributes["roomtap.lost_events"]), 0);
    expect(stats?.dropped).toBe(600 * 2 + 1 - 1_024);
    expect(told).toBe(stats?.dropped);
    // Of one attempt only the start was lost: how it ended is known.
    expect(marked.filter(({ attributes }) => attributes["roomtap.outcome_unknown"] === true)).toHaveLength(88);
    expect(marked.filter(({ attributes }) => attributes["roomtap.turn.status"] === "completed")).toHaveLength(1);
    await host.unload("otel");
    expect(spans().filter(({ attributes }) => attributes["roomtap.interrupted"] === true)).toEqual([]);
  });

  it("never ends before it began, though the wall clock steps back", async () => {
    const { bus, span } = await openOtel();
    const began = bus.clock.now();
    const attempt = bus.start();
    await calm(bus);
    bus.clock.setNow(began - 60_000);
    bus.settle(attempt);
    await calm(bus);
    const { startTime, endTime } = span("invoke_agent");
    expect([msOf(startTime) - began, msOf(endTime) - began]).toEqual([0, 0]);
  });
});

describe("the package", () => {
  it("is asked for by its name when it cannot be loaded", async () => {
    const gone = async (): Promise<never> => {
      throw new Error("Cannot find package '@opentelemetry/api'");
    };
    await expect(loadOtelApi(gone)).rejects.toMatchObject({
      code: "missing_package",
      message: "plugin otel: the package @opentelemetry/api cannot be loaded: Cannot find package '@opentelemetry/api'",
      remedy: "Install the package that the message names.",
    });
  });
});
