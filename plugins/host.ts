import { hostDefaults, messageOf, RoomtapError, Steps, type Clock } from "../core/index.ts";
import type { PluginEntry, PluginObjectEntry, PluginPathEntry } from "./entry.ts";
import type { Platform } from "./local-services.ts";
import { loadOrder, unloadOrder } from "./order.ts";
import { packageVersion } from "./package-version.ts";
import type { PluginControl, PluginInfo } from "./plugin-control.ts";
import { PluginSlot } from "./plugin-slot.ts";
import type { Command } from "./plugin.ts";
import { preparedInfo, prepareFile, prepareObject, type Loaders, type Prepared } from "./prepare.ts";
import { RouteTable, type RouteMatch } from "./route-table.ts";
import { runCommand } from "./run-command.ts";
import { shown } from "./shown.ts";
import { strayGuard } from "./stray-faults.ts";
import { oneLine } from "./terminal-text.ts";
import { workerCode } from "./worker/index.ts";

/** What a plugin host works with. */
export interface PluginHostOptions extends Omit<Platform, "routes"> {
  readonly clock: Clock;
  /** Masks secrets in what operators are shown of faults. Default: nothing is masked. */
  readonly mask?: ((text: string) => string) | undefined;
}

/** A fault as the list of plugins tells it. */
const maxFaultUnits = 1_000;

/** A plugin that the host knows: at work (`slot`), or only listed (`info`). */
interface Known {
  readonly entry: PluginObjectEntry | PluginPathEntry;
  readonly slot: PluginSlot | null;
  readonly info: PluginInfo;
}

/** Runs plugins: in the host's own thread, or each in one of its own. */
export class PluginHost implements PluginControl {
  readonly #table = new RouteTable();
  readonly #options: PluginHostOptions;
  /** In order of loading. */
  readonly #known = new Map<string, Known>();
  readonly #loaders: Loaders;
  /** Changes that operators make, one at a time. */
  readonly #changes = new Steps();
  #isReady = false;
  readonly #closing = new AbortController();
  /** Set up from a reload, and not in the place of the one before yet. */
  readonly #checking = new Set<PluginSlot>();

  constructor(options: PluginHostOptions) {
    this.#options = options;
    this.#loaders = {
      worker: (file) => workerCode(file, options.clock, this.#closing.signal),
      clock: options.clock,
      closing: this.#closing.signal,
      guard: strayGuard,
      versions: { roomtap: packageVersion(), node: process.versions.node },
    };
  }

  /** Where requests to plugins find their way, and faults of what answers them to their plugin. */
  readonly routes = {
    match: (method: string, pathname: string): RouteMatch | readonly string[] | null =>
      this.#table.match(method, pathname),
    fault: (id: string, message: string, cause?: unknown): void => this.#known.get(id)?.slot?.fault(message, cause),
  };

  /** Ids of what is loaded, in order of loading. */
  get ids(): readonly string[] {
    return this.#slots().map(({ prepared }) => prepared.id);
  }

