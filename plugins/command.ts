import type { Output } from "./output.ts";

/** An argument of a command: one word, several (`[rooms...]`), or none where it may be left away. */
export type Argument = string | string[] | undefined;

/** One option of a command. */
export interface OptionSpec {
  /** As it is typed: `--json`, `--db <file>`. Its value is found under its name in camel case. */
  readonly flags: string;
  /** What it does, in the help. */
  readonly about: string;
  /**
   * Reads its value, given those before it when it was repeated.
   * @throws RoomtapError `invalid_params`, whose message says what was expected
   */
  readonly parse?: (value: string, before: unknown) => unknown;
  /** The words that it takes; default: any. */
  readonly choices?: readonly string[];
  /** Its value when it is left away. */
  readonly fallback?: string | readonly string[];
  /** Whether the command does nothing without it. */
  readonly isRequired?: boolean;
}

/**
 * A command of `roomtap`, as data: what it is called with, what its help says, and what it does. Parsing, help and the completion
 * of shells follow from it; an area of commands is a function that gives a list of these.
 */
export interface CommandSpec {
  /** Its name and arguments as they are typed: `tail <room>`, `raw <method> [params]`. */
  readonly usage: string;
  /** What it does, in the list of commands. */
  readonly about: string;
  readonly options: readonly OptionSpec[];
  /** What its help says below the options. */
  readonly help?: string;
  /** Whole command lines that work, for its help; at least one for what can be run. */
  readonly examples: readonly string[];
  /** The words that arguments take, by argument; default: any. */
  readonly choices?: { readonly [argument: string]: readonly string[] };
  /** Commands below it: `token new`. */
  readonly commands?: readonly CommandSpec[];
  /** Meant when the name above it stands alone: `rooms` is `rooms ls`. */
  readonly isDefault?: boolean;
  /** Does it, and gives the status to end with; undefined for a name that only has commands below it. */
  readonly run?: (flags: object, args: readonly Argument[]) => Promise<number>;
}

/** A command whose flags and arguments have types: those of its `options` and its `usage`. */
export interface CommandDefinition<Flags extends object, Args extends readonly Argument[]> extends Omit<
  CommandSpec,
  "run" | "options"
> {
  readonly options?: readonly OptionSpec[];
  readonly run: (flags: Flags, ...args: Args) => Promise<number>;
}

/** Gives the spec of a command; whoever parses the command line gives it flags and arguments as it says. */
export function defineCommand<Flags extends object = object, Args extends readonly Argument[] = []>({
  run,
  options = [],
  ...spec
}: CommandDefinition<Flags, Args>): CommandSpec {
  return { ...spec, options, run: (flags, args) => run(flags as Flags, ...(args as Args)) };
}

/**
 * The same commands, those of one group together: what areas put below one name that runs nothing is listed there once, in the
 * order of the areas.
 */
export function groupedCommands(specs: readonly CommandSpec[]): readonly CommandSpec[] {
  const grouped: CommandSpec[] = [];
  for (const spec of specs) {
    const at = grouped.findIndex(({ usage, run }) => usage === spec.usage && run === undefined);
    const first = grouped[at];
    if (first === undefined || spec.run !== undefined) grouped.push(spec);
    else grouped[at] = groupOf(first, spec);
  }
  return grouped;
}

function groupOf(first: CommandSpec, second: CommandSpec): CommandSpec {
  return {
    ...first,
    about: first.about.includes(second.about) ? first.about : `${first.about}; ${second.about}`,
    options: [...first.options, ...second.options],
    examples: [...first.examples, ...second.examples],
    commands: [...(first.commands ?? []), ...(second.commands ?? [])],
  };
}

/** What commands work with, whatever they do. */
export interface CommandParts {
  /** Data on stdout, notes on stderr. */
  readonly output: Output;
  /** The variables of the process. */
  readonly environment: { readonly [name: string]: string | undefined };
  /**
   * Calls `use` with a signal that Ctrl-C, SIGTERM and a reader that goes away abort; its reason is the status to end with.
   * Without it they end the process at once.
   */
  readonly untilStopped: <Value>(use: (stop: AbortSignal) => Promise<Value>) => Promise<Value>;
}

/** The option of all commands that print data. */
export const jsonOption: OptionSpec = { flags: "--json", about: "JSON and nothing else" };
