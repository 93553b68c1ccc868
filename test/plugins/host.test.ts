import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ActivityEvent } from "../../core/index.ts";
import { definePlugin, PluginHost, type AnyPlugin, type Logger, type PluginContext } from "../../plugins/index.ts";
import { openBus, type Bus } from "../support/bus.ts";
import { turnsOfLoop } from "../support/turns-of-loop.ts";

interface Setup {
  readonly bus: Bus;
  readonly host: PluginHost;
}

function openHost(logger?: Logger): Setup {
  const bus = openBus();
  const { observers, clock, notices } = bus;
  const host = new PluginHost({ observers, clock, report: (notice) => notices.push(notice), logger });
  return { bus, host };
}

/** A plugin whose context the test keeps. */
async function loadOpen(host: PluginHost, id = "p"): Promise<PluginContext> {
  let kept: PluginContext | undefined;
  await host.load({ plugin: definePlugin({ id, version: "1", setup: (context) => void (kept = context) }) });
  if (kept === undefined) throw new Error("setup was not called");
  return kept;
}

const idle: AnyPlugin = { id: "idle", version: "1", setup: () => undefined };

describe("loading", () => {
  it("hands a handler the events that its pattern names", async () => {
    const { bus, host } = openHost();
    const seen: string[] = [];
    const context = await loadOpen(host);
    context.on("tool.*", (event) => seen.push(`${event.kind} ${event.n}`));
    const attempt = bus.start();
    bus.delta(attempt, "hi");
    bus.emit(attempt, "tool.start", { tool_id: "c", name: "read" });
    bus.emit(attempt, "tool.complete", { tool_id: "c", outcome: "ok" });
    bus.settle(attempt);
    await bus.idle();
    expect(seen).toEqual(["tool.started 3", "tool.completed 4"]);
    expect(host.ids).toEqual(["p"]);
  });

  it("takes an instance of a class, and calls setup on it", async () => {
    const { host } = openHost();
    class Greeter {
      readonly id = "greeter";
      readonly version = "1";
      greeted: unknown;
      setup(context: PluginContext, config: unknown): void {
        this.greeted = [context.id, config];
      }
    }
    const plugin = new Greeter();
    await host.load({ plugin, config: { any: "thing" } });
    expect(plugin.greeted).toEqual(["greeter", { any: "thing" }]);
  });

  const idMust = "expected id: 1 to 64 of A-Z a-z 0-9 . _ - beginning with a letter or digit, got";
  it.each([
    ["nothing", undefined, "expected a plugin as definePlugin takes it, got undefined"],
    ["null", null, "expected a plugin as definePlugin takes it, got null"],
    ["a function", () => undefined, "expected a plugin as definePlugin takes it, got function"],
    ["no id", { version: "1", setup: () => undefined }, `a plugin: ${idMust} undefined`],
    ["a bad id", { ...idle, id: "my plugin" }, `plugin "my plugin": ${idMust} "my plugin"`],
    [
      "an id that is too long",
      { ...idle, id: "x".repeat(65) },
      `plugin "${"x".repeat(65)}": ${idMust} "${"x".repeat(65)}"`,
    ],
    ["no version", { ...idle, version: 1 }, 'plugin "idle": expected version: a string, got 1'],
    ["no setup", { ...idle, setup: "now" }, 'plugin "idle": expected setup: a function, got "now"'],
    [
      "a config that is no schema",
      { ...idle, config: {} },
      'plugin "idle": expected config: a Standard Schema, or nothing, got object',
    ],
  ])("refuses %s, saying what was expected and what was found", async (_, plugin, message) => {
    const { host } = openHost();
    await expect(host.load({ plugin: plugin as unknown as AnyPlugin })).rejects.toMatchObject({
      code: "invalid_plugin",
      message,
    });
    expect(host.ids).toEqual([]);
  });

  it("refuses a second plugin of the same id, and the first goes on", async () => {
    const { host } = openHost();
    await host.load({ plugin: idle });
    await expect(host.load({ plugin: idle })).rejects.toMatchObject({ code: "duplicate_id" });
    expect(host.ids).toEqual(["idle"]);
  });

  it("C-068 names the kind that does not exist; other plugins load", async () => {
    const { host } = openHost();
    const plugin = {
      ...idle,
      setup: (context: PluginContext) => void context.on("tool.finished" as "gap", () => undefined),
    };
    await expect(host.load({ plugin })).rejects.toMatchObject({
      code: "unknown_kind",
      message: expect.stringMatching(
        /^plugin idle: no activity kind matches "tool\.finished"; known: turn\.started, /,
      ) as string,
      cause: expect.objectContaining({ code: "unknown_kind" }) as Error,
    });
    await host.load({ plugin: { ...idle, id: "other" } });
    expect(host.ids).toEqual(["other"]);
  });

  it("refuses a handler that is no function", async () => {
    const { host } = openHost();
    const context = await loadOpen(host);
    expect(() => context.on("gap", "later" as never)).toThrow("plugin p: expected a function as handler, got string");
  });

  it("refuses level full without its grant", async () => {
    const { host } = openHost();
    const plugin = { ...idle, setup: (context: PluginContext) => void context.on("*", () => 0, { payload: "full" }) };
    await expect(host.load({ plugin })).rejects.toThrow(
      "plugin idle: payload: full is more than standard, which was granted",
    );
    await host.load({ plugin, grants: ["full"] });
    expect(host.ids).toEqual(["idle"]);
  });
});

