import type { ActivityKind, AnswerResult, JsonObject, RequestEntry, Scope, Undo } from "../core/index.ts";
import type { BatchHandler, ConsumerStats } from "../observers/index.ts";
import type { RoomSnapshot } from "../rooms/index.ts";
import type {
  BatchOptions,
  Command,
  HandlerOptions,
  Logger,
  PluginStorage,
  RoomSummary,
  RouteRequest,
  RouteResponse,
  RowPage,
} from "./plugin.ts";

/** A handler as it is registered. `kinds` and `options` have been checked against the permit. */
export interface HandlerRegistration {
  readonly kinds: readonly ActivityKind[];
  readonly options: Omit<HandlerOptions, "batch"> | BatchOptions;
  /** Called with an event, or with a list of them if the options have `batch`. */
  readonly handler: (event: never) => unknown;
}

/** A route as it is registered. */
export interface RouteRegistration {
  readonly method: string;
  readonly path: string;
  readonly options: { readonly scope: Scope | "public"; readonly at: "plugin" | "server" };
  readonly handler: (request: RouteRequest) => RouteResponse | Promise<RouteResponse>;
}

/**
 * The other side of a plugin's context: what the host does for one plugin. There are two of them, that of the host's own
 * thread and the one in a worker, which asks it over a port. What is registered is checked before it gets here.
 */
export interface PluginServices {
  readonly logger: Logger;
  readonly storage: PluginStorage;
  observe(registration: HandlerRegistration): Undo;
  stats(): Promise<readonly ConsumerStats[]>;
  addRoute(route: RouteRegistration): Undo;
  addCommand(command: Command): Undo;
  rooms(): Promise<readonly RoomSummary[]>;
  roomState(roomId: string): Promise<RoomSnapshot>;
  roomLog(roomId: string, page: { readonly after?: number; readonly limit?: number }): Promise<RowPage>;
  openRequests(): Promise<readonly RequestEntry[]>;
  answer(
    id: string,
    answer: { readonly choice?: string; readonly result?: JsonObject; readonly reason?: string },
  ): Promise<AnswerResult>;
}

/** The same in the host's thread, with what only a worker's host needs. */
export interface HostServices extends PluginServices {
  /**
   * Registers a handler that runs elsewhere. Its options are checked as they are; whatever they say of batches,
   * concurrency and stalls is left to whoever calls it: here it gets batches of `batch` events.
   */
  relay(registration: Omit<HandlerRegistration, "handler">, batch: number, handler: BatchHandler): Undo;
  /** Whoever handles from now on knows nothing of before: deltas come with everything so far. */
  renew(): void;
}
