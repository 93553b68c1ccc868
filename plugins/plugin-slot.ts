import { setMaxListeners } from "node:events";
import { messageOf, RoomtapError, type Clock, type Report } from "../core/index.ts";
import { FaultNotices } from "./fault-notices.ts";
import type { InstanceParts, PluginInstance } from "./instance.ts";
import { LocalServices, type Platform } from "./local-services.ts";
import type { PluginInfo, PluginState } from "./plugin-control.ts";
import type { Command } from "./plugin.ts";
import { preparedInfo, type Prepared } from "./prepare.ts";

/** What a slot works with. */
export interface SlotParts {
  readonly platform: Platform;
  readonly clock: Clock;
  /** How long a step of an unloading is waited for, and its hooks when the rooms are open. */
  readonly stepMs: number;
  /** How long its config and its setup may take. */
  readonly setupMs: number;
  /** A text as operators may see it. */
  readonly mask: (text: string) => string;
  readonly report: Report;
  /** Told that the plugin failed too often and is to be taken out. */
  readonly onGivenUp: (slot: PluginSlot) => void;
}

/** One plugin at work: its code, what it is served with, and how it has fared. */
export class PluginSlot {
  readonly prepared: Prepared;
  readonly #parts: SlotParts;
  readonly #services: LocalServices;
  readonly #instance: PluginInstance;
  readonly #notices: FaultNotices;
  #state: PluginState = "loading";
  #faults = 0;
  #restarts = 0;
  #lastFault: string | null = null;
  #unloading: Promise<void> | null = null;
  readonly #ended = new AbortController();

  constructor(prepared: Prepared, parts: SlotParts) {
    const { id, permit, code, entry } = prepared;
    this.prepared = prepared;
    // As many listen as calls are made.
    setMaxListeners(0, this.#ended.signal);
    this.#parts = parts;
    this.#notices = new FaultNotices(parts.clock, parts.report);
    this.#services = new LocalServices(id, permit, parts.platform);
    this.#instance = code.instance({
      ...{ id, permit, services: this.#services, clock: parts.clock, stepMs: parts.stepMs },
      config: entry.config,
      onFault: (message, cause) => this.fault(message, cause),
      onRestart: (isOver) => this.#onRestart(isOver),
      onGivenUp: (message) => this.#onGivenUp(message),
    } satisfies InstanceParts);
  }

  get isUnloading(): boolean {
    return this.#unloading !== null;
  }

  get isRunning(): boolean {
    return this.#state === "running" || this.#state === "restarting";
  }

  /** Aborted when its unloading begins. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** @throws RoomtapError `invalid_config`; `plugin_failed` when that takes too long, `closed` when it was unloaded meanwhile */
  async check(): Promise<void> {
    await this.#inTime("to check its config", this.#instance.check());
  }

  /**
   * Sets it up. When this rejects, nothing of it is left.
   * @throws RoomtapError of its own with the plugin's id in the message, else `plugin_failed`, also when it takes too long;
   * `closed` when it was unloaded meanwhile
   */
  async setup(): Promise<void> {
    const { id } = this.prepared;
    try {
      await this.#inTime("to set up", this.#instance.setup());
    } catch (fault) {
      await this.unload();
      throw setupFault(id, fault);
    }
    this.#state = "running";
  }

  /** Tells it that the rooms are open; nobody waits for hooks that take too long. Never rejects. */
  async ready(): Promise<void> {
    const { stepMs } = this.#parts;
    const given = await this.#within(this.#instance.ready(), stepMs);
    if (given === "late") this.fault(`its hooks for ready take longer than ${stepMs} ms, and are waited for no longer`);
  }

  /** Has it write down what it holds; takes at most so long. */
  async drain(deadlineMs: number): Promise<void> {
    if (this.isRunning && !this.isUnloading) await this.#instance.drain(deadlineMs);
  }

