#!/usr/bin/env node
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import {
  errorTable,
  messageOf,
  RoomtapError,
  secretsOfEnvironment,
  systemClock,
  type ActivityEvent,
  type OpenRequest,
} from "./core/index.ts";
import { createRoomtap, type LeaseWait, type Roomtap } from "./index.ts";
import {
  acpExampleAgent,
  approvalLines,
  cards,
  carryOut,
  demoConfig,
  demoRoomId,
  demoScenes,
  demoText,
  logCommand,
  oneLine,
  parseLine,
  printer,
  readConfig,
  replayCommand,
  roomsCommand,
  roundsConfig,
  roundsTexts,
  secretsOfConfig,
  StreamOutput,
  verifyCommand,
  type ApprovePolicy,
  type DemoScene,
  type HostConfig,
  type PluginEntry,
} from "./plugins/index.ts";

/** How long agents may take to end when the command is interrupted. */
const interruptGraceMs = 5_000;

/** Data on stdout, a line each; notes on stderr. */
const output = new StreamOutput(process.stdout, process.stderr);

/** What plugins show. When nobody reads any more the host stops, so a line that is lost then needs no fault of its own. */
const show = (line: string): Promise<void> => output.out(line).catch(() => undefined);

const allGrants = ["reasoning", "approvals", "full"] as const;

function cardsEntry(config: HostConfig): PluginEntry {
  const members = config.rooms.flatMap((room) => room.members);
  const handles = new Map(members.map(({ handle, member_id }) => [member_id ?? `m-${handle}`, handle]));
  return { plugin: cards({ write: show, nameOf: (id) => handles.get(id) ?? id }), grants: allGrants };
}

