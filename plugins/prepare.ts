import { RoomtapError, type Clock } from "../core/index.ts";
import type { PluginObjectEntry, PluginPathEntry } from "./entry.ts";
import { inlineCode, type Guard } from "./inline-code.ts";
import { importInTime } from "./import-plugin.ts";
import type { InstanceParts, LoadedCode, PluginAbout } from "./instance.ts";
import { parseManifest, type Manifest } from "./manifest.ts";
import { permitOf, type Permit } from "./permit.ts";
import type { Isolation, PluginInfo, PluginState } from "./plugin-control.ts";
import { findPlugin, type PluginSource } from "./plugin-source.ts";
import type { AnyPlugin } from "./plugin.ts";
import { isInRange } from "./versions.ts";

/** A plugin that was found, read and judged, and has not been set up. */
export interface Prepared {
  readonly id: string;
  readonly version: string;
  readonly entry: PluginObjectEntry | PluginPathEntry;
  readonly isolation: Isolation;
  /** null for one that was handed over in code. */
  readonly file: string | null;
  readonly permit: Permit;
  readonly disclosure: string | null;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly code: LoadedCode;
}

/** How code is read. */
export interface Loaders {
  /** Of a file, in a thread of its own. @throws RoomtapError `invalid_plugin` */
  readonly worker: (file: string) => Promise<LoadedCode>;
  readonly clock: Clock;
  /** Aborted when the host closes: then no file is waited for any more. */
  readonly closing: AbortSignal;
  /** What the code of a file that runs in the host's thread is entered through. */
  readonly guard: (parts: InstanceParts) => Guard;
  /** Versions that a manifest's `engines` are held against. */
  readonly versions: { readonly roomtap: string; readonly node: string };
}

/**
 * Says what a plugin that was handed over in code may do.
 * @throws RoomtapError `invalid_plugin`, `unknown_kind`, `not_granted`
 */
export function prepareObject(entry: PluginObjectEntry, { versions }: Loaders): Prepared {
  const code = inlineCode(entry.plugin, () => (run) => run());
  return judge({ entry, code, isolation: "inline", file: null, manifest: manifestOf(code.about) }, versions);
}

/**
 * Reads the code of a plugin in a file and says what it may do. Nothing of it is left when this rejects.
 * @param anew whether a file that was read before is read again
 * @throws RoomtapError `invalid_plugin`, `unknown_kind`, `not_granted`; `plugin_failed` when its file takes too long, `closed`
 */
export async function prepareFile(entry: PluginPathEntry, loaders: Loaders, anew = false): Promise<Prepared> {
  const source = findPlugin(entry.path);
  const first = isolationOf(entry, source.manifest, `plugin at ${entry.path}`);
  const wanted = await prepareAs(first, { entry, source, loaders, anew });
  // One that is no package says only in its code where it may run.
  if (typeof wanted !== "string") return wanted;
  const prepared = await prepareAs(wanted, { entry, source, loaders, anew });
  if (typeof prepared !== "string") return prepared;
  throw new RoomtapError(
    "invalid_plugin",
    `plugin at ${entry.path}: its manifest says isolation: "${prepared}" only there`,
  );
}

/** Gives where it wants to run, when that is elsewhere; nothing of it is left then. */
async function prepareAs(
  isolation: Isolation,
  given: {
    readonly entry: PluginPathEntry;
    readonly source: PluginSource;
    readonly loaders: Loaders;
    readonly anew: boolean;
  },
): Promise<Prepared | Isolation> {
  const { entry, source, loaders, anew } = given;
  const { file, manifest: packaged } = source;
  const code = await read(file, isolation, loaders, anew);
  let wanted: Isolation;
  try {
    const manifest = packaged ?? manifestOf(code.about);
    wanted = isolationOf(entry, manifest, `plugin ${code.about.id}`);
    if (wanted === isolation) return judge({ entry, code, isolation, file, manifest }, loaders.versions);
  } catch (fault) {
    await code.discard();
    throw fault;
  }
  await code.discard();
  return wanted;
}

async function read(file: string, isolation: Isolation, loaders: Loaders, anew: boolean): Promise<LoadedCode> {
  if (isolation === "worker") return loaders.worker(file);
  const { clock, closing: signal, guard } = loaders;
  return inlineCode((await importInTime(file, { anew, clock, signal })) as AnyPlugin, guard);
}

/** @throws RoomtapError `invalid_plugin` when operator and author want different things */
function isolationOf({ isolation }: PluginPathEntry, manifest: Manifest | null, subject: string): Isolation {
  const allowed = manifest?.isolation ?? "any";
  if (isolation === undefined) return allowed === "any" ? "worker" : allowed;
  if (allowed === "any" || allowed === isolation) return isolation;
  throw new RoomtapError(
    "invalid_plugin",
    `${subject}: its manifest says isolation: "${allowed}", and its entry "${isolation}"; leave it out of the entry`,
  );
}

/** The manifest that stands in the code; null when there is none. */
function manifestOf({ id, manifest }: PluginAbout): Manifest | null {
  return manifest === undefined ? null : parseManifest(manifest, `plugin ${id}`);
}

function judge(
  found: Pick<Prepared, "entry" | "code" | "isolation" | "file"> & { readonly manifest: Manifest | null },
  versions: Loaders["versions"],
): Prepared {
  const { code, entry, isolation, file, manifest } = found;
  const { id, version } = code.about;
  const subject = `plugin ${id}`;
  if (manifest?.id !== undefined && manifest.id !== id) {
    throw new RoomtapError("invalid_plugin", `${subject}: its manifest calls it ${manifest.id}`);
  }
  if (manifest !== null) checkEngines(manifest, versions, subject);
  return {
    ...{ id, version, entry, isolation, file, code },
    permit: permitOf(manifest, entry.grants ?? [], subject),
    disclosure: manifest?.disclosure ?? null,
    dependencies: manifest?.dependencies ?? {},
  };
}

function checkEngines({ engines }: Manifest, versions: Loaders["versions"], subject: string): void {
  for (const name of ["roomtap", "node"] as const) {
    const range = engines[name];
    if (range === undefined || isInRange(versions[name], range)) continue;
    throw new RoomtapError(
      "invalid_plugin",
      `${subject}: engines: expected ${name} ${range}, this is ${versions[name]}`,
    );
  }
}

/** It, as operators see it before it is at work, and when it is not any more. */
export function preparedInfo(prepared: Prepared, state: PluginState): PluginInfo {
  const { id, version, isolation, file, permit, disclosure, dependencies } = prepared;
  return {
    ...{ id, version, state, isolation, path: file, permit, disclosure, dependencies },
    ...{ handlers: [], routes: [], commands: [], faults: 0, restarts: 0, last_fault: null },
  };
}
