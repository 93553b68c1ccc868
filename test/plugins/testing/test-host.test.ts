import { describe, expect, it, onTestFinished } from "vitest";
import type { ActivityEvent } from "../../../core/index.ts";
import { definePlugin, type AnyPlugin, type PluginContext } from "../../../plugins/index.ts";
import { openTestHost, type HostSettings, type TestHost } from "../../../plugins/testing/index.ts";

const pluginOf = (setup: (ctx: PluginContext, config: unknown) => unknown, id = "demo"): AnyPlugin =>
  definePlugin<unknown>({ id, version: "1.0.0", setup });

/** A host with a plugin that keeps what it is told. */
async function openWatched(
  settings: HostSettings & { readonly setup?: (ctx: PluginContext) => unknown } = {},
): Promise<{ readonly host: TestHost; readonly events: ActivityEvent[] }> {
  const { setup, ...rest } = settings;
  const events: ActivityEvent[] = [];
  const plugin = pluginOf((ctx) => {
    ctx.on("*", (event) => void events.push(event));
    return setup?.(ctx);
  });
  const host = await openTestHost({ plugin, grants: ["reasoning", "approvals", "routes"], ...rest });
  onTestFinished(() => host.close());
  return { host, events };
}

const told = (events: readonly ActivityEvent[]): readonly string[] =>
  events.map(
    ({ kind, n, coordinates }) => `${coordinates?.member_id} ${coordinates?.execution_generation} ${n} ${kind}`,
  );

describe("a turn of a test", () => {
  it("reaches the plugin as a host's does", async () => {
    const { host, events } = await openWatched();
    const turn = host.turn({ member_id: "m-ada" }).started().text("Hi ").reasoning("hm").interim("part");
    turn.tool("read", { path: "a" }).ok("text").tool("write").fails("full").tool("run").denied();
    turn
      .ask({ command: "make", tool_id: "tool-3" })
      .answer("once")
      .error("odd")
      .settled({ usage: { input_tokens: 3 } });
    await host.settled();
    expect(told(events).map((line) => line.replace("m-ada 1 ", ""))).toEqual([
      "1 turn.started",
      "2 message.delta",
      "3 reasoning.delta",
      "4 message.interim",
      "5 tool.started",
      "6 tool.completed",
      "7 tool.started",
      "8 tool.completed",
      "9 tool.started",
      "10 tool.completed",
      "11 request.opened",
      "12 request.resolved",
      "13 turn.error",
      "14 turn.settled",
    ]);
    expect(events[5]?.payload).toEqual({
      tool_id: "tool-1",
      name: "read",
      outcome: "ok",
      result: "text",
      duration_ms: 0,
    });
    expect(events[11]?.payload).toMatchObject({ outcome: "answered", choice: "once" });
    expect(events[13]?.payload).toMatchObject({ status: "completed", text: "Hi ", usage: { input_tokens: 3 } });
  });

  it("has equal numbers for two members, and the next generation for a retry", async () => {
    const { host, events } = await openWatched();
    const [one, other] = [host.turn(), host.turn({ member_id: "m-b" })];
    const calls = [one.tool("read"), other.tool("read")];
    for (const call of calls) call.ok().settled({ status: "failed", reason_code: "runner_error" });
    one.retry().settled();
    await host.settled();
    expect(calls.map(({ tool_id }) => tool_id)).toEqual(["tool-1", "tool-1"]);
    expect(told(events)).toEqual([
      "m-a 1 1 turn.started",
      "m-a 1 2 tool.started",
      "m-b 1 1 turn.started",
      "m-b 1 2 tool.started",
      "m-a 1 3 tool.completed",
      "m-a 1 4 turn.settled",
      "m-b 1 3 tool.completed",
      "m-b 1 4 turn.settled",
      "m-a 2 1 turn.started",
      "m-a 2 2 turn.settled",
    ]);
  });

  it("gives the word for a frame that has no effect, and throws where it was meant to have one", async () => {
    const { host } = await openWatched();
    const turn = host.turn();
    turn.tool("read").ok();
    expect(turn.frame("tool.complete", { tool_id: "tool-1", outcome: "ok" })).toBe("duplicate_end");
    expect(() => turn.tool("read", undefined, "tool-1")).toThrow(/tool.start: it had no effect: duplicate_start/);
    expect(() => host.turn().started()).toThrow(/session .* already runs t-1/);
    expect(() => turn.ask({}, "clarify")).toThrow(/clarify: it is no question as it stands/);
    const question = turn.ask({ question: "Which?" }, "clarify");
    question.answer("this one", "c-ada");
    expect(await question.outcome).toMatchObject({ outcome: "answered" });
    expect(() => question.answer("that one")).toThrow(/the answer had no effect: already_resolved/);
    expect(() => turn.settled().settled()).toThrow(/has settled already/);
    expect(() => turn.started()).toThrow(/has started already/);
    expect(turn.frame("message.delta", { text: "late" })).toBe("late_frame");
  });

  it("masks the secrets of the host", async () => {
    const { host, events } = await openWatched({ secrets: ["tok_EXAMPLE_0123456789"] });
    host.turn().interim("with tok_EXAMPLE_0123456789 in it").settled();
    await host.settled();
    expect(JSON.stringify(events)).not.toContain("tok_EXAMPLE_0123456789");
  });
});

