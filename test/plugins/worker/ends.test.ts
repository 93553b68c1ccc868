/** A worker that ends, whatever it ends by: the host and the other plugins go on, and it is started again. */
import { describe, expect, it } from "vitest";
import { consumerDefaults, hostDefaults, limits, workerBounds, type ActivityEvent } from "../../../core/index.ts";
import { numbersOf, type Bus } from "../../support/bus.ts";
import { PluginBench } from "../../support/plugin-files.ts";

/** Emits so many numbered events of one attempt, behind its `turn.started`. */
function burst(bus: Bus, count: number, attempt = bus.start()): typeof attempt {
  for (let index = 0; index < count; index++) bus.emit(attempt, "message.interim", { text: `${index}` });
  return attempt;
}

const noting = `ctx.on("*", (event) => { note({ who: ctx.id, event }); });`;
const notedBy = (bench: PluginBench, who: string): ActivityEvent[] =>
  (bench.noted as { who: string; event: ActivityEvent }[]).filter((each) => each.who === who).map(({ event }) => event);

/** What a worker does at the event `n` 2, and what the fault says of it. */
const endings: readonly (readonly [string, string, string])[] = [
  ["throws in a timer", `setTimeout(() => { throw new Error("late"); }, 1);`, "nobody waits for it: late"],
  ["rejects a promise nobody holds", `void Promise.reject(new Error("floating"));`, "nobody waits for it: floating"],
  ["rejects one with what cannot be cloned", `void Promise.reject({ f() {} });`, "nobody waits for it"],
  ["exits", `process.exit(3);`, "it ended by itself, with status 3"],
  ["needs too much memory", `const all = []; for (;;) all.push(Array.from("x".repeat(100)));`, "more than 256 MB"],
];

