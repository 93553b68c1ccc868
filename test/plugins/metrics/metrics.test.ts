import { describe, expect, it, onTestFinished } from "vitest";
import { metrics, PluginHost, type MetricsConfig, type RouteResponse } from "../../../plugins/index.ts";
import { openBus, type Bus } from "../../support/bus.ts";
import { parsePrometheus, type MetricFamily } from "../../support/prometheus-text.ts";

interface Measured {
  readonly bus: Bus;
  readonly host: PluginHost;
  /** What a path of the server gives now. */
  readonly get: (path: string) => Promise<RouteResponse>;
  /** What `/metrics` says, once all is counted. */
  readonly read: () => Promise<ReadonlyMap<string, MetricFamily>>;
}

async function openMetrics(config?: MetricsConfig): Promise<Measured> {
  const bus = openBus();
  const { observers, clock, notices } = bus;
  const host = new PluginHost({ observers, clock, report: (notice) => notices.push(notice) });
  onTestFinished(() => host.close());
  await host.load({ plugin: metrics(), config, grants: ["routes"] });
  const get = async (path: string): Promise<RouteResponse> => {
    const match = host.routes.match("GET", path);
    if (match === null || !("route" in match)) throw new Error(`no route ${path}`);
    const signal = new AbortController().signal;
    return match.route.handler({
      ...{ method: "GET", path, params: {}, query: {}, headers: {}, body: "", caller: null, signal },
    });
  };
  const read = async (): Promise<ReadonlyMap<string, MetricFamily>> => {
    await bus.idle();
    const { body } = await get("/metrics");
    if (typeof body !== "string") throw new Error("expected a text");
    return parsePrometheus(body);
  };
  return { bus, host, get, read };
}

/** Wall time is read once per turn of the event loop. */
async function pass(bus: Bus, ms: number): Promise<void> {
  await bus.idle();
  bus.clock.advance(ms);
}

/** The samples of a metric; of a histogram its sum and its count alone. */
function samplesOf(families: ReadonlyMap<string, MetricFamily>, name: string): Readonly<Record<string, number>> {
  const samples = families.get(name)?.samples;
  if (samples === undefined) throw new Error(`no metric ${name}`);
  return Object.fromEntries([...samples].filter(([key]) => !key.includes("_bucket")));
}

