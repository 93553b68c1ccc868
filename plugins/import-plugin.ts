import { pathToFileURL } from "node:url";
import { hostDefaults, messageOf, RoomtapError, type Clock } from "../core/index.ts";

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

/**
 * The same; a module that does not end by itself is waited for no longer than `hostDefaults.setupMs`, as in a worker, nor once
 * `signal` is aborted. Nothing stops it: it may go on.
 * @throws RoomtapError `invalid_plugin`, `plugin_failed` when that takes too long, `closed`
 */
export async function importInTime(
  file: string,
  { anew, clock, signal }: { readonly anew: boolean; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<unknown> {
  const ms = hostDefaults.setupMs;
  let undo = (): void => undefined;
  const over = new Promise<never>((_, reject) => {
    const late = new RoomtapError("plugin_failed", `plugin at ${file}: reading its file took longer than ${ms} ms`);
    const onAbort = (): void => reject(new RoomtapError("closed", "the host is closed"));
    const stopTimer = clock.after(ms, () => reject(late));
    signal.addEventListener("abort", onAbort);
    undo = () => {
      stopTimer();
      signal.removeEventListener("abort", onAbort);
    };
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([importPlugin(file, { anew }), over]);
  } finally {
    undo();
  }
}
