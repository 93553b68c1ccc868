import type { ConsumerStats } from "../observers/index.ts";
import type { Permit } from "./permit.ts";
import type { Command, PluginCaller } from "./plugin.ts";

/** Where a plugin's code runs. */
export type Isolation = "inline" | "worker";

/**
 * What a plugin is doing. `restarting`: its worker ended and is started again; `failed`: it could not be set up, or failed
 * again and again and was taken out; until it is enabled or reloaded it gets nothing.
 */
export type PluginState = "loading" | "running" | "restarting" | "disabled" | "failed";

/** A plugin as operators see it. */
export interface PluginInfo {
  readonly id: string;
  readonly version: string;
  readonly state: PluginState;
  readonly isolation: Isolation;
  /** The file it was loaded from; null for one that was handed over in code. */
  readonly path: string | null;
  readonly permit: Permit;
  /** Of its manifest. */
  readonly disclosure: string | null;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly handlers: readonly ConsumerStats[];
  /** Method and path of each. */
  readonly routes: readonly string[];
  readonly commands: readonly Pick<Command, "name" | "summary">[];
  /** Faults that no handler's counters have: of code that runs later, of its worker, of hooks. */
  readonly faults: number;
  /** How often its worker was started again. */
  readonly restarts: number;
  /** Secrets masked; null while there was none. */
  readonly last_fault: string | null;
}

/** What operators do with plugins. One change at a time. */
export interface PluginControl {
  list(): readonly PluginInfo[];
  /** @throws RoomtapError `unknown_plugin`, and as loading it does */
  enable(id: string): Promise<PluginInfo>;
  /** Drains and unloads it; it stays in the list. @throws RoomtapError `unknown_plugin` */
  disable(id: string): Promise<PluginInfo>;
  /**
   * Loads its file anew. What is wrong with its file, manifest or config is found first: then the one that runs goes on.
   * @throws RoomtapError `unknown_plugin`, `invalid_plugin` for one that was handed over in code, and as loading it does
   */
  reload(id: string): Promise<PluginInfo>;
  /** @throws RoomtapError `unknown_plugin`, `unknown_command` */
  command(id: string, name: string): Command;
  /**
   * Runs a command, whose scope the caller has been found to hold.
   * @throws RoomtapError `unknown_plugin`, `unknown_command`, `plugin_failed`, `plugin_lost`, `result_too_large`
   */
  run(
    id: string,
    name: string,
    call: { readonly args: readonly string[]; readonly caller: PluginCaller; readonly signal: AbortSignal },
  ): Promise<unknown>;
}
