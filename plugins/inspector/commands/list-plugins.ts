import type { PluginStatus } from "../../client/index.ts";
import type { Output } from "../../output.ts";
import { jsonText, oneLine } from "../../terminal-text.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { tableLines, type Column } from "../view/table-lines.ts";

/** What `roomtap plugin list` is asked for. */
export interface ListPluginsOptions extends RemoteOptions {
  /** Whether to show what each may do, and says of itself. */
  readonly long: boolean;
}

/** Lists the plugins of a server: a line each and what went wrong last below it, or one JSON list. */
export function listPluginsCommand(options: ListPluginsOptions, { out, note }: Output): Promise<number> {
  return withServer(options, note, async (client) => {
    const { plugins } = await client.call("plugins.list", {});
    if (options.json) await out(jsonText(plugins));
    else for (const line of pluginLines(plugins, options.long)) await out(line);
    if (plugins.length === 0) note("no plugins are loaded");
    return 0;
  });
}

const columns: readonly Column[] = [
  ...["ID", "VERSION", "STATE", "ISOLATION"].map((title) => ({ title })),
  ...["HANDLERS", "DELIVERED", "DROPPED", "DEPTH", "FAILED", "FAULTS", "RESTARTS"].map((title) => ({
    title,
    align: "right" as const,
  })),
];

/** A table of plugins, with what belongs to one below its line. Pure. */
export function pluginLines(plugins: readonly PluginStatus[], long: boolean): readonly string[] {
  if (plugins.length === 0) return [];
  const [head = "", ...lines] = tableLines(columns, plugins.map(cellsOf));
  return [head, ...plugins.flatMap((plugin, index) => [lines[index] ?? "", ...below(plugin, long)])];
}

function cellsOf({ id, version, state, isolation, handlers, faults, restarts }: PluginStatus): readonly string[] {
  const sum = (of: (handler: PluginStatus["handlers"][number]) => number): string =>
    String(handlers.reduce((total, handler) => total + of(handler), 0));
  return [
    ...[id, version, state, isolation].map((text) => oneLine(text)),
    String(handlers.length),
    sum(({ delivered }) => delivered),
    sum(({ dropped }) => dropped),
    sum(({ depth }) => depth),
    sum(({ failures }) => failures.thrown + failures.rejected),
    ...[faults, restarts].map(String),
  ];
}

function below(plugin: PluginStatus, long: boolean): readonly string[] {
  const { last_fault, disclosure, path, permit, dependencies, routes, commands } = plugin;
  const needs = Object.entries(dependencies).map(([id, range]) => `${id} ${range}`);
  const fields: readonly (readonly [name: string, text: string])[] = [
    ["last fault", last_fault ?? ""],
    ...(long
      ? ([
          ["says", disclosure ?? ""],
          ["file", path ?? "none: it was handed over in code"],
          ["may", mayText(permit)],
          ["needs", needs.join(", ")],
          ["routes", routes.join(", ")],
          ...commands.map(({ name, summary }) => ["command", `${name}: ${summary}`] as const),
        ] as const)
      : []),
  ];
  return fields.flatMap(([name, text]) => (text === "" ? [] : [`  ${name}: ${oneLine(text)}`]));
}

function mayText({ rooms, payload, grants, answers, routes, paths }: PluginStatus["permit"]): string {
  return [
    `see ${rooms === null ? "all rooms" : rooms.join(" ")} at ${payload}`,
    ...grants.filter((grant) => grant !== "full"),
    ...(answers ? ["answer"] : []),
    ...(routes ? [["routes", ...paths].join(" ")] : []),
  ].join(", ");
}
