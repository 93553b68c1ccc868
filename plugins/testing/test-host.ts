import {
  hostDefaults,
  kindIndex,
  RoomtapError,
  scopes,
  systemClock,
  type ActivityEvent,
  type Coordinates,
  type ManualClock,
  type Notice,
} from "../../core/index.ts";
import type { ConsumerStats } from "../../observers/index.ts";
import type { PluginEntry, PluginObjectEntry, PluginPathEntry } from "../entry.ts";
import type { PluginInfo } from "../plugin-control.ts";
import { PluginStore } from "../plugin-store.ts";
import type { PluginCaller, PluginStorage } from "../plugin.ts";
import { callRoute, type TestRequest, type TestResponse } from "./call-route.ts";
import type { GatedValues } from "./gated-values.ts";
import { openParts, type HostParts, type LogLine } from "./host-parts.ts";
import { readRecording, type Recording, type RecordingSource } from "./recording.ts";
import type { TestBounds, TestObservers } from "./test-observers.ts";
import type { TestRoom } from "./test-room.ts";
import type { TestRooms } from "./test-rooms.ts";
import { TestTurn, type TurnParts } from "./test-turn.ts";
import { patienceMs, turnsOfLoop, within } from "./waiting.ts";

/** The plugin that is tested, as a host is given it: an object, or the path of its file or folder. */
export type TestedPlugin = PluginObjectEntry | PluginPathEntry;

/** What a test host is opened with. */
export interface HostSettings {
  /** Plugins that it depends on; loaded before it. */
  readonly others?: readonly PluginEntry[] | undefined;
  /** Real rooms, with a log in memory. Default none; turns of `host.turn` need none. */
  readonly rooms?: readonly TestRoom[] | undefined;
  /** Literals that are masked everywhere, as the secrets of a host. 9 to 4,096 characters each. */
  readonly secrets?: readonly string[] | undefined;
  /** Bounds that no handler of it gets more than, so that gaps come soon. */
  readonly bounds?: TestBounds | undefined;
}

/** The plugin, and what it is opened in. */
export type TestHostOptions = TestedPlugin & HostSettings;

/** Somebody who may do everything. */
const anybody: PluginCaller = { principal: "test", scopes, rooms: null, grants: ["reasoning", "full"] };

/**
 * A host for the tests of one plugin: the real bus, the real host of plugins, and time that a test moves. Events reach the
 * plugin in later turns of the event loop, so a test says what happens and then awaits `settled()`.
 */
export class TestHost implements AsyncDisposable {
  readonly #parts: HostParts;
  readonly #tested: TestedPlugin;
  readonly #id: string;
  #turns = 0;
  #rows = 0;
  #closing: Promise<void> | null = null;

  /** Use `openTestHost`. */
  constructor(parts: HostParts, tested: TestedPlugin, id: string) {
    this.#parts = parts;
    this.#tested = tested;
    this.#id = id;
  }

  /** The plugin's id. */
  get id(): string {
    return this.#id;
  }

  /** The host's, and the plugin's `ctx.clock`; in a worker that is the system's. It stands still until `advance`. */
  get clock(): ManualClock & { readonly timers: number } {
    return this.#parts.clock;
  }

  /** What the host reported: faults, stalls, losses. */
  get notices(): readonly Notice[] {
    return this.#parts.notices;
  }

  /** What plugins logged. */
  get logs(): readonly LogLine[] {
    return this.#parts.logs;
  }

  /** Its real rooms, when it was opened with some. */
  get rooms(): TestRooms {
    return this.#parts.rooms;
  }

  /** The layer below: what handlers did, and events that no turn tells. */
  get observers(): TestObservers {
    return this.#parts.observers;
  }

  /** Where plugins store, all of them: the database of a log in memory. It can be held up. */
  get values(): GatedValues {
    return this.#parts.values;
  }

