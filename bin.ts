#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { errorTable, messageOf, RoomtapError, secretsOfEnvironment, systemIds } from "./core/index.ts";
import { createRoomtap } from "./index.ts";
import {
  acpExampleAgent,
  announceServer,
  answerCommand,
  answerHelp,
  cards,
  databaseFile,
  demoCommand,
  demoScenes,
  gatewayTable,
  isLoopback,
  jsonLog,
  jsonSchemaOf,
  logCommand,
  logLevels,
  openRpcOf,
  printer,
  rawCommand,
  readConfig,
  replayCommand,
  requestsCommand,
  roomsCommand,
  runtimeFolder,
  secretsOfConfig,
  sendCommand,
  StreamOutput,
  tailCommand,
  tokenCommand,
  tailHelp,
  upCommand,
  upHelp,
  verifyCommand,
  waitLine,
  WebSocket,
  type DemoOptions,
  type HostConfig,
  type LogLevel,
  type Logger,
  type PluginEntry,
  type RemoteOptions,
  type RunHost,
  type TokenOptions,
  type UpOptions,
} from "./plugins/index.ts";

/** How long agents may take to end when the command is interrupted. */
const interruptGraceMs = 5_000;

/** Data on stdout, a line each; notes on stderr. */
const output = new StreamOutput(process.stdout, process.stderr);

/** What plugins show. When nobody reads any more the host stops, so a line that is lost then needs no fault of its own. */
const show = (line: string): Promise<void> => output.out(line).catch(() => undefined);

const allGrants = ["reasoning", "approvals", "full"] as const;

/** What shows events: each as JSON on a line, or as cards. */
function shownBy(json: boolean): (config: HostConfig) => PluginEntry {
  return (config) => (json ? { plugin: printer({ write: show }), grants: allGrants } : cardsEntry(config));
}

function cardsEntry(config: HostConfig): PluginEntry {
  const members = config.rooms.flatMap((room) => room.members);
  const handles = new Map(members.map(({ handle, member_id }) => [member_id ?? `m-${handle}`, handle]));
  return { plugin: cards({ write: show, nameOf: (id) => handles.get(id) ?? id }), grants: allGrants };
}

/** Aborted by Ctrl-C, SIGTERM, and when nobody reads any more; its reason is the status to end with. */
function stopSignal(): { readonly signal: AbortSignal; readonly off: () => void } {
  const stopping = new AbortController();
  const onInterrupt = (): void => stopping.abort(130);
  const onTerminate = (): void => stopping.abort(143);
  process.once("SIGINT", onInterrupt);
  process.once("SIGTERM", onTerminate);
  void output.lost.then(() => stopping.abort(lostStatus()));
  return {
    signal: stopping.signal,
    off: () => {
      process.off("SIGINT", onInterrupt);
      process.off("SIGTERM", onTerminate);
    },
  };
}

/**
 * Ctrl-C, SIGTERM and a reader that goes away close the host as well: turns settle `cancelled`, and the status says why. A
 * second Ctrl-C ends the process at once.
 */
const runHost: RunHost = (run, use) => runLogged(run, use);

async function runLogged(...[run, use, logger]: [...Parameters<RunHost>, logger?: Logger]): Promise<number> {
  const { signal, off } = stopSignal();
  const stopped = new Promise<number>((resolve) => {
    signal.addEventListener("abort", () => resolve(Number(signal.reason)));
  });
  const { rooms, agents, busyMode, auth } = run.config;
  try {
    const tap = await createRoomtap({
      ...{ db: run.db, rooms, agents, busyMode, auth, logger },
      ...{ approve: run.approve, plugins: run.plugins, onRequest: run.onRequest },
      secrets: secretsOfEnvironment(process.env),
      onWait: (roomId, wait) => output.note(waitLine(roomId, wait)),
      report: ({ message }) => output.note(`note: ${message}`),
    });
    try {
      const work = use(tap, signal);
      // Once the host was told to stop, what becomes of the work is nobody's business any more.
      work.catch(() => undefined);
      return await Promise.race([work, stopped]);
    } finally {
      await tap.close(signal.aborted ? { graceMs: interruptGraceMs } : {});
    }
  } finally {
    off();
  }
}

/** The status of a command whose output found no reader, or no room. */
function lostStatus(): number {
  return output.hasLeft ? 0 : 1;
}

interface DemoFlags extends DemoOptions {
  readonly json?: boolean;
}

