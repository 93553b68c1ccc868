import type { Readable, Writable } from "node:stream";
import {
  createRedactor,
  hostDefaults,
  SessionHost,
  RoomtapError,
  Signal,
  systemClock,
  systemIds,
  Tap,
  type AnswerResult,
  type BusyMode,
  type Clock,
  type IdSource,
  type OpenRequest,
  type Report,
  type Runner,
} from "./core/index.ts";
import { Observers, type ConsumerOptions, type ConsumerStats, type Subscription } from "./observers/index.ts";
import {
  auditTo,
  checkHostOptions,
  createGateway,
  createRunners,
  gatewayTable,
  HostOfGateways,
  maskedReport,
  openAgents,
  openRoomRunners,
  OpenGateways,
  parseAuth,
  PluginHost,
  scopedFanOut,
  secretsOfConfig,
  StdioGateway,
  warningReport,
  withAuth,
  type ApprovePolicy,
  type AuthOptions,
  type Gateway,
  type GatewayHost,
  type GatewayOptions,
  type Logger,
  type MemberConfig,
  type PluginControl,
  type PluginEntry,
  type PluginHostOptions,
  type RoomConfig,
  type RunnerConfig,
} from "./plugins/index.ts";
import {
  openSqliteLog,
  RoomHost,
  SeatedSessions,
  SessionSharing,
  type LeaseWait,
  type Room,
  type PolicyOptions,
} from "./rooms/index.ts";

/** A member whose runner is a config, or an agent of the embedder's own: that one is the embedder's to close. */
export interface RoomtapMember extends Omit<MemberConfig, "runner"> {
  readonly runner?: RunnerConfig | Runner | null | undefined;
}

/** A room as `createRoomtap` is given it. */
export interface RoomtapRoom extends Omit<RoomConfig, "members"> {
  readonly members: readonly RoomtapMember[];
  /** Bounds of its discussions. Default: 3 rounds, 10 texts of members, 2 owed passes. */
  readonly policy?: PolicyOptions | undefined;
}

/** What `createRoomtap` is told. */
export interface RoomtapOptions {
  /** Path of the database file, made when there is none; `:memory:` keeps the log only as long as the process. */
  readonly db: string;
  readonly rooms: readonly RoomtapRoom[];
  /**
   * Agents that sessions outside rooms may have, by id: configs, or agents of the embedder's own. The default is the one
   * called `default`, else the first. Rooms that clients make have them as members, and are driven again by a host that
   * has all of theirs.
   */
  readonly agents?: { readonly [agentId: string]: RunnerConfig | Runner } | undefined;
  /** What a prompt does to a session whose turn runs. Default `interrupt`. */
  readonly busyMode?: BusyMode | undefined;
  /** Who may connect to gateways that are opened without a word about that. Default: whoever has the token of each. */
  readonly auth?: AuthOptions | undefined;
  /**
   * How approvals of rooms are answered while nobody is connected who may answer them. Default: they wait for somebody.
   * Approvals of sessions outside rooms always wait.
   */
  readonly approve?: ApprovePolicy | undefined;
  /**
   * Loaded before the first turn can start, each behind those it depends on, else in this order. A text is the path of a
   * plugin.
   */
  readonly plugins?: readonly PluginEntry[] | undefined;
  /** Literals to mask everywhere, 9 to 4,096 characters each, beside those of the agents' environments. */
  readonly secrets?: readonly string[] | undefined;
  /**
   * Told of each question that waits for a person; it may answer at once, or later. What it throws or rejects with is
   * reported, and the question waits on. With `approve` it is not told of approvals of rooms.
   */
  readonly onRequest?: ((request: OpenRequest) => unknown) | undefined;
  /**
   * Told of faults that nobody awaits: secrets masked in the message, which is one line of at most 1,000 characters;
   * `cause` is what was thrown, as it is. Default: process warnings, whose detail is the masked stack.
   */
  readonly report?: Report | undefined;
  /**
   * Where plugins log to, and who was granted or refused what at the gateways. Default: warnings and errors of plugins go to
   * `report`; the rest needs a `logger`.
   */
  readonly logger?: Logger | undefined;
  /** Turns that run side by side over all rooms. Default 4; in a room there is one at a time. */
  readonly maxConcurrentTurns?: number | undefined;
  /** How long an agent may take to end once it was asked to, in ms. Default 30,000; then its turn settles without it. */
  readonly stopGraceMs?: number | undefined;
  /** How long a turn may run, in ms; the time in which it waits for a person does not count. Default 1,800,000. */
  readonly turnDeadlineMs?: number | undefined;
  /**
   * How long a session waits for its owner, in ms, when the last connection of it was lost; it is not closed before the
   * turn that runs then has settled. Default 60,000; 0 closes it at once.
   */
  readonly ownerGraceMs?: number | undefined;
  /** Whether somebody who asks to attach to a private session is told that there is none. Default: that it is private. */
  readonly concealPrivate?: boolean | undefined;
  /** How long another process must see no sign of life before it takes a room over, 100 to 600,000 ms. Default 15,000. */
  readonly leaseTtlMs?: number | undefined;
  /** Told why a room cannot be driven here yet, and when it can. */
  readonly onWait?: ((roomId: string, wait: LeaseWait) => void) | undefined;
  /** How long a database that somebody else has locked is tried again, in ms. Default 5,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** Default: the system's time. */
  readonly clock?: Clock | undefined;
  /** Default: random ids. */
  readonly ids?: IdSource | undefined;
}