  /** The plugin's storage, with its bounds. To load it with what an earlier run has left: `unload`, `storage.set`, `load`. */
  get storage(): PluginStorage {
    return new PluginStore(this.#id, this.#parts.values);
  }

  /** The plugin as operators see it; undefined once it was unloaded. */
  info(): PluginInfo | undefined {
    return this.#parts.plugins.list().find(({ id }) => id === this.#id);
  }

  /** Counters of its handlers, in order of registration. */
  stats(): readonly ConsumerStats[] {
    return this.info()?.handlers ?? [];
  }

  /**
   * A turn that the test plays. Room `r1`, thread `main`, member `m-a`, generation 1, and ids of its own, unless `fields`
   * say otherwise. It begins with its first step.
   */
  turn(fields: Partial<Coordinates> = {}): TestTurn {
    const turn = ++this.#turns;
    const coordinates = {
      ...{ room_id: "r1", thread_id: "main", member_id: "m-a", execution_generation: 1 },
      ...{ turn_id: `t-${turn}`, task_id: `k-${turn}` },
      ...fields,
    };
    const parts: TurnParts = { tap: this.#parts.tap, nextRow: () => ++this.#rows };
    return new TestTurn(coordinates, parts);
  }

  /**
   * Holds up the calls of a plugin's handlers, so that its queues fill. Gives what lets them go on.
   * @param plugin default the one that is tested
   */
  stall(plugin = this.#id): () => void {
    return this.#parts.observers.gate(plugin).close();
  }

  /**
   * Waits until everything has been delivered and what handlers returned has settled; calls that are held up are not waited
   * for.
   * @param options.timeGoesOn lets the clock run meanwhile, as fast as the machine's
   * @throws RoomtapError `check_failed` after 5 s of the machine's time, naming who has not come back
   */
  async settled(options: { readonly timeGoesOn?: boolean } = {}): Promise<void> {
    const work = within(this.#rest(), () => {
      const running = this.#parts.observers.stats().filter((each) => each.running && this.#isAwaited(each.id));
      const who = running.map(({ id }) => id).join(", ");
      return `expected handlers to come back; after ${patienceMs} ms still running: ${who || "none, but the storage"}. If they wait for ctx.clock, advance it`;
    });
    await (options.timeGoesOn === true ? this.whileTimeGoes(work) : work);
  }

  /** Moves the clock in steps of at most 1 s, with turns of the event loop between, and waits until all has settled. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      this.#parts.clock.advance(Math.min(left, 1_000));
      await turnsOfLoop(2);
    }
    await this.settled();
  }

  /** Has the plugin lose at least `events` events, in each handler that is told of turns at all: a gap tells of them. */
  async lag(events = 1): Promise<void> {
    const release = this.stall();
    const consumers = this.#parts.observers.consumersOf(this.#id);
    const lost = (): number => {
      const counts = this.stats().filter(({ id, published }) => consumers.includes(id) && published > 0);
      return counts.length === 0 ? 0 : Math.min(...counts.map(({ dropped }) => dropped));
    };
    const room_id = this.info()?.permit.rooms?.[0] ?? "r1";
    // Each turn has events of all kinds, so a queue of any kinds overflows after as many turns as it has places.
    for (let turns = 0; turns < 20_000 && lost() < events; turns++) {
      const turn = this.turn({ room_id, member_id: "m-lag" }).started().interim("...").error("...");
      turn.tool("lag").ok().settled();
      if (turns % 64 === 0) await turnsOfLoop(1);
      if (turns === 0 && this.stats().every(({ published }) => published === 0)) break;
    }
    release();
    await this.settled({ timeGoesOn: true });
  }

  /**
   * Plays a recording into the plugin, event by event, as they were recorded: coordinates, numbers, times and gaps.
   * @returns what was played
   * @throws RoomtapError `invalid_recording` that names the line which is none
   */
  async replay(source: RecordingSource): Promise<Recording> {
    const recording = await readRecording(source);
    for (const event of recording.events) await this.deliver(event);
    return recording;
  }

  /** Hands the plugin one event as it is, also one that no turn of today tells; waits until it has been handled. */
  async deliver(event: ActivityEvent | { readonly kind: string }): Promise<void> {
    const { observers } = this.#parts;
    if ("coordinates" in event && isOfTurn(event)) observers.feed(event);
    else await within(observers.hand(event), () => `expected handlers to come back from ${event.kind}`);
    await this.settled();
  }

  /** Asks one of its routes, below its own path or at one of the server's. */
  request(
    method: string,
    path: string,
    request: TestRequest & { readonly at?: "plugin" | "server" } = {},
  ): Promise<TestResponse> {
    const { at = "plugin", caller = anybody, ...given } = request;
    const url = at === "server" ? path : `/plugins/${this.#id}${path}`;
    const signal = new AbortController().signal;
    return callRoute(this.#parts.plugins.routes, { ...given, caller, method: method.toUpperCase(), url, signal });
  }

  /** Runs one of its commands. @throws RoomtapError as `roomtap plugin run` has it */
  command(name: string, args: readonly string[] = [], caller: PluginCaller = anybody): Promise<unknown> {
    return this.#parts.plugins.run(this.#id, name, { args, caller, signal: new AbortController().signal });
  }

  /** Has it write down what it holds, unloads it and loads it again, from its file when it has one. */
  async reload(): Promise<void> {
    const { plugins } = this.#parts;
    const again = async (): Promise<void> => {
      if ("path" in this.#tested) return void (await plugins.reload(this.#id));
      await plugins.disable(this.#id);
      await plugins.enable(this.#id);
    };
    await this.whileTimeGoes(again());
  }

  /** Has it write down what it holds and unloads it, as `disable` does. */
  async disable(): Promise<void> {
    await this.whileTimeGoes(this.#parts.plugins.disable(this.#id));
  }

  /** Unloads it at once. */
  async unload(): Promise<void> {
    await this.whileTimeGoes(this.#parts.plugins.unload(this.#id));
  }

  /**
   * Loads it after an unload.
   * @param entry default: as the host was opened with it
   * @throws RoomtapError as loading does
   */
  async load(entry: TestedPlugin = this.#tested): Promise<void> {
    await this.whileTimeGoes(this.#parts.plugins.load(entry));
  }

  /** Waits for work while the clock goes as fast as the machine's: for what may wait for either. */
  async whileTimeGoes<Value>(work: Promise<Value>): Promise<Value> {
    let isOver = false;
    const done = work.finally(() => (isOver = true));
    done.catch(() => undefined);
    // What needs no time ends within these turns, and finds the clock where the test has left it.
    for (let turns = 0; turns < 100 && !isOver; turns++) await turnsOfLoop(1);
    for (let last = systemClock.monotonic(); !isOver;) {
      await turnsOfLoop(1);
      const now = systemClock.monotonic();
      this.#parts.clock.advance(now - last);
      last = now;
    }
    return done;
  }

  /** Ends rooms, the plugin and what it stands on. Safe to call twice. */
  close(): Promise<void> {
    return (this.#closing ??= this.whileTimeGoes(this.#close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { closeRooms, observers, plugins, closeLog, values } = this.#parts;
    observers.gate(this.#id).open();
    values.gate.open();
    await closeRooms();
    await observers.drain(hostDefaults.drainMs);
    await plugins.close();
    observers.close();
    await closeLog();
  }

  /** Whether a consumer's calls are not held up. */
  #isAwaited(consumer: string): boolean {
    return this.#parts.observers.running.includes(consumer);
  }

  async #rest(): Promise<void> {
    const { observers, values } = this.#parts;
    for (let quiet = 0; quiet < 2;) {
      const { calls } = observers;
      await observers.drain(Infinity, observers.running);
      await turnsOfLoop(2);
      const isQuiet = observers.calls === calls && (values.running === 0 || values.gate.isClosed);
      quiet = isQuiet ? quiet + 1 : 0;
    }
  }
}

/**
 * Opens a host with one plugin in it, set up and told that the rooms are open. Close it, or declare it with `await using`.
 * @throws RoomtapError as loading a plugin does; nothing is left open then
 */
export async function openTestHost(options: TestHostOptions): Promise<TestHost> {
  const { others = [], rooms = [], secrets = [], bounds = {}, ...tested } = options;
  if (("plugin" in tested && tested.plugin !== undefined) === ("path" in tested && tested.path !== undefined)) {
    throw new RoomtapError("invalid_params", "a test host: expected a plugin or a path, and not both");
  }
  const parts = await openParts({ rooms, secrets, bounds });
  const ids = (): readonly string[] => parts.plugins.list().map(({ id }) => id);
  const host = (id: string): TestHost => new TestHost(parts, tested, id);
  try {
    await parts.plugins.loadAll(others);
    const known = ids();
    await host("").whileTimeGoes(parts.plugins.load(tested));
    await parts.plugins.ready();
    return host(ids().find((id) => !known.includes(id)) ?? "");
  } catch (fault) {
    await host("").close();
    throw fault;
  }
}

/** Whether a queue of this version carries it. */
function isOfTurn({ kind, coordinates }: ActivityEvent): boolean {
  return kind !== "gap" && coordinates !== null && kindIndex.has(kind);
}
