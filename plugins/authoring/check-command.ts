import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { messageOf, RoomtapError } from "../../core/index.ts";
import type { PluginPathEntry } from "../entry.ts";
import type { Output } from "../output.ts";
import { pluginGrants, type PluginGrant } from "../permit.ts";
import type { Isolation, PluginInfo } from "../plugin-control.ts";
import { findPlugin, type PluginSource } from "../plugin-source.ts";
import { checkTypes } from "./type-check.ts";

/** What `roomtap plugin check` is asked for. */
export interface CheckOptions {
  /** A file of JSON: what the plugin is loaded with. */
  readonly config?: string | undefined;
  /** What it is granted. Default: what its manifest asks for. */
  readonly grant?: readonly string[] | undefined;
  readonly isolation?: Isolation | undefined;
  readonly json?: boolean | undefined;
}

/** What the kit for authors gives the command. */
export interface CheckKit {
  readonly conformanceChecks: (
    entry: PluginPathEntry,
  ) => readonly { readonly name: string; readonly isolation: Isolation; readonly run: () => Promise<void> }[];
  readonly openTestHost: (entry: PluginPathEntry) => Promise<{
    readonly info: () => PluginInfo | undefined;
    readonly close: () => Promise<void>;
  }>;
}

/** What was looked at, and what was found. */
export interface Finding {
  readonly check: string;
  readonly status: "ok" | "failed" | "skipped";
  readonly message?: string;
  readonly remedy?: string;
}

/** Looks at one plugin, step by step; each finding is told when it is there. */
class Inspection {
  readonly findings: Finding[] = [];
  plugin: Pick<PluginInfo, "id" | "version"> | null = null;
  readonly #tell: (finding: Finding) => Promise<void>;

  constructor(tell: (finding: Finding) => Promise<void>) {
    this.#tell = tell;
  }

  get failures(): number {
    return this.findings.filter(({ status }) => status === "failed").length;
  }

  async add(finding: Finding): Promise<void> {
    this.findings.push(finding);
    await this.#tell(finding);
  }

  /** What `work` gives; null when it failed, which is then a finding. */
  async attempt<Value>(check: string, work: () => Value | Promise<Value>, remedy?: string): Promise<Value | null> {
    try {
      const value = await work();
      await this.add({ check, status: "ok" });
      return value;
    } catch (fault) {
      const known = fault instanceof RoomtapError ? fault.remedy : undefined;
      const advice = remedy ?? known;
      const told = { check, status: "failed", message: messageOf(fault) } as const;
      await this.add({ ...told, ...(advice === undefined ? {} : { remedy: advice }) });
      return null;
    }
  }
}

/**
 * Looks at a plugin as a host would, and at what every plugin must survive.
 * @returns 1 when anything was found
 * @throws RoomtapError `invalid_params` for a config or a grant that is none
 */
export async function checkPluginCommand(
  path: string,
  options: CheckOptions,
  { output: { out }, kit }: { readonly output: Output; readonly kit: CheckKit },
): Promise<number> {
  const given = { config: configOf(options.config), grants: grantsOf(options.grant) };
  const inspection = new Inspection(async (finding) => (options.json === true ? undefined : out(lineOf(finding))));
  const unbuilt = existsSync(join(path, "tsconfig.json"))
    ? "Build it first, if it is not built: npm run build."
    : undefined;
  const source = await inspection.attempt("manifest and entry file", () => findPlugin(path), unbuilt);
  if (source !== null) await lookAt(inspection, { path, source, options, given, kit });
  const { findings, failures, plugin } = inspection;
  if (options.json === true) await out(JSON.stringify({ path: resolve(path), plugin, ok: failures === 0, findings }));
  else
    await out(
      `${plugin === null ? path : `${plugin.id} ${plugin.version}`}: ${findings.length} looked at, ${failures} failed`,
    );
  return failures === 0 ? 0 : 1;
}

interface Subject {
  readonly path: string;
  readonly source: PluginSource;
  readonly options: CheckOptions;
  readonly given: { readonly config: unknown; readonly grants: readonly PluginGrant[] | undefined };
  readonly kit: CheckKit;
}

async function lookAt(inspection: Inspection, { path, source, options, given, kit }: Subject): Promise<void> {
  const { manifest, file } = source;
  if (manifest === null) {
    await inspection.add({ check: "manifest", status: "skipped", message: "its package.json says nothing of roomtap" });
  }
  const types = await checkTypes(packageFolder(file));
  const remedy = types.status === "failed" ? { remedy: "Correct the types, and build it." } : {};
  await inspection.add({ check: "types", ...types, ...remedy });
  const grants = given.grants ?? (manifest === null ? [] : pluginGrants);
  const allowed = manifest?.isolation ?? "any";
  const all: readonly Isolation[] = allowed === "any" ? ["inline", "worker"] : [allowed];
  for (const isolation of options.isolation === undefined ? all : [options.isolation]) {
    const entry = { path, isolation, grants, config: given.config };
    const isLoaded = await inspection.attempt(`loads (${isolation})`, async () => {
      const host = await kit.openTestHost(entry);
      const info = host.info();
      if (info !== undefined) inspection.plugin = { id: info.id, version: info.version };
      await host.close();
      return true;
    });
    if (isLoaded === null) continue;
    for (const { name, run } of kit.conformanceChecks(entry)) await inspection.attempt(name, run);
  }
}

/** The folder of the package that a module belongs to. */
function packageFolder(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json")) || folder === dirname(folder)) return folder;
  }
}

/** @throws RoomtapError `invalid_params` */
function configOf(file: string | undefined): unknown {
  if (file === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as unknown;
  } catch (fault) {
    const message = `--config ${file}: expected a file of JSON: ${messageOf(fault)}`;
    throw new RoomtapError("invalid_params", message, { cause: fault });
  }
}

/** @throws RoomtapError `invalid_params` */
function grantsOf(words: readonly string[] | undefined): readonly PluginGrant[] | undefined {
  return words?.map((word) => {
    const grant = pluginGrants.find((each) => each === word);
    if (grant !== undefined) return grant;
    throw new RoomtapError("invalid_params", `--grant: no such word ${word}; known: ${pluginGrants.join(", ")}`);
  });
}

function lineOf({ check, status, message, remedy }: Finding): string {
  // What a check found says already what to do.
  const advice = remedy === undefined || message?.includes(remedy) === true ? [] : [remedy];
  const told = [...(message === undefined ? [] : message.split("\n")), ...advice].join("\n         ");
  return `${status.padEnd(8)} ${check}${told === "" ? "" : `: ${told}`}`;
}