/** A host: rooms that run, and everybody who watches them. */
export interface Roomtap extends AsyncDisposable {
  /** @throws RoomtapError `unknown_room` */
  room(roomId: string): Room;
  /** In the order in which they were given. */
  readonly rooms: readonly Room[];
  /** Registers a consumer in code; plugins do the same through their context. */
  observe(options: ConsumerOptions): Subscription;
  /** Counters of all consumers. */
  stats(): readonly ConsumerStats[];
  readonly requests: {
    /** Questions that wait, oldest first. */
    open(): readonly OpenRequest[];
    /**
     * Answers by exact id; the first answer wins, later ones learn the outcome. It never throws.
     * @param choice of an approval: a word that it does not offer counts as `deny`; to any other question the text
     * @param by names who answers; null when the host does
     */
    answer(id: string, choice: string, by?: string | null): AnswerResult;
  };
  /** What is loaded, and how it fares; turns plugins off and on again. */
  readonly plugins: PluginControl;
  /** Sessions outside rooms: chats with one agent each. Their turns are no activity of any room. */
  readonly sessions: SessionHost;
  /** Who may watch and drive sessions of others, and who does. */
  readonly sharing: SessionSharing;
  /**
   * Lets clients in, over WebSocket: at a server of the embedder's (`attach`) or at one of its own (`listen`). It ends with
   * the host. @throws RoomtapError `invalid_config`, `closed`
   */
  openGateway(options?: GatewayOptions): Gateway;
  /** The same wire for one client on two streams, a frame a line. It ends with the host. @throws RoomtapError `closed` */
  openStdio(streams: { readonly input: Readable; readonly output: Writable }): StdioGateway<GatewayHost>;
  /** Resolves when nothing moves without a person: no turn runs, or those that do wait for an answer. */
  quiet(): Promise<void>;
  /** Resolves when every accepted post has had its turns; ends turns that wait for a person. Gives what nobody answered. */
  finish(): Promise<readonly OpenRequest[]>;
  /**
   * Stops what runs, lets consumers read what they hold, unloads plugins, ends agents, closes the log. Safe to call twice.
   * @param options.graceMs how long agents may take to end their turns; default `stopGraceMs`
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Closes one part of a host; `graceMs` is how long agents may take. */
type Closing = (graceMs?: number) => Promise<unknown>;

/**
 * Puts the layers together and opens the rooms. What a dead host left open is settled before it resolves.
 * @throws RoomtapError of a bad option (`invalid_params`, naming its path), plugin or config, and `log_*` for the
 * database; nothing is left open then
 */
export async function createRoomtap(options: RoomtapOptions): Promise<Roomtap> {
  checkHostOptions(options);
  const closings: Closing[] = [];
  try {
    return await open(options, closings);
  } catch (fault) {
    // What also fails while it is closed again is no news beside the reason.
    await closeAll(closings).catch(() => undefined);
    throw fault;
  }
}

async function open(options: RoomtapOptions, closings: Closing[]): Promise<Roomtap> {
  const { clock = systemClock, ids = systemIds } = options;
  const auth = options.auth === undefined ? undefined : parseAuth(options.auth);
  const redactor = createRedactor({ literals: [...(options.secrets ?? []), ...secretsOfConfig(options)] });
  const report = options.report === undefined ? warningReport(redactor) : maskedReport(options.report, redactor);
  const observers = new Observers({ clock, report });
  closings.push(async () => observers.close());
  const tap = new Tap({ clock, ids, redactor, activity: observers, report });
  // Turns may begin, and ask, before anybody can connect.
  const clients: { wire?: HostOfGateways } = {};
  const answerByPolicy = policyOf(options, tap, (roomId) => clients.wire?.hasApprover(roomId) === true);
  const log = await openSqliteLog({ file: options.db, clock, report, busyTimeoutMs: options.busyTimeoutMs });
  closings.push(() => log.close());
  const runners = createRunners({ clock, report });
  closings.push(() => runners.close());
  const { plugins, openRooms } = pluginsOf({
    ...{ observers, clock, report, logger: options.logger, requests: tap.requests, values: log.values },
    mask: (text) => redactor.text(text),
  });
  closings.push(async () => openRooms(null));
  closings.push(() => plugins.close());
  closings.push(() => drain(observers, report));
  // What clients are still told, of turns that are stopped, they are told before they are sent away.
  const gateways = new OpenGateways();
  closings.push(() => gateways.close());
  await plugins.loadAll(options.plugins ?? []);
  const agents = await openAgents(options.agents ?? {}, runners);
  const rooms = await openRoomRunners(options.rooms, runners);
  const { maxConcurrentTurns, stopGraceMs, turnDeadlineMs, leaseTtlMs, onWait, busyMode } = options;
  const bounds = { stopGraceMs, turnDeadlineMs };
  const parts = { tap, clock, ids, report };
  const host = await RoomHost.open({ ...parts, ...bounds, log, rooms, agents, onWait, maxConcurrentTurns, leaseTtlMs });
  closings.push((graceMs) => host.close(graceMs));
  const fanOut = scopedFanOut({ tap, clock, seated: () => seated });
  const sessions: SessionHost = new SessionHost({
    ...parts,
    ...bounds,
    store: log.sessions,
    agents: [...agents].map(([agent_id, runner]) => ({ agent_id, runner })),
    busyMode,
    isAttached: (session) => fanOut.isWatched(session) || seated.isObserved(session),
  });
  const { ownerGraceMs = hostDefaults.ownerGraceMs, concealPrivate = false } = options;
  const seated: SeatedSessions = new SeatedSessions({ ...parts, sessions, ownerGraceMs, concealPrivate });
  closings.push((graceMs) => sessions.shutdown(graceMs));
  const wire = new HostOfGateways({
    ...parts,
    ...{ fanOut, sessions, seated, rooms: host, observers, plugins, agents, redactor },
    routes: plugins.routes,
    methods: () => gatewayTable.list().map(({ name }) => name),
    onLeft: answerByPolicy,
    audit: options.logger && auditTo(options.logger, { redactor, now: () => clock.monotonic() }),
  });
  clients.wire = wire;
  openRooms(host);
  await plugins.ready();
  return faceOf({ host, tap, observers, plugins, sessions, seated, wire, gateways, closings, auth });
}

/** A host of plugins, which may ask for rooms before they are open: they wait until it is known what becomes of them. */
function pluginsOf(parts: Omit<PluginHostOptions, "rooms">): {
  readonly plugins: PluginHost;
  readonly openRooms: (host: RoomHost | null) => void;
} {
  const known = new Signal();
  let rooms: RoomHost | null = null;
  const plugins = new PluginHost({
    ...parts,
    rooms: async () => {
      await known.fired;
      if (rooms !== null) return rooms;
      throw new RoomtapError("closed", "the host was closed before its rooms were open");
    },
  });
  const openRooms = (host: RoomHost | null): void => {
    rooms ??= host;
    known.fire();
  };
  return { plugins, openRooms };
}

/**
 * Answers approvals of rooms as the host's policy says, while nobody is connected who may; tells of all other questions.
 * @returns looks at what waits once more: to be called when somebody has gone
 */
function policyOf(
  { approve, onRequest }: RoomtapOptions,
  tap: Tap,
  hasApprover: (roomId: string) => boolean,
): () => void {
  const byPolicy = ({ coordinates, method }: OpenRequest): boolean =>
    approve !== undefined && coordinates !== null && method === "approval";
  const answer = ({ id, coordinates }: OpenRequest): void => {
    if (!hasApprover(coordinates?.room_id ?? "")) tap.requests.answer(id, { choice: approve, reason: "policy" }, null);
  };
  tap.requests.on("opened", (request) => (byPolicy(request) ? answer(request) : onRequest?.(request)));
  return () => tap.requests.open().filter(byPolicy).forEach(answer);
}

/** What an embedder holds: the parts of each layer that are for others to use. */
function faceOf(parts: {
  readonly host: RoomHost;
  readonly tap: Tap;
  readonly observers: Observers;
  readonly plugins: PluginControl;
  readonly sessions: SessionHost;
  readonly seated: SeatedSessions;
  readonly wire: HostOfGateways;
  readonly gateways: OpenGateways;
  readonly closings: readonly Closing[];
  readonly auth: AuthOptions | undefined;
}): Roomtap {
  const { host, tap, observers, plugins, sessions, seated, wire, gateways, closings, auth } = parts;
  let closed: Promise<void> | undefined;
  const close: Roomtap["close"] = async ({ graceMs } = {}) => {
    checkGrace(graceMs);
    return (closed ??= closeAll(closings, graceMs));
  };
  return {
    room: (roomId) => host.room(roomId),
    get rooms() {
      return host.rooms;
    },
    observe: (consumer) => observers.observe(consumer),
    stats: () => observers.stats(),
    requests: {
      open: () => tap.requests.open(),
      answer: (id, choice, by = null) => tap.requests.answer(id, { choice }, by),
    },
    plugins,
    sessions,
    sharing: new SessionSharing({ sessions, seated }),
    openGateway: (options = {}) =>
      gateways.add(() => createGateway({ host: wire, table: gatewayTable }, withAuth(options, auth))),
    openStdio: (streams) => gateways.add(() => new StdioGateway({ host: wire, table: gatewayTable, ...streams })),
    quiet: () => host.quiet(),
    finish: () => host.finish(),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** In reverse order of opening; goes on when one step fails, and throws the first failure at the end. */
async function closeAll(closings: readonly Closing[], graceMs?: number): Promise<void> {
  const faults: unknown[] = [];
  for (const close of closings.toReversed()) {
    try {
      await close(graceMs);
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

/** Before anything is closed: half a closing would leave turns open. */
function checkGrace(graceMs: number | undefined): void {
  if (graceMs === undefined || graceMs >= 0) return;
  throw new RoomtapError("invalid_params", `graceMs: expected 0 or more milliseconds, got ${graceMs}`);
}

// The host and what it is made of.
export { defineConfig, parseConfig, readConfig, type ApprovePolicy, type HostConfig } from "./plugins/index.ts";
export type { MemberConfig, RoomConfig } from "./plugins/index.ts";
export type { LeaseWait, PostInput, PostReceipt, Room, PolicyOptions, RoomState } from "./rooms/index.ts";

// Watching: events, consumers, plugins.
export {
  activityEventSchema,
  activityKinds,
  type ActivityEvent,
  type ActivityKind,
  type EventOf,
} from "./core/index.ts";
export type { ActivityPayloads, Author, Coordinates, ToolOutcome, TurnStatus } from "./core/index.ts";
export type { BatchConsumerOptions, BatchFailures, BatchHandler, BatchOutcome } from "./observers/index.ts";
export type { ConsumerOptions, ConsumerSettings, ConsumerStats, EventConsumerOptions } from "./observers/index.ts";
export type { Grant, Handler, PayloadLevel, Subscription } from "./observers/index.ts";
export { cards, definePlugin, eventText, inspectorPage, printer } from "./plugins/index.ts";
export type {
  AnyPlugin,
  BatchOptions,
  CardsOptions,
  Command,
  EventFor,
  HandlerOptions,
  Isolation,
  KindPattern,
  Logger,
  ManifestInput,
  Permit,
  Plugin,
  PluginCaller,
  PluginCommands,
  PluginContext,
  PluginControl,
  PluginEntry,
  PluginGrant,
  PluginInfo,
  PluginObjectEntry,
  PluginPathEntry,
  PluginRequests,
  PluginRooms,
  PluginRoutes,
  PluginState,
  PluginStorage,
  PrinterOptions,
  RoomSummary,
  RouteOptions,
  RouteRequest,
  RouteResponse,
  RowPage,
  StandardResult,
  StandardSchema,
} from "./plugins/index.ts";

// Recording, measuring, tracing.
export { metrics, otel, parseRecording, readRecording, recorder } from "./plugins/index.ts";
export type { MetricsConfig, OtelConfig, RecorderConfig, RecorderOptions } from "./plugins/index.ts";
export type { Recording, RecordingEnd, RecordingHeader, RecordingLoss } from "./plugins/index.ts";

// The board of a room: the built-in Crew, and what it is made of, for programs that draw their own.
export { boardLines, crew, emptyBoard, reduceEntry, reduceEvent, reduceRow, seed } from "./plugins/index.ts";
export type { Board, BoardBounds, BoardMember, BoardTurn, CrewConfig, CrewOptions } from "./plugins/index.ts";
export type { EarlierAttempt, Missing, RequestCard, StreamedText, Tally, ToolCard } from "./plugins/index.ts";
export type { Seed, SeedAttempt, SeedOptions, TurnNote, VisibleBoard, VisibleTurn } from "./plugins/index.ts";

// Agents: what a runner is handed and gives back, and those that are built in.
export type {
  Answered,
  AnswerResult,
  Correction,
  JsonObject,
  OpenRequest,
  Question,
  RequestOutcome,
  Runner,
  RunnerFrame,
  TranscriptEntry,
  Turn,
  TurnEnd,
  TurnMember,
  WriteResult,
} from "./core/index.ts";
export { createAcpRunner, createProcessRunner, createScriptedRunner, parseScript } from "./plugins/index.ts";
export type {
  AcpConfig,
  AcpOptions,
  ModuleConfig,
  ProcessOptions,
  RunnerConfig,
  Script,
  ScriptedConfig,
  ScriptedOptions,
  Step,
} from "./plugins/index.ts";

// Sessions that are shared: who may watch and drive them, and what is saved of one.
export { fromSnapshot, toSnapshot } from "./rooms/index.ts";
export type {
  ObserverRole,
  Revoked,
  Role,
  RosterEntry,
  SessionReading,
  SessionSharing,
  SharedSessionOptions,
} from "./rooms/index.ts";
export type { SessionRecord, Visibility } from "./core/index.ts";

// Clients: what lets them in, and the socket for those that run where the platform has none.
export { WebSocket } from "./plugins/index.ts";
export type { AuthConfig, AuthOptions, Gateway, GatewayOptions, JwksConfig, TokenConfig } from "./plugins/index.ts";

// Reading a log: rows, the state they fold to, and whether they are as they were written.
export { checkpointOf, emptyState, fold, openSqliteLogReader, RoomFold, verifyLog } from "./rooms/index.ts";
export type {
  Checkpoint,
  FoldState,
  LogRow,
  OpenTurn,
  RoomRecord,
  RoomVerdict,
  SettledRow,
  SqliteLogReader,
  StartedRow,
  VerifyProblem,
} from "./rooms/index.ts";

// Faults, time and chance.
export { countingIds, errorTable, manualClock, messageOf, RoomtapError, systemClock, systemIds } from "./core/index.ts";
export type { Clock, ErrorCode, IdSource, ManualClock, Notice, Report, Undo } from "./core/index.ts";
