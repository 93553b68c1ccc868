#!/usr/bin/env node
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { errorTable, messageOf, RoomtapError, secretsOfEnvironment, systemClock, type OpenRequest } from "./core/index.ts";
import { createRoomtap, type Roomtap } from "./index.ts";
import {
  acpExampleAgent,
  cards,
  demoConfig,
  demoRoomId,
  demoText,
  logCommand,
  parseConfig,
  parseLine,
  printer,
  replayCommand,
  roomsCommand,
  secretsOfConfig,
  verifyCommand,
  type ApprovePolicy,
  type HostConfig,
  type Output,
  type PluginEntry,
} from "./plugins/index.ts";

/** How long agents may take to end when the command is interrupted. */
const interruptGraceMs = 5_000;

/** Data on stdout, a line each; whoever awaits it goes at the reader's pace. Notes on stderr. */
const output: Output = {
  out: (line) =>
    new Promise((next) => {
      if (process.stdout.write(`${line}\n`)) next();
      else process.stdout.once("drain", next);
    }),
  note: (line) => console.error(line),
};

const allGrants = ["reasoning", "approvals", "full"] as const;

function cardsEntry(config: HostConfig): PluginEntry {
  const members = config.rooms.flatMap((room) => room.members);
  const handles = new Map(members.map(({ handle, member_id }) => [member_id ?? `m-${handle}`, handle]));
  return { plugin: cards({ write: output.out, nameOf: (id) => handles.get(id) ?? id }), grants: allGrants };
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

/** Opens a host, calls `use`, closes it. Ctrl-C closes it as well: turns settle `cancelled`, and the status is 130. */
async function withHost(run: HostRun, use: (tap: Roomtap) => Promise<number>): Promise<number> {
  const tap = await createRoomtap({
    db: run.db,
    rooms: run.config.rooms,
    approve: run.approve,
    plugins: run.plugins,
    secrets: secretsOfEnvironment(process.env),
    onRequest: run.onRequest,
    report: ({ message }) => output.note(`note: ${message}`),
  });
  let interrupted: (status: number) => void = () => undefined;
  const signalled = new Promise<number>((stop) => (interrupted = stop));
  const onInterrupt = (): void => interrupted(130);
  const onTerminate = (): void => interrupted(143);
  process.once("SIGINT", onInterrupt);
  process.once("SIGTERM", onTerminate);
  const work = use(tap);
  // Once a signal has won, what becomes of the work is nobody's business any more.
  work.catch(() => undefined);
  try {
    const status = await Promise.race([work, signalled]);
    await tap.close({ graceMs: interruptGraceMs });
    return status;
  } finally {
    process.off("SIGINT", onInterrupt);
    process.off("SIGTERM", onTerminate);
    await tap.close({ graceMs: 0 });
  }
}

interface DemoOptions {
  readonly runner: "acp" | "scripted";
  readonly db?: string;
  readonly approve: ApprovePolicy;
  readonly json?: boolean;
}

async function demo({ runner, db, approve, json }: DemoOptions): Promise<number> {
  const config = demoConfig(runner, acpExampleAgent());
  const { file, remove } = databaseFile(db);
  const failed: string[] = [];
  const plugins = [json === true ? { plugin: printer({ write: output.out }), grants: allGrants } : cardsEntry(config)];
  try {
    return await withHost({ config, db: file, approve, plugins }, async (tap) => {
      tap.observe({
        id: "demo",
        kinds: ["turn.settled"],
        handler: (event) => {
          if (event.kind !== "turn.settled") return;
          const { status, reason_code } = event.payload;
          if (status !== "completed" && status !== "passed") failed.push(`${status} (${reason_code ?? "no reason"})`);
        },
      });
      await tap.room(demoRoomId).post({ text: demoText });
      await tap.finish();
      await tap.close();
      if (failed.length > 0) throw new RoomtapError("demo_failed", `a turn of the demo settled ${failed.join(", ")}`);
      if (db !== undefined) output.note(`the log is in ${db}: roomtap verify --db ${db}`);
      return 0;
    });
  } finally {
    remove();
  }
}

interface UpOptions {
  readonly config?: string;
  readonly demo?: boolean;
  readonly db?: string;
  readonly approve?: ApprovePolicy;
  readonly stay?: boolean;
}

async function up(options: UpOptions): Promise<number> {
  if ((options.config === undefined) === (options.demo !== true)) {
    throw new RoomtapError("invalid_params", "up takes either --config FILE or --demo");
  }
  const config = options.config === undefined ? demoConfig("acp", acpExampleAgent()) : readConfig(options.config);
  const { file, remove } = options.demo === true ? databaseFile(options.db) : databaseFile(options.db ?? "roomtap.db");
  const approve = options.approve ?? (options.demo === true ? "deny" : config.approve);
  const plugins = [cardsEntry(config)];
  try {
    return await withHost({ config, db: file, approve, plugins, onRequest: hint }, async (tap) => {
      const rooms = config.rooms.map(({ room_id, members }) => `#${room_id} (${members.map((m) => `@${m.handle}`).join(" ")})`);
      output.note(`open: ${rooms.join(", ")}; a line is a post, /answer ID once|deny answers, the end of input stops`);
      if (options.demo === true) await post(tap, demoRoomId, demoText);
      await readLines(tap, config);
      if (options.stay === true) await forever();
      for (const { id, params } of await tap.finish()) {
        output.note(`nobody answered ${id} (${String(params["command"] ?? params["description"] ?? "")}): its turn was cancelled`);
      }
      return 0;
    });
  } finally {
    remove();
  }
}

async function readLines(tap: Roomtap, config: HostConfig): Promise<void> {
  const roomIds = config.rooms.map(({ room_id }) => room_id);
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const asked = parseLine(line, roomIds);
    if (asked.kind === "post") await post(tap, asked.roomId, asked.text);
    else if (asked.kind === "answer") output.note(answer(tap, asked.id, asked.choice));
    else if (asked.kind === "wrong") output.note(asked.message);
  }
}

