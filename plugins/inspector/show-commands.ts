import { RoomtapError } from "../../core/index.ts";
import { pathOf, secondsOf } from "../arguments.ts";
import { defineCommand, type CommandSpec, type OptionSpec } from "../command.ts";
import { consumersCommand } from "./commands/consumers.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { roomOfDatabase, roomOfServer } from "./commands/room-show.ts";
import { roomsCommand } from "./commands/rooms.ts";
import { topCommand } from "./commands/top.ts";
import { turnOfDatabase, turnOfServer } from "./commands/turn-show.ts";
import type { InspectorParts } from "./inspector-parts.ts";
import { lookOptions, maskedSecrets, maskingOption } from "./look-commands.ts";
import { remoteOf, remoteOptions, type RemoteFlags } from "./remote-flags.ts";

/** What a command takes that looks at a database or at a server. */
interface EitherFlags extends RemoteFlags {
  readonly db?: string;
}

const eitherOptions: readonly OptionSpec[] = [
  { flags: "--db <file>", about: "look at this database, instead of a server", parse: pathOf },
  ...remoteOptions,
];

const intervalOption: OptionSpec = {
  flags: "--interval <seconds>",
  about: "between two looks (default: 2)",
  parse: secondsOf,
};
const defaultIntervalMs = 2_000;

/** The commands that show rooms, turns and consumers: `rooms`, `turn`, `top`, `consumers`, `doctor`. */
export function showCommands(parts: InspectorParts): readonly CommandSpec[] {
  return [roomsSpec(parts), turnSpec(parts), topSpec(parts), consumersSpec(parts), doctorSpec(parts)];
}

/** @throws RoomtapError `invalid_params` when a database and a server are named both */
function checkEither({ db, url }: EitherFlags): void {
  if (db === undefined || url === undefined) return;
  throw new RoomtapError("invalid_params", "--db looks at a database, --url at a server: give one of them");
}

function roomsSpec(parts: InspectorParts): CommandSpec {
  const { output, style } = parts;
  const ls = defineCommand<{ readonly db: string; readonly json?: boolean }>({
    usage: "ls",
    about: "lists the rooms of a database; `rooms` alone does the same",
    options: lookOptions,
    isDefault: true,
    examples: ["roomtap rooms ls --db roomtap.db"],
    run: ({ db, json = false }) => roomsCommand({ db, json }, output),
  });
  const show = defineCommand<EitherFlags, [string]>({
    usage: "show <room>",
    about: "one room: record, members, threads, posts that wait, requests, who drives it",
    options: eitherOptions,
    examples: ["roomtap rooms show release", "roomtap rooms show demo --db demo.db --json"],
    run: async (flags, room) => {
      checkEither(flags);
      const { db, json = false } = flags;
      if (db !== undefined) return roomOfDatabase({ db, room, json, style }, output);
      return roomOfServer({ ...remoteOf(flags, parts), room, style }, output);
    },
  });
  const examples = ["roomtap rooms --db roomtap.db", ...show.examples];
  return { usage: "rooms", about: "lists rooms, or shows one", options: [], examples, commands: [ls, show] };
}

interface TurnFlags extends EitherFlags {
  readonly room?: string;
  readonly config?: string;
  readonly follow?: boolean;
  readonly full?: boolean;
}

const turnHelp = `ID is the id of a turn (roomtap log ROOM --json shows them), or the beginning of one that no other turn has.

A database has the rows of a turn: what it was asked, and how it ended. What it did in between is activity: a server shows
it of a turn that is open, from the moment of the look on. What is not known is said to be so; "at least" stands where
something was lost, or passed before anybody looked.`;