describe("a config", () => {
  const schema = z.strictObject({ every: z.number(), names: z.array(z.string()).default(["all"]) });
  const configured = (got: unknown[]): AnyPlugin =>
    definePlugin({ id: "c", version: "1", config: schema, setup: (_, config) => void got.push(config) });

  it("comes as a zod schema gives it, defaults included", async () => {
    const { host } = openHost();
    const got: unknown[] = [];
    await host.load({ plugin: configured(got), config: { every: 5 } });
    expect(got).toEqual([{ every: 5, names: ["all"] }]);
  });

  it.each([
    [undefined, /^plugin c: config: /],
    [{ every: "5" }, /^plugin c: config\.every: /],
    [{ every: 5, names: ["a", 1] }, /^plugin c: config\.names\.1: /],
  ])("%j is refused at its path, and setup is not called", async (config, message) => {
    const { host } = openHost();
    const got: unknown[] = [];
    await expect(host.load({ plugin: configured(got), config })).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(message) as string,
    });
    expect([got, host.ids]).toEqual([[], []]);
  });

  it("is checked by a schema made by hand, also one that takes its time", async () => {
    const { host } = openHost();
    const validate = async (value: unknown) =>
      value === 1 ? { value: "one" } : { issues: [{ message: "expected 1", path: [{ key: "deep" }, 0] }] };
    const got: unknown[] = [];
    const config = { "~standard": { version: 1, vendor: "test", validate } } as const;
    const plugin = definePlugin<string>({ id: "h", version: "1", config, setup: (_, given) => void got.push(given) });
    await host.load({ plugin, config: 1 });
    await host.unload("h");
    await expect(host.load({ plugin, config: 2 })).rejects.toThrow("plugin h: config.deep.0: expected 1");
    expect(got).toEqual(["one"]);
  });
});

