import { describe, expect, it } from "vitest";
import { systemClock } from "../../../core/index.ts";
import { definePlugin, type AnyPlugin, type PluginContext } from "../../../plugins/index.ts";
import { conformanceChecks, type ConformanceSettings, type TestHost } from "../../../plugins/testing/index.ts";

const pluginOf = (setup: (ctx: PluginContext, config: unknown) => unknown): AnyPlugin =>
  definePlugin<unknown>({ id: "demo", version: "1.0.0", setup });

/** Counts ends of tools, each once, and writes the counts down when it is stopped. */
const careful = pluginOf(async (ctx) => {
  const seen = new Set<string>();
  const generations = new Map<string, number>();
  const ended = new Set<string>();
  const counts: Record<string, number> = Object.create(null);
  await ctx.storage.get("counts");
  ctx.on(["tool.completed", "turn.*"], (event) => {
    if (event.kind === "gap") return;
    const { coordinates, kind, n } = event;
    const task = [coordinates.room_id, coordinates.member_id, coordinates.task_id].join("/");
    const attempt = `${task}/${coordinates.execution_generation}`;
    generations.set(task, Math.max(generations.get(task) ?? 0, coordinates.execution_generation));
    if (generations.get(task) !== coordinates.execution_generation || ended.has(attempt)) return;
    if (kind === "turn.settled") ended.add(attempt);
    if (kind !== "tool.completed" || seen.has(`${attempt}/${n}`)) return;
    seen.add(`${attempt}/${n}`);
    counts[event.payload.name] = (counts[event.payload.name] ?? 0) + 1;
  });
  ctx.onDrain(() => ctx.storage.set("counts", counts));
  ctx.commands.add({ name: "counts", summary: "the counts", run: () => counts });
});

const outcome = (host: TestHost): Promise<unknown> => host.command("counts");

describe("a plugin that keeps to the contract", () => {
  const checks = conformanceChecks({ plugin: careful, grants: ["reasoning", "approvals", "routes"], outcome });

  it.each(checks)("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  it("is checked fourteen times", () => {
    expect(checks.length).toBe(14);
  });
});

/** A plugin that is bad at one thing, the check that finds it, and what that says. */
interface Bad extends ConformanceSettings {
  readonly check: string;
  readonly says: RegExp;
  readonly setup: (ctx: PluginContext, config: unknown) => unknown;
  readonly config?: unknown;
}

const counting =
  (keyOf: (event: { readonly [field: string]: unknown }) => string) =>
  (ctx: PluginContext): void => {
    const counts = new Map<string, number>();
    ctx.on("tool.completed", (event) => {
      if (event.kind === "gap") return;
      const key = keyOf({ ...event.coordinates, ...event.payload, n: event.n });
      counts.set(key, (counts.get(key) ?? 0) + 1);
    });
    ctx.commands.add({ name: "counts", summary: "the counts", run: () => [...counts] });
  };