function turnSpec(parts: InspectorParts): CommandSpec {
  const { output, style, untilStopped } = parts;
  const show = defineCommand<TurnFlags, [string]>({
    usage: "show <id>",
    about: "one turn as a tree: input, text, tools, requests, and how sure that is",
    options: [
      ...eitherOptions,
      { flags: "--room <id>", about: "look into this room alone" },
      { ...maskingOption, about: "with --db: mask the secrets of this config as well" },
      { flags: "--follow", about: "of a server: until the turn has settled, with what it does meanwhile" },
      { flags: "--full", about: "texts and payloads as long as they are" },
    ],
    help: turnHelp,
    examples: ["roomtap turn show t-3f9a --db demo.db", "roomtap turn show t-3f9a --follow"],
    run: async (flags, id) => {
      checkEither(flags);
      const { db, config, room, json = false, full = false, follow = false } = flags;
      const shown = { id, room, json, full, style };
      if (db !== undefined) {
        if (follow) throw new RoomtapError("invalid_params", "--follow is for a server: nothing goes on in a database");
        return turnOfDatabase({ ...shown, db, secrets: await maskedSecrets(config) }, output);
      }
      return untilStopped((stop) => turnOfServer({ ...remoteOf(flags, parts), ...shown, follow }, output, stop));
    },
  });
  return { usage: "turn", about: "shows a turn", options: [], examples: show.examples, commands: [show] };
}

const topHelp = `Keys: q quits, p holds the picture, s sorts, r reverses, / filters, arrows move, h lists them all.
Without a terminal it prints one plain picture, as with --once. Consumers are shown to credentials with the scope admin.`;

function topSpec(parts: InspectorParts): CommandSpec {
  const { output, style, terminal, untilStopped } = parts;
  return defineCommand<RemoteFlags & { readonly once?: boolean; readonly interval?: number }, [string[] | undefined]>({
    usage: "top [rooms...]",
    about: "members, what they do and how long, and how consumers keep up, live",
    options: [...remoteOptions, { flags: "--once", about: "one picture, and the end" }, intervalOption],
    help: topHelp,
    examples: ["roomtap top", "roomtap top release --once --json"],
    run: (flags, rooms = []) =>
      untilStopped((stop) => {
        const { once = false, interval: intervalMs = defaultIntervalMs } = flags;
        return topCommand({ ...remoteOf(flags, parts), rooms, once, intervalMs, style }, output, { terminal, stop });
      }),
  });
}

function consumersSpec(parts: InspectorParts): CommandSpec {
  const { output, untilStopped } = parts;
  return defineCommand<RemoteFlags & { readonly watch?: boolean; readonly interval?: number }>({
    usage: "consumers",
    about: "counters of all consumers of activity: what waits, what was dropped, how long handlers take",
    options: [
      ...remoteOptions,
      { flags: "--watch", about: "again and again, until Ctrl-C" },
      { ...intervalOption, about: "with --watch: between two looks (default: 2)" },
    ],
    help: "Needs a credential with the scope admin.",
    examples: ["roomtap consumers", "roomtap consumers --watch --json"],
    run: (flags) =>
      untilStopped((stop) => {
        const { watch = false, interval: intervalMs = defaultIntervalMs } = flags;
        return consumersCommand({ ...remoteOf(flags, parts), watch, intervalMs }, output, stop);
      }),
  });
}

function doctorSpec(parts: InspectorParts): CommandSpec {
  const { output, style, environment, runtimeFolder } = parts;
  return defineCommand<EitherFlags & { readonly config?: string }>({
    usage: "doctor",
    about: "looks at Node, SQLite, the disk, a database, a config and servers, and says what to do",
    options: [
      { flags: "--db <file>", about: "the database (default: roomtap.db, if it is there)", parse: pathOf },
      { flags: "--config <file>", about: "the config, and the programs of its agents" },
      ...remoteOptions,
    ],
    help: "It changes nothing, starts no agent and shows no secret. Exit status 1: there is a problem.",
    examples: ["roomtap doctor", "roomtap doctor --db demo.db --config rooms.json --json"],
    run: ({ db, config, ...flags }) =>
      doctorCommand(
        { ...remoteOf(flags, parts), db, config, style, environment, runtimeFolder: runtimeFolder() },
        output,
      ),
  });
}
