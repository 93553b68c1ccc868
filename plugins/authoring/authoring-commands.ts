import { pathOf, wordsOf } from "../arguments.ts";
import { defineCommand, jsonOption, type CommandParts, type CommandSpec } from "../command.ts";
import { checkPluginCommand, type CheckKit, type CheckOptions } from "./check-command.ts";
import { newPluginCommand, type NewOptions } from "./new-command.ts";

/** What the commands for authors of plugins work with. */
export interface AuthoringParts extends CommandParts {
  /** Of this package: what new plugins are written for. */
  readonly version: string;
  readonly kit: CheckKit;
  /** Ends the process, whatever a plugin has left running in it. */
  readonly leave: (status: number) => void;
}

/** The commands for authors of plugins: `plugin new`, `plugin check`. */
export function authoringCommands(parts: AuthoringParts): readonly CommandSpec[] {
  return [
    {
      usage: "plugin",
      about: "writes and checks plugins",
      options: [],
      examples: ["roomtap plugin new tool-counter"],
      commands: [newSpec(parts), checkSpec(parts)],
    },
  ];
}

function newSpec({ output, version }: AuthoringParts): CommandSpec {
  return defineCommand<NewOptions, [name: string]>({
    usage: "new <name>",
    about: "writes a plugin that works, with its test, into a new folder of that name",
    options: [
      { flags: "--typescript", about: "in TypeScript, to be built; default: JavaScript, as it is" },
      { flags: "--dir <folder>", about: "where the new folder is made (default: here)", parse: pathOf },
      jsonOption,
    ],
    examples: ["roomtap plugin new tool-counter", "roomtap plugin new tool-counter --typescript"],
    run: (options, name) => newPluginCommand(name, options, { output, version }),
  });
}

function checkSpec({ output, kit, leave }: AuthoringParts): CommandSpec {
  return defineCommand<CheckOptions, [path: string]>({
    usage: "check <path>",
    about: "loads a plugin as a host does, and tries what every plugin must survive",
    options: [
      { flags: "--config <file>", about: "JSON that it is loaded with", parse: pathOf },
      { flags: "--grant <words>", about: "what it is granted (default: what its manifest asks for)", parse: wordsOf },
      {
        flags: "--isolation <kind>",
        about: "one alone (default: all that its manifest allows)",
        choices: ["inline", "worker"],
      },
      jsonOption,
    ],
    help: "Its code runs: check what you trust. The exit status is 1 when anything was found.",
    examples: ["roomtap plugin check .", "roomtap plugin check ./tool-counter --config config.json --json"],
    run: async (options, path) => {
      const status = await checkPluginCommand(path, options, { output, kit });
      leave(status);
      return status;
    },
  });
}
