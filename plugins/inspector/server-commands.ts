import { countOf, listOf, wholeNumber } from "../arguments.ts";
import { defineCommand, type CommandSpec } from "../command.ts";
import { answerCommand } from "./commands/answer.ts";
import { openCommand } from "./commands/open.ts";
import { rawCommand } from "./commands/raw.ts";
import { requestsCommand } from "./commands/requests.ts";
import { sendCommand } from "./commands/send.ts";
import { tailCommand } from "./commands/tail.ts";
import { answerHelp, tailHelp } from "./help.ts";
import { remoteOf, remoteOptions, type RemoteFlags, type RemoteParts } from "./remote-flags.ts";

interface TailFlags extends RemoteFlags {
  readonly kind?: readonly string[];
  readonly since?: number;
  readonly count?: number;
  readonly failOnLoss?: boolean;
}

/** The commands that talk to a server that runs: `tail`, `send`, `open`, `requests`, `answer`, `raw`. */
export function serverCommands(parts: RemoteParts): readonly CommandSpec[] {
  return [tailSpec(parts), ...callSpecs(parts)];
}

function tailSpec(parts: RemoteParts): CommandSpec {
  return defineCommand<TailFlags, [string]>({
    usage: "tail <room>",
    about: "follows a room: rows and activity, over reconnects",
    options: [
      ...remoteOptions,
      {
        flags: "--kind <pattern>",
        about: "a kind or a family such as 'tool.*'; may be repeated",
        parse: listOf,
      },
      { flags: "--since <seq>", about: "rows above this one first", parse: wholeNumber },
      { flags: "--count <lines>", about: "end after so many lines", parse: countOf },
      { flags: "--fail-on-loss", about: "exit 1 when anything was lost" },
    ],
    help: tailHelp,
    examples: ["roomtap tail demo --kind 'tool.*' --count 10"],
    run: ({ kind: kinds = [], since, count, failOnLoss = false, ...flags }, room) =>
      parts.untilStopped((stop) => {
        const options = { ...remoteOf(flags, parts), room, kinds, since, count, failOnLoss };
        return tailCommand(options, parts.output, stop);
      }),
  });
}

function callSpecs(parts: RemoteParts): readonly CommandSpec[] {
  const { output } = parts;
  return [
    defineCommand<RemoteFlags & { readonly thread?: string }, [string, string]>({
      usage: "send <room> <text>",
      about: "posts to a room",
      options: [...remoteOptions, { flags: "--thread <id>", about: "a line of talk in it (default: main)" }],
      examples: ["roomtap send demo '@planner what next?'"],
      run: ({ thread, ...flags }, room, text) => sendCommand({ ...remoteOf(flags, parts), room, text, thread }, output),
    }),
    defineCommand<RemoteFlags>({
      usage: "open",
      about: "prints a link that opens the server's page in a browser, signed in",
      options: remoteOptions,
      examples: ["roomtap open"],
      run: (flags) => openCommand(remoteOf(flags, parts), output),
    }),
    defineCommand<RemoteFlags>({
      usage: "requests",
      about: "lists the questions that wait for a person",
      options: remoteOptions,
      examples: ["roomtap requests --json"],
      run: (flags) => requestsCommand(remoteOf(flags, parts), output),
    }),
    defineCommand<RemoteFlags, [string, string]>({
      usage: "answer <id> <value>",
      about: "answers a question: a choice, a text, or a result as JSON",
      options: remoteOptions,
      help: answerHelp,
      examples: ["roomtap answer srq-f9aea1f750f1 once"],
      run: (flags, id, value) => answerCommand({ ...remoteOf(flags, parts), id, value }, output),
    }),
    defineCommand<RemoteFlags, [string, string | undefined]>({
      usage: "raw <method> [params]",
      about: "calls a method of the wire and prints its result",
      options: remoteOptions,
      examples: [`roomtap raw rooms.state '{"room_id":"demo"}'`],
      run: (flags, method, params) => rawCommand({ ...remoteOf(flags, parts), method, params }, output),
    }),
  ];
}
