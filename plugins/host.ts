import { hostDefaults, limits, messageOf, RoomtapError, type Clock, type Report, type Undo } from "../core/index.ts";
import type { ConsumerStats, Grant, Observers, Subscription } from "../observers/index.ts";
import { checkPlugin, configOf, type PluginEntry } from "./entry.ts";
import { loggerOf, reportingLogger } from "./logger.ts";
import { kindsOf } from "./patterns.ts";
import type { Logger, PluginContext } from "./plugin.ts";

/** What a plugin host works with. */
export interface PluginHostOptions {
  readonly observers: Observers;
  readonly clock: Clock;
  readonly report: Report;
  /** Where plugins log to, each with its id among the fields. Default: warnings and errors are reported. */
  readonly logger?: Logger | undefined;
}

interface Loaded {
  readonly id: string;
  readonly controller: AbortController;
  /** In the order of registration. */
  readonly undos: (() => unknown)[];
  readonly subscriptions: Subscription[];
  /** Counts registrations, also those that were undone: each names its consumer. */
  registered: number;
  unloading: Promise<void> | null;
}

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
   * @throws RoomtapError `invalid_plugin`, `duplicate_id`, `invalid_config`; of its setup the code of a RoomtapError
   * (`unknown_kind`, ...), else `plugin_failed`; `closed` when it was unloaded meanwhile
   */
  async load(entry: PluginEntry): Promise<void> {
    const plugin = checkPlugin(entry.plugin);
    const { id } = plugin;
    if (this.#loaded.has(id)) throw new RoomtapError("duplicate_id", `a plugin with the id ${id} is loaded already`);
    const controller = new AbortController();
    const loaded: Loaded = { id, controller, undos: [], subscriptions: [], registered: 0, unloading: null };
    this.#loaded.set(id, loaded);
    try {
      const config = await configOf(plugin, entry.config);
      await plugin.setup(this.#context(loaded, entry.grants ?? []), config);
    } catch (fault) {
      await this.unload(id);
      throw setupFault(id, fault);
    }
    if (loaded.unloading !== null) throw new RoomtapError("closed", `plugin ${id} was unloaded while it was set up`);
  }

  /**
   * Undoes all that the plugin registered, in reverse; goes on when one step fails. Its id is free when this resolves.
   * False when it is not loaded.
   */
  async unload(id: string): Promise<boolean> {
    const loaded = this.#loaded.get(id);
    if (loaded === undefined) return false;
    await (loaded.unloading ??= this.#undoAll(loaded));
    return true;
  }

  /** Unloads all, the last loaded first. */
  async close(): Promise<void> {
    for (const id of this.ids.toReversed()) await this.unload(id);
  }

  async #undoAll(loaded: Loaded): Promise<void> {
    loaded.controller.abort();
    for (const undo of loaded.undos.toReversed()) await this.#undo(loaded.id, undo);
    this.#loaded.delete(loaded.id);
  }

  async #undo(id: string, undo: () => unknown): Promise<void> {
    try {
      const result = undo();
      if (result instanceof Promise && !(await this.#endsInTime(result))) {
        throw new Error(`it takes longer than ${hostDefaults.drainMs} ms, and is waited for no longer`);
      }
    } catch (fault) {
      const message = `plugin ${id}: a step of its unloading failed: ${messageOf(fault)}`;
      this.#options.report({ code: "plugin_failed", message, subject: id, cause: fault });
    }
  }

  /** No plugin holds up a host that closes. */
  #endsInTime(step: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const stopTimer = this.#options.clock.after(hostDefaults.drainMs, () => resolve(false));
      void step.then(() => resolve(true), reject).finally(stopTimer);
    });
  }

  #context(loaded: Loaded, grants: readonly Grant[]): PluginContext {
    const { id, controller, subscriptions, undos } = loaded;
    const { observers, clock, report, logger = reportingLogger(report) } = this.#options;
    return {
      id,
      clock,
      logger: loggerOf(logger, id),
      signal: controller.signal,
      stats: (): readonly ConsumerStats[] => subscriptions.map((subscription) => subscription.stats()),
      defer: (undo) => {
        // A setup that goes on after its unloading leaves nothing behind either.
        if (controller.signal.aborted) void this.#undo(id, undo);
        else undos.push(undo);
      },
      on: (pattern, handler, options = {}) => {
        refuseHandler(loaded, handler);
        const kinds = kindsOf(pattern);
        // The pattern says which events come, and its type says the same to the handler.
        const handle = handler as (event: unknown) => unknown;
        const consumer = `${id}#${++loaded.registered}`;
        return register(loaded, observers.observe({ ...options, id: consumer, kinds, grants, handler: handle }));
      },
    };
  }
}

/** What a setup threw, with the plugin's id in its message. A code of roomtap's own stays what it is. */
function setupFault(id: string, fault: unknown): RoomtapError {
  const message = messageOf(fault);
  if (!(fault instanceof RoomtapError)) {
    return new RoomtapError("plugin_failed", `plugin ${id}: ${message}`, { cause: fault });
  }
  const isNamed = [":", " "].some((end) => message.startsWith(`plugin ${id}${end}`));
  return isNamed ? fault : new RoomtapError(fault.code, `plugin ${id}: ${message}`, { cause: fault });
}

function refuseHandler({ id, controller, subscriptions }: Loaded, handler: unknown): void {
  if (controller.signal.aborted) throw new RoomtapError("closed", `plugin ${id} is unloaded`);
  if (typeof handler !== "function") {
    throw new RoomtapError("invalid_params", `plugin ${id}: expected a function as handler, got ${typeof handler}`);
  }
  const cap = limits.maxHandlersPerPlugin;
  if (subscriptions.length >= cap) {
    throw new RoomtapError("too_many_consumers", `plugin ${id} has ${cap} handlers, and may have no more`);
  }
}

function register({ subscriptions, undos }: Loaded, subscription: Subscription): Undo {
  const undo = (): void => {
    subscription.dispose();
    const place = subscriptions.indexOf(subscription);
    if (place < 0) return;
    subscriptions.splice(place, 1);
    undos.splice(undos.indexOf(undo), 1);
  };
  subscriptions.push(subscription);
  undos.push(undo);
  return undo;
}
