import {
  createRedactor,
  hostDefaults,
  RoomtapError,
  secretsOfEnvironment,
  systemClock,
  systemIds,
  Tap,
  type AnswerResult,
  type Clock,
  type IdSource,
  type OpenRequest,
  type Report,
  type Runner,
} from "./core/index.ts";
import { Observers, type ConsumerOptions, type ConsumerStats, type Subscription } from "./observers/index.ts";
import {
  createRunners,
  PluginHost,
  type ApprovePolicy,
  type Logger,
  type MemberConfig,
  type PluginEntry,
  type RoomConfig,
  type Runners,
  type RunnerConfig,
} from "./plugins/index.ts";
import { openSqliteLog, RoomHost, type Room, type RoomDefinition } from "./rooms/index.ts";

/** A member whose runner is a config, or an agent of the embedder's own. */
export interface RoomtapMember extends Omit<MemberConfig, "runner"> {
  readonly runner?: RunnerConfig | Runner | null | undefined;
}

export interface RoomtapRoom extends Omit<RoomConfig, "members"> {
  readonly members: readonly RoomtapMember[];
}

export interface RoomtapOptions {
  /** Path of the database file, made when there is none; `:memory:` keeps the log only as long as the process. */
  readonly db: string;
  readonly rooms: readonly RoomtapRoom[];
  /** How approvals are answered. Default: they wait for `requests.answer`. */
  readonly approve?: ApprovePolicy | undefined;
  /** Loaded before the first turn can start, in this order. */
  readonly plugins?: readonly PluginEntry[] | undefined;
  /** Literals to mask everywhere, 9 to 4,096 characters each, beside those of the agents' environments. */
  readonly secrets?: readonly string[] | undefined;
  /** Told of each approval that waits for a person. */
  readonly onRequest?: ((request: OpenRequest) => void) | undefined;
  /** Told of faults that nobody awaits. Default: process warnings. */
  readonly report?: Report | undefined;
  /** Where plugins log to. Default: warnings and errors go to `report`. */
  readonly logger?: Logger | undefined;
  readonly maxConcurrentTurns?: number | undefined;
  readonly stopGraceMs?: number | undefined;
  readonly busyTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
}

/** A host: rooms that run, and everybody who watches them. */
export interface Roomtap extends AsyncDisposable {
  /** @throws RoomtapError `unknown_room` */
  room(roomId: string): Room;
  readonly rooms: readonly Room[];
  /** Registers a consumer in code; plugins do the same through their context. */
  observe(options: ConsumerOptions): Subscription;
  /** Counters of all consumers. */
  stats(): readonly ConsumerStats[];
  readonly requests: {
    /** Approvals that wait, oldest first. */
    open(): readonly OpenRequest[];
    /** Answers by exact id; the first answer wins, later ones learn the outcome. `by` names who answers. */
    answer(id: string, choice: string, by?: string | null): AnswerResult;
  };
  /** Resolves when nothing moves without a person: no turn runs, or those that do wait for an answer. */
  quiet(): Promise<void>;
  /** Resolves when every accepted post has had its turns; ends turns that wait for a person. Gives what nobody answered. */
  finish(): Promise<readonly OpenRequest[]>;
  /** Stops what runs, lets consumers read what they hold, unloads plugins, ends agents, closes the log. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Puts the layers together and opens the rooms.
 * @throws RoomtapError of a bad option, plugin or config, and `database_in_use`, `log_*` for the database
 */
export async function createRoomtap(options: RoomtapOptions): Promise<Roomtap> {
  const { clock = systemClock, ids = systemIds, report = warn } = options;
  const cleanup: (() => Promise<unknown>)[] = [];
  try {
    const observers = new Observers({ clock, report });
    const policy = { host: null as RoomHost | null };
    const tap = new Tap({
      clock,
      ids,
      redactor: createRedactor({ literals: literalsOf(options) }),
      activity: observers,
      onRequest: (request) => {
        if (options.approve !== undefined) {
          tap.requests.answer(request.id, { choice: options.approve, reason: "policy" }, null);
          return;
        }
        options.onRequest?.(request);
        policy.host?.changed();
      },
    });
    const log = await openSqliteLog({ file: options.db, clock, report, busyTimeoutMs: options.busyTimeoutMs });
    cleanup.push(() => log.close());
    const runners = createRunners({ clock, report });
    cleanup.push(() => runners.close());
    const plugins = new PluginHost({ observers, clock, report, logger: options.logger ?? reporting(report) });
    cleanup.push(() => plugins.close());
    cleanup.push(() => drain(observers, report));
    for (const entry of options.plugins ?? []) await plugins.load(entry);
    const host = await RoomHost.open({
      log,
      tap,
      clock,
      report,
      rooms: options.rooms.map((room) => definitionOf(room, runners)),
      maxConcurrentTurns: options.maxConcurrentTurns,
      stopGraceMs: options.stopGraceMs,
    });
    policy.host = host;
    let closing: Promise<void> | null = null;
    const close = (graceMs?: number): Promise<void> => (closing ??= closeAll(() => host.close(graceMs), cleanup));
    return {
      room: (roomId) => host.room(roomId),
      rooms: host.rooms,
      observe: (consumer) => observers.observe(consumer),
      stats: () => observers.stats(),
      requests: {
        open: () => tap.requests.open(),
        answer: (id, choice, by = null) => tap.requests.answer(id, { choice }, by),
      },
      quiet: () => host.quiet(),
      finish: () => host.finish(),
      close: (given) => close(given?.graceMs),
      [Symbol.asyncDispose]: () => close(),
    };
  } catch (fault) {
    await closeAll(async () => undefined, cleanup);
    throw fault;
  }
}

/** In reverse order of opening; goes on when one step fails, and throws the first failure at the end. */
async function closeAll(first: () => Promise<unknown>, cleanup: readonly (() => Promise<unknown>)[]): Promise<void> {
  const faults: unknown[] = [];
  for (const step of [first, ...cleanup.toReversed()]) {
    try {
      await step();
    } catch (fault) {
      faults.push(fault);
    }
  }
  if (faults.length > 0) throw faults[0];
}

async function drain(observers: Observers, report: Report): Promise<void> {
  const { undelivered, unfinished } = await observers.drain(hostDefaults.drainMs);
  if (undelivered === 0 && unfinished.length === 0) return;
  const handlers = unfinished.length === 0 ? "" : `; still running: ${unfinished.join(", ")}`;
  report({ code: "undelivered", message: `${undelivered} events were not delivered before closing${handlers}` });
}

function definitionOf({ members, ...room }: RoomtapRoom, runners: Runners): RoomDefinition {
  return {
    ...room,
    members: members.map(({ runner = null, ...member }) => ({
      ...member,
      runner: runner === null || "run" in runner ? runner : runners.of(runner),
    })),
  };
}

function literalsOf({ rooms, secrets = [] }: RoomtapOptions): readonly string[] {
  const fromAgents = rooms.flatMap(({ members }) =>
    members.flatMap(({ runner }) => (runner != null && "env" in runner ? secretsOfEnvironment(runner.env ?? {}) : [])),
  );
  return [...secrets, ...fromAgents];
}

const warn: Report = ({ code, message }) => process.emitWarning(message, { type: "RoomtapWarning", code });

function reporting(report: Report): Logger {
  const silent = (): void => undefined;
  const say =
    (code: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
      report({ code, message, subject: typeof fields["plugin"] === "string" ? fields["plugin"] : "plugin" });
  return { debug: silent, info: silent, warn: say("plugin_warning"), error: say("plugin_error") };
}

export { RoomtapError };
