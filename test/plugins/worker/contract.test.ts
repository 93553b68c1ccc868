/** What a plugin may rely on, wherever it runs: each test is played in the host's thread and in a worker. */
import { beforeEach, describe, expect, it } from "vitest";
import { limits } from "../../../core/index.ts";
import { numbersOf, upTo } from "../../support/bus.ts";
import { operator, PluginBench } from "../../support/plugin-files.ts";
import type { RouteRequest } from "../../../plugins/index.ts";

type Body = AsyncIterable<string | Uint8Array>;

function requestOf(path: string, fields: Partial<RouteRequest> = {}): RouteRequest {
  const signal = new AbortController().signal;
  return { method: "GET", path, params: {}, query: {}, headers: {}, body: "", caller: operator, signal, ...fields };
}

describe.each(["inline", "worker"] as const)("a plugin, %s,", (isolation) => {
  let bench: PluginBench;
  const load = (id: string, body: string, options: Parameters<PluginBench["load"]>[2] = {}): Promise<string> =>
    bench.load(id, body, { isolation, ...options });
  const ask = (path: string, fields: Partial<RouteRequest> = {}): Promise<Record<string, unknown>> => {
    const match = bench.host.routes.match("GET", `/plugins/p${path}`);
    if (match === null || !("route" in match)) throw new Error(`no route for ${path}`);
    const { params } = match;
    return Promise.resolve(match.route.handler(requestOf(path, { params, ...fields }))) as Promise<never>;
  };

  beforeEach(() => {
    bench = new PluginBench();
  });

  it("is handed the events of its patterns, frozen at every depth", async () => {
    await load(
      "p",
      `ctx.on("tool.*", (event) => {
        "use strict";
        const tried = [];
        for (const write of [() => { event.n = 7; }, () => { event.coordinates.turn_id = "x"; }, () => event.payload.args.flags.push("x")]) {
          try { write(); tried.push("written"); } catch (fault) { tried.push(fault.name); }
        }
        note([event.kind, event.n, event.coordinates.member_id, event.payload.args, tried]);
      });`,
    );
    const attempt = bench.bus.start();
    bench.bus.delta(attempt, "hi");
    bench.bus.emit(attempt, "tool.start", { tool_id: "c", name: "run", args: { flags: ["-j"] } });
    const tried = ["TypeError", "TypeError", "TypeError"];
    expect(await bench.untilNoted(1)).toEqual([["tool.started", 3, "m-planner", { flags: ["-j"] }, tried]]);
  });

  it("gets lists of events when it asks for batches", async () => {
    await load("p", `ctx.on("*", async (events) => { note(events.map(({ n }) => n)); await null; }, { batch: 4 });`);
    const attempt = bench.bus.start();
    for (let count = 0; count < 9; count++) bench.bus.emit(attempt, "message.interim", { text: `${count}` });
    await bench.until(() => bench.noted.flat().length === 10);
    expect(bench.noted.flat()).toEqual(upTo(10));
    expect(Math.max(...bench.noted.map((list) => (list as unknown[]).length))).toBe(4);
  });

  it("handles so many attempts side by side, and each one in order", async () => {
    await load(
      "p",
      `let running = 0;
      ctx.on("*", async (event) => {
        running++;
        note([event.coordinates.turn_id, event.n, running]);
        await new Promise((resolve) => ctx.clock.defer(resolve));
        running--;
      }, { concurrency: 2 });`,
    );
    const attempts = [1, 2, 3].map((part) => bench.bus.start({ member_id: `m-${part}` }));
    for (const attempt of attempts) bench.bus.emit(attempt, "message.interim", { text: "x" });
    const noted = (await bench.untilNoted(6)) as [string, number, number][];
    expect(Math.max(...noted.map(([, , running]) => running))).toBe(2);
    for (const turn of ["t-1", "t-2", "t-3"]) {
      expect(noted.filter(([id]) => id === turn).map(([, n]) => n)).toEqual([1, 2]);
    }
  });

  it("has what its handlers throw and reject counted, and goes on", async () => {
    await load(
      "p",
      `ctx.on("*", (event) => { if (event.n === 1) throw new Error("first"); if (event.n === 2) return Promise.reject(new Error("second")); note(event.n); });`,
    );
    const attempt = bench.bus.start();
    for (const text of ["a", "b"]) bench.bus.emit(attempt, "message.interim", { text });
    expect(await bench.untilNoted(1)).toEqual([3]);
    await bench.until(() => bench.bus.observers.stats()[0]?.running === 0);
    expect(bench.bus.observers.stats()[0]?.failures).toEqual({ thrown: 1, rejected: 1, stalled: 0 });
    await bench.until(() => bench.told.length === 2);
    expect(bench.told).toEqual(["p#1 handler_threw", "p#1 handler_rejected"]);
    expect(bench.bus.notices.every(({ message }) => /first|second/.test(message))).toBe(true);
  });

  it("stores values, which it finds again", async () => {
    await load(
      "p",
      `await ctx.storage.set("a/1", { deep: [1, null, "x"] });
      await ctx.storage.set("b", 2);
      note([await ctx.storage.get("a/1"), await ctx.storage.get("none") ?? "nothing", await ctx.storage.keys("a/"), await ctx.storage.delete("b"), await ctx.storage.delete("b")]);
      for (const [key, value] of [["", 1], ["k", undefined], ["k", "x".repeat(${limits.maxStorageBytes})]]) {
        await ctx.storage.set(key, value).catch((fault) => note([fault.code, fault.message]));
      }`,
    );
    expect(bench.noted).toEqual([
      [{ deep: [1, null, "x"] }, "nothing", ["a/1"], true, false],
      ["invalid_params", 'plugin p: storage: key: expected 1 to 256 characters, got ""'],
      ["invalid_params", 'plugin p: storage: value of "k": expected a value that JSON has'],
      ["quota_exceeded", 'plugin p: storage: "k" does not fit into 1024 keys and 1048576 bytes'],
    ]);
  });

  it("answers requests to its routes", async () => {
    await load(
      "p",
      `ctx.routes.add("GET", "/rooms/:room", ({ params, query, caller }) => ({ status: 201, headers: { "x-a": "b" }, json: { params, query, who: caller.principal, at: new Date(0) } }));
      ctx.routes.add("GET", "/text", () => ({ body: "text" }));
      ctx.routes.add("GET", "/bytes", () => ({ body: new Uint8Array([1, 2]) }));
      ctx.routes.add("GET", "/fails", () => { throw new Error("no such thing"); });`,
    );
    const answer = await ask("/rooms/r1", { query: { q: "1" } });
    expect(JSON.parse(JSON.stringify(answer))).toEqual({
      status: 201,
      headers: { "x-a": "b" },
      json: { params: { room: "r1" }, query: { q: "1" }, who: "ada", at: "1970-01-01T00:00:00.000Z" },
    });
    expect(await ask("/text")).toEqual({ body: "text" });
    expect(await ask("/bytes")).toEqual({ body: new Uint8Array([1, 2]) });
    await expect((async () => ask("/fails"))()).rejects.toThrow("no such thing");
  });

  it("makes the pieces of a streamed body when they are asked for, and no more when nobody reads on", async () => {
    await load(
      "p",
      `ctx.routes.add("GET", "/stream", ({ signal }) => ({ body: (async function* () {
        try { for (let piece = 1; piece <= 4; piece++) { note("made " + piece); yield "piece " + piece; } } finally { note("ended " + signal.aborted); }
      })() }));`,
    );
    const whole: string[] = [];
    for await (const piece of (await ask("/stream"))["body"] as Body) whole.push(piece as string);
    expect(whole).toEqual(["piece 1", "piece 2", "piece 3", "piece 4"]);
    for await (const piece of (await ask("/stream"))["body"] as Body) if (piece === "piece 2") break;
    await bench.untilNoted(8);
    expect(bench.noted).toEqual(
      [...upTo(4), "end", ...upTo(2), "end"].map((part) =>
        part === "end" ? expect.stringContaining("ended") : `made ${String(part)}`,
      ),
    );
  });

  it("is told when whoever asked has gone", async () => {
    await load(
      "p",
      `ctx.routes.add("GET", "/waits", ({ signal }) => new Promise((resolve) => {
        note("asked");
        signal.addEventListener("abort", () => { note("aborted"); resolve({ status: 204 }); });
      }));`,
    );
    const controller = new AbortController();
    const answer = ask("/waits", { signal: controller.signal }).catch(() => "gone");
    await bench.untilNoted(1);
    controller.abort();
    expect(await bench.untilNoted(2)).toEqual(["asked", "aborted"]);
    await answer;
  });

  it("runs its commands", async () => {
    await load(
      "p",
      `ctx.commands.add({ name: "echo", summary: "says it again", run: ({ args, caller }) => ({ args, who: caller.principal }) });
      ctx.commands.add({ name: "fails", summary: "fails", run: () => { throw new Error("not now"); } });
      ctx.commands.add({ name: "large", summary: "gives too much", run: () => "x".repeat(${limits.maxCommandResultBytes}) });`,
    );
    expect(bench.host.list()[0]?.commands.map(({ name }) => name)).toEqual(["echo", "fails", "large"]);
    expect(await bench.run("p", "echo", ["a", "b"])).toEqual({ args: ["a", "b"], who: "ada" });
    const failed = { code: "plugin_failed", message: "plugin p: command fails: not now" };
    await expect(bench.run("p", "fails")).rejects.toMatchObject(failed);
    await expect(bench.run("p", "large")).rejects.toMatchObject({ code: "result_too_large" });
  });

  it("lists open requests and answers one by its id", async () => {
    await load(
      "p",
      `ctx.on("request.opened", async () => {
        const [open] = await ctx.requests.open();
        note([open.method, open.command, (await ctx.requests.answer(open.id, { choice: "once" })).status]);
      });`,
    );
    const attempt = bench.bus.start();
    const asked = bench.bus.tap.requests.ask(attempt, {
      method: "approval",
      params: { command: "make", choices: ["once", "deny"] },
    });
    await bench.untilNoted(1);
    expect(bench.noted[0]).toEqual(["approval", "make", "ok"]);
    expect(await asked).toMatchObject({ outcome: "answered" });
  });

  it("has its config checked by its own schema, before its setup", async () => {
    const fields = `config: { "~standard": { version: 1, vendor: "own", validate: (value) =>
      value?.port === 1 ? { value: { port: "one" } } : { issues: [{ message: "expected 1", path: ["port"] }] } } },`;
    await load("p", `note(config);`, { config: { port: 1 }, fields });
    expect(bench.noted).toEqual([{ port: "one" }]);
    const wrong = load("q", `note("set up");`, { config: { port: 2 }, fields });
    await expect(wrong).rejects.toMatchObject({
      code: "invalid_config",
      message: "plugin q: config.port: expected 1",
    });
    expect([bench.host.ids, bench.noted.length]).toEqual([["p"], 1]);
  });

  it("is told when the rooms are open and before it goes, and is undone in reverse", async () => {
    await load(
      "p",
      `ctx.onReady(() => note("ready"));
      ctx.onDrain((ms) => { note(["drain", ms]); });
      ctx.defer(() => note("first"));
      ctx.on("*", () => undefined);
      ctx.defer(async () => { await null; note(["second", ctx.signal.aborted]); });`,
    );
    await bench.host.ready();
    expect(bench.noted).toEqual(["ready"]);
    await bench.during(bench.host.close());
    expect(bench.noted).toEqual(["ready", ["drain", 2_000], ["second", true], "first"]);
    expect(bench.bus.observers.stats()).toEqual([]);
  });

  it("fails with what only the host can see, and leaves nothing", async () => {
    const twice = load(
      "p",
      `ctx.on("*", () => undefined);
      ctx.routes.add("GET", "/a", () => ({}));
      ctx.routes.add("GET", "/a", () => ({}));`,
    );
    await expect(twice).rejects.toMatchObject({
      code: "duplicate_id",
      message: "plugin p: it has a route GET /plugins/p/a already",
    });
    const wrong = load("q", `ctx.on("*", () => undefined, { maxEvents: 0 });`);
    await expect(wrong).rejects.toThrow("maxEvents is a whole number from 1 to 1048576, got 0");
    const unknown = load("r", `ctx.on("*", () => undefined, { concurrency: 0 });`);
    await expect(unknown).rejects.toThrow("concurrency is a whole number from 1 to 64, got 0");
    expect([bench.host.ids, bench.bus.observers.stats(), bench.host.routes.match("GET", "/plugins/p/a")]).toEqual([
      [],
      [],
      null,
    ]);
  });

  it("ends a handler, a route and a command of its own", async () => {
    await load(
      "p",
      `const undos = [ctx.on("*", () => undefined), ctx.routes.add("GET", "/a", () => ({})), ctx.commands.add({ name: "a", summary: "a", run: () => 1 })];
      ctx.commands.add({ name: "end", summary: "ends them", run: () => undos.forEach((undo) => undo()) });`,
    );
    await bench.run("p", "end");
    const [info] = bench.host.list();
    expect([info?.handlers, info?.routes, info?.commands.map(({ name }) => name)]).toEqual([[], [], ["end"]]);
  });

  it("logs with its id, errors as their messages where they leave its thread", async () => {
    await load("p", `ctx.logger.warn("careful", { left: 3, why: new Error("low") }); ctx.logger.debug("detail");`);
    await bench.until(() => bench.lines.length === 2);
    const why = isolation === "inline" ? expect.any(Error) : "low";
    expect(bench.lines).toEqual([
      { level: "warn", message: "careful", fields: { left: 3, why, plugin: "p" } },
      { level: "debug", message: "detail", fields: { plugin: "p" } },
    ]);
  });

  it("sees the counters of its handlers", async () => {
    await load(
      "p",
      `ctx.on("tool.*", () => undefined);
      ctx.commands.add({ name: "stats", summary: "counters", run: async () => (await ctx.stats()).map(({ id, published }) => [id, published]) });`,
    );
    bench.bus.emit(bench.bus.start(), "tool.start", { tool_id: "c", name: "run" });
    expect(await bench.run("p", "stats")).toEqual([["p#1", 1]]);
  });

  it("is read anew at a reload, and the one before is gone", async () => {
    const path = await load(
      "p",
      `ctx.on("*", (event) => { note("old " + event.n); }); ctx.defer(() => note("undone"));`,
    );
    bench.write(path, "p", `ctx.on("*", (event) => { note("new " + event.n); });`);
    await bench.during(bench.host.reload("p"));
    bench.bus.start();
    expect(await bench.untilNoted(2)).toEqual(["undone", "new 1"]);
    expect(bench.bus.observers.stats().length).toBe(1);
  });

  it("loses nothing between two bursts, and says so", async () => {
    await load("p", `ctx.on("*", (event) => { note(event); }, { maxEvents: 100000, maxBytes: 100000000 });`);
    const attempt = bench.bus.start();
    for (let count = 0; count < 600; count++) bench.bus.emit(attempt, "message.interim", { text: `${count}` });
    bench.bus.settle(attempt);
    await bench.until(() => bench.noted.length === 602);
    expect(numbersOf(bench.noted as never)).toEqual(upTo(602));
  });
});