const bads: Record<string, Bad> = {
  "takes a gap for an event": {
    check: "goes on after a gap",
    says: /expected handlers that come back from a gap; found demo#1 failed at gap: Cannot read properties of undefined/,
    setup: (ctx) => ctx.on("tool.started", (event) => (event.payload as { name: string }).name.length),
  },
  "throws at a gap without coordinates": {
    check: "goes on after a gap",
    says: /from a gap that names no attempt; found demo#1 failed at gap/,
    setup: (ctx) => ctx.on("*", (event) => (event.coordinates as { room_id: string }).room_id),
  },
  "counts twice": {
    check: "takes an event that comes twice for one",
    says: /the same outcome with events that come twice as without, \[\["tool-1",1\],\["tool-2",1\]\]; found \[\["tool-1",2\],\["tool-2",2\]\]/,
    setup: counting(({ tool_id }) => String(tool_id)),
    outcome,
  },
  "throws at what it has seen": {
    check: "takes an event that comes twice for one",
    says: /expected handlers that come back from events that come twice; found demo#1 failed at tool.started: twice/,
    setup: (ctx) => {
      const seen = new Set<number | null>();
      ctx.on("tool.started", ({ n, kind }) => {
        if (seen.has(n) && kind === "tool.started") throw new Error("twice");
        seen.add(n);
      });
    },
  },
  "counts an earlier generation": {
    check: "leaves out an event of an earlier generation",
    says: /with an event of an earlier generation as without/,
    setup: counting(({ n, execution_generation }) => `${String(execution_generation)}/${String(n)}`),
    outcome,
  },
  "counts behind the end": {
    check: "leaves out an event behind the end of its turn",
    says: /with events behind the end as without.*drop what was seen before/,
    setup: counting(({ n }) => String(n)),
    outcome,
  },
  "throws behind the end": {
    check: "leaves out an event behind the end of its turn",
    says: /demo#1 failed at message.delta: it is over/,
    setup: (ctx) => {
      let isOver = false;
      ctx.on("*", ({ kind }) => {
        if (isOver) throw new Error("it is over");
        isOver = kind === "turn.settled";
      });
    },
  },
  "knows a call by its id alone": {
    check: "tells two members with equal numbers apart",
    says: /with two turns side by side as without, 4; found 2/,
    setup: (ctx) => {
      const open = new Set<string>();
      let ends = 0;
      ctx.on("tool.*", (event) => {
        if (event.kind === "tool.started") open.add(event.payload.tool_id);
        if (event.kind === "tool.completed" && open.delete(event.payload.tool_id)) ends++;
      });
      ctx.commands.add({ name: "counts", summary: "the counts", run: () => ends });
    },
    outcome,
  },
  "believes in arguments": {
    check: "takes payloads at the edge of what may come, and outlives those beyond",
    says: /from payloads that the types allow; found demo#1 failed at tool.started/,
    setup: (ctx) =>
      ctx.on("tool.started", (event) => event.kind === "tool.started" && (event.payload.args as { path: string }).path),
  },
  "stays broken": {
    check: "takes payloads at the edge of what may come, and outlives those beyond",
    says: /from a plain turn after payloads that are none; found demo#1 failed at tool.started: broken/,
    setup: (ctx) => {
      let isBroken = false;
      ctx.on("tool.started", (event) => {
        if (event.kind === "gap") return;
        isBroken ||= typeof event.payload.name !== "string";
        if (isBroken) throw new Error("broken");
      });
    },
  },
  "knows all kinds": {
    check: "lets kinds pass that are not there yet",
    says: /from kinds of a later version; found demo#1 failed at tool.not_there_yet: no such kind/,
    setup: (ctx) =>
      ctx.on("tool.*", ({ kind }) => {
        if (!["tool.started", "tool.completed", "tool.output_risk", "gap"].includes(kind))
          throw new Error("no such kind");
      }),
  },
  "stores texts": {
    check: "stores and tells no secret",
    says: /expected no secret of an event in its storage; found it stands there in clear/,
    setup: (ctx) =>
      ctx.on("message.delta", (event) => event.kind === "message.delta" && ctx.storage.set("last", event.payload.text)),
  },
  "logs texts": {
    check: "stores and tells no secret",
    says: /expected no secret of an event in its log, or a notice of it/,
    setup: (ctx) => ctx.on("message.delta", ({ payload }) => ctx.logger.info("got", { payload })),
    storesTexts: true,
  },
  "stores its config": {
    check: "stores and tells no secret",
    says: /expected no secret of its config in its storage/,
    setup: (ctx, config) => ctx.onDrain(() => ctx.storage.set("config", config)),
    config: { service: { apiToken: "very-secret-word" } },
  },
  "logs its config": {
    check: "stores and tells no secret",
    says: /expected no secret of its config in its log, or a notice of it/,
    setup: (ctx, config) => ctx.logger.warn(`set up with ${JSON.stringify(config)}`),
    config: { url: "https://user:pass-9876@host.example" },
    secrets: ["pass-9876"],
  },
  "begins a timer for each event": {
    check: "comes through a flood at the bounds of its queues",
    says: /expected nothing that grows with the number of events; found \d+ more Timeout after 150 turns/,
    setup: (ctx) => {
      const stops: (() => void)[] = [];
      ctx.on("*", () => void stops.push(systemClock.after(60_000, () => undefined)));
      ctx.defer(() => stops.forEach((stop) => stop()));
    },
  },
  "lets each event wait": {
    check: "comes through a flood at the bounds of its queues",
    says: /found \d+ timers of ctx.clock after 150 turns/,
    setup: (ctx) => ctx.on("*", () => void ctx.clock.after(60_000, () => undefined)),
  },
  "forgets its timer": {
    check: "leaves nothing behind when it is loaded and unloaded again and again",
    says: /expected nothing left after unloading; found 20 more Timeout. Register with ctx.defer/,
    setup: () => void timers.push(systemClock.after(60_000, () => undefined)),
  },
  "forgets its listener": {
    check: "leaves nothing behind when it is loaded and unloaded again and again",
    says: /found 20 more listener of SIGUSR2/,
    setup: () => {
      const listener = (): void => undefined;
      process.setMaxListeners(100).on("SIGUSR2", listener);
      timers.push(() => process.off("SIGUSR2", listener));
    },
  },
  "registers its undo too late": {
    check: "leaves nothing behind when its setup fails",
    says: /expected nothing left of a setup that failed; found 20 more Timeout/,
    setup: (ctx) => {
      const stop = systemClock.after(60_000, () => undefined);
      timers.push(stop);
      ctx.on("*", () => undefined);
      ctx.defer(stop);
    },
  },
  "has no handler and leaves a timer": {
    check: "leaves nothing behind when its setup fails",
    says: /expected nothing left of a setup that failed; found 20 more Timeout/,
    setup: () => void timers.push(systemClock.after(60_000, () => undefined)),
  },
  "uses what is closed": {
    check: "is unloaded while a handler runs",
    says: /from an unload in the middle of it; found demo#1 failed at turn.started: the file is closed/,
    setup: (ctx) => {
      let isOpen = true;
      ctx.on("*", async () => {
        await ctx.storage.get("x");
        if (!isOpen) throw new Error("the file is closed");
      });
      ctx.defer(() => (isOpen = false));
    },
  },
  "writes for ever": {
    check: "has written down what it holds when it is stopped, in time",
    says: /expected a hook of ctx.onDrain that ends within 2000 ms; found plugin demo: a step of its draining failed/,
    setup: (ctx) => ctx.onDrain(() => new Promise(() => undefined)),
  },
  "undoes itself in order": {
    check: "is undone in reverse order, each step without a fault",
    says: /expected handlers undone in reverse, demo#2, demo#1; found demo#1, demo#2/,
    setup: (ctx) => {
      const undos = [ctx.on("tool.*", () => undefined), ctx.on("turn.*", () => undefined)];
      ctx.signal.addEventListener("abort", () => undos.forEach((undo) => undo()));
    },
  },
  "fails at its end": {
    check: "is undone in reverse order, each step without a fault",
    says: /expected an unloading whose steps all end; found plugin demo: a step of its unloading failed: no/,
    setup: (ctx) => ctx.defer(() => Promise.reject(new Error("no"))),
  },
};

