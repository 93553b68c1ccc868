import { limits, messageOf, RoomtapError, utf8Length } from "../core/index.ts";
import type { PluginControl } from "./plugin-control.ts";
import type { Command } from "./plugin.ts";

/**
 * Runs a command of a plugin; what it gives is JSON.
 * @throws RoomtapError of its own as it is, else `plugin_failed` with what it threw; `result_too_large`; `closed` when
 * nobody waits any more, whatever it makes of that
 */
export async function runCommand(
  plugin: string,
  command: Command,
  call: Parameters<PluginControl["run"]>[2],
): Promise<unknown> {
  let text: string | undefined;
  try {
    text = JSON.stringify(await command.run(call)) as string | undefined;
  } catch (fault) {
    if (call.signal.aborted) {
      throw new RoomtapError("closed", `plugin ${plugin}: command ${command.name}: nobody waits for it any more`);
    }
    if (fault instanceof RoomtapError) throw fault;
    const message = `plugin ${plugin}: command ${command.name}: ${messageOf(fault)}`;
    throw new RoomtapError("plugin_failed", message, { cause: fault });
  }
  // Nothing, and what has no JSON, is null there as well.
  if (text === undefined) return null;
  const most = limits.maxCommandResultBytes;
  if (utf8Length(text) <= most) return JSON.parse(text);
  throw new RoomtapError("result_too_large", `plugin ${plugin}: command ${command.name}: gave more than ${most} bytes`);
}