describe("a test host", () => {
  it("stands still while the plugin is stalled, and then has all delivered", async () => {
    const { host, events } = await openWatched();
    const release = host.stall();
    host.turn().text("Hi").settled();
    await host.settled();
    expect([events.length, host.stats()[0]?.running]).toEqual([0, 1]);
    release();
    await host.settled();
    expect([events.length, host.stats()[0]?.running]).toEqual([3, 0]);
  });

  it("has the plugin lose events, and tells it of a gap", async () => {
    const { host, events } = await openWatched({ bounds: { maxEvents: 4 } });
    await host.lag(3);
    const gaps = events.filter(({ kind }) => kind === "gap");
    expect(gaps.length).toBeGreaterThan(0);
    expect(host.stats()[0]?.dropped).toBeGreaterThanOrEqual(3);
    expect(host.notices.map(({ code }) => code)).toContain("saturated");
  });

  it("does not wait for what no handler wants when it is to lose events", async () => {
    const host = await openTestHost({ plugin: pluginOf((ctx) => ctx.on("request.*", () => undefined)) });
    onTestFinished(() => host.close());
    await host.lag();
    expect(host.stats()[0]?.dropped).toBe(0);
  });

  it("moves time for ctx.clock alone", async () => {
    const fired: number[] = [];
    const { host } = await openWatched({
      setup: (ctx) => void ctx.clock.after(90_000, () => fired.push(ctx.clock.monotonic())),
    });
    await host.advance(89_999);
    expect([fired, host.clock.timers]).toEqual([[], 1]);
    await host.advance(1);
    expect([fired, host.clock.timers]).toEqual([[90_000], 0]);
  });

  it("says which handler has not come back", async () => {
    const { host } = await openWatched({
      setup: (ctx) =>
        ctx.on("turn.started", () => new Promise((resolve) => ctx.clock.after(60_000, () => resolve(null)))),
    });
    host.turn().started();
    await expect(host.settled()).rejects.toThrow(/after 5000 ms still running: demo#2. If they wait for ctx.clock/);
    await host.advance(60_000);
  }, 15_000);

  it("keeps what the plugin stores, logs and does wrong", async () => {
    const { host } = await openWatched({
      setup: async (ctx) => {
        await ctx.storage.set("a", { b: [1] });
        ctx.logger.info("stored", { keys: 1 });
        ctx.on("turn.settled", () => {
          throw new Error("no");
        });
      },
    });
    host.turn().settled();
    await host.settled();
    expect([await host.storage.get("a"), await host.storage.keys()]).toEqual([{ b: [1] }, ["a"]]);
    const tooMuch = host.storage.set("b", "x".repeat(1_048_576));
    await expect(tooMuch).rejects.toMatchObject({ code: "quota_exceeded" });
    expect(host.logs).toEqual([{ level: "info", message: "stored", fields: { keys: 1, plugin: "demo" } }]);
    expect(host.observers.faults).toEqual([{ consumer: "demo#2", kind: "turn.settled", message: "no" }]);
    expect(host.notices.map(({ code, subject }) => [code, subject])).toEqual([["handler_threw", "demo#2"]]);
  });

  it("loads again what was unloaded, with what was stored meanwhile, and reloads with what it wrote down", async () => {
    let count = 0;
    const plugin = pluginOf(async (ctx) => {
      count = Number((await ctx.storage.get("count")) ?? 0);
      ctx.onDrain(() => ctx.storage.set("count", count + 1));
    });
    await using host = await openTestHost({ plugin });
    await host.reload();
    expect(count).toBe(1);
    await host.unload();
    expect([host.info(), host.stats()]).toEqual([undefined, []]);
    await host.storage.set("count", 10);
    await host.load();
    expect([count, host.info()?.state]).toEqual([10, "running"]);
    await host.disable();
    expect([host.info()?.state, await host.storage.get("count")]).toEqual(["disabled", 11]);
  });

  it("loads what it depends on before it, and holds up the one that is named", async () => {
    const order: string[] = [];
    const other = pluginOf((ctx) => ctx.on("turn.started", () => order.push("other")), "other");
    const plugin = definePlugin({
      ...{ id: "demo", version: "1.0.0" },
      manifest: { apiVersion: 1, dependencies: { other: "^1.0.0" } },
      setup: (ctx) => ctx.on("turn.started", () => order.push("demo")),
    });
    await expect(openTestHost({ plugin })).rejects.toMatchObject({ code: "missing_dependency" });
    await using host = await openTestHost({ plugin, others: [{ plugin: other }] });
    expect(host.id).toBe("demo");
    host.stall("other");
    host.turn().started();
    await host.settled();
    expect(order).toEqual(["demo"]);
  });

  it("asks routes as a server does", async () => {
    const { host } = await openWatched({
      setup: (ctx) => {
        ctx.routes.add("GET", "/rooms/:room_id", ({ params, query, caller }) => ({
          json: { ...params, ...query, by: caller?.principal },
        }));
        ctx.routes.add("POST", "/echo", ({ body, headers }) => ({ status: 201, body: `${headers["x-a"]}: ${body}` }), {
          scope: "public",
        });
        ctx.routes.add("GET", "/pieces", () => ({ body: pieces() }), { scope: "read" });
        ctx.routes.add("GET", "/broken", () => Promise.reject(new Error("no")));
      },
    });
    const nobody = { caller: { principal: "p", scopes: [], rooms: null, grants: [] } } as const;
    expect((await host.request("GET", "/rooms/r1?a=b")).json()).toEqual({ room_id: "r1", a: "b", by: "test" });
    const echo = await host.request("post", "/echo", { body: { a: 1 }, headers: { "X-A": "yes" }, caller: null });
    expect([echo.status, echo.text]).toEqual([201, 'yes: {"a":1}']);
    expect((await host.request("GET", "/pieces")).text).toBe("one two");
    const refused = [
      await host.request("GET", "/none"),
      await host.request("GET", "/echo"),
      await host.request("GET", "/pieces", nobody),
      await host.request("GET", "/pieces", { caller: null }),
      await host.request("GET", "/broken"),
      await host.request("POST", "/echo", { body: "x".repeat(1_048_577) }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([404, 405, 403, 401, 500, 413]);
    expect(refused[1]?.headers["allow"]).toBe("POST");
  });

  it("runs commands", async () => {
    const { host } = await openWatched({
      setup: (ctx) => ctx.commands.add({ name: "sum", summary: "adds", run: ({ args }) => args.map(Number) }),
    });
    expect(await host.command("sum", ["1", "2"])).toEqual([1, 2]);
    await expect(host.command("none")).rejects.toMatchObject({ code: "unknown_command" });
  });

  it("is one plugin's", async () => {
    const both = { plugin: pluginOf(() => undefined), path: "./x.js" };
    await expect(openTestHost(both as never)).rejects.toThrow("expected a plugin or a path, and not both");
    await expect(openTestHost({} as never)).rejects.toThrow("expected a plugin or a path, and not both");
  });
});

describe("the rooms of a test host", () => {
  it("are real: state and rows of the log, also for the plugin", async () => {
    let seen: unknown;
    const { host, events } = await openWatched({
      rooms: [
        {
          room_id: "desk",
          members: [
            { handle: "ada", runner: null },
            { handle: "bot", runner: "done" },
          ],
        },
      ],
      setup: (ctx) =>
        ctx.on("turn.settled", async (event) => {
          if (event.kind !== "gap") seen = (await ctx.rooms.log("desk")).rows.map(({ kind }) => kind);
        }),
    });
    await host.rooms.room("desk").post({ text: "@bot do it" });
    await host.rooms.quiet();
    await host.settled();
    expect(told(events)).toEqual(["m-bot 1 1 turn.started", "m-bot 1 2 message.delta", "m-bot 1 3 turn.settled"]);
    expect((await host.rooms.log("desk")).map(({ kind }) => kind)).toEqual(["turn.started", "turn.settled"]);
    expect(seen).toEqual(["turn.started", "turn.settled"]);
    expect((await host.rooms.state("desk")).attempts).toEqual([]);
  });

  it("have members that a test plays", async () => {
    const run = async (turn: {
      readonly unseen: readonly { readonly text: string }[];
    }): Promise<{ readonly status: "completed"; readonly text: string }> => ({
      status: "completed",
      text: `heard ${turn.unseen.length}`,
    });
    const { host, events } = await openWatched({
      rooms: [{ room_id: "desk", members: [{ handle: "bot", runner: run }] }],
    });
    await host.rooms.room("desk").post({ text: "@bot do it" });
    await host.rooms.quiet();
    await host.settled();
    expect(events.at(-1)?.payload).toMatchObject({ text: "heard 1" });
  });

  it("are none unless it is opened with some", async () => {
    const { host } = await openWatched();
    expect(() => host.rooms.room("desk")).toThrow("no room desk: the test host was opened without rooms");
    await expect(host.rooms.log("desk")).rejects.toMatchObject({ code: "unknown_room" });
    await expect(host.rooms.quiet()).resolves.toBeUndefined();
  });
});

async function* pieces(): AsyncGenerator<string | Uint8Array> {
  yield "one ";
  yield new TextEncoder().encode("two");
}
