import type { AnswerResult, Clock, JsonObject, RequestEntry, Scope, Undo } from "../core/index.ts";
import type { BatchConsumerOptions, ConsumerStats, EventConsumerOptions } from "../observers/index.ts";
import type { LogRow, RoomSnapshot } from "../rooms/index.ts";
import type { ManifestInput } from "./manifest.ts";
import type { EventFor, KindPattern } from "./patterns.ts";
import type { PluginGrant } from "./permit.ts";

/** Bounds and level of one handler; see the consumer's options. Grants are given to the plugin as a whole. */
export interface HandlerOptions extends Pick<
  EventConsumerOptions,
  "rooms" | "payload" | "maxEvents" | "maxBytes" | "maxEventBytes" | "stallMs" | "concurrency"
> {
  /** See `BatchOptions`. */
  readonly batch?: undefined;
}

/** The same for a handler of batches. */
export interface BatchOptions extends Pick<
  BatchConsumerOptions,
  "rooms" | "payload" | "maxEvents" | "maxBytes" | "maxEventBytes" | "stallMs" | "batch"
> {
  readonly concurrency?: undefined;
}

/** Where a plugin says something to the operator. Texts and fields are printed as they are: no secrets. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** A room as plugins are told of it. */
export interface RoomSummary {
  readonly room_id: string;
  readonly name: string;
  readonly members: readonly {
    readonly member_id: string;
    readonly handle: string;
    readonly display_name: string;
    /** A word such as `acp`; null for a person. */
    readonly runner_kind: string | null;
  }[];
}

/** Rows of a room's log, secrets masked. */
export interface RowPage {
  readonly rows: readonly LogRow[];
  /** Number of the last row that the room has. */
  readonly latest_seq: number;
  readonly has_more: boolean;
}

/** The rooms that the plugin may see: those of its manifest, else all that are open in this process. */
export interface PluginRooms {
  /** In the order of their ids. */
  list(): Promise<readonly RoomSummary[]>;
  /**
   * All there is to know of a room now, of one instant, and each attempt that runs in it up to the event `n`. Joined with
   * events it has no hole: of an attempt that stands in it those above its `n` are new, of one that starts later all are.
   * Before the rooms are open it waits for them; `onReady` is the place to ask.
   * @throws RoomtapError `unknown_room`, `closed`, and what the log throws
   */
  state(roomId: string): Promise<RoomSnapshot>;
  /**
   * Rows above `after` (default 0), at most `limit` (default and maximum 500).
   * @throws RoomtapError `unknown_room`, `cursor_ahead`, `invalid_params`, `closed`, and what the log throws
   */
  log(roomId: string, page?: { readonly after?: number; readonly limit?: number }): Promise<RowPage>;
}

/** Questions of agents that wait for a person. */
export interface PluginRequests {
  /** Those of rooms that the plugin may see, oldest first. Without the grant `approvals` approvals have no texts. */
  open(): Promise<readonly RequestEntry[]>;
  /**
   * Answers one of them by its exact id; the first answer wins. It is told as answered by `plugin:` and the plugin's id.
   * @param answer `choice` of an approval, or `result` as the method's schema has it; `reason` is told beside the outcome
   * @throws RoomtapError `not_granted` without the permission to answer
   */
  answer(
    id: string,
    answer: { readonly choice?: string; readonly result?: JsonObject; readonly reason?: string },
  ): Promise<AnswerResult>;
}

/** JSON values by key, in a namespace of the plugin's own, kept over restarts in the host's database. */
export interface PluginStorage {
  /** undefined when there is none. */
  get(key: string): Promise<unknown>;
  /**
   * Durable once it resolves.
   * @throws RoomtapError `quota_exceeded` above 1,024 keys or 1 MiB in all, keys included; `invalid_params` for a key that is
   * none (1 to 256 characters) and a value that is no JSON
   */
  set(key: string, value: unknown): Promise<void>;
  /** Whether there was one. */
  delete(key: string): Promise<boolean>;
  /** Keys that begin with `prefix`, in order. */
  keys(prefix?: string): Promise<readonly string[]>;
}

/** Who asks for a route or a command. */
export interface PluginCaller {
  readonly principal: string;
  readonly scopes: readonly Scope[];
  /** Ids of the rooms that are there for it; null: all. */
  readonly rooms: readonly string[] | null;
  /** What it may see besides: `reasoning`, `full`. */
  readonly grants: readonly string[];
}

/** A request to a route. */
export interface RouteRequest {
  readonly method: string;
  /** Below the plugin's own path; begins with `/`. */
  readonly path: string;
  /** What stands in the path for each `:name` of the route. */
  readonly params: Readonly<Record<string, string>>;
  /** The last one, of names that come twice; without `token` and `ticket`, which are credentials. */
  readonly query: Readonly<Record<string, string>>;
  /** In lower case; without those that hold credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** UTF-8; "" when there is none. At most 1 MiB. */
  readonly body: string;
  /** null when the route is `public` and no credential was shown. */
  readonly caller: PluginCaller | null;
  /** Aborted when whoever asked has gone, and at unload. */
  readonly signal: AbortSignal;
}

/** What a route gives. */
export interface RouteResponse {
  /** Default 200. */
  readonly status?: number | undefined;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON, in place of `body`. */
  readonly json?: unknown;
  /** An iterable is sent piece by piece, the next one asked for when the reader has taken the one before. */
  readonly body?: string | Uint8Array | AsyncIterable<string | Uint8Array> | undefined;
}

