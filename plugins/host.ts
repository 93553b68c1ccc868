import { limits, messageOf, RoomtapError, type Clock, type Report, type Undo } from "../core/index.ts";
import type { ConsumerStats, Grant, Observers, Subscription } from "../observers/index.ts";
import { kindsOf } from "./patterns.ts";
import type { AnyPlugin, Logger, Plugin, PluginContext, StandardResult } from "./plugin.ts";

/** A plugin as a host is given it. */
export interface PluginEntry {
  readonly plugin: AnyPlugin;
  readonly config?: unknown;
  /** What it may see beyond the rest; default nothing. */
  readonly grants?: readonly Grant[] | undefined;
}

export interface PluginHostOptions {
  readonly observers: Observers;
  readonly clock: Clock;
  readonly report: Report;
  /** Where plugins log to; the plugin's id stands in each line's fields. */
  readonly logger: Logger;
}

interface Loaded {
  readonly id: string;
  readonly controller: AbortController;
  /** In the order of registration. */
  readonly undos: (() => unknown)[];
  readonly subscriptions: Subscription[];
}

const pluginId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Runs plugins in the host's own thread: for built-ins, and for plugins that the embedder hands over and trusts. */
export class PluginHost {
  readonly #options: PluginHostOptions;
  readonly #loaded = new Map<string, Loaded>();

  constructor(options: PluginHostOptions) {
    this.#options = options;
  }

  /** Ids of what is loaded, in order of loading. */
  get ids(): readonly string[] {
    return [...this.#loaded.keys()];
  }

  /**
   * Checks the plugin and its config and sets it up. A failure leaves nothing of it behind.
   * @throws RoomtapError `invalid_plugin`, `duplicate_id`, `invalid_config`, `plugin_failed`
   */
  async load(entry: PluginEntry): Promise<void> {
    const { plugin } = entry;
    checkPlugin(plugin);
    const { id } = plugin;
    if (this.#loaded.has(id)) throw new RoomtapError("duplicate_id", `a plugin with the id ${id} is loaded already`);
    const loaded: Loaded = { id, controller: new AbortController(), undos: [], subscriptions: [] };
    this.#loaded.set(id, loaded);
    try {
      const config = await configOf(entry);
      await (plugin as Plugin).setup(this.#context(loaded, entry.grants ?? []), config);
    } catch (fault) {
      await this.unload(id);
      if (fault instanceof RoomtapError && fault.code === "invalid_config") throw fault;
      throw new RoomtapError("plugin_failed", `plugin ${id}: ${messageOf(fault)}`, { cause: fault });
    }
  }

  /** Undoes all that the plugin registered, in reverse; goes on when one step fails. False when it is not loaded. */
  async unload(id: string): Promise<boolean> {
    const loaded = this.#loaded.get(id);
    if (loaded === undefined) return false;
    this.#loaded.delete(id);
    loaded.controller.abort();
    for (const undo of loaded.undos.toReversed()) {
      try {
        await undo();
      } catch (fault) {
        const message = `plugin ${id}: a step of its unloading failed: ${messageOf(fault)}`;
        this.#options.report({ code: "plugin_failed", message, subject: id, cause: fault });
      }
    }
    return true;
  }

  /** Unloads all, the last loaded first. */
  async close(): Promise<void> {
    for (const id of this.ids.toReversed()) await this.unload(id);
  }

  #context(loaded: Loaded, grants: readonly Grant[]): PluginContext {
    const { observers, clock, logger } = this.#options;
    const { id } = loaded;
    let handlers = 0;
    return {
      id,
      clock,
      logger: named(logger, id),
      signal: loaded.controller.signal,
      stats: (): readonly ConsumerStats[] => loaded.subscriptions.map((subscription) => subscription.stats()),
      defer: (undo) => void loaded.undos.push(undo),
      on: (pattern, handler, options = {}) => {
        if (loaded.controller.signal.aborted) throw new RoomtapError("closed", `plugin ${id} is unloaded`);
        if (loaded.subscriptions.length >= limits.maxHandlersPerPlugin) {
          const cap = limits.maxHandlersPerPlugin;
          throw new RoomtapError("too_many_consumers", `plugin ${id} has ${cap} handlers, and may have no more`);
        }
        const kinds = kindsOf(pattern);
        // The pattern says which events come, and its type says the same to the handler.
        const handle = handler as (event: unknown) => unknown;
        const subscription = observers.observe({ ...options, id: `${id}#${++handlers}`, kinds, grants, handler: handle });
        return register(loaded, subscription);
      },
    };
  }
}

function register(loaded: Loaded, subscription: Subscription): Undo {
  const undo = (): void => {
    subscription.dispose();
    const place = loaded.subscriptions.indexOf(subscription);
    if (place < 0) return;
    loaded.subscriptions.splice(place, 1);
    loaded.undos.splice(loaded.undos.indexOf(undo), 1);
  };
  loaded.subscriptions.push(subscription);
  loaded.undos.push(undo);
  return undo;
}

function named(logger: Logger, plugin: string): Logger {
  const say =
    (level: keyof Logger) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
      logger[level](message, { plugin, ...fields });
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}

/** Plain objects count as plugins, so a shape is all there is to check. */
function checkPlugin(plugin: unknown): asserts plugin is Plugin {
  const given: Readonly<Record<string, unknown>> = typeof plugin === "object" && plugin !== null ? { ...plugin } : {};
  const { id, version, setup, config } = given;
  const expect = (what: string, got: unknown): never => {
    const name = typeof id === "string" ? `plugin ${id.slice(0, 64)}` : "a plugin";
    throw new RoomtapError("invalid_plugin", `${name}: expected ${what}, got ${got === null ? "null" : typeof got}`);
  };
  if (typeof plugin !== "object" || plugin === null) expect("an object as definePlugin takes it", plugin);
  if (typeof id !== "string" || !pluginId.test(id)) expect("id: 1 to 64 of A-Z a-z 0-9 . _ -", id);
  if (typeof version !== "string") expect("version: a string", version);
  // A method of a class stands on the prototype, which the copy above does not have.
  const hasSetup = typeof setup === "function" || typeof (plugin as Partial<Plugin>).setup === "function";
  if (!hasSetup) expect("setup: a function", setup);
  if (config !== undefined && !(typeof config === "object" && config !== null && "~standard" in config)) {
    expect("config: a Standard Schema, or nothing", config);
  }
}

async function configOf({ plugin, config }: PluginEntry): Promise<unknown> {
  const schema = plugin.config;
  if (schema === undefined) return config;
  const result: StandardResult<unknown> = await schema["~standard"].validate(config);
  if (result.issues === undefined) return result.value;
  const issue = result.issues[0];
  const path = issue?.path?.map((part) => String(typeof part === "object" ? part.key : part)).join(".") ?? "";
  const where = path === "" ? "config" : `config.${path}`;
  throw new RoomtapError("invalid_config", `plugin ${plugin.id}: ${where}: ${issue?.message ?? "is not valid"}`);
}
