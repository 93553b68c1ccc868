import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { hostDefaults, Signal, type Notice } from "../../../core/index.ts";
import {
  definePlugin,
  PluginHost,
  type AnyPlugin,
  type Plugin,
  type PluginContext,
  type PluginInfo,
} from "../../../plugins/index.ts";
import { openBus, type Bus } from "../../support/bus.ts";
import { temporaryFolder } from "../../support/open-log.ts";
import { turnsOfLoop, until } from "../../support/turns-of-loop.ts";

interface Place {
  readonly bus: Bus;
  readonly host: PluginHost;
  readonly folder: string;
  readonly notices: readonly Notice[];
  /** What plugins of this place say, in order. */
  readonly said: string[];
  /** Writes a plugin `p` that runs in the host's thread; gives its entry. */
  readonly write: (setup: string, more?: string) => { readonly path: string; readonly isolation: "inline" };
}

let places = 0;

function openPlace(): Place {
  const bus = openBus();
  const said: string[] = [];
  // What a module of its own says reaches the test by a name of its own.
  const name = `roomtapPlace${++places}`;
  Object.assign(globalThis, { [name]: said });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, name));
  const { observers, clock, notices } = bus;
  const report = (notice: Notice): void => void notices.push(notice);
  const mask = (text: string): string => text.replaceAll("hunter2", "****");
  const host = new PluginHost({ observers, clock, report, mask });
  onTestFinished(() => host.close());
  const folder = temporaryFolder();
  return {
    ...{ bus, host, folder, said, notices },
    write: (setup, more = 'version: "1.0.0"') => {
      const path = join(folder, "p.mjs");
      writeFileSync(
        path,
        `const said = globalThis.${name};\nexport default { id: "p", ${more}, setup(ctx, config) { ${setup} } };`,
      );
      return { path, isolation: "inline" };
    },
  };
}

const plugin = (id: string, setup: (context: PluginContext) => unknown = () => undefined, more: object = {}): Plugin =>
  definePlugin<unknown>({ id, version: "1.0.0", setup, ...more });

const dependent = (id: string, on: string): Plugin =>
  plugin(id, () => undefined, { manifest: { apiVersion: 1, dependencies: { [on]: "^1.0.0" } } });

const infoOf = (host: PluginHost, id = "p"): PluginInfo | undefined => host.list().find((info) => info.id === id);

const says = (word: string): string => `ctx.on("*", (event) => said.push("${word} " + event.kind));`;

/** What it rejects with; null when it does not. */
const faultOf = (step: Promise<unknown>): Promise<unknown> =>
  step.then(
    () => null,
    (fault: unknown) => fault,
  );

