/** What a plugin keeps when its worker ends, and what it is told of the rest. */
import { describe, expect, it } from "vitest";
import { consumerDefaults, workerBounds, type ActivityEvent } from "../../../core/index.ts";
import { judgeEnd } from "../../../plugins/worker/restarts.ts";
import { textOf, upTo, type Bus } from "../../support/bus.ts";
import { PluginBench } from "../../support/plugin-files.ts";

function burst(bus: Bus, from: number, count: number, attempt = bus.start()): typeof attempt {
  for (let index = from; index < from + count; index++) bus.emit(attempt, "message.interim", { text: `${index}` });
  return attempt;
}

/** Each `n` that was handled or told as lost, in order. */
function accounted(events: readonly ActivityEvent[]): readonly number[] {
  const numbers = events.flatMap((event) => {
    const [from, to] =
      event.kind === "gap" ? [event.payload.first_n, event.payload.last_n] : [event.n_from ?? event.n, event.n];
    return from === null || to === null ? [] : upTo(to).slice(from - 1);
  });
  return numbers.toSorted((a, b) => a - b);
}

const dying = `ctx.on("*", (event) => { if (event.kind !== "gap" && config.at.includes(event.n)) process.exit(1); note(event); }, config.options);`;

describe("a worker that is started again", () => {
  it.each([
    ["event by event", {}],
    ["two attempts at a time", { concurrency: 2 }],
  ])("C-019 has each number handled, or told as lost, exactly once, %s", async (_, options) => {
    const bench = new PluginBench();
    await bench.load("p", dying, { config: { at: [7, 300, 650], options } });
    const attempt = burst(bench.bus, 0, 500);
    await bench.restarted("p");
    burst(bench.bus, 500, 400, attempt);
    await bench.later(() => bench.bus.observers.stats()[0]?.depth === 0);
    bench.bus.settle(attempt);
    await bench.later(() => (bench.noted.at(-1) as ActivityEvent | undefined)?.kind === "turn.settled");
    expect(accounted(bench.noted as ActivityEvent[])).toEqual(upTo(902));
    const [stats] = bench.bus.observers.stats();
    await bench.until(() => bench.bus.observers.stats()[0]?.depth === 0);
    const { published, delivered, dropped } = bench.bus.observers.stats()[0] ?? {};
    expect([stats?.id, published, (delivered ?? 0) + (dropped ?? 0)]).toEqual(["p#1", 902, 902]);
    // What it holds is lost with it, and nothing else.
    expect(dropped).toBeLessThanOrEqual(3 * workerBounds.batchEvents);
    expect(dropped).toBeGreaterThanOrEqual(3);
  });

  it("C-019 tells of no event as lost that an attempt beside the culprit has handled", async () => {
    const bench = new PluginBench();
    const body = `ctx.on("*", async (event) => {
      if (event.coordinates.member_id === "m-slow" && event.kind === "message.interim") return new Promise(() => undefined);
      note(event);
    }, { concurrency: 2 });`;
    await bench.load("p", body);
    const [slow, quick] = [bench.bus.start({ member_id: "m-slow" }), bench.bus.start({ member_id: "m-quick" })];
    for (const attempt of [slow, quick, quick]) bench.bus.emit(attempt, "message.interim", { text: "x" });
    await bench.untilNoted(4);
    // What was handled is seen at a first look; from there on nothing is.
    bench.bus.clock.advance(consumerDefaults.stallMs / 4);
    bench.bus.clock.advance(consumerDefaults.stallMs);
    await bench.restarted("p");
    for (const attempt of [slow, quick]) bench.bus.settle(attempt);
    const events = (await bench.untilNoted(7)) as ActivityEvent[];
    const of = (member: string): readonly unknown[] =>
      events.filter(({ coordinates }) => coordinates?.member_id === member).map(({ kind, n }) => [kind, n]);
    expect(of("m-quick")).toEqual([
      ["turn.started", 1],
      ["message.interim", 2],
      ["message.interim", 3],
      ["turn.settled", 4],
    ]);
    expect(of("m-slow")).toEqual([
      ["turn.started", 1],
      ["gap", null],
      ["turn.settled", 3],
    ]);
  });

  it("C-019 has each number of its batches handled, or told as lost, exactly once", async () => {
    const bench = new PluginBench();
    const body = `ctx.on("*", (events) => { if (events.some(({ n }) => n === 40)) process.exit(1); for (const event of events) note(event); }, { batch: 10 });`;
    await bench.load("p", body);
    const attempt = burst(bench.bus, 0, 99);
    await bench.restarted("p");
    bench.bus.settle(attempt);
    await bench.until(() => (bench.noted.at(-1) as ActivityEvent | undefined)?.kind === "turn.settled");
    expect(accounted(bench.noted as ActivityEvent[])).toEqual(upTo(101));
  });

  it("is whole again at the first delta of each text, also without a loss", async () => {
    const bench = new PluginBench();
    await bench.load(
      "p",
      `ctx.on("message.delta", (event) => { note(event); });
      ctx.commands.add({ name: "exit", summary: "ends it", run: () => process.exit(1) });`,
    );
    const attempt = bench.bus.start();
    bench.bus.delta(attempt, "one ");
    await bench.untilNoted(1);
    await bench.until(() => bench.bus.observers.stats()[0]?.depth === 0);
    await expect(bench.run("p", "exit")).rejects.toMatchObject({ code: "plugin_lost" });
    await bench.restarted("p");
    bench.bus.delta(attempt, "two ");
    await bench.untilNoted(2);
    bench.bus.delta(attempt, "three");
    const events = (await bench.untilNoted(3)) as ActivityEvent[];
    expect(events.map(({ payload }) => payload)).toEqual([
      { text: "one ", offset: 0 },
      { text: "one two ", offset: 0, snapshot: true },
      { text: "three", offset: 8 },
    ]);
    expect(textOf(events.slice(1), "message.delta")).toBe("one two three");
  });

  it("keeps the handlers, routes and commands that it registers again, and ends the others", async () => {
    const bench = new PluginBench();
    const common = `ctx.on("tool.*", () => undefined);
      ctx.commands.add({ name: "exit", summary: "ends it", run: () => process.exit(1) });`;
    const path = await bench.load(
      "p",
      `${common} ctx.on("turn.*", () => undefined); ctx.routes.add("GET", "/a", () => ({ body: "old" })); ctx.routes.add("GET", "/b", () => ({}));`,
    );
    bench.bus.emit(bench.bus.start(), "tool.start", { tool_id: "c", name: "run" });
    await bench.until(() => bench.bus.observers.stats()[0]?.delivered === 1);
    bench.write(
      path,
      "p",
      `${common} ctx.on("turn.*", () => undefined, { maxEvents: 5 }); ctx.routes.add("GET", "/a", () => ({ body: "new" }));`,
    );
    await expect(bench.run("p", "exit")).rejects.toMatchObject({ code: "plugin_lost" });
    const match = bench.host.routes.match("GET", "/plugins/p/a");
    if (match === null || !("route" in match)) throw new Error("no route");
    const signal = new AbortController().signal;
    const request = { method: "GET", path: "/a", params: {}, query: {}, headers: {}, body: "", caller: null, signal };
    // Its routes are there meanwhile, and say that it is not.
    await expect((async () => match.route.handler(request))()).rejects.toMatchObject({ code: "plugin_lost" });
    await bench.restarted("p");
    const [info] = bench.host.list();
    expect(info?.handlers.map(({ id, delivered }) => [id, delivered])).toEqual([
      ["p#1", 1],
      ["p#3", 0],
    ]);
    expect([info?.routes, info?.commands.map(({ name }) => name)]).toEqual([["GET /plugins/p/a"], ["exit"]]);
    expect(await match.route.handler(request)).toEqual({ body: "new" });
  });

  it("C-064 is given up after five ends, with one notice that says so", async () => {
    const bench = new PluginBench();
    await bench.load("p", `note("set up"); ctx.on("*", () => { setTimeout(() => { throw new Error("late"); }, 1); });`);
    await bench.load("healthy", `ctx.on("*", () => undefined);`);
    const attempt = bench.bus.start();
    for (let end = 1; end < workerBounds.maxEnds; end++) {
      await bench.later(() => bench.bus.notices.filter(({ code }) => code === "plugin_failed").length === end);
      bench.bus.emit(attempt, "message.interim", { text: "x" });
    }
    await bench.later(() => bench.stateOf("p") === "failed");
    const told = bench.bus.notices.filter(({ subject }) => subject === "p").map(({ message }) => message);
    expect(told).toEqual([
      ...Array.from({ length: 5 }, () => expect.stringContaining("nobody waits for it: late") as string),
      "plugin p: its worker ended 5 times within 10 minutes, and is started no more",
    ]);
    expect(bench.bus.observers.stats().map(({ id }) => id)).toEqual(["healthy#1"]);
    expect(bench.host.list()[0]).toMatchObject({ id: "p", state: "failed", restarts: 4, handlers: [], commands: [] });
    // It can be loaded again by hand.
    await bench.during(bench.host.enable("p"));
    expect([bench.stateOf("p"), bench.noted.length]).toEqual(["running", 6]);
  });

  it("counts a setup that fails as an end", async () => {
    const bench = new PluginBench();
    const path = await bench.load(
      "p",
      `ctx.commands.add({ name: "exit", summary: "ends it", run: () => process.exit(1) });`,
    );
    bench.write(path, "p", `throw new Error("not today");`);
    await bench.run("p", "exit").catch(() => undefined);
    await bench.until(() => bench.stateOf("p") === "restarting");
    bench.bus.clock.advance(workerBounds.minBackOffMs);
    await bench.until(() => bench.bus.notices.length === 2);
    expect(bench.bus.notices.at(-1)?.message).toBe(
      "plugin p: its worker ended: it could not be set up again: not today",
    );
    bench.write(path, "q", "");
    bench.bus.clock.advance(2 * workerBounds.minBackOffMs);
    await bench.until(() => bench.bus.notices.length === 3);
    expect(bench.bus.notices.at(-1)?.message).toContain("its file holds q now");
  });

  it.each(["unload", "reload", "close", "disable"] as const)(
    "C-065 obeys %s while it waits to be started",
    async (step) => {
      const bench = new PluginBench();
      await bench.load("p", `note("set up"); ctx.on("*", () => process.exit(1));`);
      bench.bus.start();
      await bench.until(() => bench.stateOf("p") === "restarting");
      const steps: Readonly<Record<typeof step, () => Promise<unknown>>> = {
        unload: () => bench.host.unload("p"),
        reload: () => bench.host.reload("p"),
        close: () => bench.host.close(),
        disable: () => bench.host.disable("p"),
      };
      await bench.during(steps[step]());
      bench.bus.clock.advance(60_000);
      await bench.during(Promise.resolve());
      expect(bench.noted.length).toBe(step === "reload" ? 2 : 1);
      expect(bench.bus.observers.stats().length).toBe(step === "reload" ? 1 : 0);
    },
  );

  it.each(["unload", "reload", "close"] as const)("C-065 obeys %s while it is set up again", async (step) => {
    const bench = new PluginBench();
    const path = await bench.load(
      "p",
      `note("set up"); ctx.on("*", () => process.exit(1)); ctx.defer(() => note("undone"));`,
    );
    bench.bus.start();
    await bench.until(() => bench.stateOf("p") === "restarting");
    bench.write(
      path,
      "p",
      `note("begun"); ctx.on("*", () => undefined); ctx.defer(() => note("undone")); await new Promise(() => undefined);`,
    );
    bench.bus.clock.advance(workerBounds.minBackOffMs);
    await bench.until(() => bench.noted.at(-1) === "begun");
    if (step === "reload") bench.write(path, "p", `note("new");`);
    const steps: Readonly<Record<typeof step, () => Promise<unknown>>> = {
      unload: () => bench.host.unload("p"),
      reload: () => bench.host.reload("p"),
      close: () => bench.host.close(),
    };
    await bench.during(steps[step]());
    expect(bench.noted).toEqual(["set up", "begun", "undone", ...(step === "reload" ? ["new"] : [])]);
    expect(bench.bus.observers.stats()).toEqual([]);
  });
});

describe("judgeEnd", () => {
  const bounds = { minBackOffMs: 250, maxBackOffMs: 900, maxEnds: 5, endsWithinMs: 10_000 };

  it.each([
    [[], 0, 250],
    [[0], 1, 500],
    [[0, 1], 2, 900],
    [[0, 1, 2], 3, 900],
    [[0, 1, 2, 3], 4, null],
    [[0, 1, 2, 3], 10_000, 900],
    [[0, 1, 2, 3], 10_003, 250],
  ] as const)("after ends at %j, one at %i", (before, at, delayMs) => {
    const verdict = judgeEnd(before, at, bounds);
    expect(verdict.again ? verdict.delayMs : null).toBe(delayMs);
    expect(verdict.ends.at(-1)).toBe(at);
  });
});
