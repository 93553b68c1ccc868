import { describe, expect, it } from "vitest";
import { definePlugin, type Plugin, type PluginContext } from "../../../../plugins/index.ts";
import { Signal } from "../../../../core/index.ts";
import { openHost, type OpenHost } from "../../../support/open-host.ts";
import { principals, tokenOf } from "../../../support/principals.ts";

const auth = principals({
  admin: { scopes: ["admin"] },
  reader: { scopes: ["read"], rooms: ["desk"], grants: ["reasoning"] },
  writer: { scopes: ["write"] },
});

const plugin = (id: string, setup: (context: PluginContext) => unknown): Plugin =>
  definePlugin<unknown>({ id, version: "1.0.0", setup });

const board = plugin("board", (context) => {
  const { commands } = context;
  context.on("tool.*", () => undefined);
  commands.add({
    name: "whoami",
    summary: "says who asks",
    scope: "read",
    run: ({ args, caller }) => ({ args, caller }),
  });
  commands.add({ name: "wipe", summary: "forgets all", run: () => null });
  commands.add({
    name: "fail",
    summary: "fails",
    scope: "read",
    run: () => {
      throw new Error("the password is hunter2");
    },
  });
});

const open = (...plugins: Plugin[]): Promise<OpenHost> =>
  openHost({ plugins: plugins.map((each) => ({ plugin: each })), gateway: { auth } });

describe("plugins on the wire", () => {
  it("are listed for an admin as they are: grants, counters, commands", async () => {
    const host = await open(board);
    const admin = await host.connect({ token: tokenOf("admin") });
    expect(await admin.call("plugins.list")).toEqual({ plugins: JSON.parse(JSON.stringify(host.tap.plugins.list())) });
    expect(await admin.call("plugins.list")).toMatchObject({
      plugins: [
        {
          id: "board",
          version: "1.0.0",
          state: "running",
          isolation: "inline",
          permit: { rooms: null, payload: "standard", grants: [] },
          handlers: [{ id: "board#1", delivered: 0, dropped: 0, depth: 0 }],
          commands: [
            { name: "whoami", summary: "says who asks" },
            { name: "wipe", summary: "forgets all" },
            { name: "fail", summary: "fails" },
          ],
          faults: 0,
          last_fault: null,
        },
      ],
    });
  });

  it("are turned off and on by an admin alone", async () => {
    const host = await open(board);
    const [admin, reader] = [
      await host.connect({ token: tokenOf("admin") }),
      await host.connect({ token: tokenOf("reader") }),
    ];
    for (const method of ["plugins.list", "plugins.enable", "plugins.disable", "plugins.reload"]) {
      expect(await reader.refused(method, { plugin_id: "board" })).toEqual([4300, "insufficient_scope"]);
    }
    expect(await admin.call("plugins.disable", { plugin_id: "board" })).toMatchObject({
      plugin: { state: "disabled" },
    });
    expect(await admin.call("plugins.enable", { plugin_id: "board" })).toMatchObject({ plugin: { state: "running" } });
    expect(await admin.refused("plugins.reload", { plugin_id: "board" })).toEqual([4141, "invalid_plugin"]);
    expect(await admin.refused("plugins.disable", { plugin_id: "other" })).toEqual([4140, "unknown_plugin"]);
    expect(await admin.refused("plugins.disable", { plugin_id: 5 })).toEqual([-32602, "invalid_params"]);
  });

  it("that fail to be set up tell an admin why", async () => {
    let isBad = false;
    const host = await open(
      plugin("p", () => {
        if (isBad) throw new Error("no disk");
      }),
    );
    const admin = await host.connect({ token: tokenOf("admin") });
    await admin.call("plugins.disable", { plugin_id: "p" });
    isBad = true;
    expect((await admin.ask("plugins.enable", { plugin_id: "p" })).error).toEqual({
      code: 4145,
      message: "plugin p: no disk",
      data: { reason: "plugin_failed" },
    });
    expect(await admin.call("plugins.list")).toMatchObject({
      plugins: [{ state: "failed", last_fault: "plugin p: no disk" }],
    });
  });
});

describe("a command of a plugin", () => {
  const run = { plugin_id: "board", command: "whoami", args: ["a", "b"] };

  it("is handed who asks, and which rooms are there for them", async () => {
    const host = await open(board);
    const reader = await host.connect({ token: tokenOf("reader") });
    expect(await reader.call("plugins.run", run)).toEqual({
      result: {
        args: ["a", "b"],
        caller: { principal: "reader", scopes: ["read"], rooms: ["desk"], grants: ["reasoning"] },
      },
    });
  });

  it.each([
    ["one of another scope", "writer", { ...run }],
    ["one that needs admin", "reader", { plugin_id: "board", command: "wipe" }],
    ["one that is not there", "reader", { plugin_id: "board", command: "nothing" }],
    ["one of a plugin that is not there", "reader", { plugin_id: "nobody", command: "whoami" }],
    ["nonsense", "reader", { plugin_id: 5, command: {} }],
  ])("is refused, and nothing is told of what there is: %s", async (_, who, params) => {
    const host = await open(board);
    const client = await host.connect({ token: tokenOf(who) });
    const { error } = await client.ask("plugins.run", params);
    const required_scope = who === "writer" ? "read" : "admin";
    expect(error).toEqual({
      code: 4300,
      message: `this needs the scope ${required_scope}`,
      data: { reason: "insufficient_scope", required_scope },
    });
  });

  it("that is not there is named to an admin, with those that are", async () => {
    const host = await open(board);
    const admin = await host.connect({ token: tokenOf("admin") });
    expect((await admin.ask("plugins.run", { ...run, command: "x" })).error).toMatchObject({
      code: 4140,
      message: 'plugin board has no command "x"; it has: whoami, wipe, fail',
      data: { reason: "unknown_command" },
    });
    expect(await admin.refused("plugins.run", { ...run, plugin_id: "x" })).toEqual([4140, "unknown_plugin"]);
    expect(await admin.refused("plugins.run", { ...run, args: [5] })).toEqual([-32602, "invalid_params"]);
  });

  it("that throws tells its caller nothing of it, and the operator all", async () => {
    const host = await open(board);
    const reader = await host.connect({ token: tokenOf("reader") });
    const { error } = await reader.ask("plugins.run", { ...run, command: "fail" });
    expect([error?.code, error?.data]).toEqual([5140, { reason: "plugin_failed" }]);
    expect(JSON.stringify(error)).not.toContain("hunter2");
    expect(host.notices).toMatchObject([{ code: "plugin_failed", subject: "board" }]);
  });

  it("is told when its caller has gone", async () => {
    const [called, aborted] = [new Signal(), new Signal()];
    const waits = plugin("board", ({ commands }) =>
      commands.add({
        name: "whoami",
        summary: "waits",
        run: ({ signal }) => {
          signal.addEventListener("abort", () => aborted.fire());
          called.fire();
          return new Promise(() => undefined);
        },
      }),
    );
    const host = await open(waits);
    const admin = await host.connect({ token: tokenOf("admin") });
    admin.send({ jsonrpc: "2.0", id: 1, method: "plugins.run", params: run });
    await called.fired;
    await admin.drop();
    await expect(aborted.fired).resolves.toBeUndefined();
  });
});
