import type { Output } from "../../output.ts";
import { jsonText, terminalText } from "../../terminal-text.ts";
import { withServer, type RemoteOptions } from "../remote.ts";

/** How long a command of a plugin may take; then its server is told that nobody waits any more. */
const runTimeoutMs = 600_000;

/** What `roomtap plugin run` is asked for. */
export interface RunPluginOptions extends RemoteOptions {
  readonly plugin: string;
  readonly name: string;
  readonly args: readonly string[];
}

/** Runs a command of a plugin; prints a text as it is, and anything else as JSON. Nothing prints nothing. */
export function runPluginCommand(options: RunPluginOptions, { out, note }: Output): Promise<number> {
  const { plugin: plugin_id, name: command, args, json } = options;
  return withServer(options, note, async (client) => {
    const params = { plugin_id, command, args };
    const { result } = await client.call("plugins.run", params, { timeoutMs: runTimeoutMs });
    if (json) await out(jsonText(result));
    else if (typeof result === "string") await out(terminalText(result.replace(/\n$/, "")));
    else if (result !== null) await out(jsonText(result, 2));
    return 0;
  });
}