  /**
   * Checks the plugin and its config and sets it up. A failure leaves nothing of it behind.
   * @throws RoomtapError `invalid_plugin`, `unknown_kind`, `not_granted`, `duplicate_id`, `missing_dependency`,
   * `invalid_config`; of its setup the code of a RoomtapError, else `plugin_failed`; `closed` when it was unloaded meanwhile
   */
  async load(given: PluginEntry): Promise<void> {
    const entry = entryOf(given);
    const prepared = "plugin" in entry ? prepareObject(entry, this.#loaders) : await prepareFile(entry, this.#loaders);
    await this.#take(prepared);
  }

  /**
   * The same for several, each behind those that it depends on. All are read and judged before the first is set up; the
   * first that fails then ends it, and those before it stay.
   * @throws RoomtapError as `load`, and `dependency_cycle`
   */
  async loadAll(entries: readonly PluginEntry[]): Promise<void> {
    const waiting = new Set<Prepared>();
    try {
      for (const given of entries) {
        const entry = entryOf(given);
        const next = "plugin" in entry ? prepareObject(entry, this.#loaders) : await prepareFile(entry, this.#loaders);
        const isTwice = [...waiting].some(({ id }) => id === next.id);
        waiting.add(next);
        if (isTwice) throw duplicate(next.id);
      }
      const [off, on] = [[...waiting].filter(isOff), [...waiting].filter((each) => !isOff(each))];
      const ordered = [...loadOrder([...this.#orderable(), ...on]), ...off].filter((each) => waiting.has(each));
      for (const prepared of ordered) {
        waiting.delete(prepared);
        await this.#take(prepared);
      }
    } finally {
      await Promise.all([...waiting].map(({ code }) => code.discard()));
    }
  }

  /**
   * Tells all that the rooms are open, in order of loading, and waits for their hooks, 2 s at most. Those that are set up later
   * are told then.
   */
  async ready(): Promise<void> {
    this.#isReady = true;
    const running = this.#slots().filter((slot) => slot.isRunning);
    await Promise.all(running.map((slot) => slot.ready()));
  }

  /**
   * Undoes all that the plugin registered, in reverse; goes on when one step fails. Its id is free when this resolves.
   * False when it is not loaded.
   */
  async unload(id: string): Promise<boolean> {
    const slot = this.#known.get(id)?.slot ?? null;
    if (slot === null) return false;
    await slot.unload();
    if (this.#known.get(id)?.slot === slot) this.#known.delete(id);
    return true;
  }

  /**
   * Has all write down what they hold, side by side, and unloads them: each before those it depends on, else the last loaded
   * first. What is being loaded is not waited for: it is ended, and nothing is loaded any more.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#checking].map((slot) => slot.unload()));
    await Promise.all(this.#slots().map((slot) => slot.drain(hostDefaults.drainMs)));
    for (const { id } of unloadOrder(this.#orderable())) await this.unload(id);
  }

  list(): readonly PluginInfo[] {
    return [...this.#known.values()].map(({ slot, info }) => slot?.info() ?? info);
  }

  enable(id: string): Promise<PluginInfo> {
    return this.#changes.run(async () => {
      const known = this.#find(id);
      if (known.slot === null) await this.#begin(known, id);
      return this.#infoOf(id);
    });
  }

  disable(id: string): Promise<PluginInfo> {
    return this.#changes.run(async () => {
      const { slot } = this.#find(id);
      if (slot !== null) {
        this.#refuseNeeded(id);
        await this.#takeOut(id, slot, "disabled");
      }
      return this.#infoOf(id);
    });
  }

  reload(id: string): Promise<PluginInfo> {
    return this.#changes.run(async () => {
      const known = this.#find(id);
      if ("plugin" in known.entry) {
        throw new RoomtapError("invalid_plugin", `plugin ${id} was handed over in code: there is no file to load anew`);
      }
      await this.#begin(known, id);
      return this.#infoOf(id);
    });
  }

  command(id: string, name: string): Command {
    const commands = this.#find(id).slot?.commands ?? [];
    const command = commands.find((each) => each.name === name);
    if (command !== undefined) return command;
    const known = commands.length === 0 ? "none" : commands.map((each) => each.name).join(", ");
    throw new RoomtapError("unknown_command", `plugin ${id} has no command ${shown(name)}; it has: ${known}`);
  }

  async run(id: string, name: string, call: Parameters<PluginControl["run"]>[2]): Promise<unknown> {
    const command = this.command(id, name);
    const { slot } = this.#find(id);
    if (slot === null) throw new RoomtapError("plugin_lost", `plugin ${id} is not at work`);
    const signal = AbortSignal.any([call.signal, slot.signal]);
    try {
      return await slot.whileLoaded(() => runCommand(id, command, { ...call, signal }));
    } catch (fault) {
      // Whoever called may not be the one to do something about it.
      const isFault = fault instanceof RoomtapError && fault.code === "plugin_failed";
      if (isFault) slot.fault(`command ${name}: ${messageOf(fault.cause)}`, fault.cause);
      throw fault;
    }
  }

  /** Sets up what was prepared, or lists it when it is not to run. It is known from the first step on. */
  async #take(prepared: Prepared): Promise<void> {
    const { id, entry } = prepared;
    try {
      this.#checkOpen();
      if (this.#known.has(id)) throw duplicate(id);
      if (!isOff(prepared)) loadOrder([...this.#orderable(), prepared]);
    } catch (fault) {
      await prepared.code.discard();
      throw fault;
    }
    if (isOff(prepared)) {
      this.#known.set(id, { entry, slot: null, info: preparedInfo(prepared, "disabled") });
      await prepared.code.discard();
      return;
    }
    const slot = this.#slotOf(prepared);
    this.#known.set(id, { entry, slot, info: slot.info() });
    try {
      await this.#setUp(slot);
    } catch (fault) {
      if (this.#known.get(id)?.slot === slot) this.#known.delete(id);
      throw fault;
    }
  }

  async #setUp(slot: PluginSlot): Promise<void> {
    try {
      await slot.check();
    } catch (fault) {
      await slot.unload();
      throw fault;
    }
    await slot.setup();
    if (this.#isReady) await slot.ready();
  }

  /** Reads it anew and, when it is fit, puts it in the place of the one that runs. */
  async #begin({ entry, slot: before, info }: Known, id: string): Promise<void> {
    try {
      const prepared =
        "plugin" in entry ? prepareObject(entry, this.#loaders) : await prepareFile(entry, this.#loaders, true);
      await this.#replace(id, before, prepared);
    } catch (fault) {
      // One that runs goes on, unless the new one has its place already.
      const stays = before !== null && !before.isUnloading;
      const ended = before?.idleInfo("failed") ?? { ...info, state: "failed" as const };
      const failed = { ...ended, last_fault: this.#mask(messageOf(fault)) };
      if (!stays && this.#known.has(id)) this.#known.set(id, { entry, slot: null, info: failed });
      throw fault;
    }
  }

  async #replace(id: string, before: PluginSlot | null, prepared: Prepared): Promise<void> {
    const { entry, code } = prepared;
    try {
      this.#checkOpen();
      if (prepared.id !== id) throw misnamed(id, prepared.id);
      loadOrder([...this.#orderable().filter((each) => each.id !== id), prepared]);
    } catch (fault) {
      await code.discard();
      throw fault;
    }
    const slot = this.#slotOf(prepared);
    this.#checking.add(slot);
    try {
      await slot.check();
      if (before !== null) await this.#drained(before);
      this.#checkOpen();
    } catch (fault) {
      await slot.unload();
      throw fault;
    } finally {
      this.#checking.delete(slot);
    }
    this.#known.set(id, { entry, slot, info: slot.info() });
    await slot.setup();
    if (this.#isReady) await slot.ready();
  }

  /** Ends one after it has read what it holds and written down what it wants; it stays in the list. */
  async #drained(slot: PluginSlot): Promise<void> {
    const { undelivered } = await this.#options.observers.drain(hostDefaults.drainMs, slot.consumers);
    const { id } = slot.prepared;
    if (undelivered > 0) {
      const message = `plugin ${id}: ${undelivered} events were not delivered before it was unloaded`;
      this.#options.report({ code: "undelivered", message, subject: id });
    }
    await slot.drain(hostDefaults.drainMs);
    await slot.unload();
  }

  async #takeOut(id: string, slot: PluginSlot, state: "disabled" | "failed"): Promise<void> {
    const known = this.#known.get(id);
    if (known?.slot !== slot) return;
    await (state === "disabled" ? this.#drained(slot) : slot.unload());
    const info = slot.idleInfo(state);
    if (this.#known.get(id)?.slot === slot) this.#known.set(id, { ...known, slot: null, info });
  }

  #slotOf(prepared: Prepared): PluginSlot {
    const { clock, report } = this.#options;
    return new PluginSlot(prepared, {
      ...{
        clock,
        stepMs: hostDefaults.drainMs,
        setupMs: hostDefaults.setupMs,
        mask: (text: string) => this.#mask(text),
      },
      ...{ platform: { ...this.#options, routes: this.#table } },
      report,
      onGivenUp: (slot) => void this.#changes.run(() => this.#takeOut(slot.prepared.id, slot, "failed")),
    });
  }

  /** On one line, as reports have it. */
  #mask(text: string): string {
    const { mask = (given: string) => given } = this.#options;
    return oneLine(mask(text), maxFaultUnits);
  }

  /** @throws RoomtapError `closed` */
  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw new RoomtapError("closed", "the host is closed");
  }

  /** At work, or about to be. */
  #slots(): readonly PluginSlot[] {
    return [...this.#known.values()].flatMap(({ slot }) => (slot === null ? [] : [slot]));
  }

  #orderable(): readonly Prepared[] {
    return this.#slots().map(({ prepared }) => prepared);
  }

  /** @throws RoomtapError `missing_dependency`: those that need it are ended first */
  #refuseNeeded(id: string): void {
    const dependent = this.#orderable().find(({ dependencies }) => dependencies[id] !== undefined);
    if (dependent === undefined) return;
    throw new RoomtapError("missing_dependency", `plugin ${dependent.id} depends on ${id}: disable that one first`);
  }

  /** @throws RoomtapError `unknown_plugin` */
  #find(id: string): Known {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const ids = [...this.#known.keys()];
    throw new RoomtapError(
      "unknown_plugin",
      `no plugin ${shown(id)} here; there are: ${ids.length === 0 ? "none" : ids.join(", ")}`,
    );
  }

  #infoOf(id: string): PluginInfo {
    const { slot, info } = this.#find(id);
    return slot?.info() ?? info;
  }
}

function entryOf(given: PluginEntry): PluginObjectEntry | PluginPathEntry {
  return typeof given === "string" ? { path: given } : given;
}

function isOff({ entry }: Prepared): boolean {
  return "path" in entry && entry.enabled === false;
}

function duplicate(id: string): RoomtapError {
  return new RoomtapError("duplicate_id", `a plugin with the id ${id} is loaded already`);
}

function misnamed(id: string, found: string): RoomtapError {
  return new RoomtapError("invalid_plugin", `plugin ${id}: its file holds ${found} now`);
}
