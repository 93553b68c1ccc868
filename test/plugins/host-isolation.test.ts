import { describe, expect, it } from "vitest";
import { limits, type ActivityEvent, type EventOf } from "../../core/index.ts";
import { definePlugin, PluginHost, type PluginContext } from "../../plugins/index.ts";
import { openBus, type Bus } from "../support/bus.ts";

function openHost(): { readonly bus: Bus; readonly host: PluginHost } {
  const bus = openBus();
  const { observers, clock, notices } = bus;
  return { bus, host: new PluginHost({ observers, clock, report: (notice) => notices.push(notice) }) };
}

const pluginOf = (id: string, setup: (context: PluginContext) => unknown) => definePlugin({ id, version: "1", setup });

/** A turn with a tool call and a delta, to its end. */
async function playTurn(bus: Bus): Promise<void> {
  const attempt = bus.start();
  bus.emit(attempt, "tool.start", { tool_id: "c", name: "run", args: { cmd: "make", flags: ["-j"] } });
  bus.emit(attempt, "tool.complete", { tool_id: "c", outcome: "ok" });
  for (let count = 0; count < 6; count++) bus.emit(attempt, "message.interim", { text: `part ${count}` });
  bus.settle(attempt);
  await bus.idle();
}

describe("a plugin that misbehaves", () => {
  it("C-061 leaves nothing behind when its setup fails, a thousand times", async () => {
    const { bus, host } = openHost();
    for (let count = 0; count < 1_000; count++) {
      const failing = pluginOf("failing", (context) => {
        context.on("*", () => undefined);
        context.defer(() => undefined);
        throw new Error("cannot start");
      });
      await expect(host.load({ plugin: failing })).rejects.toThrow("plugin failing: cannot start");
    }
    expect([host.ids, bus.observers.stats(), bus.observers.listening, bus.notices]).toEqual([[], [], false, []]);
  });

  it("C-061 leaves nothing behind when its unloading fails, and each failure is told once", async () => {
    const { bus, host } = openHost();
    for (let count = 0; count < 1_000; count++) {
      const failing = pluginOf("failing", (context) => {
        context.on("*", () => undefined);
        context.defer(() => Promise.reject(new Error("cannot stop")));
      });
      await host.load({ plugin: failing });
      await host.unload("failing");
    }
    expect([host.ids, bus.observers.stats(), bus.notices.length]).toEqual([[], [], 1_000]);
  });

  it("C-062 changes nothing of the turn, and each kind of failure has a counter", async () => {
    const { bus, host } = openHost();
    const healthy: string[] = [];
    const handlers: { readonly [id: string]: () => unknown } = {
      throws: () => {
        throw new Error("thrown");
      },
      rejects: () => Promise.reject(new Error("rejected")),
      nonsense: () => "nonsense",
      hangs: () => new Promise(() => undefined),
    };
    for (const [id, handler] of Object.entries(handlers)) {
      await host.load({ plugin: pluginOf(id, (context) => context.on("*", handler)) });
    }
    await host.load({
      plugin: pluginOf("healthy", (context) => context.on("*", ({ kind, n }) => healthy.push(`${n} ${kind}`))),
    });
    await playTurn(bus);
    bus.clock.advance(30_000);
    await bus.idle();
    const failures = Object.fromEntries(bus.observers.stats().map((stats) => [stats.id, stats.failures]));
    expect(failures).toEqual({
      "throws#1": { thrown: 10, rejected: 0, stalled: 0 },
      "rejects#1": { thrown: 0, rejected: 10, stalled: 0 },
      "nonsense#1": { thrown: 0, rejected: 0, stalled: 0 },
      "hangs#1": { thrown: 0, rejected: 0, stalled: 1 },
      "healthy#1": { thrown: 0, rejected: 0, stalled: 0 },
    });
    expect([healthy.length, healthy.at(-1)]).toEqual([10, "10 turn.settled"]);
    expect(bus.notices.map(({ code, subject }) => `${subject} ${code}`).toSorted()).toEqual([
      "hangs#1 stalled",
      "rejects#1 handler_rejected",
      "throws#1 handler_threw",
    ]);
  });

  it("C-066 cannot change an event that others get", async () => {
    const { bus, host } = openHost();
    const attempts: unknown[] = [];
    const seen: ActivityEvent[] = [];
    const change = (event: EventOf<"tool.started"> | EventOf<"gap">): void => {
      const { args } = event.payload as { args: { cmd: string; flags: string[] } };
      for (const write of [() => (args.cmd = "rm"), () => args.flags.push("-rf")]) {
        try {
          write();
          attempts.push("written");
        } catch (fault) {
          attempts.push((fault as Error).name);
        }
      }
    };
    await host.load({ plugin: pluginOf("writer", (context) => context.on("tool.started", change)) });
    await host.load({
      plugin: pluginOf("reader", (context) => context.on("tool.started", (event) => void seen.push(event))),
    });
    await playTurn(bus);
    expect(attempts).toEqual(["TypeError", "TypeError"]);
    expect(seen[0]?.payload).toMatchObject({ args: { cmd: "make", flags: ["-j"] } });
  });

  it("C-067 is refused its 101st handler by name, and others are not", async () => {
    const { bus, host } = openHost();
    let greedy: PluginContext | undefined;
    await host.load({ plugin: pluginOf("greedy", (context) => void (greedy = context)) });
    const cap = limits.maxHandlersPerPlugin;
    const undos = Array.from({ length: cap }, () => greedy?.on("gap", () => undefined));
    const refusal = expect.objectContaining({
      code: "too_many_consumers",
      message: `plugin greedy has ${cap} handlers, and may have no more`,
    }) as Error;
    expect(() => greedy?.on("gap", () => undefined)).toThrow(refusal);
    await host.load({ plugin: pluginOf("modest", (context) => context.on("gap", () => undefined)) });
    expect((await greedy?.stats())?.length).toBe(100);
    expect(bus.observers.stats().at(-1)?.id).toBe("modest#1");
    undos[0]?.();
    greedy?.on("gap", () => undefined);
    expect((await greedy?.stats())?.at(-1)?.id).toBe("greedy#101");
  });

  it("C-067 that registers too much in its setup does not load", async () => {
    const { bus, host } = openHost();
    const plugin = pluginOf("greedy", (context) => {
      for (;;) context.on("gap", () => undefined);
    });
    await expect(host.load({ plugin })).rejects.toThrow("plugin greedy has 100 handlers, and may have no more");
    expect([host.ids, bus.observers.stats()]).toEqual([[], []]);
  });
});
