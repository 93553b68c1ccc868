import { z } from "zod";
import { limits, type Client, type ErrorCode, type Scope } from "../../../core/index.ts";
import type { PluginCaller } from "../../plugin.ts";
import type { PluginInfo } from "../../plugin-control.ts";
import type { GatewayHost } from "../host.ts";
import { defineMethod, type Method } from "../rpc-table.ts";

const pluginId = z.string().min(1).max(64);

/** A plugin as operators see it; open, because it may grow. */
const infoSchema = z.looseObject({
  id: z.string(),
  version: z.string(),
  state: z.enum(["loading", "running", "restarting", "disabled", "failed"]),
  isolation: z.enum(["inline", "worker"]),
  path: z.string().nullable(),
  permit: z.looseObject({}),
  disclosure: z.string().nullable(),
  dependencies: z.record(z.string(), z.string()),
  handlers: z.array(z.looseObject({ id: z.string(), delivered: z.int(), dropped: z.int(), depth: z.int() })),
  routes: z.array(z.string()),
  commands: z.array(z.looseObject({ name: z.string(), summary: z.string() })),
  faults: z.int(),
  restarts: z.int(),
  last_fault: z.string().nullable(),
});

const changed = { params: z.object({ plugin_id: pluginId }), result: z.object({ plugin: infoSchema }) };
const loadErrors: readonly ErrorCode[] = [
  "unknown_plugin",
  "invalid_plugin",
  "invalid_config",
  "not_granted",
  "missing_dependency",
  "dependency_cycle",
  "plugin_failed",
];

/** What operators do with the plugins of a host. */
export const pluginMethods: readonly Method[] = [
  defineMethod({
    name: "plugins.list",
    summary: "All plugins of the host, in order of loading, and how each fares.",
    params: z.object({}),
    result: z.object({ plugins: z.array(infoSchema) }),
    handler: (_params, { host }) => ({ plugins: host.plugins.list().map(shownInfo) }),
  }),
  defineMethod({
    name: "plugins.enable",
    summary: "Loads a plugin that is disabled, or has failed.",
    ...changed,
    errors: loadErrors,
    handler: async ({ plugin_id }, { host }) => ({ plugin: shownInfo(await host.plugins.enable(plugin_id)) }),
  }),
  defineMethod({
    name: "plugins.disable",
    summary: "Drains and unloads a plugin; it stays in the list.",
    ...changed,
    errors: ["unknown_plugin", "missing_dependency"],
    handler: async ({ plugin_id }, { host }) => ({ plugin: shownInfo(await host.plugins.disable(plugin_id)) }),
  }),
  defineMethod({
    name: "plugins.reload",
    summary: "Reads the file of a plugin anew; what is wrong with it leaves the one that runs as it is.",
    ...changed,
    errors: loadErrors,
    handler: async ({ plugin_id }, { host }) => ({ plugin: shownInfo(await host.plugins.reload(plugin_id)) }),
  }),
  defineMethod({
    name: "plugins.run",
    summary: "Runs a command of a plugin, which says itself what scope it needs.",
    params: z.object({
      plugin_id: pluginId,
      command: z.string().min(1).max(64),
      args: z.array(z.string().max(limits.maxCommandArgUnits)).max(limits.maxCommandArgs).default([]),
    }),
    result: z.object({ result: z.unknown() }),
    errors: ["unknown_plugin", "unknown_command", "plugin_failed", "plugin_lost"],
    // One that is not there needs what most need: who may not know of it learns nothing.
    scopeCase: ({ plugin_id, command }, { host }) => commandScope(host, plugin_id, command),
    handler: async ({ plugin_id, command, args }, { client, host }) => {
      const call = { args, caller: callerOf(client), signal: host.goneSignal(client) };
      return { result: await host.plugins.run(plugin_id, command, call) };
    },
  }),
];

function commandScope(host: GatewayHost, pluginId: unknown, command: unknown): Scope | undefined {
  const plugin = host.plugins.list().find(({ id }) => id === pluginId);
  const isThere = typeof command === "string" && plugin?.commands.some(({ name }) => name === command) === true;
  return isThere ? (host.plugins.command(plugin.id, command).scope ?? "admin") : undefined;
}

function callerOf({ principal, scopes, rooms, grants }: Client): PluginCaller {
  return { principal, scopes: [...scopes], rooms: rooms === null ? null : [...rooms], grants: [...grants] };
}

/** As it stands, in objects of their own: the schema's are open. */
function shownInfo(info: PluginInfo): z.input<typeof infoSchema> {
  return {
    ...info,
    permit: { ...info.permit },
    handlers: info.handlers.map((stats) => ({ ...stats })),
    routes: [...info.routes],
    commands: info.commands.map((command) => ({ ...command })),
  };
}
