import { countOf, listOf, pathOf } from "../arguments.ts";
import { defineCommand, type CommandSpec } from "../command.ts";
import { recordCommand } from "./commands/record.ts";
import { remoteOf, remoteOptions, type RemoteFlags, type RemoteParts } from "./remote-flags.ts";

interface RecordFlags extends RemoteFlags {
  readonly out: string;
  readonly kind?: readonly string[];
  readonly maxBytes?: number;
  readonly count?: number;
}

const recordHelp = `The file holds JSON Lines: a header, an event of activity a line as it is on the wire, gaps among them, {"lost": ...} for
what did not come while the connection was lost, and {"end": true, ...}. A file that is there is never written over.`;

/** The command that records a room of a server that runs: `record`. */
export function recordCommands(parts: RemoteParts): readonly CommandSpec[] {
  return [
    defineCommand<RecordFlags, [string]>({
      usage: "record <room>",
      about: "records the activity of a room in a file, over reconnects, until Ctrl-C",
      options: [
        ...remoteOptions,
        { flags: "--out <path>", about: "a file that is not there, or a folder", parse: pathOf, isRequired: true },
        { flags: "--kind <pattern>", about: "a kind or a family such as 'tool.*'; may be repeated", parse: listOf },
        {
          flags: "--max-bytes <bytes>",
          about: "a new file after so many bytes; --out is a folder then",
          parse: countOf,
        },
        { flags: "--count <lines>", about: "end after so many events", parse: countOf },
      ],
      help: recordHelp,
      examples: ["roomtap record demo --out demo.jsonl", "roomtap record demo --out recordings/ --kind 'tool.*'"],
      run: ({ out, kind: kinds = [], maxBytes, count, ...flags }, room) =>
        parts.untilStopped((stop) =>
          recordCommand({ ...remoteOf(flags, parts), room, out, kinds, maxBytes, count }, parts.output, stop),
        ),
    }),
  ];
}
