import { pathToFileURL } from "node:url";
import { messageOf, RoomtapError } from "../core/index.ts";

let loads = 0;

/**
 * Runs a module and gives what it exports by default. A module is read once in a process: to see a changed one it is asked
 * for by another name. What it imports by itself stays as it was read first.
 * @throws RoomtapError `invalid_plugin` with what it threw as the cause
 */
export async function importPlugin(file: string, { anew }: { readonly anew: boolean }): Promise<unknown> {
  const { href } = pathToFileURL(file);
  try {
    const module = (await import(anew ? `${href}?load=${++loads}` : href)) as { readonly default?: unknown };
    if (module.default !== undefined) return module.default;
  } catch (fault) {
    throw new RoomtapError("invalid_plugin", `plugin at ${file}: cannot be imported: ${messageOf(fault)}`, {
      cause: fault,
    });
  }
  throw new RoomtapError("invalid_plugin", `plugin at ${file}: expected a plugin as its default export, found none`);
}
