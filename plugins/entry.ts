import { RoomtapError } from "../core/index.ts";
import type { Grant } from "../observers/index.ts";
import type { AnyPlugin, Plugin, StandardResult } from "./plugin.ts";

/** A plugin as a host is given it. */
export interface PluginEntry {
  readonly plugin: AnyPlugin;
  readonly config?: unknown;
  /** What it may see beyond the rest; default nothing. */
  readonly grants?: readonly Grant[] | undefined;
}

const pluginId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

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

/** What was found, for a message: short texts and numbers as they are, of all else its type. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 80));
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  return Array.isArray(value) ? "a list" : typeof value;
}