describe("loading several", () => {
  it("sets each up behind those it depends on, and lists them so", async () => {
    const { host, said } = openPlace();
    const told = (id: string, on?: string): { readonly plugin: AnyPlugin } => {
      const given = on === undefined ? plugin(id) : dependent(id, on);
      return { plugin: { ...given, setup: () => said.push(id) } };
    };
    await host.loadAll([told("a", "b"), told("c"), told("b")]);
    expect([said, host.ids]).toEqual([
      ["b", "a", "c"],
      ["b", "a", "c"],
    ]);
    expect(infoOf(host, "a")).toMatchObject({
      state: "running",
      isolation: "inline",
      path: null,
      dependencies: { b: "^1.0.0" },
    });
  });

  it.each([
    ["one that is missing", [dependent("a", "b")], "missing_dependency"],
    ["a circle", [dependent("a", "b"), dependent("b", "a")], "dependency_cycle"],
    ["one id twice", [plugin("a"), plugin("a")], "duplicate_id"],
    [
      "a manifest that is none",
      [plugin("a"), plugin("b", undefined, { manifest: { apiVersion: 9 } })],
      "invalid_plugin",
    ],
    [
      "another roomtap",
      [plugin("a", undefined, { manifest: { apiVersion: 1, engines: { roomtap: ">=999" } } })],
      "invalid_plugin",
    ],
    [
      "what was not granted",
      [plugin("a"), plugin("b", undefined, { manifest: { apiVersion: 1, permissions: { reasoning: true } } })],
      "not_granted",
    ],
  ] as const)("sets up none when there is %s", async (_, plugins, code) => {
    const { host, said } = openPlace();
    const entries = plugins.map((each) => ({ plugin: { ...each, setup: () => said.push(each.id) } }));
    await expect(host.loadAll(entries)).rejects.toMatchObject({ code });
    expect([said, host.list()]).toEqual([[], []]);
  });

  it("keeps those before the first whose setup fails", async () => {
    const { host } = openPlace();
    const faulty = plugin("b", () => {
      throw new Error("no");
    });
    await expect(host.loadAll([{ plugin: plugin("a") }, { plugin: faulty }, { plugin: plugin("c") }])).rejects.toThrow(
      "plugin b: no",
    );
    expect(host.ids).toEqual(["a"]);
  });

  it("lists one that is not enabled, and loads it once it is", async () => {
    const { host, said, write } = openPlace();
    await host.loadAll([{ ...write('said.push("up")'), enabled: false }]);
    expect([infoOf(host), said]).toEqual([expect.objectContaining({ state: "disabled", handlers: [] }), []]);
    expect(await host.enable("p")).toMatchObject({ state: "running", isolation: "inline" });
    expect(said).toEqual(["up"]);
    expect(await host.enable("p")).toMatchObject({ state: "running" });
    expect(said).toEqual(["up"]);
  });

  it("waits for no setup, and no config, longer than 30 s", async () => {
    const { bus, host } = openPlace();
    const hangs = () => new Promise<never>(() => undefined);
    const validate = hangs as never;
    for (const [given, what] of [
      [plugin("a", hangs), "to set up"],
      [
        plugin("b", undefined, { config: { "~standard": { version: 1, vendor: "t", validate } } }),
        "to check its config",
      ],
    ] as const) {
      const loading = host.load({ plugin: given });
      loading.catch(() => undefined);
      await turnsOfLoop(1);
      bus.clock.advance(hostDefaults.setupMs);
      await expect(loading).rejects.toMatchObject({
        code: "plugin_failed",
        message: `plugin ${given.id}: it takes longer than 30000 ms ${what}`,
      });
    }
    expect(host.list()).toEqual([]);
  });
});

describe("disabling", () => {
  it("drains it, keeps it in the list, and costs the others nothing", async () => {
    const { bus, host, said } = openPlace();
    const other: string[] = [];
    await host.load({ plugin: plugin("other", (ctx) => ctx.on("*", (event) => other.push(event.kind))) });
    await host.load({
      plugin: plugin("p", (ctx) => {
        ctx.on("*", (event) => said.push(event.kind));
        ctx.onDrain(() => said.push("drain"));
        ctx.defer(() => said.push("undone"));
      }),
    });
    const attempt = bus.start();
    bus.delta(attempt, "a");
    const disabled = host.disable("p");
    bus.settle(attempt);
    await bus.idle();
    expect(await disabled).toMatchObject({ id: "p", state: "disabled", handlers: [], routes: [], commands: [] });
    expect(said).toEqual(["turn.started", "message.delta", "turn.settled", "drain", "undone"]);
    expect(other).toEqual(["turn.started", "message.delta", "turn.settled"]);
    expect([host.ids, await host.disable("p")]).toEqual([["other"], expect.objectContaining({ state: "disabled" })]);
  });

  it("is refused while another one needs it", async () => {
    const { host } = openPlace();
    await host.loadAll([{ plugin: plugin("b") }, { plugin: dependent("a", "b") }]);
    await expect(host.disable("b")).rejects.toMatchObject({
      code: "missing_dependency",
      message: "plugin a depends on b: disable that one first",
    });
    await host.disable("a");
    expect(await host.disable("b")).toMatchObject({ state: "disabled" });
    await expect(host.enable("a")).rejects.toMatchObject({ code: "missing_dependency" });
    expect(infoOf(host, "a")).toMatchObject({ state: "failed", last_fault: expect.stringContaining("b") as string });
    await host.enable("b");
    expect(await host.enable("a")).toMatchObject({ state: "running" });
  });

  it("C-065 starts no further call, and says how many events were left", async () => {
    const { bus, host, said, notices } = openPlace();
    let goOn = (): void => undefined;
    await host.load({
      plugin: plugin("p", (ctx) =>
        ctx.on("message.interim", (event) => {
          said.push(event.kind);
          return new Promise<void>((resolve) => (goOn = resolve));
        }),
      ),
    });
    const attempt = bus.start();
    bus.emit(attempt, "message.interim", { text: "running" });
    bus.clock.tick();
    bus.clock.tick();
    for (const text of ["1", "2", "3"]) bus.emit(attempt, "message.interim", { text });
    const disabled = host.disable("p");
    await turnsOfLoop(1);
    bus.clock.advance(hostDefaults.drainMs);
    await disabled;
    goOn();
    await turnsOfLoop(2);
    expect(said).toEqual(["message.interim"]);
    expect(notices.map(({ code, message }) => [code, message])).toEqual([
      ["undelivered", "plugin p: 3 events were not delivered before it was unloaded"],
    ]);
  });

  it("of one that is not there names those that are", async () => {
    const { host } = openPlace();
    await host.load({ plugin: plugin("a") });
    for (const change of [host.enable("x"), host.disable("x"), host.reload("x")]) {
      await expect(change).rejects.toMatchObject({
        code: "unknown_plugin",
        message: 'no plugin "x" here; there are: a',
      });
    }
  });
});

