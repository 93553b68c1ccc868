import { defineCommand, type CommandSpec } from "../command.ts";
import { changePluginCommand, type PluginChange } from "./commands/change-plugin.ts";
import { listPluginsCommand } from "./commands/list-plugins.ts";
import { runPluginCommand } from "./commands/run-plugin.ts";
import { remoteOf, remoteOptions, type RemoteFlags, type RemoteParts } from "./remote-flags.ts";

interface ListFlags extends RemoteFlags {
  readonly long?: boolean;
}

/** What is done with the plugins of a server that runs: `plugin list`, `enable`, `disable`, `reload`, `run`. */
export function pluginCommands(parts: RemoteParts): readonly CommandSpec[] {
  const commands = [
    listSpec(parts),
    changeSpec("enable", "loads a plugin that is disabled, or has failed", parts),
    changeSpec("disable", "drains and unloads a plugin; it stays in the list", parts),
    changeSpec("reload", "reads the file of a plugin anew", parts),
    runSpec(parts),
  ];
  return [{ usage: "plugin", about: "looks after the plugins of a server", options: [], examples: [], commands }];
}

function listSpec(parts: RemoteParts): CommandSpec {
  return defineCommand<ListFlags>({
    usage: "list",
    about: "how each plugin fares",
    options: [
      ...remoteOptions,
      { flags: "--long", about: "also what each may do, and says of itself, its routes and its commands" },
    ],
    help: `Columns:
  HANDLERS   how many; DELIVERED, DROPPED, DEPTH are of all of them: events handled, lost, and held now
  FAULTS     of code that no handler's counters have; RESTARTS of its worker; FAILED: calls of handlers that threw or rejected`,
    examples: ["roomtap plugin list", "roomtap plugin list --long --url ws://127.0.0.1:4173/api/ws"],
    run: ({ long = false, ...flags }) => listPluginsCommand({ ...remoteOf(flags, parts), long }, parts.output),
  });
}

function changeSpec(change: PluginChange, about: string, parts: RemoteParts): CommandSpec {
  return defineCommand<RemoteFlags, [string]>({
    usage: `${change} <id>`,
    about,
    options: remoteOptions,
    examples: [`roomtap plugin ${change} board`],
    run: (flags, plugin) => changePluginCommand({ ...remoteOf(flags, parts), plugin, change }, parts.output),
  });
}

function runSpec(parts: RemoteParts): CommandSpec {
  return defineCommand<RemoteFlags, [plugin: string, name: string, args: string[]]>({
    usage: "run <id> <name> [args...]",
    about: "runs a command of a plugin and prints what it gives",
    options: remoteOptions,
    help: "Behind -- an argument may begin with a dash. A text is printed as it is, anything else as JSON.",
    examples: ["roomtap plugin run board export release", "roomtap plugin run board export -- --all"],
    run: (flags, plugin, name, args) =>
      runPluginCommand({ ...remoteOf(flags, parts), plugin, name, args }, parts.output),
  });
}
