import type { Output } from "../../output.ts";
import { jsonText } from "../../terminal-text.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { pluginLines } from "./list-plugins.ts";

/** What an operator changes about a plugin. */
export type PluginChange = "enable" | "disable" | "reload";

/** What `roomtap plugin enable`, `disable` and `reload` are asked for. */
export interface ChangePluginOptions extends RemoteOptions {
  readonly plugin: string;
  readonly change: PluginChange;
}

/** Changes it, and shows how it fares then. */
export function changePluginCommand(options: ChangePluginOptions, { out, note }: Output): Promise<number> {
  const { plugin: plugin_id, change, json } = options;
  return withServer(options, note, async (client) => {
    const { plugin } = await client.call(`plugins.${change}`, { plugin_id });
    if (json) await out(jsonText(plugin));
    else for (const line of pluginLines([plugin], false)) await out(line);
    return 0;
  });
}
