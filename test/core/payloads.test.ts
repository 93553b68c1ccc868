import { describe, expect, it } from "vitest";
import { cleanPayload, createRedactor, cutPayload, estimateBytes, limits, utf8Length } from "../../core/index.ts";
import { eventsOf, kindsOf, openBus, secret, tapFrames } from "../support/bus.ts";

const redactor = createRedactor({ literals: [secret] });

/** `depth` containers, one in the other. */
function nested(depth: number, open: "[" | '{"a":'): unknown {
  return JSON.parse(open.repeat(depth) + (open === "[" ? "" : "1") + (open === "[" ? "]" : "}").repeat(depth));
}

/** How deep a value is nested, without recursion. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let at = value; typeof at === "object" && at !== null; depth++) at = Object.values(at)[0];
  return depth;
}

const cycle: Record<string, unknown> = { name: "loop" };
cycle["self"] = cycle;

const notJson: readonly (readonly [string, object])[] = [
  ["a cycle", cycle],
  ["a bigint", { size: 1n }],
  [
    "a toJSON that throws",
    {
      toJSON: () => {
        throw new Error("no");
      },
    },
  ],
  [
    "a getter that throws",
    {
      get size(): never {
        throw new Error("no");
      },
    },
  ],
  ["NaN", { size: Number.NaN }],
  ["Infinity", { size: Infinity }],
  ["a Map", { map: new Map([[1, 2]]) }],
  ["a Set", { set: new Set([1]) }],
  ["bytes", { bytes: new Uint8Array(3) }],
  ["more than 65,536 bytes that say themselves as JSON", { bytes: Buffer.alloc(65_537) }],
];

describe("a payload", () => {
  it.each(notJson)(
    "C-079 of a tool that is %s is replaced, counted once, and keeps what names the call",
    async (_, args) => {
      const bus = openBus();
      const frames = tapFrames(bus);
      const { events } = bus.watch();
      const attempt = bus.begin();
      expect(bus.emit(attempt, "tool.start", { tool_id: "t", name: "run", args })).toBe("written");
      expect(bus.emit(attempt, "tool.complete", { tool_id: "t", outcome: "ok", result: args })).toBe("written");
      expect(bus.emit(attempt, "error", { message: "x", details: args })).toBe("written");
      expect(bus.emit(attempt, "error", { message: "whole" })).toBe("written");
      await bus.idle();
      expect(events.map(({ n, seq, payload }) => [n, seq, payload])).toEqual([
        [1, 1, { tool_id: "t", name: "run", unserialisable: true }],
        [2, 2, { tool_id: "t", name: "run", outcome: "ok", duration_ms: 0, unserialisable: true }],
        [3, 3, { message: "", unserialisable: true }],
        [4, 4, { message: "whole" }],
      ]);
      expect(frames.map((frame) => frame.params["payload"])).toEqual([
        { unserialisable: true, tool_id: "t", name: "run" },
        { unserialisable: true, tool_id: "t", name: "run", outcome: "ok" },
        { unserialisable: true },
        { message: "whole" },
      ]);
      expect(bus.tap.seam.unserialisable).toBe(3);
    },
  );

  it.each([
    ["a view, with the buffer it lies in", new Uint8Array(new ArrayBuffer(1_000), 0, 10), 1_016],
    ["a buffer", new ArrayBuffer(1_000), 1_016],
    ["a map", new Map([["key", "value"]]), 16 + 19 + 21],
    ["a set", new Set(["abc"]), 16 + 19 + 19],
  ])("is estimated by what is held: %s", (_, value, bytes) => {
    expect(estimateBytes(value)).toBe(bytes);
  });

  it("C-079 keeps what JSON keeps: dates, holes, and fields that are not undefined", () => {
    const payload = {
      at: new Date(0),
      holes: Object.assign(Array(3), { 0: 1, 2: 3 }),
      gone: undefined,
      call: () => 1,
      inner: { nothing: null },
    };
    expect(cleanPayload(payload, redactor).payload).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      holes: [1, null, 3],
      inner: { nothing: null },
    });
  });

  it("C-079 masks what names a call whose payload is no JSON", () => {
    const payload = { tool_id: "x".repeat(513), name: `use ${secret}`, cycle };
    expect(cleanPayload(payload, redactor).payload).toEqual({ unserialisable: true, name: "use [redacted]" });
  });

  it.each([
    ["[", 64, 64],
    ["[", 65, 64],
    ["[", 5_000, 64],
    ['{"a":', 64, 64],
    ['{"a":', 65, 64],
    ['{"a":', 5_000, 64],
  ] as const)("C-078 of %s nested %i deep arrives %i deep, and the next frame flows", async (open, depth, arrives) => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    expect(bus.emit(attempt, "tool.start", { tool_id: "t", name: "run", args: nested(depth, open) })).toBe("written");
    expect(bus.delta(attempt, "next")).toBe("written");
    await bus.idle();
    const [started] = eventsOf(events, "tool.started");
    expect(started?.payload).toMatchObject({ tool_id: "t", name: "run" });
    expect(depthOf(started?.payload.args)).toBe(arrives);
    expect(JSON.stringify(started).includes("[cut: nested deeper than 64]")).toBe(depth > 64);
    expect(kindsOf(events)).toEqual(["tool.started", "message.delta"]);
  });

  it("C-080 with an own __proto__ key gives no object a prototype", async () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const { events } = bus.watch();
    const attempt = bus.begin({ member_id: "constructor" });
    const args = JSON.parse('{"__proto__":{"admin":true},"constructor":"plain","toString":1}') as object;
    bus.emit(attempt, "tool.start", { tool_id: "toString", name: "constructor", args });
    bus.emit(attempt, "toString", {});
    bus.emit(attempt, "tool.complete", { tool_id: "hasOwnProperty" });
    await bus.idle();
    const [started] = eventsOf(events, "tool.started");
    expect(Object.keys(started?.payload.args as object)).toEqual(["constructor", "toString"]);
    expect(Object.assign({}, started?.payload.args)).not.toHaveProperty("admin");
    expect(started?.coordinates.member_id).toBe("constructor");
    expect(eventsOf(events, "tool.completed").map(({ payload }) => payload.tool_id)).toEqual(["hasOwnProperty"]);
    expect([frames.length, Object.hasOwn({}, "admin"), "admin" in {}]).toEqual([4, false, false]);
  });

  it("C-066 is a copy: what its producer changes later is not seen", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    const args = { cmd: "ls", list: [1] };
    const usage = { output_tokens: 1 };
    const row = { seq: 2, hash: "h2" };
    bus.emit(attempt, "tool.start", { tool_id: "t", args });
    args.cmd = "rm";
    args.list.push(2);
    const { activity_count } = bus.tap.seal(attempt, "interrupted");
    bus.tap.settled(attempt, { ...settled, usage, activity_count }, row);
    await bus.idle();
    usage.output_tokens = 99;
    row.seq = 99;
    args.list.push(3);
    expect(events[0]?.payload).toEqual({ tool_id: "t", name: "t", args: { cmd: "ls", list: [1] } });
    expect(events.at(-1)?.payload).toMatchObject({ usage: { output_tokens: 1 }, row: { seq: 2 } });
  });

  it("has its secrets masked by value, by key and in keys", () => {
    const payload = {
      env: { API_KEY: "short", [secret]: 1, max_tokens: 5 },
      list: [`x ${secret}`],
      authorization: ["a"],
    };
    expect(cleanPayload(payload, redactor).payload).toEqual({
      env: { API_KEY: "[redacted]", "[redacted]": 1, max_tokens: 5 },
      list: ["x [redacted]"],
      authorization: "[redacted]",
    });
  });

  it("I13 has a number masked whose text holds a literal, and no other", () => {
    const pins = createRedactor({ literals: ["482915073661", "-12345.6789"] });
    const numbers = [
      482_915_073_661, 1_482_915_073_661, -12_345.6789, 482_915_073_660, 0.5, 99_999_999, -9_999_999, 1e21,
    ];
    expect(cleanPayload({ numbers }, pins)).toMatchObject({
      payload: { numbers: ["[redacted]", "[redacted]", "[redacted]", ...numbers.slice(3)] },
      problem: null,
    });
  });

  it("of 10 MB is cut to fit a queue, and the turn goes on", async () => {
    const bus = openBus();
    const standard = bus.watch();
    const full = bus.watch({ payload: "full" });
    const attempt = bus.begin();
    const result = "é".repeat(10_000_000);
    bus.emit(attempt, "tool.start", { tool_id: "t", name: "run" });
    await bus.idle();
    bus.emit(attempt, "tool.complete", { tool_id: "t", outcome: "ok", result });
    await bus.idle();
    bus.delta(attempt, "next");
    await bus.idle();
    for (const { events } of [standard, full]) {
      expect(kindsOf(events)).toEqual(["tool.started", "tool.completed", "message.delta"]);
      expect(events[1]?.truncated).toEqual([{ field: "result", bytes: 20_000_000 }]);
      expect(events[1]?.payload).toMatchObject({ tool_id: "t", name: "run", outcome: "ok" });
    }
    expect(estimateBytes(standard.events[1]?.payload)).toBe(16_384);
    expect(estimateBytes(full.events[1]?.payload)).toBe(4_194_304 - 160);
  });

  it("counts in a queue as what is left of it in the event", async () => {
    const bus = openBus();
    const watcher = bus.watch();
    const attempt = bus.begin();
    bus.emit(attempt, "tool.start", { tool_id: "t", junk: "x".repeat(5_000_000) });
    expect(watcher.stats().bytes).toBeLessThan(500);
    await bus.idle();
    expect(watcher.events).toEqual([expect.objectContaining({ payload: { tool_id: "t", name: "t" } })]);
    expect(watcher.events[0]).not.toHaveProperty("truncated");
  });

  it("I13 of a request has its method masked, and cut to 512 characters", async () => {
    const bus = openBus();
    const frames = tapFrames(bus);
    const { events } = bus.watch();
    const attempt = bus.begin();
    for (const method of [`vault.${secret}`, `vault.${"y".repeat(507)}`])
      void bus.tap.requests.ask(attempt, { method, params: {} });
    bus.tap.seal(attempt, "interrupted");
    await bus.idle();
    const words = ["vault.[redacted]", `vault.${"y".repeat(506)}`];
    expect(eventsOf(events, "request.opened").map(({ payload }) => payload.method)).toEqual(words);
    expect(eventsOf(events, "request.resolved").map(({ payload }) => payload.method)).toEqual(words);
    expect(frames.flatMap((frame) => ("id" in frame ? [frame.method] : []))).toEqual(words);
  });

  it("I7 counts as what is left when whole fields had to go, and evicts nothing that starts or ends something", () => {
    const bus = openBus();
    const watcher = bus.watch({ handler: () => new Promise(() => {}), payload: "full" });
    const attempt = bus.begin();
    for (let k = 0; k < 100; k++) bus.emit(attempt, "tool.start", { tool_id: `t${k}`, name: "run" });
    const rows = Array.from({ length: 60_000 }, () => ["x".repeat(60)]);
    bus.emit(attempt, "tool.complete", { tool_id: "t0", outcome: "ok", result: rows.slice(0, 30_000), summary: rows });
    const { depth, bytes, dropped } = watcher.stats();
    expect([depth, dropped]).toEqual([101, 0]);
    expect(bytes).toBeLessThan(4_000_000);
  });

  it("is cut once for all consumers with the same bound", async () => {
    const bus = openBus();
    const watchers = [bus.watch(), bus.watch(), bus.watch({ maxEventBytes: 1_024 }), bus.watch({ payload: "meta" })];
    const metas = [watchers[3], bus.watch({ payload: "meta" })];
    bus.emit(bus.begin(), "tool.start", { tool_id: "t", args: { a: "x".repeat(100_000) } });
    await bus.idle();
    const [first, second, small] = watchers.map(({ events }) => events[0]);
    expect(first).toBe(second);
    expect(estimateBytes(small?.payload)).toBeLessThanOrEqual(1_024);
    expect(metas[0]?.events[0]).toBe(metas[1]?.events[0]);
    expect(metas[0]?.events[0]?.payload).toMatchObject({ sizes: { args: 100_008 } });
  });

  it("never has a name above 512 characters", async () => {
    const bus = openBus();
    const { events } = bus.watch();
    const attempt = bus.begin();
    bus.emit(attempt, "tool.start", { tool_id: "t", name: "😀".repeat(1_000_000) });
    bus.emit(attempt, "tool.output_risk", { tool_id: "t", name: "y".repeat(513) });
    await bus.idle();
    const names = events.map(({ payload }) => (payload as { name: string }).name.length);
    expect(names).toEqual([limits.maxToolIdUnits, limits.maxToolIdUnits]);
  });
});

const settled = {
  status: "completed",
  reason_code: null,
  text: "",
  truncated: false,
  error: null,
  duration_ms: 1,
} as const;

describe("cutPayload", () => {
  it("cuts the longest texts first, and between two code points", () => {
    const payload = { tool_id: "t".repeat(300), result: "😀".repeat(500), summary: "s".repeat(100) };
    const { payload: cut, truncated } = cutPayload(payload, 700);
    expect(cut).toEqual({ ...payload, result: "😀".repeat(108) });
    expect(truncated).toEqual([{ field: "result", bytes: 2_000 }]);
  });

  it("names the path of a nested text, and leaves numbers and short texts", () => {
    const payload = { args: { files: [{ name: "a.md", content: "x".repeat(1_000) }], deep: 1 } };
    const { payload: cut, truncated } = cutPayload(payload, 300);
    expect(truncated).toEqual([{ field: "args.files.0.content", bytes: 1_000 }]);
    expect(estimateBytes(cut)).toBe(300);
  });

  it("makes whole fields null when cutting texts is not enough", () => {
    const payload = { tool_id: "t", result: Array.from({ length: 100 }, () => 1), usage: { a: 1 } };
    const { payload: cut, truncated } = cutPayload(payload, 512);
    expect(cut).toEqual({ tool_id: "t", result: null, usage: { a: 1 } });
    expect(truncated).toEqual([{ field: "result", bytes: utf8Length(JSON.stringify(payload.result)) }]);
  });

  it("cuts no text of what fits once a field too large to be cut is gone", () => {
    const payload = { tool_id: "t", result: Array.from({ length: 100 }, () => 1), summary: "s".repeat(200) };
    const { payload: cut, truncated, bytes } = cutPayload(payload, 512);
    expect(cut).toEqual({ ...payload, result: null });
    expect(truncated.map(({ field }) => field)).toEqual(["result"]);
    expect(bytes).toBe(estimateBytes(cut));
  });

  it("estimates a payload as the walk that cleans it does", () => {
    const payload = { a: "xyz", b: [1, null, { c: true }], d: {} };
    expect(cleanPayload(payload, redactor).bytes).toBe(estimateBytes(payload));
  });
});
