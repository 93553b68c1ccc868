import type { CommandSpec } from "../command.ts";
import { completedPlaces, type CompletedOption, type CompletedPlace } from "./completion-tree.ts";

/** The shells that a script is made for. */
export const completionShells = ["bash", "zsh", "fish"] as const;
/** A word of `completionShells`. */
export type CompletionShell = (typeof completionShells)[number];

/** The script that completes the command's words in a shell. Pure: equal specs give an equal script. */
export function completionScript(shell: CompletionShell, name: string, specs: readonly CommandSpec[]): string {
  const places = completedPlaces(name, specs);
  switch (shell) {
    case "bash":
      return bashScript(name, places);
    case "zsh":
      return zshScript(name, places);
    case "fish":
      return fishScript(name, places);
  }
}

/** Paths that a word of the command line may lead on to. */
function pathsBelow(places: readonly CompletedPlace[]): readonly string[] {
  return places.slice(1).map(({ path }) => path);
}

/** Options with a value, by what may stand behind them. */
function valued(places: readonly CompletedPlace[], isMeant: (option: CompletedOption) => boolean): readonly string[] {
  return places.flatMap(({ path, options }) => options.filter(isMeant).map(({ name }) => `${path} ${name}`));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function alternatives(texts: readonly string[]): string {
  return texts.map(quoted).join("|");
}

const isFile = ({ value }: CompletedOption): boolean => value === "file";
const isText = ({ value, choices }: CompletedOption): boolean => value === "text" && choices.length === 0;

function choiceCases(
  places: readonly CompletedPlace[],
  line: (pattern: string, choices: readonly string[]) => string,
): readonly string[] {
  return places.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ name, choices }) => line(quoted(`${path} ${name}`), choices)),
  );
}

/** A case of a shell; none for no patterns. */
function caseOf(patterns: readonly string[], body: string): readonly string[] {
  return patterns.length === 0 ? [] : [`    ${alternatives(patterns)}) ${body} ;;`];
}

function bashScript(name: string, places: readonly CompletedPlace[]): string {
  const words = ({ commands, options, words: more }: CompletedPlace): string =>
    [...commands.map((each) => each.name), ...more, ...options.map((option) => option.name)].join(" ");
  return [
    `# Completes ${name} in bash:  source <(${name} completion bash)`,
    `_${name}() {`,
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" place=' + quoted(name) + " i",
    "  COMPREPLY=()",
    "  for ((i = 1; i < COMP_CWORD; i++)); do",
    '    case "$place ${COMP_WORDS[i]}" in',
    `      ${alternatives(pathsBelow(places))}) place="$place \${COMP_WORDS[i]}" ;;`,
    "    esac",
    "  done",
    '  case "$place $prev" in',
    ...choiceCases(places, (pattern, choices) => {
      return `    ${pattern}) COMPREPLY=($(compgen -W ${quoted(choices.join(" "))} -- "$cur")); return ;;`;
    }),
    ...caseOf(valued(places, isFile), 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return'),
    ...caseOf(valued(places, isText), "return"),
    "  esac",
    '  case "$place" in',
    ...places.map((place) => {
      return `    ${quoted(place.path)}) COMPREPLY=($(compgen -W ${quoted(words(place))} -- "$cur")) ;;`;
    }),
    "  esac",
    "}",
    `complete -F _${name} ${name}`,
  ].join("\n");
}

function zshScript(name: string, places: readonly CompletedPlace[]): string {
  const entry = (word: string, about: string): string => quoted(`${word.replaceAll(":", "\\:")}:${about}`);
  return [
    `#compdef ${name}`,
    `# Completes ${name} in zsh:  ${name} completion zsh > "\${fpath[1]}/_${name}"`,
    `_${name}() {`,
    `  local place=${quoted(name)} prev="\${words[CURRENT-1]}" i`,
    "  local -a commands options",
    "  for ((i = 2; i < CURRENT; i++)); do",
    '    case "$place ${words[i]}" in',
    `      ${alternatives(pathsBelow(places))}) place="$place \${words[i]}" ;;`,
    "    esac",
    "  done",
    '  case "$place $prev" in',
    ...choiceCases(
      places,
      (pattern, choices) => `    ${pattern}) compadd -- ${choices.map(quoted).join(" ")}; return ;;`,
    ),
    ...caseOf(valued(places, isFile), "_files; return"),
    ...caseOf(valued(places, isText), "return"),
    "  esac",
    '  case "$place" in',
    ...places.flatMap(({ path, commands, options, words }) => [
      `    ${quoted(path)})`,
      `      commands=(${[...commands.map((each) => entry(each.name, each.about)), ...words.map((word) => entry(word, ""))].join(" ")})`,
      `      options=(${options.map((option) => entry(option.name, option.about)).join(" ")})`,
      "      ;;",
    ]),
    "  esac",
    "  (( ${#commands} )) && _describe -t commands command commands",
    "  _describe -o -t options option options",
    "}",
    // Sourced it registers itself; from a file of fpath it is called.
    `if [[ "\${funcstack[1]}" == "_${name}" ]]; then _${name} "$@"; else compdef _${name} ${name}; fi`,
  ].join("\n");
}

function fishScript(name: string, places: readonly CompletedPlace[]): string {
  const at = (path: string): string => `-n ${quoted(`test (__${name}_place) = "${path}"`)}`;
  const described = (about: string): string => `-d ${fishQuoted(about)}`;
  return [
    `# Completes ${name} in fish:  ${name} completion fish | source`,
    `function __${name}_place`,
    `  set -l place ${quoted(name)}`,
    "  for word in (commandline -opc)[2..-1]",
    '    switch "$place $word"',
    `      case ${pathsBelow(places).map(fishQuoted).join(" ")}`,
    '        set place "$place $word"',
    "    end",
    "  end",
    '  echo "$place"',
    "end",
    `complete -c ${name} -f`,
    ...places.flatMap(({ path, commands, options, words }) => [
      ...commands.map((each) => `complete -c ${name} ${at(path)} -a ${each.name} ${described(each.about)}`),
      ...words.map((word) => `complete -c ${name} ${at(path)} -a ${word}`),
      ...options.map((option) => {
        return `complete -c ${name} ${at(path)} -l ${option.name.slice(2)}${fishValue(option)} ${described(option.about)}`;
      }),
    ]),
  ].join("\n");
}

function fishValue({ value, choices }: CompletedOption): string {
  if (choices.length > 0) return ` -x -a ${fishQuoted(choices.join(" "))}`;
  return value === "none" ? "" : value === "file" ? " -r -F" : " -x";
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
