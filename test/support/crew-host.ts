import { onTestFinished } from "vitest";
import { countingIds, createRedactor, systemIds, Tap, type ActivityEvent, type ManualClock } from "../../core/index.ts";
import { Observers } from "../../observers/index.ts";
import {
  crew,
  PluginHost,
  type CrewOptions,
  type PluginCaller,
  type PluginGrant,
  type RouteResponse,
} from "../../plugins/index.ts";
import { openSqliteLog, RoomHost, type RoomDefinition } from "../../rooms/index.ts";
import { loopClock } from "./open-log.ts";
import { turnsOfLoop } from "./turns-of-loop.ts";

/** Who may do and see everything. */
export const admin: PluginCaller = { principal: "ada", scopes: ["admin"], rooms: null, grants: ["reasoning"] };

/** Somebody with these scopes. */
export const callerWith = (...scopes: PluginCaller["scopes"]): PluginCaller => ({ ...admin, scopes, grants: [] });

/** Rooms that run, a plugin host with Crew in it, and a consumer that sees all. */
export class CrewHost {
  readonly clock: ManualClock;
  readonly tap: Tap;
  readonly plugins: PluginHost;
  readonly events: ActivityEvent[] = [];
  readonly problems: string[] = [];
  readonly #observers: Observers;
  readonly rooms: RoomHost;

  private constructor(parts: Pick<CrewHost, "clock" | "tap" | "plugins" | "rooms">, observers: Observers) {
    [this.clock, this.tap, this.plugins, this.rooms] = [parts.clock, parts.tap, parts.plugins, parts.rooms];
    this.#observers = observers;
    observers.observe({
      ...{ id: "test", grants: ["reasoning", "approvals"], maxEvents: 100_000 },
      handler: (event) => void this.events.push(event),
    });
  }

  /** Without `late` Crew is loaded and ready before the first turn. Closed with the test. */
  static async open(options: {
    readonly rooms: readonly RoomDefinition[];
    readonly grants?: readonly PluginGrant[];
    readonly config?: CrewOptions;
    readonly late?: boolean;
  }): Promise<CrewHost> {
    const clock = loopClock();
    const report = (): void => undefined;
    const log = await openSqliteLog({ file: ":memory:", clock });
    onTestFinished(() => log.close());
    const observers = new Observers({ clock, report });
    const tap = new Tap({ clock, ids: countingIds(), redactor: createRedactor({}), activity: observers, report });
    let opened: (host: RoomHost) => void = () => undefined;
    const hosted = new Promise<RoomHost>((resolve) => (opened = resolve));
    const plugins = new PluginHost({ observers, clock, report, rooms: () => hosted, requests: tap.requests });
    const { grants = ["answer", "routes", "reasoning"], config, late = false } = options;
    const load = () => plugins.load({ plugin: crew(), grants, config });
    if (!late) await load();
    const rooms = options.rooms.map((room) => ({ policy: { maxRounds: 1, maxOwedPasses: 0 }, ...room }));
    const host = await RoomHost.open({ log, tap, clock, ids: systemIds, report, rooms });
    opened(host);
    const test = new CrewHost({ clock, tap, plugins, rooms: host }, observers);
    onTestFinished(() => test.#close());
    if (!late) await plugins.ready();
    return test;
  }

  /** Loads Crew while the rooms run. */
  async load(grants: readonly PluginGrant[] = ["answer", "routes", "reasoning"]): Promise<void> {
    await this.plugins.load({ plugin: crew(), grants });
    await this.plugins.ready();
  }

  /** Posts to a room; the turns of it run on. */
  async post(text: string, roomId = "r1"): Promise<void> {
    await this.rooms.room(roomId).post({ text });
  }

  /** Waits until every event has been handed out, and looks that were due have been taken. */
  async told(): Promise<void> {
    await this.#observers.drain(1_000);
    await turnsOfLoop(5);
    this.clock.advance(250);
    await turnsOfLoop(10);
    await this.#observers.drain(1_000);
  }

  /** Calls a route as a gateway does. */
  async call(
    method: string,
    path: string,
    {
      caller = admin,
      body = "",
      signal = new AbortController().signal,
    }: {
      readonly caller?: PluginCaller | null;
      readonly body?: string;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<RouteResponse> {
    const match = this.plugins.routes.match(method, `/plugins/crew${path}`);
    if (match === null || !("route" in match)) throw new Error(`no route ${method} ${path}`);
    const { route, params } = match;
    return route.handler({ method, path: match.path, params, query: {}, headers: {}, body, caller, signal });
  }

  /** The JSON that a route gives. */
  async json(path: string, caller: PluginCaller = admin): Promise<unknown> {
    const { body, json } = await this.call("GET", path, { caller });
    return typeof body === "string" ? JSON.parse(body) : json;
  }

  async #close(): Promise<void> {
    let isClosed = false;
    const closing = (async () => {
      await this.plugins.close();
      await this.rooms.close(0);
      this.#observers.close();
      isClosed = true;
    })();
    while (!isClosed) {
      await turnsOfLoop(1);
      this.clock.advance(25);
    }
    await closing;
  }
}