/** A line that cannot be posted is told, and the next one is read. */
async function post(tap: Roomtap, roomId: string, text: string): Promise<void> {
  try {
    const { addressed, unresolved } = await tap.room(roomId).post({ text });
    if (unresolved.length > 0) output.note(`nobody here is called ${unresolved.map((word) => `@${word}`).join(", ")}`);
    if (addressed.length === 0) output.note(`#${roomId}: the post is kept, and addresses nobody`);
  } catch (fault) {
    if (!(fault instanceof RoomtapError)) throw fault;
    output.note(`#${roomId}: ${fault.message}. ${fault.remedy}`);
  }
}

function answer(tap: Roomtap, id: string, choice: string): string {
  const result = tap.requests.answer(id, choice);
  switch (result.status) {
    case "ok":
      return `${id}: ${result.outcome.outcome}`;
    case "already_resolved":
      return `${id} was ${result.outcome.outcome} before`;
    case "unknown_request": {
      const open = tap.requests.open().map((request) => request.id);
      return `there is no request ${id}; open: ${open.length === 0 ? "none" : open.join(", ")}`;
    }
  }
}

function hint({ id, params }: OpenRequest): void {
  const asked = params["command"] ?? params["description"] ?? params["tool_name"] ?? "";
  output.note(`an approval waits: ${JSON.stringify(asked)}; type /answer ${id} once, or /answer ${id} deny`);
}

/** Until a signal comes. */
function forever(): Promise<never> {
  return new Promise(() => systemClock.after(Number.MAX_SAFE_INTEGER, () => undefined));
}

/** Folders in a config are meant from where the config stands. */
function readConfig(file: string): HostConfig {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (fault) {
    throw new RoomtapError("invalid_config", `${file}: ${messageOf(fault)}`, { cause: fault });
  }
  const config = parseConfig(value);
  return {
    ...config,
    rooms: config.rooms.map((room) => ({
      ...room,
      members: room.members.map((member) => {
        const { runner } = member;
        if (runner?.kind !== "acp" || runner.cwd === undefined) return member;
        return { ...member, runner: { ...runner, cwd: resolve(dirname(file), runner.cwd) } };
      }),
    })),
  };
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected a whole number, 0 or more");
  return Number(text);
}

