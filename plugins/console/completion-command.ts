import { defineCommand, type CommandParts, type CommandSpec } from "../command.ts";
import { completionScript, completionShells, type CompletionShell } from "./completion-scripts.ts";

/**
 * The command that prints scripts for shells: `completion`.
 * `commands`: all commands, this one among them
 */
export function completionCommands({
  output,
  commands,
}: Pick<CommandParts, "output"> & { readonly commands: () => readonly CommandSpec[] }): readonly CommandSpec[] {
  return [
    defineCommand<object, [CompletionShell]>({
      usage: "completion <shell>",
      about: "prints a script that completes commands, options and their words in a shell",
      choices: { shell: completionShells },
      examples: ["source <(roomtap completion bash)"],
      run: async (_, shell) => {
        await output.out(completionScript(shell, "roomtap", commands()));
        return 0;
      },
    }),
  ];
}
