import { numbersOf, pathOf, wholeNumber } from "../arguments.ts";
import { defineCommand, jsonOption, type CommandSpec, type OptionSpec } from "../command.ts";
import { readConfig, secretsOfConfig } from "../config.ts";
import { logCommand } from "./commands/log.ts";
import { replayCommand } from "./commands/replay.ts";
import { verifyCommand } from "./commands/verify.ts";
import type { InspectorParts } from "./inspector-parts.ts";

/** What each command that looks at a database takes. */
interface LookFlags {
  readonly db: string;
  readonly json?: boolean;
}

/** The option of commands that show stored texts. */
export const maskingOption: OptionSpec = { flags: "--config <file>", about: "mask the secrets of this config as well" };

/** The options of each command that looks at a database. */
export const lookOptions: readonly OptionSpec[] = [
  { flags: "--db <file>", about: "the database (required)", parse: pathOf, isRequired: true },
  jsonOption,
];

/** What is to be masked beside the default rules. */
export async function maskedSecrets(config: string | undefined): Promise<readonly string[]> {
  return config === undefined ? [] : secretsOfConfig(await readConfig(config));
}

/** The commands that look at the logs of a database: `log`, `replay`, `verify`. */
export function lookCommands(parts: InspectorParts): readonly CommandSpec[] {
  const { output, withProgress } = parts;
  return [
    defineCommand<LookFlags & { readonly raw?: boolean; readonly config?: string }, [string]>({
      usage: "log <room>",
      about: "prints the rows of a room, texts masked",
      options: [
        ...lookOptions,
        maskingOption,
        { flags: "--raw", about: "show texts as they are stored, secrets included" },
      ],
      examples: ["roomtap log demo --db demo.db --json"],
      run: async ({ db, json = false, raw = false, config }, room) =>
        logCommand({ db, json, raw, room, secrets: await maskedSecrets(config) }, output),
    }),
    defineCommand<LookFlags & { readonly at?: number; readonly diff?: readonly number[] }, [string]>({
      usage: "replay <room>",
      about: "folds a room's log and prints the state with its digest, or what differs between two states",
      options: [
        ...lookOptions,
        { flags: "--at <seq>", about: "up to this row", parse: wholeNumber },
        {
          flags: "--diff <seq...>",
          about: "what differs from the state at one row to that at another",
          parse: numbersOf,
        },
      ],
      examples: ["roomtap replay demo --db demo.db --at 2", "roomtap replay demo --db demo.db --diff 2 4"],
      run: ({ db, json = false, at, diff }, room) =>
        withProgress(`replay ${room}`, (progress) => replayCommand({ db, json, room, at, diff }, output, progress)),
    }),
    defineCommand<LookFlags>({
      usage: "verify",
      about: "checks every row of every room: hashes, order, what it folds to",
      options: lookOptions,
      examples: ["roomtap verify --db demo.db"],
      run: ({ db, json = false }) =>
        withProgress("verify", (progress) => verifyCommand({ db, json }, output, progress)),
    }),
  ];
}