describe("what is counted", () => {
  it("are turns by cause, status and reason, their durations and their first text", async () => {
    const { bus, read } = await openMetrics();
    const first = bus.start();
    await pass(bus, 250);
    bus.delta(first, "hel");
    await pass(bus, 1_000);
    bus.delta(first, "lo");
    bus.settle(first, { duration_ms: 1_250, usage: { input_tokens: 10, output_tokens: 3, cost_usd: 0.5 } });
    bus.settle(bus.start({ execution_generation: 2 }), {
      status: "failed",
      reason_code: "runner_error",
      duration_ms: 40,
    });
    const families = await read();
    expect(samplesOf(families, "roomtap_turns_started_total")).toEqual({
      'roomtap_turns_started_total{cause="message"}': 2,
    });
    expect(samplesOf(families, "roomtap_turns_total")).toEqual({
      'roomtap_turns_total{reason_code="none",status="completed"}': 1,
      'roomtap_turns_total{reason_code="runner_error",status="failed"}': 1,
    });
    expect(samplesOf(families, "roomtap_turn_retries_total")).toEqual({ roomtap_turn_retries_total: 1 });
    expect(samplesOf(families, "roomtap_turn_duration_seconds")).toEqual({
      'roomtap_turn_duration_seconds_sum{status="completed"}': 1.25,
      'roomtap_turn_duration_seconds_count{status="completed"}': 1,
      'roomtap_turn_duration_seconds_sum{status="failed"}': 0.04,
      'roomtap_turn_duration_seconds_count{status="failed"}': 1,
    });
    expect(samplesOf(families, "roomtap_turn_first_text_seconds")).toEqual({
      roomtap_turn_first_text_seconds_sum: 0.25,
      roomtap_turn_first_text_seconds_count: 1,
    });
    const buckets = families.get("roomtap_turn_first_text_seconds")?.samples;
    expect(buckets?.get('roomtap_turn_first_text_seconds_bucket{le="0.1"}')).toBe(0);
    expect(buckets?.get('roomtap_turn_first_text_seconds_bucket{le="0.25"}')).toBe(1);
    expect(buckets?.get('roomtap_turn_first_text_seconds_bucket{le="+Inf"}')).toBe(1);
    expect(samplesOf(families, "roomtap_turn_tokens_total")).toEqual({
      'roomtap_turn_tokens_total{type="input"}': 10,
      'roomtap_turn_tokens_total{type="output"}': 3,
    });
    expect(samplesOf(families, "roomtap_turn_usage_unreported_total")).toEqual({
      roomtap_turn_usage_unreported_total: 1,
    });
  });

  it("are tool calls by outcome and how long they took, without their names", async () => {
    const { bus, read } = await openMetrics();
    const attempt = bus.start();
    for (const [tool_id, outcome] of [
      ["1", "ok"],
      ["2", "error"],
      ["3", "denied"],
    ] as const) {
      bus.emit(attempt, "tool.start", { tool_id, name: `secret-tool-${tool_id}` });
      bus.clock.advance(100);
      bus.emit(attempt, "tool.complete", { tool_id, outcome });
    }
    bus.emit(attempt, "tool.start", { tool_id: "4", name: "open" });
    bus.settle(attempt);
    const families = await read();
    expect(samplesOf(families, "roomtap_tools_started_total")).toEqual({ roomtap_tools_started_total: 4 });
    expect(samplesOf(families, "roomtap_tools_total")).toEqual({
      'roomtap_tools_total{outcome="ok"}': 1,
      'roomtap_tools_total{outcome="error"}': 1,
      'roomtap_tools_total{outcome="denied"}': 1,
      'roomtap_tools_total{outcome="interrupted"}': 1,
    });
    expect(samplesOf(families, "roomtap_tool_duration_seconds")).toMatchObject({
      'roomtap_tool_duration_seconds_sum{outcome="ok"}': 0.1,
      'roomtap_tool_duration_seconds_count{outcome="ok"}': 1,
    });
    const names = [...families.values()].flatMap(({ samples }) => [...samples.keys()]);
    expect(names.filter((key) => /secret-tool|room=|member=|tool=/.test(key))).toEqual([]);
  });

  it("are questions by method and outcome, and how long a person took; a policy and an expiry took no person", async () => {
    const { bus, read } = await openMetrics();
    const attempt = bus.start();
    const { requests } = bus.tap;
    const ask = (): string => {
      void requests.ask(attempt, { method: "approval", params: { command: "make", choices: ["once", "deny"] } });
      const id = requests.open().at(-1)?.id;
      if (id === undefined) throw new Error("nothing was asked");
      return id;
    };
    const first = ask();
    await pass(bus, 7_000);
    requests.answer(first, { choice: "once" }, "ada");
    requests.answer(ask(), { choice: "deny", reason: "policy" }, null);
    requests.answer(ask(), { choice: "once" }, "plugin:crew");
    ask();
    bus.settle(attempt, { status: "cancelled", reason_code: "stopped" });
    const families = await read();
    expect(samplesOf(families, "roomtap_requests_opened_total")).toEqual({
      'roomtap_requests_opened_total{method="approval"}': 4,
    });
    expect(samplesOf(families, "roomtap_requests_total")).toEqual({
      'roomtap_requests_total{method="approval",outcome="answered"}': 2,
      'roomtap_requests_total{method="approval",outcome="denied"}': 1,
      'roomtap_requests_total{method="approval",outcome="cancelled"}': 1,
    });
    expect(samplesOf(families, "roomtap_request_answer_seconds")).toEqual({
      'roomtap_request_answer_seconds_sum{method="approval"}': 7,
      'roomtap_request_answer_seconds_count{method="approval"}': 1,
    });
  });
});

describe("C-072 what nobody reported", () => {
  it("C-072 is told as unreported: no tokens of 0, no success, no failure, no duration", async () => {
    const { bus, read } = await openMetrics();
    const abandoned = bus.start();
    bus.emit(abandoned, "tool.start", { tool_id: "1", name: "read" });
    bus.emit(abandoned, "tool.complete", { tool_id: "1", outcome: "no-such-word" });
    bus.settle(abandoned, { status: "abandoned", reason_code: "host_lost", duration_ms: null, activity_count: null });
    bus.settle(bus.start(), { status: "cancelled", reason_code: "stopped" });
    bus.settle(bus.start(), { usage: { cost_usd: 1 } });
    const families = await read();
    expect(samplesOf(families, "roomtap_turn_usage_unreported_total")).toEqual({
      roomtap_turn_usage_unreported_total: 3,
    });
    expect(samplesOf(families, "roomtap_turn_tokens_total")).toEqual({});
    expect(samplesOf(families, "roomtap_turns_total")).toEqual({
      'roomtap_turns_total{reason_code="host_lost",status="abandoned"}': 1,
      'roomtap_turns_total{reason_code="stopped",status="cancelled"}': 1,
      'roomtap_turns_total{reason_code="none",status="completed"}': 1,
    });
    expect(samplesOf(families, "roomtap_turn_duration_unreported_total")).toEqual({
      roomtap_turn_duration_unreported_total: 1,
    });
    expect(samplesOf(families, "roomtap_turn_duration_seconds")).not.toHaveProperty([
      'roomtap_turn_duration_seconds_count{status="abandoned"}',
    ]);
    expect(samplesOf(families, "roomtap_tools_total")).toEqual({ 'roomtap_tools_total{outcome="unknown"}': 1 });
  });

  it("is the first text of an attempt that began before the plugin came", async () => {
    const { bus, host, read } = await openMetrics();
    await host.unload("metrics");
    const attempt = bus.start();
    await host.load({ plugin: metrics(), grants: ["routes"] });
    bus.delta(attempt, "late");
    bus.delta(attempt, "r");
    const families = await read();
    expect(samplesOf(families, "roomtap_turn_first_text_seconds")).toEqual({
      roomtap_turn_first_text_seconds_sum: 0,
      roomtap_turn_first_text_seconds_count: 0,
    });
    expect(samplesOf(families, "roomtap_turn_first_text_unreported_total")).toEqual({
      roomtap_turn_first_text_unreported_total: 1,
    });
  });
});