  /** Undoes all that it registered, in reverse, and ends it. Safe to call twice. */
  unload(): Promise<void> {
    if (this.#unloading === null) {
      this.#unloading = this.#instance.unload().finally(() => this.#notices.close());
      this.#ended.abort();
    }
    return this.#unloading;
  }

  /** What `call` gives. @throws RoomtapError `plugin_lost` when it is unloaded before */
  async whileLoaded<Value>(call: () => Promise<Value>): Promise<Value> {
    const { id } = this.prepared;
    const given = call().then((value) => ({ value }));
    const result = await this.#within(given, Infinity);
    if (typeof result !== "string") return result.value;
    throw new RoomtapError("plugin_lost", `plugin ${id} was unloaded before it answered`);
  }

  /** What `step` gives. @throws RoomtapError `closed`, `plugin_failed` */
  async #inTime(what: string, step: Promise<void>): Promise<void> {
    const { id } = this.prepared;
    const { setupMs } = this.#parts;
    const given = await this.#within(step, setupMs);
    if (given === "ended") throw new RoomtapError("closed", `plugin ${id} was unloaded while it was set up`);
    if (given === "late")
      throw new RoomtapError("plugin_failed", `plugin ${id}: it takes longer than ${setupMs} ms ${what}`);
  }

  /** `ended`: it was unloaded before, whatever the step makes of that. Else rejects as the step. */
  async #within<Value>(step: Promise<Value>, timeoutMs: number): Promise<Value | "late" | "ended"> {
    const { signal } = this;
    let undo = (): void => undefined;
    const over = new Promise<"late" | "ended">((resolve) => {
      const onEnd = (): void => resolve("ended");
      const stopTimer =
        timeoutMs === Infinity ? () => undefined : this.#parts.clock.after(timeoutMs, () => resolve("late"));
      signal.addEventListener("abort", onEnd);
      undo = () => {
        stopTimer();
        signal.removeEventListener("abort", onEnd);
      };
    });
    try {
      const given = await Promise.race([step, over]);
      return signal.aborted ? "ended" : given;
    } catch (fault) {
      if (signal.aborted) return "ended";
      throw fault;
    } finally {
      undo();
    }
  }

  /** Counts a fault of it that no handler's counters have, and reports it. */
  fault(message: string, cause?: unknown): void {
    const { id } = this.prepared;
    this.#faults++;
    this.#lastFault = this.#parts.mask(message);
    this.#notices.tell({ code: "plugin_failed", message: `plugin ${id}: ${message}`, subject: id, cause });
  }

  get commands(): readonly Command[] {
    return this.#services.commands;
  }

  /** Ids of its consumers. */
  get consumers(): readonly string[] {
    return this.#services.handlers.map(({ id }) => id);
  }

  /** It as operators see it, while it is at work. */
  info(): PluginInfo {
    const { id } = this.prepared;
    const routes = this.#parts.platform.routes.of(id);
    return {
      ...preparedInfo(this.prepared, this.#state),
      handlers: this.#services.handlers,
      routes: routes.map(({ method, path, options }) => `${method} ${routeText(id, path, options.at)}`),
      commands: this.commands.map(({ name, summary }) => ({ name, summary })),
      faults: this.#faults,
      restarts: this.#restarts,
      last_fault: this.#lastFault,
    };
  }

  #onGivenUp(message: string): void {
    if (this.isUnloading) return;
    this.fault(message);
    this.#parts.onGivenUp(this);
  }

  /** The same when it has been ended. */
  idleInfo(state: "disabled" | "failed"): PluginInfo {
    return { ...this.info(), state, handlers: [], routes: [], commands: [] };
  }

  #onRestart(isOver: boolean): void {
    if (this.isUnloading || this.#state === "loading") return;
    this.#state = isOver ? "running" : "restarting";
    if (!isOver) this.#restarts++;
  }
}

function routeText(id: string, path: string, at: "plugin" | "server"): string {
  return at === "server" ? path : `/plugins/${id}${path}`;
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