/** The path given, or a file in a folder of its own that `remove` takes away again. */
function databaseFile(given: string | undefined): { readonly file: string; readonly remove: () => void } {
  if (given !== undefined) return { file: given, remove: () => undefined };
  const folder = mkdtempSync(join(tmpdir(), "roomtap-"));
  return { file: join(folder, "demo.db"), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

interface HostRun {
  readonly config: HostConfig;
  readonly db: string;
  readonly approve: ApprovePolicy | undefined;
  readonly plugins: readonly PluginEntry[];
  readonly onRequest?: (request: OpenRequest) => void;
}

/**
 * Opens a host, calls `use`, closes the host. Ctrl-C, SIGTERM and a reader that goes away close it as well: turns settle
 * `cancelled`, and the status says why. A second Ctrl-C ends the process at once.
 * @param use is to come back soon after `stop` is aborted
 */
async function withHost(run: HostRun, use: (tap: Roomtap, stop: AbortSignal) => Promise<number>): Promise<number> {
  const stopping = new AbortController();
  const stopped = new Promise<number>((resolve) => {
    stopping.signal.addEventListener("abort", () => resolve(Number(stopping.signal.reason)));
  });
  const onInterrupt = (): void => stopping.abort(130);
  const onTerminate = (): void => stopping.abort(143);
  process.once("SIGINT", onInterrupt);
  process.once("SIGTERM", onTerminate);
  void output.lost.then(() => stopping.abort(lostStatus()));
  try {
    const tap = await createRoomtap({
      db: run.db,
      rooms: run.config.rooms,
      approve: run.approve,
      plugins: run.plugins,
      secrets: secretsOfEnvironment(process.env),
      onRequest: run.onRequest,
      onWait: tellWait,
      report: ({ message }) => output.note(`note: ${message}`),
    });
    try {
      const work = use(tap, stopping.signal);
      // Once the host was told to stop, what becomes of the work is nobody's business any more.
      work.catch(() => undefined);
      return await Promise.race([work, stopped]);
    } finally {
      await tap.close(stopping.signal.aborted ? { graceMs: interruptGraceMs } : {});
    }
  } finally {
    process.off("SIGINT", onInterrupt);
    process.off("SIGTERM", onTerminate);
  }
}

/** Another process drives the room: posts are taken meanwhile, and it goes on here when the lease can be had. */
function tellWait(roomId: string, { process: holder, inMs }: LeaseWait): void {
  const who = holder === null ? "another process" : `process ${holder.pid}`;
  output.note(
    `#${roomId}: ${who} drives it; it is taken over here ${Math.ceil(inMs / 1_000)} s after its last sign of life`,
  );
}

/** The status of a command whose output found no reader, or no room. */
function lostStatus(): number {
  return output.hasLeft ? 0 : 1;
}

interface DemoOptions {
  readonly runner?: "acp" | "scripted";
  readonly scene: DemoScene;
  readonly db?: string;
  readonly approve: ApprovePolicy;
  readonly json?: boolean;
}

async function demo({ runner, scene, db, approve, json }: DemoOptions): Promise<number> {
  if (scene === "rounds" && runner === "acp") {
    throw new RoomtapError("invalid_params", "the scene rounds is played by scripts; leave --runner acp away");
  }
  const config = scene === "rounds" ? roundsConfig() : demoConfig(runner ?? "acp", acpExampleAgent());
  const { file, remove } = databaseFile(db);
  const failed: string[] = [];
  const plugins = [json === true ? { plugin: printer({ write: show }), grants: allGrants } : cardsEntry(config)];
  try {
    const status = await withHost({ config, db: file, approve, plugins }, async (tap) => {
      tap.observe({ id: "demo", kinds: ["turn.settled"], handler: (event) => void failed.push(...failuresOf(event)) });
      if (scene === "rounds") await playRounds(tap);
      else await tap.room(demoRoomId).post({ text: demoText });
      await tap.finish();
      return 0;
    });
    if (status === 0 && failed.length > 0) {
      throw new RoomtapError("demo_failed", `a turn of the demo settled ${failed.join(", ")}`);
    }
    if (status === 0 && db !== undefined && output.fault === null)
      output.note(`the log is in ${db}: roomtap verify --db ${db}`);
    return status;
  } finally {
    remove();
  }
}

/** A discussion of two rounds that ends by itself, then a turn that is stopped while it works. */
async function playRounds(tap: Roomtap): Promise<void> {
  const room = tap.room(demoRoomId);
  await room.post({ text: roundsTexts.draft });
  await tap.quiet();
  const started = new Promise<void>((resolve) => {
    tap.observe({ id: "rounds", kinds: ["tool.started"], handler: () => resolve() });
  });
  await room.post({ text: roundsTexts.watch });
  await started;
  await room.stop();
}

/** How a turn failed, in words; none of an event that tells of none. */
function failuresOf(event: ActivityEvent): readonly string[] {
  if (event.kind !== "turn.settled") return [];
  const { status, reason_code } = event.payload;
  const isRight = status === "completed" || status === "passed" || reason_code === "stopped";
  return isRight ? [] : [`${status} (${reason_code ?? "no reason"})`];
}

interface UpOptions {
  readonly config?: string;
  readonly demo?: boolean;
  readonly runner?: DemoOptions["runner"];
  readonly db?: string;
  readonly approve?: ApprovePolicy;
  readonly stay?: boolean;
}

async function up(options: UpOptions): Promise<number> {
  if ((options.config === undefined) === (options.demo !== true)) {
    throw new RoomtapError("invalid_params", "up takes either --config FILE or --demo");
  }
  if (options.config !== undefined && options.runner !== undefined) {
    throw new RoomtapError("invalid_params", "--runner is for --demo: a config names the runner of each member");
  }
  const { runner = "acp" } = options;
  const config =
    options.config === undefined ? demoConfig(runner, acpExampleAgent()) : await readConfig(options.config);
  const { file, remove } = options.demo === true ? databaseFile(options.db) : databaseFile(options.db ?? "roomtap.db");
  const approve = options.approve ?? (options.demo === true ? "deny" : config.approve);
  const run = { config, db: file, approve, plugins: [cardsEntry(config)], onRequest: hint };
  try {
    return await withHost(run, async (tap, stop) => {
      const rooms = config.rooms.map(
        ({ room_id, members }) => `#${room_id} (${members.map((m) => `@${m.handle}`).join(" ")})`,
      );
      output.note(
        `open: ${rooms.join(", ")}; a line is a post or a command (/state, /stop, ...), the end of input stops`,
      );
      if (options.demo === true) await tap.room(demoRoomId).post({ text: demoText });
      await readLines(tap, config, stop);
      if (options.stay === true) await aborted(stop);
      for (const request of await tap.finish()) {
        output.note(`nobody answered ${request.id} (${questionOf(request)[0] ?? ""}): its turn was cancelled`);
      }
      return 0;
    });
  } finally {
    remove();
  }
}

/** Until the end of input, or `stop`. */
async function readLines(tap: Roomtap, config: HostConfig, stop: AbortSignal): Promise<void> {
  const roomIds = config.rooms.map(({ room_id }) => room_id);
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity, signal: stop })) {
    if (stop.aborted) return;
    for (const note of await carryOut(parseLine(line, roomIds), tap)) output.note(note);
  }
}

/** Keeps the process alive until then: a host whose rooms rest has nothing else that does. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stopTimer = systemClock.after(Number.MAX_SAFE_INTEGER, () => undefined);
    const end = (): void => {
      stopTimer();
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end);
  });
}

/** All of the question: nobody can agree to what nobody can read. */
function hint(request: OpenRequest): void {
  const { id } = request;
  for (const line of questionOf(request)) output.note(`an approval waits: ${line}`);
  output.note(`type /answer ${id} once, or /answer ${id} deny`);
}

/** What an agent asks, in lines. */
function questionOf({ params }: OpenRequest): readonly string[] {
  const { command, description, tool_name } = params;
  const lines = approvalLines({ command, description });
  return lines.length > 0 ? lines : [oneLine(typeof tool_name === "string" ? tool_name : "it does not say what")];
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

function program(done: (status: number) => void): Command {
  const command = root();
  const look = (name: string, about: string): Command =>
    command
      .command(name)
      .description(about)
      .requiredOption("--db <file>", "the database", pathOf)
      .option("--json", "JSON and nothing else");

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
    .action(async (options: DemoOptions) => done(await demo(options)));
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
    .addHelpText("after", "\nExample: echo '@planner hello' | roomtap up --config rooms.json")
    .action(async (options: UpOptions) => done(await up(options)));
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