describe("a worker", () => {
  it.each(endings)("C-064 that %s is started again, and nobody else notices", async (_, code, why) => {
    const bench = new PluginBench();
    await bench.load("healthy", noting);
    await bench.load(
      "p",
      `ctx.onReady(() => note("ready")); ctx.on("message.interim", (event) => { if (event.n === 2) { ${code} } });`,
    );
    await bench.host.ready();
    const attempt = burst(bench.bus, 1);
    await bench.restarted("p");
    bench.bus.settle(attempt);
    await bench.until(() => notedBy(bench, "healthy").at(-1)?.kind === "turn.settled");
    expect(numbersOf(notedBy(bench, "healthy"))).toEqual([1, 2, 3]);
    const faults = bench.bus.notices.filter(({ code: word }) => word === "plugin_failed");
    expect(faults.map(({ subject }) => subject)).toEqual(["p"]);
    expect(faults[0]?.message).toContain(`plugin p: its worker ended: `);
    expect(faults[0]?.message).toContain(why);
    await bench.until(() => bench.noted.filter((each) => each === "ready").length === 2);
    expect(bench.host.list().find(({ id }) => id === "p")).toMatchObject({ state: "running", restarts: 1, faults: 1 });
  });

  it("C-060 that loops for ever in a handler is ended after stallMs and reported once; a turn takes no longer", async () => {
    const bench = new PluginBench();
    await bench.load("healthy", noting);
    await bench.load("p", `ctx.on("*", (event) => { note("began " + event.n); for (;;); });`);
    burst(bench.bus, 200);
    // The producer is done before the worker has even begun.
    await bench.until(() => notedBy(bench, "healthy").length === 201 && bench.noted.includes("began 1"));
    bench.bus.clock.advance(consumerDefaults.stallMs - 1);
    expect(bench.stateOf("p")).toBe("running");
    bench.bus.clock.advance(1);
    await bench.until(() => bench.stateOf("p") === "restarting");
    await bench.until(() => bench.told.includes("p#1 stalled"));
    expect(bench.bus.notices.find(({ subject }) => subject === "p")?.message).toBe(
      "plugin p: its worker ended: a handler of it got nowhere for 30000 ms",
    );
    expect(bench.bus.observers.stats().find(({ id }) => id === "p#1")?.failures.stalled).toBe(1);
  });

  it("C-060 whose handler never settles does not hold up closing", async () => {
    const bench = new PluginBench();
    await bench.load(
      "p",
      `ctx.on("*", () => { note("began"); return new Promise(() => undefined); }); ctx.defer(() => note("undone"));`,
    );
    burst(bench.bus, 3);
    await bench.untilNoted(1);
    const drained = bench.bus.observers.drain(2_000);
    bench.bus.clock.advance(2_000);
    expect(await drained).toEqual({ undelivered: 4, unfinished: ["p#1"] });
    await bench.during(bench.host.close());
    expect([bench.noted, bench.bus.observers.stats()]).toEqual([["began", "undone"], []]);
  });

  it("that is blocked when it is unloaded is ended without its unloading, and that is told", async () => {
    const bench = new PluginBench();
    await bench.load("p", `ctx.on("*", () => { note("began"); for (;;); });`);
    burst(bench.bus, 1);
    await bench.untilNoted(1);
    const unloaded = bench.host.unload("p");
    bench.bus.clock.advance(2_000);
    expect(await bench.during(unloaded)).toBe(true);
    expect(bench.bus.notices.map(({ message }) => message)).toEqual([
      "plugin p: its thread is blocked, and is ended without its unloading",
    ]);
  });

  it("that is blocked while it owes an answer is ended, and whoever waits is told plugin_lost", async () => {
    const bench = new PluginBench();
    await bench.load(
      "p",
      `ctx.commands.add({ name: "loop", summary: "loops", run: () => { note("began"); for (;;); } });`,
    );
    const lost = bench.run("p", "loop").catch((fault: unknown) => fault);
    await bench.untilNoted(1);
    bench.bus.clock.advance(workerBounds.blockedMs);
    bench.bus.clock.advance(workerBounds.blockedMs);
    expect(await lost).toMatchObject({
      code: "plugin_lost",
      message: "plugin p: its worker ended: its thread is blocked for 30000 ms",
    });
    // Its commands stay while it is started again, and say so.
    const later = { code: "plugin_lost", message: "plugin p: its worker ended, and is started again" };
    await expect(bench.run("p", "loop")).rejects.toMatchObject(later);
  });

  it.each([
    ["before its setup", `for (;;);`, "", "plugin_lost", /^plugin at .*: reading its file took longer than 30000 ms$/],
    ["in its setup", "", `for (;;);`, "plugin_failed", /^plugin p: it takes longer than 30000 ms to set up$/],
    [
      "in a setup that never settles",
      "",
      `await new Promise(() => undefined);`,
      "plugin_failed",
      /^plugin p: .* to set up$/,
    ],
  ])("that is blocked %s is not loaded after setupMs", async (_, head, body, code, message) => {
    const bench = new PluginBench();
    const given = { head: `note("read"); ${head}` };
    let fault: unknown;
    bench
      .load("p", `ctx.defer(() => undefined); note("set up"); ${body}`, given)
      .catch((reason: unknown) => (fault = reason));
    await bench.untilNoted(head === "" ? 2 : 1);
    bench.bus.clock.advance(hostDefaults.setupMs);
    await bench.later(() => fault !== undefined);
    expect([fault, bench.host.ids]).toEqual([
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
      [],
    ]);
  });

  it("whose parent port is closed cannot flood the host past its line, and is told so", async () => {
    const bench = new PluginBench();
    await bench.load(
      "p",
      `ctx.on("message.interim", () => { parentPort.postMessage(new Uint8Array(100_000_000)); });
      ctx.on("message.interim", async () => { await ctx.rooms.state("x".repeat(100_000_000)); });
      ctx.routes.add("GET", "/large", () => ({ body: "x".repeat(100_000_000) }));`,
      { head: `import { parentPort } from "node:worker_threads";` },
    );
    burst(bench.bus, 1);
    await bench.until(() => bench.told.length === 2);
    const texts = bench.bus.notices.map(({ message }) => message).toSorted();
    expect(texts[0]).toContain("a plugin in a worker talks to its host by its context alone");
    expect(texts[1]).toContain(`roomState: expected at most ${limits.maxWorkerCallBytes} bytes in one call`);
    const match = bench.host.routes.match("GET", "/plugins/p/large");
    if (match === null || !("route" in match)) throw new Error("no route");
    const signal = new AbortController().signal;
    const request = {
      method: "GET",
      path: "/large",
      params: {},
      query: {},
      headers: {},
      body: "",
      caller: null,
      signal,
    };
    await expect((async () => match.route.handler(request))()).rejects.toMatchObject({ code: "result_too_large" });
    expect(bench.stateOf("p")).toBe("running");
  });

  it("logs at most 100 lines in a second, prints included, and counts the rest", async () => {
    const bench = new PluginBench();
    await bench.load(
      "p",
      `for (let line = 0; line < 150; line++) { ctx.logger.info("line " + line); console.log("printed " + line); }`,
    );
    await bench.until(() => bench.lines.length >= 200);
    const printed = bench.lines.filter(({ fields }) => fields["stream"] === "stdout");
    expect([printed.length, bench.lines.length - printed.length]).toEqual([100, 100]);
    expect(printed[0]).toEqual({ level: "info", message: "printed 0", fields: { stream: "stdout", plugin: "p" } });
  });

  it("C-061 whose setup fails leaves no thread, port, handler or timer, fifty times", async () => {
    const bench = new PluginBench();
    const kinds = (): readonly string[] =>
      process.getActiveResourcesInfo().filter((kind) => /Worker|MessagePort/.test(kind));
    const before = kinds();
    const path = bench.fileOf(
      "p",
      `ctx.on("*", () => undefined); ctx.defer(() => undefined); setInterval(() => undefined, 1000); throw new Error("cannot start");`,
    );
    for (let count = 0; count < 50; count++) {
      await expect(bench.during(bench.host.load({ path }))).rejects.toThrow("plugin p: cannot start");
    }
    expect([bench.host.ids, bench.bus.observers.stats(), bench.bus.notices]).toEqual([[], [], []]);
    expect(kinds()).toEqual(before);
  }, 60_000);

  it("C-062 changes nothing of the turn, and each kind of failure has a counter", async () => {
    const bench = new PluginBench();
    const handlers = {
      throws: `throw new Error("t");`,
      rejects: `return Promise.reject(new Error("r"));`,
      nonsense: `return "nonsense";`,
      hangs: `return new Promise(() => undefined);`,
    };
    for (const [id, code] of Object.entries(handlers)) await bench.load(id, `ctx.on("*", () => { ${code} });`);
    await bench.load("healthy", noting);
    bench.bus.settle(burst(bench.bus, 8));
    await bench.until(() => notedBy(bench, "healthy").length === 10);
    await bench.until(() => bench.bus.observers.stats().filter(({ running }) => running > 0).length === 1);
    bench.bus.clock.advance(30_000);
    await bench.until(() => bench.stateOf("hangs") === "restarting");
    const failures = Object.fromEntries(bench.bus.observers.stats().map((stats) => [stats.id, stats.failures]));
    expect(failures).toEqual({
      "throws#1": { thrown: 10, rejected: 0, stalled: 0 },
      "rejects#1": { thrown: 0, rejected: 10, stalled: 0 },
      "nonsense#1": { thrown: 0, rejected: 0, stalled: 0 },
      "hangs#1": { thrown: 0, rejected: 0, stalled: 1 },
      "healthy#1": { thrown: 0, rejected: 0, stalled: 0 },
    });
  });

  it("C-063 that throws at one event misses only that one, and the others none", async () => {
    const bench = new PluginBench();
    await bench.load(
      "a",
      `ctx.on("*", (event) => { if (event.n === 2) throw new Error("at 2"); note({ who: "a", event }); });`,
    );
    await bench.load("b", noting);
    burst(bench.bus, 4);
    await bench.until(() => bench.noted.length === 9);
    expect(notedBy(bench, "a").map(({ n }) => n)).toEqual([1, 3, 4, 5]);
    expect(notedBy(bench, "b").map(({ n }) => n)).toEqual([1, 2, 3, 4, 5]);
  });

  it("C-066 cannot change what others get, nor what the producer keeps", async () => {
    const bench = new PluginBench();
    await bench.load(
      "writer",
      `ctx.on("tool.started", (event) => { try { event.payload.args.cmd = "rm"; note("written"); } catch (fault) { note(fault.name); } });`,
    );
    await bench.load("reader", `ctx.on("tool.started", (event) => { note(event.payload.args); });`);
    const args = { cmd: "make", flags: ["-j"] };
    bench.bus.emit(bench.bus.start(), "tool.start", { tool_id: "c", name: "run", args });
    args.flags.push("-k");
    await bench.untilNoted(2);
    expect(bench.noted).toContainEqual({ cmd: "make", flags: ["-j"] });
    expect(bench.noted).toContainEqual("TypeError");
    expect(args).toEqual({ cmd: "make", flags: ["-j", "-k"] });
  });

  it("C-067 is refused its 101st handler by name, and others are not", async () => {
    const bench = new PluginBench();
    const cap = limits.maxHandlersPerPlugin;
    await bench.load(
      "greedy",
      `for (let count = 0; count < ${cap}; count++) ctx.on("gap", () => undefined);
      try { ctx.on("gap", () => undefined); } catch (fault) { note([fault.code, fault.message]); }`,
    );
    await bench.load("other", `ctx.on("gap", () => undefined);`);
    expect(bench.noted).toEqual([["too_many_consumers", `plugin greedy has ${cap} handlers, and may have no more`]]);
    expect(bench.host.list().map(({ handlers }) => handlers.length)).toEqual([cap, 1]);
  });
});
