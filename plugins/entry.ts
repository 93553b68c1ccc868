import { RoomtapError } from "../core/index.ts";
import type { PluginGrant } from "./permit.ts";
import type { Isolation } from "./plugin-control.ts";
import { pluginId } from "./plugin-id.ts";
import type { AnyPlugin, Plugin, StandardResult } from "./plugin.ts";
import { shown } from "./shown.ts";

/** What a host is told of a plugin, wherever that comes from. */
interface CommonEntry {
  /** Checked by the plugin's own schema. For one in a worker it must be what `structuredClone` takes. */
  readonly config?: unknown;
  /** What it may see and do beyond the rest; default nothing. What its manifest asks for and is not here is refused. */
  readonly grants?: readonly PluginGrant[] | undefined;
}

/** A plugin that is handed over in code. It runs in the host's own thread. */
export interface PluginObjectEntry extends CommonEntry {
  readonly plugin: AnyPlugin;
}

/** A plugin that is loaded from a file. */
export interface PluginPathEntry extends CommonEntry {
  /** A module, the folder of a package, or `builtin:NAME`. In a config file it is meant from where that stands. */
  readonly path: string;
  /** Default: as its manifest says, and a worker where that leaves it open. */
  readonly isolation?: Isolation | undefined;
  /** false: it is listed, and loaded once it is enabled. Default true. */
  readonly enabled?: boolean | undefined;
}

/** A plugin as a host is given it; a text is its path. */
export type PluginEntry = PluginObjectEntry | PluginPathEntry | string;

/**
 * The same plugin, when it is one. Its shape is all there is to check: plain objects and instances of classes count.
 * @throws RoomtapError `invalid_plugin`, saying what was expected and what was found
 */
export function checkPlugin(plugin: AnyPlugin): Plugin {
  const given: unknown = plugin;
  if (typeof given !== "object" || given === null) {
    throw new RoomtapError("invalid_plugin", `expected a plugin as definePlugin takes it, got ${shown(given)}`);
  }
  const { id, version, setup, config } = given as { readonly [field: string]: unknown };
  const expect = (met: boolean, what: string, got: unknown): void => {
    const name = typeof id === "string" ? `plugin ${shown(id)}` : "a plugin";
    if (!met) throw new RoomtapError("invalid_plugin", `${name}: expected ${what}, got ${shown(got)}`);
  };
  expect(
    typeof id === "string" && pluginId.test(id),
    "id: 1 to 64 of A-Z a-z 0-9 . _ - beginning with a letter or digit",
    id,
  );
  expect(typeof version === "string", "version: a string", version);
  expect(typeof setup === "function", "setup: a function", setup);
  expect(config === undefined || isStandardSchema(config), "config: a Standard Schema, or nothing", config);
  // Its own schema, checked above to be one, gives the type that its setup asks for.
  return plugin as Plugin;
}

/**
 * A plugin's config as its schema gives it; without a schema as it was handed over.
 * @throws RoomtapError `invalid_config`, naming the plugin and the path of the first problem
 */
export async function configOf({ id, config: schema }: Plugin, given: unknown): Promise<unknown> {
  if (schema === undefined) return given;
  const result: StandardResult<unknown> = await schema["~standard"].validate(given);
  if (result.issues === undefined) return result.value;
  const issue = result.issues[0];
  const path = (issue?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  const where = ["config", ...path].join(".");
  throw new RoomtapError("invalid_config", `plugin ${id}: ${where}: ${issue?.message ?? "is not valid"}`);
}

/** Some libraries give their schemas as functions. */
function isStandardSchema(value: unknown): boolean {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "~standard" in value;
}
