import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { messageOf, RoomtapError } from "../core/index.ts";
import { builtInFile, isBuiltIn } from "./built-ins.ts";
import { parseManifest, type Manifest } from "./manifest.ts";

/** A plugin on disk: found, and not run yet. */
export interface PluginSource {
  /** Absolute path of its module. */
  readonly file: string;
  /** Of its package.json; null when that says nothing of roomtap, or there is none. */
  readonly manifest: Manifest | null;
}

/**
 * Finds a plugin: a built-in, a module, or the folder of a package. The package.json that counts is the nearest one above the
 * module.
 * @param path `builtin:crew`, absolute, or from the working directory
 * @throws RoomtapError `invalid_plugin` when there is none, or its package.json is none; of its manifest as `parseManifest`
 */
export function findPlugin(path: string): PluginSource {
  const place = isBuiltIn(path) ? builtInFile(path) : resolve(path);
  if (!existsSync(place)) throw problem(path, "expected a module or the folder of a package, found nothing there");
  const isFolder = statSync(place).isDirectory();
  const file = realpathSync(isFolder ? moduleOf(place) : place);
  if (!/\.[cm]?js$/.test(file)) throw problem(path, "expected a module that ends in .js, .mjs or .cjs");
  const packageFile = nearestPackage(dirname(file));
  const manifest = packageFile === null ? undefined : readPackage(packageFile)["roomtap"];
  return { file, manifest: manifest === undefined ? null : parseManifest(manifest, `plugin at ${path}`) };
}

function problem(path: string, what: string): RoomtapError {
  return new RoomtapError("invalid_plugin", `plugin at ${path}: ${what}`);
}

type PackageJson = Readonly<Record<string, unknown>>;

function readPackage(file: string): PackageJson {
  try {
    const content: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof content === "object" && content !== null) return content as PackageJson;
  } catch (fault) {
    throw new RoomtapError("invalid_plugin", `${file}: ${messageOf(fault)}`, { cause: fault });
  }
  throw problem(file, "expected an object");
}

function nearestPackage(folder: string): string | null {
  const file = join(folder, "package.json");
  if (existsSync(file)) return file;
  const above = dirname(folder);
  return above === folder ? null : nearestPackage(above);
}

/** What `import` of the package would give: `exports`, then `main`, then `index.js`. */
function moduleOf(folder: string): string {
  const file = join(folder, "package.json");
  if (!existsSync(file)) throw problem(folder, "expected a package.json in the folder, found none");
  const { exports, main } = readPackage(file);
  const named = [entryOf(exports), main, "index.js"].find((each) => typeof each === "string");
  const module = join(folder, String(named));
  if (existsSync(module) && statSync(module).isFile()) return module;
  throw problem(folder, `its package.json leads to ${String(named)}, which is not there`);
}

/** Conditions in the order in which they stand, as Node reads them. */
function entryOf(exports: unknown): unknown {
  if (typeof exports !== "object" || exports === null) return exports;
  const entries = Object.entries(exports);
  const main = entries.find(([key]) => key === ".");
  if (main !== undefined) return entryOf(main[1]);
  const chosen = entries.find(([key]) => ["node", "import", "module-sync", "default"].includes(key));
  return chosen === undefined ? undefined : entryOf(chosen[1]);
}
