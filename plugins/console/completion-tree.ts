import type { CommandSpec } from "../command.ts";

/** What a shell may offer behind an option. */
export interface CompletedOption {
  /** `--db`, `-h`. */
  readonly name: string;
  readonly about: string;
  /** `none`: it takes no value; `file`: a path; `text`: anything. */
  readonly value: "none" | "file" | "text";
  /** The words that it takes; empty: see `value`. */
  readonly choices: readonly string[];
}

/** What a shell may offer at one place of a command line. */
export interface CompletedPlace {
  /** The words that lead there: `roomtap token new`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly CompletedOption[];
  /** Words that an argument takes. */
  readonly words: readonly string[];
}

const help: CompletedOption = { name: "--help", about: "prints the help", value: "none", choices: [] };
const version: CompletedOption = { name: "--version", about: "prints the version", value: "none", choices: [] };

/** Every place of the command line, from the specs of all commands. Pure. */
export function completedPlaces(name: string, specs: readonly CommandSpec[]): readonly CompletedPlace[] {
  const root = { path: name, commands: namesOf(specs), options: [help, version], words: [] };
  return [root, ...specs.flatMap((spec) => placesOf(spec, name))];
}

function placesOf(spec: CommandSpec, above: string): readonly CompletedPlace[] {
  const path = `${above} ${nameOf(spec)}`;
  const below = spec.commands ?? [];
  // What is meant when none of them is named.
  const meant = below.find(({ isDefault }) => isDefault === true);
  const options = [...spec.options, ...(meant?.options ?? [])].map(optionOf);
  const words = Object.values(spec.choices ?? {}).flat();
  return [
    { path, commands: namesOf(below), options: [...options, help], words },
    ...below.flatMap((each) => placesOf(each, path)),
  ];
}

function namesOf(specs: readonly CommandSpec[]): CompletedPlace["commands"] {
  return specs.map((spec) => ({ name: nameOf(spec), about: spec.about }));
}

function nameOf({ usage }: CommandSpec): string {
  return usage.split(" ")[0] ?? usage;
}

function optionOf({ flags, about, choices = [] }: CommandSpec["options"][number]): CompletedOption {
  const name = /--[\w-]+/.exec(flags)?.[0] ?? flags;
  const value = !/[<[]/.test(flags) ? "none" : /<file>/.test(flags) ? "file" : "text";
  return { name, about, value, choices };
}
