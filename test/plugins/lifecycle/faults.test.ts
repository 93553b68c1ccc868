import { describe, expect, it } from "vitest";
import type { Notice } from "../../../core/index.ts";
import { definePlugin, PluginHost, type Plugin, type PluginContext } from "../../../plugins/index.ts";
import { openBus, type Bus } from "../../support/bus.ts";

function openHost(): { readonly host: PluginHost; readonly clock: Bus["clock"]; readonly notices: Notice[] } {
  const { observers, clock } = openBus();
  const notices: Notice[] = [];
  return { host: new PluginHost({ observers, clock, report: (notice) => notices.push(notice) }), clock, notices };
}

const plugin = (setup: (context: PluginContext) => unknown = () => undefined): Plugin =>
  definePlugin<unknown>({ id: "p", version: "1.0.0", setup });

/** What it rejects with; null when it does not. */
const faultOf = (step: Promise<unknown>): Promise<unknown> =>
  step.then(
    () => null,
    (fault: unknown) => fault,
  );

describe("faults", () => {
  const call = (signal: AbortSignal) => ({
    args: [],
    caller: { principal: "ada", scopes: ["admin" as const], rooms: null, grants: [] },
    signal,
  });

  it("are none of a command whose caller has left, whatever it throws then", async () => {
    const { host, notices } = openHost();
    const given = plugin((context) =>
      context.commands.add({
        name: "wait",
        summary: "waits",
        run: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("interrupted")))),
      }),
    );
    await host.load({ plugin: given });
    const leaving = new AbortController();
    const left = faultOf(host.run("p", "wait", call(leaving.signal)));
    leaving.abort();
    expect(await left).toMatchObject({ code: "closed" });
    const lost = faultOf(host.run("p", "wait", call(new AbortController().signal)));
    await host.unload("p");
    expect(await lost).toMatchObject({ code: "plugin_lost" });
    expect(notices).toEqual([]);
  });

  it("are all counted, and told five times a second, the rest in one line", async () => {
    const { host, notices, clock } = openHost();
    await host.load({ plugin: plugin() });
    for (let count = 0; count < 200; count++) host.routes.fault("p", `no ${count}`);
    const told = (): readonly string[] => notices.map(({ message }) => message);
    const first = [0, 1, 2, 3, 4].map((count) => `plugin p: no ${count}`);
    expect([told(), host.list()[0]?.faults, host.list()[0]?.last_fault]).toEqual([first, 200, "no 199"]);
    clock.advance(1_000);
    const rest = "plugin p: no 199 (the last of 195 more faults)";
    expect(told()).toEqual([...first, rest]);
    for (let count = 0; count < 7; count++) host.routes.fault("p", `then ${count}`);
    await host.unload("p");
    expect(told().slice(-2)).toEqual(["plugin p: then 4", "plugin p: then 6 (the last of 2 more faults)"]);
  });
});
