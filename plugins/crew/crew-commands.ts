import type { Client } from "../client/index.ts";
import { defineCommand, type CommandParts, type CommandSpec, type OptionSpec } from "../command.ts";
import type { Terminal } from "../screen.ts";
import type { Style } from "../style.ts";
import { crewCommand } from "./crew-command.ts";

/** What the commands of Crew work with, beside what all do. */
export interface CrewParts extends CommandParts {
  /** null when standard output is none. */
  readonly terminal: Terminal | null;
  readonly style: Style;
  /** The options by which a server is found. */
  readonly serverOptions: readonly OptionSpec[];
  /**
   * Connects to the server that the flags name, calls `use`, closes. With `reconnect` a drop is mended.
   * @throws RoomtapError `not_connected`, and what the server refuses with
   */
  readonly withServer: <Value>(
    flags: object,
    use: (client: Client) => Promise<Value>,
    options: { readonly reconnect: boolean },
  ) => Promise<Value>;
}

/** The command of Crew: `roomtap crew`. */
export function crewCommands(parts: CrewParts): readonly CommandSpec[] {
  const { terminal, style, output, serverOptions } = parts;
  return [
    defineCommand<{ readonly json?: boolean; readonly once?: boolean }, [string]>({
      usage: "crew <room>",
      about: "shows the board of a room: members, tool cards, approvals, text",
      options: [...serverOptions, { flags: "--once", about: "one board, and the end" }],
      help: crewHelp,
      examples: ["roomtap crew release", "roomtap crew release --once", "roomtap crew release --json"],
      run: ({ json = false, once = false, ...flags }, room) =>
        parts.untilStopped((stop) => {
          const showsOnce = once || (terminal === null && !json);
          const show = (client: Client): Promise<number> =>
            crewCommand({ room, json, once }, output, { client, terminal, style, stop });
          return parts.withServer({ ...flags, json }, show, { reconnect: !showsOnce });
        }),
    }),
  ];
}

const crewHelp = `Keys: a allows and d denies what the selected request asks, ↑ ↓ select, PgUp PgDn move, ? help, q quits.
Without a terminal it prints one board; --json prints each board on a line.`;