describe("reloading", () => {
  it("C-065 calls the new code once and the old one never again", async () => {
    const { bus, host, said, write } = openPlace();
    await host.load(write(`${says("old")} ctx.defer(() => said.push("old undone"));`));
    write(says("new"), 'version: "2.0.0"');
    expect(await host.reload("p")).toMatchObject({ version: "2.0.0", state: "running" });
    bus.settle(bus.start());
    await bus.idle();
    expect(said).toEqual(["old undone", "new turn.started", "new turn.settled"]);
    expect(bus.observers.stats()).toHaveLength(1);
  });

  it.each([
    ["a syntax error", "{{", undefined, "invalid_plugin"],
    ["another id", "", 'version: "1.0.0", id: "q"', "invalid_plugin"],
    ["a manifest that is none", "", 'version: "1.0.0", manifest: { apiVersion: 7 }', "invalid_plugin"],
    [
      "what was not granted",
      "",
      'version: "1.0.0", manifest: { apiVersion: 1, permissions: { routes: true } }',
      "not_granted",
    ],
    [
      "what is not there",
      "",
      'version: "1.0.0", manifest: { apiVersion: 1, dependencies: { x: "*" } }',
      "missing_dependency",
    ],
    [
      "a config that will not do",
      "",
      'version: "1.0.0", config: { "~standard": { version: 1, vendor: "t", validate: () => ({ issues: [{ message: "no" }] }) } }',
      "invalid_config",
    ],
  ])("a file with %s leaves the one that runs as it is", async (_, setup, more, code) => {
    const { bus, host, said, write } = openPlace();
    await host.load(write(says("old")));
    write(setup, more);
    await expect(host.reload("p")).rejects.toMatchObject({ code });
    bus.settle(bus.start());
    await bus.idle();
    expect(said).toEqual(["old turn.started", "old turn.settled"]);
    expect(infoOf(host)).toMatchObject({ state: "running", version: "1.0.0" });
  });

  it("a file that has gone leaves the one that runs as it is", async () => {
    const { host, write } = openPlace();
    const { path } = write("");
    await host.load({ path, isolation: "inline" });
    rmSync(path);
    await expect(host.reload("p")).rejects.toMatchObject({ code: "invalid_plugin" });
    expect(infoOf(host)).toMatchObject({ state: "running" });
  });

  it("a setup that fails is `failed`, with what it threw and no secret, until a good file is loaded", async () => {
    const { bus, host, said, write } = openPlace();
    await host.load(write(says("old")));
    write(`${says("bad")} throw new Error("hunter2 is wrong");`);
    await expect(host.reload("p")).rejects.toMatchObject({ code: "plugin_failed" });
    expect(infoOf(host)).toMatchObject({ state: "failed", last_fault: "plugin p: **** is wrong", handlers: [] });
    bus.settle(bus.start());
    await bus.idle();
    expect([said, bus.observers.stats()]).toEqual([[], []]);
    write(says("good"));
    expect(await host.enable("p")).toMatchObject({ state: "running" });
    bus.settle(bus.start());
    await bus.idle();
    expect(said).toEqual(["good turn.started", "good turn.settled"]);
  });

  it("keeps the version that others need", async () => {
    const { host, write } = openPlace();
    await host.loadAll([write(""), { plugin: dependent("a", "p") }]);
    write("", 'version: "2.0.0"');
    await expect(host.reload("p")).rejects.toMatchObject({
      code: "missing_dependency",
      message: "plugin a 1.0.0 depends on p ^1.0.0; loaded is 2.0.0",
    });
    expect(infoOf(host)).toMatchObject({ state: "running", version: "1.0.0" });
  });

  it("of one that was handed over in code is refused", async () => {
    const { host } = openPlace();
    await host.load({ plugin: plugin("p") });
    await expect(host.reload("p")).rejects.toMatchObject({
      code: "invalid_plugin",
      message: "plugin p was handed over in code: there is no file to load anew",
    });
  });

  it("C-065 changes that overlap come one after the other, and leave one at work", async () => {
    const { bus, host, said, write } = openPlace();
    await host.load(write(says("first")));
    write(says("last"));
    const changes = await Promise.all([host.reload("p"), host.disable("p"), host.reload("p"), host.enable("p")]);
    expect(changes.map(({ state }) => state)).toEqual(["running", "disabled", "running", "running"]);
    bus.settle(bus.start());
    await bus.idle();
    expect(said).toEqual(["last turn.started", "last turn.settled"]);
  });

  it("C-065 an unloading in the middle of it ends it, and nothing is left", async () => {
    const { bus, host, write } = openPlace();
    await host.load(write(""));
    write(`${says("new")} return new Promise(() => {});`);
    const reloading = host.reload("p");
    reloading.catch(() => undefined);
    // As long as a file takes to be read.
    await until(() => infoOf(host)?.state === "loading", 1_000_000);
    expect(await host.unload("p")).toBe(true);
    await expect(reloading).rejects.toMatchObject({ code: "closed" });
    expect([host.list(), bus.observers.stats()]).toEqual([[], []]);
  });
});

