import { pathOf, wholeNumber } from "../arguments.ts";
import { defineCommand, jsonOption, type CommandParts, type CommandSpec, type OptionSpec } from "../command.ts";
import { readConfig, secretsOfConfig } from "../config.ts";
import { logCommand } from "./commands/log.ts";
import { replayCommand } from "./commands/replay.ts";
import { roomsCommand } from "./commands/rooms.ts";
import { verifyCommand } from "./commands/verify.ts";

/** What each command that looks at a database takes. */
interface LookFlags {
  readonly db: string;
  readonly json?: boolean;
}

const lookOptions: readonly OptionSpec[] = [
  { flags: "--db <file>", about: "the database (required)", parse: pathOf, isRequired: true },
  jsonOption,
];

/** The commands that look at a database: `rooms`, `log`, `replay`, `verify`. */
export function lookCommands({ output }: CommandParts): readonly CommandSpec[] {
  return [
    defineCommand<LookFlags>({
      usage: "rooms",
      about: "lists the rooms of a database",
      options: lookOptions,
      examples: ["roomtap rooms --db roomtap.db"],
      run: ({ db, json = false }) => roomsCommand({ db, json }, output),
    }),
    defineCommand<LookFlags & { readonly raw?: boolean; readonly config?: string }, [string]>({
      usage: "log <room>",
      about: "prints the rows of a room, texts masked",
      options: [
        ...lookOptions,
        { flags: "--config <file>", about: "mask the secrets of this config as well" },
        { flags: "--raw", about: "show texts as they are stored, secrets included" },
      ],
      examples: ["roomtap log demo --db demo.db --json"],
      run: async ({ db, json = false, raw = false, config }, room) => {
        const secrets = config === undefined ? [] : secretsOfConfig(await readConfig(config));
        return logCommand({ db, json, raw, room, secrets }, output);
      },
    }),
    defineCommand<LookFlags & { readonly at?: number }, [string]>({
      usage: "replay <room>",
      about: "folds a room's log and prints the state with its digest",
      options: [...lookOptions, { flags: "--at <seq>", about: "up to this row", parse: wholeNumber }],
      examples: ["roomtap replay demo --db demo.db --at 2"],
      run: ({ db, json = false, at }, room) => replayCommand({ db, json, room, at }, output),
    }),
    defineCommand<LookFlags>({
      usage: "verify",
      about: "checks every row of every room: hashes, order, what it folds to",
      options: lookOptions,
      examples: ["roomtap verify --db demo.db"],
      run: ({ db, json = false }) => verifyCommand({ db, json }, output),
    }),
  ];
}