/** What stands behind a route. */
export interface RouteOptions {
  /** What the caller's credential must hold; `public` asks for none. Default `admin`. */
  readonly scope?: Scope | "public" | undefined;
  /** `plugin`: below `/plugins/ID`; `server`: at the path itself, which the manifest has to list. Default `plugin`. */
  readonly at?: "plugin" | "server" | undefined;
}

/** HTTP below the plugin's own path, `/plugins/ID`, at the servers of the host's gateways. */
export interface PluginRoutes {
  /**
   * @param path `/`, `/rooms/:room_id`, `/files/*`: a name behind a colon stands for one segment, a star at the end for the rest
   * @throws RoomtapError `not_granted` without the permission, `duplicate_id` for a route that there is already,
   * `invalid_params`, `too_many_routes` above 100
   */
  add(
    method: string,
    path: string,
    handler: (request: RouteRequest) => RouteResponse | Promise<RouteResponse>,
    options?: RouteOptions,
  ): Undo;
}

/** A command for operators: `roomtap plugin run ID NAME ARGS`, `plugins.run` on the wire. */
export interface Command {
  /** Lower-case letters, digits and `-`. */
  readonly name: string;
  /** One line: what it does. */
  readonly summary: string;
  /** What the caller's credential must hold. Default `admin`. */
  readonly scope?: Scope | undefined;
  /** Gives a text, or JSON of at most 1 MiB. */
  run(call: { readonly args: readonly string[]; readonly caller: PluginCaller; readonly signal: AbortSignal }): unknown;
}

/** Commands of the plugin. */
export interface PluginCommands {
  /** @throws RoomtapError `duplicate_id`, `invalid_params`, `too_many_commands` above 100 */
  add(command: Command): Undo;
}

/** What a plugin may touch. Everything registered here is undone, in reverse, when the plugin is unloaded. */
export interface PluginContext {
  /** The plugin's id. */
  readonly id: string;
  /** What it asks for and was granted; of a plugin without a manifest all that it was granted. `answer` has `approvals` in it. */
  readonly grants: readonly PluginGrant[];
  /**
   * Calls `handler` with the events that `pattern` names, one at a time; the next comes when what it returned has settled.
   * Each registration has a queue of its own, so two of them see events in no common order. At most 100 per plugin.
   * @param pattern a kind, a family such as `tool.*`, `*`, or a list of them
   * @param options with `batch` the handler is called with lists of events
   * @throws RoomtapError `unknown_kind`, `invalid_params`, `too_many_consumers`; `not_granted` for what the manifest does not
   * name and for what was not granted
   */
  on<Pattern extends KindPattern>(
    pattern: Pattern | readonly Pattern[],
    handler: (events: readonly EventFor<Pattern>[]) => unknown,
    options: BatchOptions,
  ): Undo;
  on<Pattern extends KindPattern>(
    pattern: Pattern | readonly Pattern[],
    handler: (event: EventFor<Pattern>) => unknown,
    options?: HandlerOptions,
  ): Undo;
  /** Calls `run` once, when all plugins are set up and the rooms are open; at once when they are. */
  onReady(run: () => unknown): Undo;
  /**
   * Calls `run` at unload, when no event is on its way any more and before anything is undone: to write down what is held.
   * It is waited for, at most until the deadline.
   */
  onDrain(run: (deadlineMs: number) => unknown): Undo;
  /** Calls `undo` at unload, before what was registered earlier is undone. */
  defer(undo: () => unknown): void;
  readonly rooms: PluginRooms;
  readonly requests: PluginRequests;
  readonly storage: PluginStorage;
  readonly routes: PluginRoutes;
  readonly commands: PluginCommands;
  /** The host's logger. A host without one reports warnings and errors as notices, and drops debug and info. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Aborted when the plugin is unloaded, before anything of it is undone. */
  readonly signal: AbortSignal;
  /** Counters of its handlers, in order of registration. */
  stats(): Promise<readonly ConsumerStats[]>;
}

/** A schema of any library that speaks Standard Schema 1 (zod 4, valibot, arktype, ...). */
export interface StandardSchema<Output> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a schema makes of a value: the value as it is to be used, or what is wrong with it. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** A plugin: what it is called, what it may be told, and how it is set up. */
export interface Plugin<Config = unknown> {
  /** Letters, digits, `.`, `_`, `-`; unique in a host. */
  readonly id: string;
  /** Its own version, for operators and for plugins that depend on it: `1.2.3`. */
  readonly version: string;
  /** Checks what the host was given as its config; without it the config passes as it is. */
  readonly config?: StandardSchema<Config> | undefined;
  /** What `roomtap` in a package.json says, for a plugin that has none. */
  readonly manifest?: ManifestInput | undefined;
  /** Registers what the plugin does. When it throws or rejects, nothing of it stays. */
  setup(context: PluginContext, config: Config): unknown;
}

/** Any plugin, whatever its config is: its own schema checks that. */
export interface AnyPlugin {
  readonly id: string;
  readonly version: string;
  readonly config?: StandardSchema<unknown> | undefined;
  readonly manifest?: ManifestInput | undefined;
  setup(context: PluginContext, config: never): unknown;
}

/** Gives a plugin its types. The object is returned as it is; a plain object of the same shape is a plugin as well. */
export function definePlugin<Config = undefined>(plugin: Plugin<Config>): Plugin<Config> {
  return plugin;
}