async function demo({ json = false, ...options }: DemoFlags): Promise<number> {
  const { file, remove } = databaseFile(options.db);
  try {
    return await demoCommand(options, { runHost, output, file, agent: acpExampleAgent(), shown: shownBy(json) });
  } finally {
    remove();
  }
}

interface UpFlags extends Omit<UpOptions, "allowedOrigins"> {
  readonly db?: string;
  readonly allowOrigin?: readonly string[];
  readonly logLevel?: LogLevel;
}

async function up({ db, allowOrigin: allowedOrigins, logLevel, ...rest }: UpFlags): Promise<number> {
  const options: UpOptions = { ...rest, token: process.env["ROOMTAP_TOKEN"], allowedOrigins };
  const logger = await jsonLog(logLevel, process.stderr);
  const { file, remove } = databaseFile(rest.demo === true ? db : (db ?? "roomtap.db"));
  try {
    return await upCommand(options, {
      ...{ output, file, agent: acpExampleAgent(), shown: shownBy(options.json ?? false) },
      runHost: (run, use) => runLogged(run, use, logger),
      onReload: (reload) => {
        process.on("SIGHUP", reload);
        return () => process.off("SIGHUP", reload);
      },
      input: process.stdin,
      frames: process.stdout,
      isLoopback,
      announce: ({ db: path, ...server }) =>
        announceServer({ ...server, db: resolve(path) }, runtimeFolder(process.env)),
    });
  } finally {
    remove();
  }
}

function pathOf(text: string): string {
  if (text === "") throw new InvalidArgumentError("expected the path of a file");
  return text;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected a whole number, 0 or more");
  return Number(text);
}

const approveOption = (about: string): Option => new Option("--approve <choice>", about).choices(["once", "deny"]);

const runnerOption = (about: string): Option => new Option("--runner <kind>", about).choices(["acp", "scripted"]);

/** Of the package that this file is in, also where it runs from the sources. */
function version(): string {
  const file = fileURLToPath(import.meta.resolve("roomtap/package.json"));
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}

/** What each command that looks at a database takes. */
interface LookFlags {
  readonly db: string;
  readonly json?: boolean;
}

function root(): Command {
  return new Command("roomtap")
    .description("Runs rooms whose members are agents, shows what their turns do, and reads the logs they leave.")
    .version(version(), "--version", "prints the version")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text) =>
        output.note(`roomtap: usage: ${text.replace(/^error: /, "")} (roomtap --help lists the commands)`),
    });
}