describe("hooks", () => {
  it("for ready run once, when the rooms are open; of a plugin that comes later, behind its setup", async () => {
    const { host, said } = openPlace();
    const early = plugin("early", (ctx) => ctx.onReady(() => said.push("early")));
    await host.load({ plugin: early });
    expect(said).toEqual([]);
    await host.ready();
    await host.load({
      plugin: plugin("late", async (ctx) => {
        ctx.onReady(() => said.push("late"));
        await turnsOfLoop(1);
        said.push("late is set up");
      }),
    });
    expect(said).toEqual(["early", "late is set up", "late"]);
  });

  it("C-060 for ready that never end keep nobody", async () => {
    const { bus, host, notices } = openPlace();
    for (const id of ["a", "b"]) {
      await host.load({ plugin: plugin(id, (ctx) => ctx.onReady(() => new Promise(() => undefined))) });
    }
    const ready = host.ready();
    await turnsOfLoop(1);
    bus.clock.advance(hostDefaults.drainMs);
    await ready;
    expect(notices.map(({ message }) => message)).toEqual(
      ["a", "b"].map(
        (id) => `plugin ${id}: its hooks for ready take longer than 2000 ms, and are waited for no longer`,
      ),
    );
  });

  it("C-060 for draining that never end keep closing for 2 s, all of them together", async () => {
    const { bus, host, said, notices } = openPlace();
    for (const id of ["a", "b", "c"]) {
      await host.load({
        plugin: plugin(id, (ctx) => {
          ctx.onDrain((deadlineMs) => {
            said.push(`${id} ${deadlineMs}`);
            return id === "c" ? undefined : new Promise(() => undefined);
          });
          ctx.defer(() => said.push(`${id} undone`));
        }),
      });
    }
    const closing = host.close();
    await turnsOfLoop(1);
    bus.clock.advance(hostDefaults.drainMs);
    await closing;
    expect(said).toEqual(["a 2000", "b 2000", "c 2000", "c undone", "b undone", "a undone"]);
    expect(notices.map(({ subject }) => subject)).toEqual(["a", "b"]);
  });
});

describe("closing", () => {
  it("ends what is being loaded, and lets nothing be loaded any more", async () => {
    const { host, said, write } = openPlace();
    const begun = new Signal();
    const hangs = plugin("hangs", (ctx) => {
      begun.fire();
      ctx.defer(() => said.push("undone"));
      return new Promise(() => undefined);
    });
    const loading = host.loadAll([{ plugin: plugin("a") }, { plugin: hangs }, write('said.push("set up")')]);
    loading.catch(() => undefined);
    await begun.fired;
    await host.close();
    await expect(loading).rejects.toMatchObject({ code: "closed" });
    expect([said, host.list()]).toEqual([["undone"], []]);
    await expect(host.load({ plugin: plugin("b") })).rejects.toMatchObject({ code: "closed" });
  });

  it("ends a reload that is under way", async () => {
    const { bus, host, said, write } = openPlace();
    await host.load(write(says("old")));
    write(says("new"));
    const reloading = host.reload("p");
    reloading.catch(() => undefined);
    await host.close();
    await expect(reloading).rejects.toMatchObject({ code: "closed" });
    bus.settle(bus.start());
    await turnsOfLoop(3);
    expect([said, bus.observers.stats()]).toEqual([[], []]);
  });

  it("takes each out before those it depends on, however they came", async () => {
    const { host, said } = openPlace();
    const told = (given: Plugin): { readonly plugin: AnyPlugin } => ({
      plugin: { ...given, setup: (ctx: PluginContext) => ctx.defer(() => said.push(given.id)) },
    });
    await host.loadAll([told(plugin("b")), told(dependent("a", "b"))]);
    await host.disable("a");
    await host.disable("b");
    said.length = 0;
    await host.enable("b");
    await host.enable("a");
    await host.close();
    expect(said).toEqual(["a", "b"]);
  });
});