const approveOption = (): Option => new Option("--approve <choice>", "how approvals are answered").choices(["once", "deny"]);

function program(done: (status: number) => void): Command {
  const command = new Command("roomtap")
    .description("Runs rooms whose members are agents, shows what their turns do, and reads the logs they leave.")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(roomtap --help lists the commands)");
  const look = (name: string, about: string): Command =>
    command
      .command(name)
      .description(about)
      .requiredOption("--db <file>", "the database")
      .option("--json", "JSON and nothing else", false);

  command
    .command("demo")
    .description("one room, two members, one message, until all has settled")
    .addOption(new Option("--runner <kind>", "what drives the members").choices(["acp", "scripted"]).default("acp"))
    .addOption(approveOption().default("deny"))
    .option("--db <file>", "keep the log in this file; else it is temporary")
    .option("--json", "each activity event as JSON on a line")
    .addHelpText("after", "\nExample: roomtap demo --runner scripted --json --db demo.db")
    .action(async (options: DemoOptions) => done(await demo(options)));
  command
    .command("up")
    .description("runs rooms; each line on stdin is a post")
    .option("--config <file>", "the rooms, as JSON")
    .option("--demo", "the demo's room and one message")
    .option("--db <file>", "the database (default: roomtap.db; with --demo a temporary one)")
    .addOption(approveOption())
    .option("--stay", "go on when stdin ends")
    .addHelpText("after", "\nExample: echo '@planner hello' | roomtap up --config rooms.json")
    .action(async (options: UpOptions) => done(await up(options)));
  look("rooms", "lists the rooms of a database")
    .addHelpText("after", "\nExample: roomtap rooms --db roomtap.db")
    .action(async (options: { db: string; json: boolean }) => done(await roomsCommand(options, output)));
  look("log <room>", "prints the rows of a room, texts masked")
    .option("--config <file>", "mask the secrets of this config as well")
    .option("--raw", "show texts as they are stored, secrets included", false)
    .addHelpText("after", "\nExample: roomtap log demo --db demo.db --json")
    .action(async (room: string, options: { db: string; json: boolean; raw: boolean; config?: string }) => {
      const secrets = options.config === undefined ? [] : secretsOfConfig(readConfig(options.config));
      done(await logCommand({ ...options, room, secrets }, output));
    });
  look("replay <room>", "folds a room's log and prints the state with its digest")
    .option("--at <seq>", "up to this row", wholeNumber)
    .addHelpText("after", "\nExample: roomtap replay demo --db demo.db --at 2")
    .action(async (room: string, options: { db: string; json: boolean; at?: number }) =>
      done(await replayCommand({ ...options, room, at: options.at }, output)),
    );
  look("verify", "checks every row of every room: hashes, order, what it folds to")
    .addHelpText("after", "\nExample: roomtap verify --db demo.db")
    .action(async (options: { db: string; json: boolean }) => done(await verifyCommand(options, output)));
  return command;
}

function statusOf(fault: unknown): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : 2;
  const error =
    fault instanceof RoomtapError ? fault : new RoomtapError("internal", messageOf(fault), { cause: fault });
  output.note(`roomtap: ${error.code}: ${error.message}. ${error.remedy}`.replaceAll("\n", " "));
  return errorTable[error.code].exit;
}

process.stdout.on("error", (fault: NodeJS.ErrnoException) => {
  // The reader has what it wanted (`| head -1`). Anything else is a lost output.
  process.exit(fault.code === "EPIPE" ? 0 : 1);
});

let status = 0;
try {
  await program((result) => (status = result)).parseAsync();
} catch (fault) {
  status = statusOf(fault);
}
process.exitCode = status;
