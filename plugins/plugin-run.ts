import { messageOf, type Clock } from "../core/index.ts";
import type { Permit } from "./permit.ts";
import { pluginContext } from "./plugin-context.ts";
import type { Plugin } from "./plugin.ts";
import { Registrations } from "./registrations.ts";
import type { PluginServices } from "./services.ts";

/** What a plugin is set up with. */
export interface PluginRunParts {
  readonly id: string;
  readonly permit: Permit;
  readonly services: PluginServices;
  readonly clock: Clock;
  /** How long a step of the unloading is waited for. */
  readonly stepMs: number;
  /** Told of each step that threw, rejected or did not end in time, and of a hook that failed. */
  readonly onFailure: (message: string, cause: unknown) => void;
}

/**
 * A plugin from its setup to its end. The same in the host's thread and in a worker: only the services behind its context
 * differ.
 */
export class PluginRun {
  readonly #parts: PluginRunParts;
  readonly #controller = new AbortController();
  readonly #registrations: Registrations;
  readonly #readyHooks = new Set<() => unknown>();
  readonly #drainHooks = new Set<(deadlineMs: number) => unknown>();
  #isReady = false;
  #unloading: Promise<void> | null = null;

  constructor(parts: PluginRunParts) {
    this.#parts = parts;
    this.#registrations = new Registrations(parts.id);
  }

  /** Whether its unloading has begun. */
  get isUnloading(): boolean {
    return this.#unloading !== null;
  }

  /** Calls the plugin's setup. What it throws is the caller's; what it registered until then goes with `unload`. */
  async setup(plugin: Plugin, config: unknown): Promise<void> {
    const { id, permit, services, clock } = this.#parts;
    const context = pluginContext({
      ...{ id, permit, services, clock },
      signal: this.#controller.signal,
      registrations: this.#registrations,
      onReady: (run) => {
        if (!this.#isReady) return hooked(this.#readyHooks, run);
        void this.#step(run, "getting ready", Infinity);
        return () => undefined;
      },
      onDrain: (run) => hooked(this.#drainHooks, run),
      defer: (undo) => {
        // A setup that goes on after its unloading leaves nothing behind either.
        if (this.#controller.signal.aborted) void this.#step(undo, "unloading", this.#parts.stepMs);
        else this.#registrations.defer(undo);
      },
    });
    await plugin.setup(context, config);
  }

  /** Tells the plugin that the rooms are open. A hook that fails is told of, and keeps nobody. */
  async ready(): Promise<void> {
    this.#isReady = true;
    const hooks = [...this.#readyHooks];
    this.#readyHooks.clear();
    await Promise.all(hooks.map((hook) => this.#step(hook, "getting ready", Infinity)));
  }

  /** Has the plugin write down what it holds. To be called when no event is on its way any more. */
  async drain(deadlineMs: number): Promise<void> {
    const hooks = [...this.#drainHooks];
    this.#drainHooks.clear();
    await Promise.all(hooks.map((hook) => this.#step(() => hook(deadlineMs), "draining", deadlineMs)));
  }

  /** Undoes all that was registered, in reverse; goes on when a step fails. Safe to call twice. */
  unload(): Promise<void> {
    return (this.#unloading ??= this.#undoAll());
  }

  async #undoAll(): Promise<void> {
    this.#controller.abort();
    for (let undo = this.#registrations.takeLast(); undo !== undefined; undo = this.#registrations.takeLast()) {
      await this.#step(undo, "unloading", this.#parts.stepMs);
    }
  }

  /** Never rejects. */
  async #step(run: () => unknown, what: string, deadlineMs: number): Promise<void> {
    try {
      const result = run();
      if (!(result instanceof Promise) || (await this.#endsInTime(result, deadlineMs))) return;
      throw new Error(`it takes longer than ${deadlineMs} ms, and is waited for no longer`);
    } catch (fault) {
      this.#parts.onFailure(`a step of its ${what} failed: ${messageOf(fault)}`, fault);
    }
  }

  /** No plugin holds up a host that closes. */
  #endsInTime(step: Promise<unknown>, deadlineMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const stopTimer = this.#parts.clock.after(deadlineMs, () => resolve(false));
      void step.then(() => resolve(true), reject).finally(stopTimer);
    });
  }
}

function hooked<Hook>(hooks: Set<Hook>, run: Hook): () => void {
  hooks.add(run);
  return () => void hooks.delete(run);
}