/** What bad plugins leave behind. */
const timers: (() => void)[] = [];

describe("each check fails for a plugin that", () => {
  it.each(Object.entries(bads))("%s", async (_, { check, says, setup, config, ...settings }) => {
    const found = conformanceChecks({ plugin: pluginOf(setup), config, ...settings }).find(
      ({ name }) => name === check,
    );
    try {
      await expect(found?.run()).rejects.toMatchObject({ code: "check_failed", message: expect.stringMatching(says) });
    } finally {
      for (const stop of timers.splice(0)) stop();
    }
  });

  it("leaves no check without one", () => {
    const proved = new Set(Object.values(bads).map(({ check }) => check));
    const names = conformanceChecks({ plugin: careful }).map(({ name }) => name);
    expect(names.filter((name) => !proved.has(name))).toEqual([]);
  });
});

describe("a handler that does not come back", () => {
  it("is named, and what it may wait for", async () => {
    const hanging = pluginOf((ctx) =>
      ctx.on("turn.started", () => new Promise((resolve) => ctx.defer(() => resolve(null)))),
    );
    const check = conformanceChecks({ plugin: hanging }).find(({ name }) => name.startsWith("goes on"));
    await expect(check?.run()).rejects.toThrow(/expected handlers to come back.*demo#1/);
  });
});
