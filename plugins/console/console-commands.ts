import { systemIds } from "../../core/index.ts";
import { originsOf, pathOf, portOf, wordsOf } from "../arguments.ts";
import { defineCommand, jsonOption, type CommandParts, type CommandSpec, type OptionSpec } from "../command.ts";
import type { HostConfig } from "../config.ts";
import type { PluginEntry } from "../entry.ts";
import type { Logger } from "../plugin.ts";
import type { HostRun, RunHost } from "./command-host.ts";
import { databaseFile } from "./database-file.ts";
import { demoScenes } from "./demo.ts";
import { demoCommand, type DemoOptions } from "./demo-command.ts";
import { logLevels, type LogLevel } from "./json-log.ts";
import { upHelp } from "./line.ts";
import { tokenCommand, type TokenOptions } from "./token-command.ts";
import { upCommand, type UpOptions, type UpParts } from "./up-command.ts";

/** What the commands that run rooms work with besides. */
export interface ConsoleParts extends CommandParts, Pick<UpParts, "input" | "frames" | "isLoopback" | "announce"> {
  /** Opens a host for a command; it logs to `logger`. */
  readonly runHost: (run: HostRun, use: Parameters<RunHost>[1], logger?: Logger) => Promise<number>;
  /** What shows events: each as JSON on a line, or as cards. */
  readonly shown: (json: boolean) => (config: HostConfig) => PluginEntry;
  /** What serves the page of `up --port`. */
  readonly page: UpParts["page"];
  /** Path of the example agent's program; undefined when it is not installed. */
  readonly agent: () => string | undefined;
  readonly onReload: UpParts["onReload"];
  /** The log as JSON lines on stderr; none without a level. */
  readonly logger: (level: LogLevel | undefined) => Promise<Logger | undefined>;
  /** Ends the process if something went wrong: what nobody reads would keep it for as long as its reader stays. */
  readonly leave: (status: number) => void;
}

/** The commands that run rooms: `demo`, `up`. */
export function runningCommands(parts: ConsoleParts): readonly CommandSpec[] {
  return [demoSpec(parts), upSpec(parts)];
}

function approveOption(about: string, fallback?: string): OptionSpec {
  const spec = { flags: "--approve <choice>", about, choices: ["once", "deny"] };
  return fallback === undefined ? spec : { ...spec, fallback };
}

function runnerOption(about: string): OptionSpec {
  return { flags: "--runner <kind>", about, choices: ["acp", "scripted"] };
}

function demoSpec({ output, runHost, agent, shown }: ConsoleParts): CommandSpec {
  return defineCommand<DemoOptions & { readonly json?: boolean }>({
    usage: "demo",
    about: "one room, a few members, until all has settled",
    options: [
      runnerOption("what drives the members (default: acp)"),
      {
        flags: "--scene <name>",
        about: "hello: one message; rounds: mentions, a second round, a pass, a refusal, a stop",
        choices: demoScenes,
        fallback: "hello",
      },
      approveOption("how approvals are answered", "deny"),
      { flags: "--db <file>", about: "keep the log in this file; else it is temporary", parse: pathOf },
      { flags: "--json", about: "each activity event as JSON on a line" },
    ],
    examples: ["roomtap demo --runner scripted --json --db demo.db"],
    run: async ({ json = false, ...options }) => {
      const { file, remove } = databaseFile(options.db);
      try {
        return await demoCommand(options, { runHost, output, file, agent: agent(), shown: shown(json) });
      } finally {
        remove();
      }
    },
  });
}

interface UpFlags extends Omit<UpOptions, "allowedOrigins"> {
  readonly db?: string;
  readonly allowOrigin?: readonly string[];
  readonly logLevel?: LogLevel;
}

const upOptions: readonly OptionSpec[] = [
  { flags: "--config <file>", about: "the rooms, as JSON or a module" },
  { flags: "--demo", about: "the demo's room and one message" },
  runnerOption("with --demo: what drives the members (default: acp)"),
  {
    flags: "--db <file>",
    about: "the database (default: roomtap.db; with --demo a temporary one)",
    parse: pathOf,
  },
  approveOption("how approvals are answered (default: as the config says, else they wait; with --demo deny)"),
  { flags: "--stay", about: "go on when stdin ends, until Ctrl-C" },
  {
    flags: "--port <port>",
    about: "let clients in over WebSocket, 0 for any free port; goes on until Ctrl-C",
    parse: portOf,
  },
  { flags: "--host <address>", about: "with --port: where to listen (default: 127.0.0.1)" },
  {
    flags: "--allow-origin <origin>",
    about:
      "with --port: whose pages may connect; may be repeated (default: the server's own on this machine, else none)",
    parse: originsOf,
  },
  { flags: "--stdio", about: "one client on stdin and stdout, a frame a line, until its input ends" },
  { flags: "--json", about: "each activity event as JSON on a line; with --port first where it listens" },
  {
    flags: "--log-level <level>",
    about: "log on stderr, as JSON: who was let in or refused, and plugins",
    choices: logLevels,
  },
];

function upSpec(parts: ConsoleParts): CommandSpec {
  return defineCommand<UpFlags>({
    usage: "up",
    about: "runs rooms; each line on stdin is a post",
    options: upOptions,
    help: upHelp,
    examples: ["echo '@planner hello' | roomtap up --config rooms.json"],
    run: async (flags) => {
      const status = await up(flags, parts);
      if (flags.stdio === true) parts.leave(status);
      return status;
    },
  });
}

async function up(
  { db, allowOrigin: allowedOrigins, logLevel, ...rest }: UpFlags,
  { runHost, shown, agent, environment, logger: openLogger, ...parts }: ConsoleParts,
): Promise<number> {
  const options: UpOptions = { ...rest, token: environment["ROOMTAP_TOKEN"], allowedOrigins };
  const logger = await openLogger(logLevel);
  const { file, remove } = databaseFile(rest.demo === true ? db : (db ?? "roomtap.db"));
  try {
    return await upCommand(options, {
      ...parts,
      ...{ file, agent: agent(), shown: shown(options.json ?? false) },
      runHost: (run, use) => runHost(run, use, logger),
    });
  } finally {
    remove();
  }
}

/** Credentials: `token new`. */
export function tokenCommands({ output }: CommandParts): readonly CommandSpec[] {
  const make = defineCommand<TokenOptions>({
    usage: "new",
    about: "prints a token that nobody guesses, and the entry of auth.tokens that lets it in",
    options: [
      { flags: "--principal <name>", about: "whom it is for", fallback: "local" },
      {
        flags: "--scopes <list>",
        about: "what it may do: read, write, approvals, admin",
        parse: wordsOf,
        fallback: ["read", "write"],
      },
      { flags: "--rooms <list>", about: "the rooms that are there for it (default: all)", parse: wordsOf },
      { flags: "--grants <list>", about: "what it may see besides: reasoning, full", parse: wordsOf },
      { ...jsonOption, about: "the entry and nothing else" },
    ],
    examples: ["roomtap token new --principal phone --scopes read"],
    run: (options) => tokenCommand(options, output, systemIds),
  });
  const { examples } = make;
  return [{ usage: "token", about: "tokens for the config's auth", options: [], examples, commands: [make] }];
}
