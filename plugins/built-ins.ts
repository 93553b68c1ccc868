import { RoomtapError } from "../core/index.ts";
import { builtFile } from "./built-file.ts";

/**
 * Built-in plugins that a config can name, `builtin:crew`: those that need nothing but JSON. Modules of the build with the
 * plugin as their default export.
 */
const names = ["crew", "recorder", "metrics", "otel", "inspector"] as const;

const prefix = "builtin:";

/** Whether a path names a built-in plugin, and no place on disk. */
export function isBuiltIn(path: string): boolean {
  return path.startsWith(prefix);
}

/** Absolute path of a built-in plugin's module. @throws RoomtapError `invalid_plugin`, naming those that there are */
export function builtInFile(path: string): string {
  const name = names.find((each) => path === `${prefix}${each}`);
  if (name !== undefined) return builtFile(`${name}/plugin.js`);
  const known = names.map((each) => `${prefix}${each}`);
  throw new RoomtapError("invalid_plugin", `plugin at ${path}: no such built-in; known: ${known.join(", ")}`);
}
