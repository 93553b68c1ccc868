#!/usr/bin/env node
import { resolve } from "node:path";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { errorTable, messageOf, RoomtapError, secretsOfEnvironment, systemClock } from "./core/index.ts";
import { createRoomtap } from "./index.ts";
import {
  acpExampleAgent,
  announceServer,
  authoringCommands,
  cards,
  crewCommands,
  groupedCommands,
  inspectorPage,
  completionCommands,
  isLoopback,
  jsonLog,
  lookCommands,
  noProgress,
  pluginCommands,
  printer,
  progressBar,
  runningCommands,
  packageVersion,
  recordCommands,
  remoteOf,
  remoteOptions,
  runtimeFolder,
  schemaCommands,
  serverCommands,
  showCommands,
  StreamOutput,
  styleFor,
  terminalOf,
  tokenCommands,
  waitLine,
  WebSocket,
  withServer,
  type Argument,
  type CommandParts,
  type CommandSpec,
  type ConsoleParts,
  type HostConfig,
  type InspectorParts,
  type OptionSpec,
  type PluginEntry,
} from "./plugins/index.ts";
import { conformanceChecks, openTestHost } from "./plugins/testing/index.ts";

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

/** The signal's reason is the status to end with. A second Ctrl-C ends the process at once. */
const untilStopped: CommandParts["untilStopped"] = async (use) => {
  const stopping = new AbortController();
  const onInterrupt = (): void => stopping.abort(130);
  const onTerminate = (): void => stopping.abort(143);
  process.once("SIGINT", onInterrupt);
  process.once("SIGTERM", onTerminate);
  void output.lost.then(() => stopping.abort(lostStatus()));
  try {
    return await use(stopping.signal);
  } finally {
    process.off("SIGINT", onInterrupt);
    process.off("SIGTERM", onTerminate);
  }
};

/** Being stopped closes the host as well: turns settle `cancelled`, and the status says why. */
const runHost: ConsoleParts["runHost"] = (run, use, logger) =>
  untilStopped(async (signal) => {
    const stopped = new Promise<number>((end) => {
      signal.addEventListener("abort", () => end(Number(signal.reason)));
    });
    const { rooms, agents, busyMode, auth, plugins = [] } = run.config;
    const tap = await createRoomtap({
      ...{ db: run.db, rooms, agents, busyMode, auth, logger },
      ...{ approve: run.approve, plugins: [...plugins, ...(run.plugins ?? [])], onRequest: run.onRequest },
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
  });

/** A bar on standard error, where that is a terminal. */
const withProgress: InspectorParts["withProgress"] = async (label, use) => {
  const { stderr } = process;
  const write = (text: string): void => void stderr.write(text);
  const width = (): number => stderr.columns || 80;
  const progress = stderr.isTTY ? progressBar({ label, clock: systemClock, write, width }) : noProgress;
  try {
    return await use(progress);
  } finally {
    progress.clear();
  }
};

/** All commands, an area each. */
function allCommands(): readonly CommandSpec[] {
  const parts: CommandParts = { output, environment: process.env, untilStopped };
  const inspector: InspectorParts = {
    ...{ ...parts, WebSocket, withProgress },
    style: styleFor({ isTerminal: process.stdout.isTTY, environment: process.env }),
    terminal: terminalOf(process),
    runtimeFolder: () => runtimeFolder(process.env),
  };
  return groupedCommands([
    ...runningCommands({
      ...parts,
      ...{ runHost, shown: shownBy, agent: acpExampleAgent, isLoopback },
      page: { plugin: inspectorPage(), grants: ["routes"] },
      ...{ input: process.stdin, frames: process.stdout },
      logger: (level) => jsonLog(level, process.stderr),
      announce: ({ db, ...server }) => announceServer({ ...server, db: resolve(db) }, runtimeFolder(process.env)),
      onReload: (reload) => {
        process.on("SIGHUP", reload);
        return () => process.off("SIGHUP", reload);
      },
      leave: (status) => {
        process.exitCode = endStatus(status);
        if (process.exitCode !== 0) process.exit();
      },
    }),
    ...showCommands(inspector),
    ...lookCommands(inspector),
    ...serverCommands(inspector),
    ...recordCommands(inspector),
    ...pluginCommands(inspector),
    ...crewCommands({
      ...inspector,
      serverOptions: remoteOptions,
      withServer: (flags, use, options) => withServer(remoteOf(flags, inspector), output.note, use, options),
    }),
    ...tokenCommands(parts),
    ...authoringCommands({
      ...parts,
      version: packageVersion(),
      kit: { conformanceChecks, openTestHost },
      leave: (status) => process.exit(endStatus(status)),
    }),
    ...schemaCommands({ output, version: packageVersion() }),
    ...completionCommands({ output, commands: allCommands }),
  ]);
}

function root(): Command {
  return new Command("roomtap")
    .description("Runs rooms whose members are agents, shows what their turns do, and reads the logs they leave.")
    .version(packageVersion(), "--version", "prints the version")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: usageError("roomtap --help lists the commands") });
}

/** Who used a command wrongly is told where its options stand. */
function usageError(hint: string): (text: string) => void {
  return (text) => output.note(`roomtap: usage: ${text.replace(/^error: /, "").trimEnd()} (${hint})`);
}

function addCommand(parent: Command, spec: CommandSpec, path = "roomtap"): void {
  const command = parent.command(spec.usage, { isDefault: spec.isDefault === true }).description(spec.about);
  for (const argument of command.registeredArguments) {
    const choices = spec.choices?.[argument.name()];
    if (choices !== undefined) argument.choices(choices);
  }
  const name = `${path} ${command.name()}`;
  command.configureOutput({ outputError: usageError(`${name} --help lists its options`) });
  for (const option of spec.options) command.addOption(optionOf(option));
  if (spec.help !== undefined) command.addHelpText("after", `\n${spec.help}`);
  if (spec.examples.length > 0) {
    command.addHelpText("after", `\n${spec.examples.map((line) => `Example: ${line}`).join("\n")}`);
  }
  for (const below of spec.commands ?? []) addCommand(command, below, name);
  const { run } = spec;
  if (run === undefined) return;
  command.action(async (...given: readonly unknown[]) => {
    const args = given.slice(0, -2) as readonly Argument[];
    process.exitCode = endStatus(await run(command.opts(), args));
  });
}

function optionOf({ flags, about, parse, choices, fallback, isRequired = false }: OptionSpec): Option {
  const option = new Option(flags, about).makeOptionMandatory(isRequired);
  if (parse !== undefined) option.argParser(asArgument(parse));
  if (choices !== undefined) option.choices(choices);
  return fallback === undefined ? option : option.default(fallback);
}

/** A value that does not fit is told as wrong usage of its option. */
function asArgument(parse: NonNullable<OptionSpec["parse"]>): NonNullable<OptionSpec["parse"]> {
  return (value, before) => {
    try {
      return parse(value, before);
    } catch (fault) {
      if (fault instanceof RoomtapError) throw new InvalidArgumentError(fault.message);
      throw fault;
    }
  };
}

/** The status of a command whose output found no reader, or no room. */
function lostStatus(): number {
  return output.hasLeft ? 0 : 1;
}

function endStatus(status: number): number {
  return output.fault === null ? status : lostStatus();
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
  const program = root();
  for (const spec of allCommands()) addCommand(program, spec);
  await program.parseAsync();
} catch (fault) {
  process.exitCode = statusOf(fault);
}
