import type { OpenRequest, Report, ServerRequests, Undo } from "../core/index.ts";
import { requestEntry, RoomtapError } from "../core/index.ts";
import {
  checkConsumerOptions,
  type BatchHandler,
  type ConsumerOptions,
  type ConsumerStats,
  type Observers,
  type Subscription,
} from "../observers/index.ts";
import type { Room, RoomHost } from "../rooms/index.ts";
import { loggerOf, reportingLogger } from "./logger.ts";
import { maySeeRoom, type Permit } from "./permit.ts";
import type { Command, Logger, RoomSummary } from "./plugin.ts";
import { PluginStore, type KeyValues } from "./plugin-store.ts";
import type { RouteTable } from "./route-table.ts";
import type { HandlerRegistration, HostServices, PluginServices, RouteRegistration } from "./services.ts";
import { shown } from "./shown.ts";
import { visibleRequest, visibleRow, visibleState } from "./visible.ts";

/** What plugins are served from. */
export interface Platform {
  readonly observers: Observers;
  readonly routes: RouteTable;
  readonly report: Report;
  /** Default: warnings and errors are reported. */
  readonly logger?: Logger | undefined;
  /** Resolves when the rooms are open; rejects when the host is closed before. Absent: there are none. */
  readonly rooms?: (() => Promise<RoomHost>) | undefined;
  readonly requests?: ServerRequests | undefined;
  /** Absent: nothing can be stored. */
  readonly values?: KeyValues | undefined;
}

/** The services of one plugin, in the host's own thread, with what is registered now. */
export class LocalServices implements HostServices {
  readonly logger: Logger;
  readonly storage: PluginStore;
  readonly #id: string;
  readonly #permit: Permit;
  readonly #platform: Platform;
  readonly #subscriptions = new Set<Subscription>();
  readonly #commands = new Map<string, Command>();
  /** Counts registrations, also those that were undone: each names its consumer. */
  #registered = 0;

  constructor(id: string, permit: Permit, platform: Platform) {
    const { logger = reportingLogger(platform.report), values } = platform;
    this.#id = id;
    this.#permit = permit;
    this.#platform = platform;
    this.logger = loggerOf(logger, id);
    this.storage = new PluginStore(id, values);
  }

  /** Its commands, in order of registration. */
  get commands(): readonly Command[] {
    return [...this.#commands.values()];
  }

  /** Counters of its handlers, in order of registration. */
  get handlers(): readonly ConsumerStats[] {
    return [...this.#subscriptions].map((subscription) => subscription.stats());
  }

  observe(registration: HandlerRegistration): Undo {
    return this.#observe(this.#consumerOf(registration));
  }

  relay(registration: Omit<HandlerRegistration, "handler">, batch: number, handler: BatchHandler): Undo {
    const asked = this.#consumerOf({ ...registration, handler });
    checkConsumerOptions(asked);
    const { concurrency: _concurrency, ...rest } = asked;
    return this.#observe({ ...rest, batch, stallMs: Number.MAX_SAFE_INTEGER, handler });
  }

  renew(): void {
    for (const subscription of this.#subscriptions) subscription.renew();
  }

  async stats(): Promise<readonly ConsumerStats[]> {
    return this.handlers;
  }

  addRoute(route: RouteRegistration): Undo {
    return this.#platform.routes.add(this.#id, route);
  }

  addCommand(command: Command): Undo {
    const { name } = command;
    if (this.#commands.has(name)) {
      throw new RoomtapError("duplicate_id", `plugin ${this.#id} has a command ${name} already`);
    }
    this.#commands.set(name, command);
    return () => void this.#commands.delete(name);
  }

  async rooms(): Promise<readonly RoomSummary[]> {
    const rooms = (await this.#platform.rooms?.())?.rooms ?? [];
    return rooms
      .filter(({ record }) => maySeeRoom(this.#permit, record.room_id))
      .map(summaryOf)
      .toSorted((a, b) => (a.room_id < b.room_id ? -1 : 1));
  }

  async roomState(roomId: string): ReturnType<PluginServices["roomState"]> {
    const host = await this.#hostOf(roomId);
    return visibleState(await host.room(roomId).snapshot(), this.#permit);
  }

  async roomLog(
    roomId: string,
    given: { readonly after?: number; readonly limit?: number },
  ): ReturnType<PluginServices["roomLog"]> {
    const { after = 0, limit } = pageOf(given);
    const host = await this.#hostOf(roomId);
    const page = { since_seq: after, ...(limit === undefined ? {} : { limit }) };
    const { rows, latest_seq, has_more } = await host.log(roomId, page);
    return { rows: rows.map((row) => visibleRow(row, this.#permit)), latest_seq, has_more };
  }

  async openRequests(): ReturnType<PluginServices["openRequests"]> {
    const open = this.#platform.requests?.open() ?? [];
    return open
      .filter((request) => this.#maySee(request))
      .map((request) => visibleRequest(requestEntry(request), this.#permit));
  }

  async answer(id: string, answer: Parameters<PluginServices["answer"]>[1]): ReturnType<PluginServices["answer"]> {
    const { requests } = this.#platform;
    const known = requests?.known(id);
    if (requests === undefined || known === undefined || !this.#maySee(known)) return { status: "unknown_request" };
    return requests.answer(id, answer, `plugin:${this.#id}`);
  }

  #consumerOf({ kinds, options, handler }: HandlerRegistration): ConsumerOptions {
    const { grants } = this.#permit;
    const id = `${this.#id}#${++this.#registered}`;
    // The kinds say which events come, and the handler's type says the same.
    return { ...options, id, kinds, grants, handler } as unknown as ConsumerOptions;
  }

  #observe(consumer: ConsumerOptions): Undo {
    const subscription = this.#platform.observers.observe(consumer);
    this.#subscriptions.add(subscription);
    return () => {
      subscription.dispose();
      this.#subscriptions.delete(subscription);
    };
  }

  /** Requests of sessions outside rooms are nobody's but their clients'. */
  #maySee({ coordinates }: Pick<OpenRequest, "coordinates">): boolean {
    return coordinates !== null && maySeeRoom(this.#permit, coordinates.room_id);
  }

  /** @throws RoomtapError `unknown_room`, also for one that it may not see */
  async #hostOf(roomId: string): Promise<RoomHost> {
    const host = await this.#platform.rooms?.();
    if (host !== undefined && maySeeRoom(this.#permit, roomId)) return host;
    throw new RoomtapError("unknown_room", `no room ${roomId} is open here for plugin ${this.#id}`);
  }
}

/** No compiler has checked what a plugin says; its numbers the host of the rooms does. @throws RoomtapError `invalid_params` */
function pageOf<Page>(given: Page): Page {
  if (typeof given === "object" && given !== null) return given;
  throw new RoomtapError("invalid_params", `rooms.log: expected { after, limit }, got ${shown(given)}`);
}

function summaryOf({ record: { room_id, name, members } }: Room): RoomSummary {
  return {
    room_id,
    name,
    members: members.map(({ member_id, handle, display_name, runner_kind }) => ({
      ...{ member_id, handle, display_name, runner_kind },
    })),
  };
}