describe("a loss", () => {
  it("is told by kind: so much the other numbers are too low", async () => {
    const { bus, read } = await openMetrics();
    const attempts = Array.from({ length: 1_500 }, (_, index) => bus.start({}, `session-${index}`));
    const families = await read();
    const started = samplesOf(families, "roomtap_turns_started_total")['roomtap_turns_started_total{cause="message"}'];
    const lost = samplesOf(families, "roomtap_events_lost_total");
    expect(lost['roomtap_events_lost_total{kind="turn.started"}']).toBe(attempts.length - 1_024);
    expect(lost['roomtap_events_lost_total{kind="turn.settled"}']).toBe(0);
    expect(started).toBe(1_024);
    expect(samplesOf(families, "roomtap_events_handled_total")).toEqual({ roomtap_events_handled_total: 1_024 });
    expect(samplesOf(families, "roomtap_events_waiting")).toEqual({ roomtap_events_waiting: 0 });
  });
});

describe("labels", () => {
  it("of rooms and tools come when they are asked for, and beyond their bound all others are one", async () => {
    const { bus, read } = await openMetrics({ rooms: true, maxRooms: 2, tools: true, maxTools: 1 });
    for (const room_id of ["r1", "r2", "r3", "r4", "r1"]) {
      const attempt = bus.start({ room_id }, `session of ${room_id}`);
      bus.emit(attempt, "tool.start", { tool_id: "1", name: `tool of ${room_id}` });
      bus.settle(attempt);
    }
    const families = await read();
    expect(samplesOf(families, "roomtap_turns_started_total")).toEqual({
      'roomtap_turns_started_total{cause="message",room="r1"}': 2,
      'roomtap_turns_started_total{cause="message",room="r2"}': 1,
      'roomtap_turns_started_total{cause="message",room="other"}': 2,
    });
    expect(samplesOf(families, "roomtap_tools_total")).toEqual({
      'roomtap_tools_total{outcome="interrupted",room="r1",tool="tool of r1"}': 2,
      'roomtap_tools_total{outcome="interrupted",room="r2",tool="other"}': 1,
      'roomtap_tools_total{outcome="interrupted",room="other",tool="other"}': 2,
    });
  });
});

describe("what is served", () => {
  it("is the text format, whose names keep to the conventions of Prometheus", async () => {
    const { get, read } = await openMetrics();
    const { status = 200, headers } = await get("/metrics");
    expect([status, headers]).toEqual([
      200,
      { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
    ]);
    const families = await read();
    for (const [name, { type, help }] of families) {
      expect(name).toMatch(/^roomtap_[a-z_]+$/);
      expect(name.endsWith("_total")).toBe(type === "counter");
      expect(name.endsWith("_seconds")).toBe(type === "histogram");
      expect(help).not.toBe("");
    }
  });

  it("is no health when the config says so, and a config with another key is refused", async () => {
    const { host } = await openMetrics({ health: false });
    expect(host.list()[0]?.routes).toEqual(["GET /metrics"]);
    await host.unload("metrics");
    const config = { everything: true };
    await expect(host.load({ plugin: metrics(), config, grants: ["routes"] })).rejects.toMatchObject({
      code: "invalid_config",
    });
    await expect(host.load({ plugin: metrics() })).rejects.toMatchObject({ code: "not_granted" });
  });

  it("is ready when the rooms are open, and not while the plugin is unloaded", async () => {
    const { host, get } = await openMetrics();
    expect(await get("/livez")).toMatchObject({ status: 200, body: "live\n" });
    expect(await get("/readyz")).toMatchObject({ status: 503, body: "not ready\n" });
    await host.ready();
    expect(await get("/readyz")).toMatchObject({ status: 200, body: "ready\n" });
    const match = host.routes.match("GET", "/readyz");
    await host.close();
    if (match === null || !("route" in match)) throw new Error("no route");
    expect(await match.route.handler({} as never)).toMatchObject({ status: 503 });
    expect(host.routes.match("GET", "/readyz")).toBeNull();
  });

  it("tells of the process when it is asked for, also when the plugin is loaded anew", async () => {
    const { host, read } = await openMetrics({ process: true });
    expect((await read()).get("process_cpu_seconds_total")?.type).toBe("counter");
    await host.unload("metrics");
    await host.load({ plugin: metrics(), config: { process: true }, grants: ["routes"] });
    const families = await read();
    expect(families.get("nodejs_heap_size_used_bytes")?.type).toBe("gauge");
    expect(families.get("roomtap_turns_total")?.type).toBe("counter");
  });
});
