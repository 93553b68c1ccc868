import { fileURLToPath } from "node:url";
import { RoomtapError } from "../core/index.ts";

/**
 * Built-in plugins that a config can name, `builtin:crew`: those that need nothing but JSON. Modules of the build with the
 * plugin as their default export, from this one.
 */
const modules: Readonly<Record<string, string>> = {
  crew: "./crew/plugin.js",
};

const prefix = "builtin:";

/** Whether a path names a built-in plugin, and no place on disk. */
export function isBuiltIn(path: string): boolean {
  return path.startsWith(prefix);
}

/** Absolute path of a built-in plugin's module. @throws RoomtapError `invalid_plugin`, naming those that there are */
export function builtInFile(path: string): string {
  const name = path.slice(prefix.length);
  const module = Object.hasOwn(modules, name) ? modules[name] : undefined;
  if (module !== undefined) return fileURLToPath(new URL(module, import.meta.url));
  const known = Object.keys(modules).map((each) => `${prefix}${each}`);
  throw new RoomtapError("invalid_plugin", `plugin at ${path}: no such built-in; known: ${known.join(", ")}`);
}