describe("a command", () => {
  const caller = { principal: "me", scopes: ["admin" as const], rooms: null, grants: [] };
  const call = (args: readonly string[] = []) => ({ args, caller, signal: new AbortController().signal });

  it("gives JSON, and what it throws is the operator's to read as well", async () => {
    const { host, notices } = openPlace();
    await host.load({
      plugin: plugin("p", ({ commands }) => {
        commands.add({ name: "echo", summary: "gives its arguments", run: ({ args }) => ({ args, none: undefined }) });
        commands.add({ name: "fail", summary: "fails", run: () => Promise.reject(new Error("no")) });
        commands.add({ name: "much", summary: "gives too much", run: () => "x".repeat(1_048_576) });
      }),
    });
    expect(await host.run("p", "echo", call(["a"]))).toEqual({ args: ["a"] });
    await expect(host.run("p", "fail", call())).rejects.toMatchObject({ code: "plugin_failed" });
    await expect(host.run("p", "much", call())).rejects.toMatchObject({ code: "result_too_large" });
    await expect(host.run("p", "other", call())).rejects.toThrow(
      'plugin p has no command "other"; it has: echo, fail, much',
    );
    expect(notices.map(({ message }) => message)).toEqual(["plugin p: command fail: no"]);
    expect(infoOf(host)).toMatchObject({ faults: 1, last_fault: "command fail: no" });
  });

  it("that runs when its plugin is unloaded is told so, and its caller that it was lost", async () => {
    const { host, said } = openPlace();
    const waits = plugin("p", ({ commands }) =>
      commands.add({
        name: "wait",
        summary: "waits",
        run: ({ signal }) => new Promise(() => signal.addEventListener("abort", () => said.push("aborted"))),
      }),
    );
    await host.load({ plugin: waits });
    const running = host.run("p", "wait", call());
    await host.disable("p");
    await expect(running).rejects.toMatchObject({ code: "plugin_lost" });
    expect(said).toEqual(["aborted"]);
    await expect(host.run("p", "wait", call())).rejects.toMatchObject({ code: "unknown_command" });
  });
});

describe("a file that never ends", () => {
  it("is waited for so long, and other changes go on then", async () => {
    const { host, write, bus } = openPlace();
    const entry = write("");
    await host.load(entry);
    writeFileSync(entry.path, "await new Promise(() => undefined);");
    const reloaded = faultOf(host.reload("p"));
    const disabled = host.disable("p");
    await turnsOfLoop(2);
    bus.clock.advance(hostDefaults.setupMs);
    const why = `reading its file took longer than ${hostDefaults.setupMs} ms`;
    expect(await reloaded).toMatchObject({
      code: "plugin_failed",
      message: expect.stringContaining(why) as string,
    });
    expect(await disabled).toMatchObject({ state: "disabled" });
  });

  it("is waited for no longer when the host closes", async () => {
    const { host, write } = openPlace();
    const entry = write("");
    await host.load(entry);
    writeFileSync(entry.path, "await new Promise(() => undefined);");
    const reloaded = faultOf(host.reload("p"));
    await turnsOfLoop(2);
    await host.close();
    expect(await reloaded).toMatchObject({ code: "closed" });
  });

  it("nor is one whose config is being checked", async () => {
    const { host, write, said } = openPlace();
    await host.load(write(""));
    const never = `{ "~standard": { version: 1, vendor: "x", validate: () => { said.push("asked"); return new Promise(() => undefined); } } }`;
    write("", `version: "2.0.0", config: ${never}`);
    const reloaded = faultOf(host.reload("p"));
    await until(() => said.includes("asked"), 1_000_000);
    await host.close();
    expect(await reloaded).toMatchObject({ code: "closed" });
  });
});