interface RemoteFlags {
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** Where a command connects to. A token among the arguments is seen by whoever may list processes: the environment's is not. */
function remote({ url, token, json = false }: RemoteFlags): RemoteOptions {
  const given = { url: url ?? fromEnvironment("ROOMTAP_URL"), token: token ?? fromEnvironment("ROOMTAP_TOKEN") };
  checkToken(given.token, token === undefined ? "ROOMTAP_TOKEN" : "--token");
  return { ...given, urlName: url === undefined ? "ROOMTAP_URL" : "--url", json, WebSocket };
}

/** A variable that is empty says as little as one that is not there. */
function fromEnvironment(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}

/** What does not fit into a header never arrives. */
function checkToken(token: string | undefined, name: string): void {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return;
  throw new RoomtapError("invalid_params", `${name}: expected printable characters without a space`);
}

/** Gathers the values of an option that may be repeated. */
function list(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function originList(text: string, before?: readonly string[]): readonly string[] {
  const isOrigin = text === "*" || text === "null" || (URL.canParse(text) && new URL(text).origin === text);
  if (!isOrigin) throw new InvalidArgumentError("expected scheme, host and port, such as https://example.org");
  return list(text, before);
}

function countOf(text: string): number {
  const count = wholeNumber(text);
  if (count === 0) throw new InvalidArgumentError("expected a whole number, 1 or more");
  return count;
}

function portOf(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError("expected a port, 0 to 65535");
  return port;
}

/** Commands that talk to a server that runs. */
function addRemote(command: Command, done: (status: number) => void): void {
  const add = (name: string, about: string): Command =>
    command
      .command(name)
      .description(about)
      .option("--url <url>", "the server (default: ROOMTAP_URL, else the one that runs on this machine)")
      .option("--token <token>", "what it asks for (default: ROOMTAP_TOKEN, else as that server left it)")
      .option("--json", "JSON and nothing else");
  add("tail <room>", "follows a room: rows and activity, over reconnects")
    .option("--kind <pattern>", "a kind or a family such as 'tool.*'; may be repeated", list)
    .option("--since <seq>", "rows above this one first", wholeNumber)
    .option("--count <lines>", "end after so many lines", countOf)
    .option("--fail-on-loss", "exit 1 when anything was lost")
    .addHelpText("after", tailHelp)
    .action(
      async (
        room: string,
        flags: RemoteFlags & { kind?: readonly string[]; since?: number; count?: number; failOnLoss?: boolean },
      ) => {
        const { kind: kinds = [], since, count, failOnLoss = false } = flags;
        const { signal, off } = stopSignal();
        try {
          done(await tailCommand({ ...remote(flags), room, kinds, since, count, failOnLoss }, output, signal));
        } finally {
          off();
        }
      },
    );
  add("send <room> <text>", "posts to a room")
    .option("--thread <id>", "a line of talk in it (default: main)")
    .addHelpText("after", "\nExample: roomtap send demo '@planner what next?'")
    .action(async (room: string, text: string, flags: RemoteFlags & { thread?: string }) =>
      done(await sendCommand({ ...remote(flags), room, text, thread: flags.thread }, output)),
    );
  add("requests", "lists the questions that wait for a person")
    .addHelpText("after", "\nExample: roomtap requests --json")
    .action(async (flags: RemoteFlags) => done(await requestsCommand(remote(flags), output)));
  add("answer <id> <value>", "answers a question: a choice, a text, or a result as JSON")
    .addHelpText("after", answerHelp)
    .action(async (id: string, value: string, flags: RemoteFlags) =>
      done(await answerCommand({ ...remote(flags), id, value }, output)),
    );
  add("raw <method> [params]", "calls a method of the wire and prints its result")
    .addHelpText("after", '\nExample: roomtap raw rooms.state \'{"room_id":"demo"}\'')
    .action(async (method: string, params: string | undefined, flags: RemoteFlags) =>
      done(await rawCommand({ ...remote(flags), method, params }, output)),
    );
}

/** Commands that run rooms. */
function addRunning(command: Command, done: (status: number) => void): void {
  command
    .command("demo")
    .description("one room, a few members, until all has settled")
    .addOption(runnerOption("what drives the members (default: acp)"))
    .addOption(
      new Option("--scene <name>", "hello: one message; rounds: mentions, a second round, a pass, a refusal, a stop")
        .choices(demoScenes)
        .default("hello"),
    )
    .addOption(approveOption("how approvals are answered").default("deny"))
    .option("--db <file>", "keep the log in this file; else it is temporary", pathOf)
    .option("--json", "each activity event as JSON on a line")
    .addHelpText("after", "\nExample: roomtap demo --runner scripted --json --db demo.db")
    .action(async (options: DemoFlags) => done(await demo(options)));
  command
    .command("up")
    .description("runs rooms; each line on stdin is a post")
    .option("--config <file>", "the rooms, as JSON or a module")
    .option("--demo", "the demo's room and one message")
    .addOption(runnerOption("with --demo: what drives the members (default: acp)"))
    .option("--db <file>", "the database (default: roomtap.db; with --demo a temporary one)", pathOf)
    .addOption(
      approveOption("how approvals are answered (default: as the config says, else they wait; with --demo deny)"),
    )
    .option("--stay", "go on when stdin ends, until Ctrl-C")
    .option("--port <port>", "let clients in over WebSocket, 0 for any free port; goes on until Ctrl-C", portOf)
    .option("--host <address>", "with --port: where to listen (default: 127.0.0.1)")
    .option(
      "--allow-origin <origin>",
      "with --port: whose pages may connect; may be repeated (default: the server's own on this machine, else none)",
      originList,
    )
    .option("--stdio", "one client on stdin and stdout, a frame a line, until its input ends")
    .option("--json", "each activity event as JSON on a line; with --port first where it listens")
    .addOption(
      new Option("--log-level <level>", "log on stderr, as JSON: who was let in or refused, and plugins").choices(
        logLevels,
      ),
    )
    .addHelpText("after", upHelp)
    .addHelpText("after", "With --config, SIGHUP reads who may connect from it again.")
    .action(async (flags: UpFlags) => {
      done(await up(flags));
      // Frames that nobody reads would keep the process for as long as their reader stays.
      if (flags.stdio === true && process.exitCode !== 0) process.exit();
    });
}

/** Credentials. */
function addToken(command: Command, done: (status: number) => void): void {
  const words = (value: string): readonly string[] => value.split(",").map((word) => word.trim());
  command
    .command("token")
    .description("tokens for the config's auth")
    .command("new")
    .description("prints a token that nobody guesses, and the entry of auth.tokens that lets it in")
    .option("--principal <name>", "whom it is for", "local")
    .option("--scopes <list>", "what it may do: read, write, approvals, admin", words, ["read", "write"])
    .option("--rooms <list>", "the rooms that are there for it (default: all)", words)
    .option("--grants <list>", "what it may see besides: reasoning, full", words)
    .option("--json", "the entry and nothing else")
    .addHelpText("after", "\nExample: roomtap token new --principal phone --scopes read")
    .action(async (options: TokenOptions) => done(await tokenCommand(options, output, systemIds)));
}

/** Commands that look at a database, or print what the package holds. */
function addLooking(command: Command, done: (status: number) => void): void {
  const look = (name: string, about: string): Command =>
    command
      .command(name)
      .description(about)
      .requiredOption("--db <file>", "the database (required)", pathOf)
      .option("--json", "JSON and nothing else");
  look("rooms", "lists the rooms of a database")
    .addHelpText("after", "\nExample: roomtap rooms --db roomtap.db")
    .action(async ({ db, json = false }: LookFlags) => done(await roomsCommand({ db, json }, output)));
  look("log <room>", "prints the rows of a room, texts masked")
    .option("--config <file>", "mask the secrets of this config as well")
    .option("--raw", "show texts as they are stored, secrets included")
    .addHelpText("after", "\nExample: roomtap log demo --db demo.db --json")
    .action(async (room: string, options: LookFlags & { readonly raw?: boolean; readonly config?: string }) => {
      const { db, json = false, raw = false, config } = options;
      const secrets = config === undefined ? [] : secretsOfConfig(await readConfig(config));
      done(await logCommand({ db, json, raw, room, secrets }, output));
    });
  look("replay <room>", "folds a room's log and prints the state with its digest")
    .option("--at <seq>", "up to this row", wholeNumber)
    .addHelpText("after", "\nExample: roomtap replay demo --db demo.db --at 2")
    .action(async (room: string, { db, json = false, at }: LookFlags & { readonly at?: number }) =>
      done(await replayCommand({ db, json, room, at }, output)),
    );
  look("verify", "checks every row of every room: hashes, order, what it folds to")
    .addHelpText("after", "\nExample: roomtap verify --db demo.db")
    .action(async ({ db, json = false }: LookFlags) => done(await verifyCommand({ db, json }, output)));
  command
    .command("schema")
    .description("prints the methods of the wire as JSON Schema")
    .option("--openrpc", "as an OpenRPC document")
    .addHelpText("after", "\nExample: roomtap schema --openrpc > roomtap.openrpc.json")
    .action(async ({ openrpc = false }: { openrpc?: boolean }) => {
      const document = openrpc ? openRpcOf(gatewayTable, version()) : jsonSchemaOf(gatewayTable);
      await output.out(JSON.stringify(document, null, 2));
      done(0);
    });
}

/** Who used a command wrongly is told where its options stand. */
function pointToHelp(command: Command): void {
  const hint = `(roomtap ${command.name()} --help lists its options)`;
  command.configureOutput({
    outputError: (text) => output.note(`roomtap: usage: ${text.replace(/^error: /, "").trimEnd()} ${hint}`),
  });
}

function program(done: (status: number) => void): Command {
  const command = root();
  addRunning(command, done);
  addLooking(command, done);
  addRemote(command, done);
  addToken(command, done);
  for (const each of command.commands) pointToHelp(each);
  return command;
}

function statusOf(fault: unknown): number {
  if (output.fault !== null) return lostStatus();
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : 2;
  const error =
    fault instanceof RoomtapError ? fault : new RoomtapError("internal", messageOf(fault), { cause: fault });
  output.note(`roomtap: ${error.code}: ${error.message}. ${error.remedy}`);
  return errorTable[error.code].exit;
}

void output.lost.then((fault) => {
  process.exitCode = lostStatus();
  if (!output.hasLeft) output.note(`roomtap: the output cannot be written: ${fault.message}`);
});

try {
  const done = (status: number): void => {
    process.exitCode = output.fault === null ? status : lostStatus();
  };
  await program(done).parseAsync();
} catch (fault) {
  process.exitCode = statusOf(fault);
}