describe("unloading", () => {
  it("aborts the signal, then undoes in reverse order", async () => {
    const { host } = openHost();
    const steps: string[] = [];
    const context = await loadOpen(host);
    context.signal.addEventListener("abort", () => steps.push("abort"));
    context.defer(() => steps.push("first"));
    context.on("*", () => undefined);
    context.defer(async () => {
      await Promise.resolve();
      steps.push(`second, handlers: ${(await context.stats()).length}`);
    });
    expect(await host.unload("p")).toBe(true);
    expect(steps).toEqual(["abort", "second, handlers: 1", "first"]);
    expect([await context.stats(), host.ids]).toEqual([[], []]);
    expect(await host.unload("p")).toBe(false);
  });

  it("starts no call once it has begun, and counts what was queued as dropped", async () => {
    const { bus, host } = openHost();
    const seen: ActivityEvent[] = [];
    const context = await loadOpen(host);
    context.on("message.delta", (event) => void seen.push(event as ActivityEvent));
    const attempt = bus.start();
    for (const text of ["a", "b", "c"]) bus.delta(attempt, text);
    expect(await context.stats()).toMatchObject([{ id: "p#1", published: 3, depth: 3, delivered: 0 }]);
    await host.unload("p");
    bus.delta(attempt, "d");
    await bus.idle();
    expect(seen).toEqual([]);
    expect(bus.observers.stats()).toEqual([]);
  });

  it("goes on when a step fails or does not end, and reports each once", async () => {
    const { bus, host } = openHost();
    const steps: string[] = [];
    const context = await loadOpen(host);
    context.defer(() => steps.push("last"));
    context.defer(() => new Promise(() => undefined));
    context.defer(() => Promise.reject(new Error("no")));
    context.defer(() => {
      throw new Error("never");
    });
    const unloaded = host.unload("p");
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    bus.clock.advance(2_000);
    await unloaded;
    expect(steps).toEqual(["last"]);
    expect(bus.notices.map(({ code, message, subject }) => [code, message, subject])).toEqual([
      ["plugin_failed", "plugin p: a step of its unloading failed: never", "p"],
      ["plugin_failed", "plugin p: a step of its unloading failed: no", "p"],
      [
        "plugin_failed",
        "plugin p: a step of its unloading failed: it takes longer than 2000 ms, and is waited for no longer",
        "p",
      ],
    ]);
  });

  it("is one unloading, however often it is asked for, and keeps the id until it is over", async () => {
    const { host } = openHost();
    const steps: string[] = [];
    const context = await loadOpen(host);
    context.defer(async () => steps.push("once"));
    const both = [host.unload("p"), host.unload("p")];
    await expect(loadOpen(host)).rejects.toMatchObject({ code: "duplicate_id" });
    expect([await Promise.all(both), steps]).toEqual([[true, true], ["once"]]);
    await loadOpen(host);
    expect(host.ids).toEqual(["p"]);
  });

  it("of all begins with the last one loaded", async () => {
    const { host } = openHost();
    const order: string[] = [];
    for (const id of ["a", "b", "c"]) (await loadOpen(host, id)).defer(() => order.push(id));
    await host.close();
    expect([order, host.ids]).toEqual([["c", "b", "a"], []]);
  });

  it("leaves nothing of a setup that goes on behind it", async () => {
    const { bus, host } = openHost();
    const undone: string[] = [];
    let goOn = (): void => undefined;
    const waits = new Promise<void>((resolve) => (goOn = resolve));
    const plugin = {
      ...idle,
      async setup(context: PluginContext) {
        await waits;
        context.defer(() => undone.push("late"));
      },
    };
    const loading = host.load({ plugin });
    await turnsOfLoop(1);
    await host.unload("idle");
    await expect(loading).rejects.toMatchObject({
      code: "closed",
      message: "plugin idle was unloaded while it was set up",
    });
    goOn();
    await turnsOfLoop(1);
    expect([undone, host.ids, bus.notices]).toEqual([["late"], [], []]);
  });

  it("refuses handlers afterwards", async () => {
    const { host } = openHost();
    const context = await loadOpen(host);
    await host.unload("p");
    expect(() => context.on("*", () => undefined)).toThrow("plugin p is unloaded");
  });

  it("undoes one handler twice without harm", async () => {
    const { host } = openHost();
    const context = await loadOpen(host);
    const undo = context.on("*", () => undefined);
    context.on("gap", () => undefined);
    undo();
    undo();
    expect((await context.stats()).map(({ id }) => id)).toEqual(["p#2"]);
    await host.unload("p");
    undo();
    expect(await context.stats()).toEqual([]);
  });
});

describe("a context", () => {
  it("logs with the plugin's id, which no field can change", async () => {
    const lines: unknown[] = [];
    const say = (level: string) => (message: string, fields?: object) => lines.push([level, message, fields]);
    const { host } = openHost({ debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") });
    const { logger } = await loadOpen(host);
    logger.debug("a");
    logger.info("b", { room: "r1" });
    logger.warn("c", { plugin: "somebody else" });
    logger.error("d");
    expect(lines).toEqual([
      ["debug", "a", { plugin: "p" }],
      ["info", "b", { room: "r1", plugin: "p" }],
      ["warn", "c", { plugin: "p" }],
      ["error", "d", { plugin: "p" }],
    ]);
  });

  it("reports warnings and errors when there is no logger", async () => {
    const { bus, host } = openHost();
    const { logger } = await loadOpen(host);
    logger.info("nobody hears this");
    logger.warn("careful");
    logger.error("broken", { port: 80, cause: new Error("in use"), password: "hunter2" });
    logger.error("odd", { big: 1n });
    expect(bus.notices).toEqual([
      { code: "plugin_warning", message: "plugin p: careful", subject: "p" },
      {
        code: "plugin_error",
        message: 'plugin p: broken {"port":80,"cause":"in use","password":"[redacted]"}',
        subject: "p",
      },
      { code: "plugin_error", message: 'plugin p: odd {"unserialisable":true}', subject: "p" },
    ]);
  });

  it("withholds reasoning without the grant, and says so", async () => {
    const { bus, host } = openHost();
    const seen: ActivityEvent[] = [];
    const setup = (context: PluginContext): void => void context.on("*", (event) => seen.push(event));
    await host.load({ plugin: { ...idle, setup } });
    const attempt = bus.start();
    bus.reason(attempt, "hm");
    bus.settle(attempt);
    await bus.idle();
    expect(seen.map(({ kind }) => kind)).toEqual(["turn.started", "gap", "turn.settled"]);
    expect(seen[1]?.payload).toMatchObject({ withheld: 1, dropped: 0, reason: "not_granted" });
  });
});
