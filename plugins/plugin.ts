import type { Clock, Undo } from "../core/index.ts";
import type { ConsumerOptions, ConsumerStats } from "../observers/index.ts";
import type { EventFor, KindPattern } from "./patterns.ts";

/** Bounds and level of one handler; see the consumer's options. Grants are given to the plugin as a whole. */
export type HandlerOptions = Pick<
  ConsumerOptions,
  "rooms" | "payload" | "maxEvents" | "maxBytes" | "maxEventBytes" | "stallMs"
>;

/** Where a plugin says something to the operator. Texts and fields are printed as they are: no secrets. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What a plugin may touch. Everything registered here is undone, in reverse, when the plugin is unloaded. */
export interface PluginContext {
  /** The plugin's id. */
  readonly id: string;
  /**
   * Calls `handler` with the events that `pattern` names, one at a time; the next comes when what it returned has settled.
   * Each registration has a queue of its own, so two of them see events in no common order. At most 100 per plugin.
   * @throws RoomtapError `unknown_kind`, `invalid_params`, `too_many_consumers`
   */
  on<Pattern extends KindPattern>(
    pattern: Pattern,
    handler: (event: EventFor<Pattern>) => unknown,
    options?: HandlerOptions,
  ): Undo;
  /** Calls `undo` at unload, before what was registered earlier is undone. */
  defer(undo: () => unknown): void;
  /** The host's logger. A host without one reports warnings and errors as notices, and drops debug and info. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Aborted when the plugin is unloaded, before anything of it is undone. */
  readonly signal: AbortSignal;
  /** Counters of its handlers, in order of registration. */
  stats(): readonly ConsumerStats[];
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
  /** Its own version, for operators. */
  readonly version: string;
  /** Checks what the host was given as its config; without it the config passes as it is. */
  readonly config?: StandardSchema<Config> | undefined;
  /** Registers what the plugin does. When it throws or rejects, nothing of it stays. */
  setup(context: PluginContext, config: Config): unknown;
}

/** Any plugin, whatever its config is: its own schema checks that. */
export interface AnyPlugin {
  readonly id: string;
  readonly version: string;
  readonly config?: StandardSchema<unknown> | undefined;
  setup(context: PluginContext, config: never): unknown;
}

/** Gives a plugin its types. The object is returned as it is; a plain object of the same shape is a plugin as well. */
export function definePlugin<Config = undefined>(plugin: Plugin<Config>): Plugin<Config> {
  return plugin;
}
