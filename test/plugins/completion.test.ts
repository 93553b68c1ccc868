import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import {
  completionScript,
  completionShells,
  defineCommand,
  jsonOption,
  type CommandSpec,
} from "../../plugins/index.ts";

const run = async (): Promise<number> => 0;

const specs: readonly CommandSpec[] = [
  defineCommand({
    usage: "demo",
    about: "it's a demo: plays",
    options: [
      { flags: "--runner <kind>", about: "what drives", choices: ["acp", "scripted"] },
      { flags: "--db <file>", about: "the database" },
      { flags: "--name <text>", about: "any" },
      jsonOption,
    ],
    examples: ["roomtap demo"],
    run,
  }),
  {
    ...{ usage: "rooms", about: "rooms", options: [], examples: [] },
    commands: [
      defineCommand({ usage: "ls", about: "lists", options: [jsonOption], isDefault: true, examples: [], run }),
      defineCommand<object, [string]>({ usage: "show <room>", about: "shows", examples: [], run }),
    ],
  },
  defineCommand<object, [string]>({
    ...{ usage: "completion <shell>", about: "scripts", examples: [], run },
    choices: { shell: completionShells },
  }),
];

/** What bash offers for a line that ends with `words`. */
function offered(...words: readonly string[]): readonly string[] {
  const line = ["roomtap", ...words].map((word) => `'${word}'`).join(" ");
  const script = [
    completionScript("bash", "roomtap", specs),
    `COMP_WORDS=(${line}); COMP_CWORD=${words.length}`,
    "_roomtap",
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join("\n");
  const { stdout, stderr, status } = spawnSync("bash", ["-c", script], { encoding: "utf8", cwd: import.meta.dirname });
  expect([stderr, status]).toEqual(["", 0]);
  return stdout.split("\n").filter((word) => word !== "");
}

describe("completion in bash", () => {
  it.each<readonly [readonly string[], readonly string[]]>([
    [[""], ["demo", "rooms", "completion", "--help", "--version"]],
    [["de"], ["demo"]],
    [
      ["demo", "--"],
      ["--runner", "--db", "--name", "--json", "--help"],
    ],
    [
      ["demo", "--runner", ""],
      ["acp", "scripted"],
    ],
    [["demo", "--json", "--runner", "s"], ["scripted"]],
    [["demo", "--name", ""], []],
    [
      ["rooms", ""],
      ["ls", "show", "--json", "--help"],
    ],
    [["rooms", "show", "--"], ["--help"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish", "--help"],
    ],
    [
      ["zz", ""],
      ["demo", "rooms", "completion", "--help", "--version"],
    ],
  ])("of %j offers %j", (words, choices) => {
    expect(offered(...words)).toEqual(choices);
  });

  it("offers files behind an option that takes one", () => {
    expect(offered("demo", "--db", "completion.te")).toEqual(["completion.test.ts"]);
  });
});

/** Whether a shell is installed. */
function isThere(shell: string): boolean {
  return spawnSync(shell, ["-c", "exit 0"]).status === 0;
}

describe("the scripts of all shells", () => {
  it.each(completionShells)("of %s name each command, option and word, and are text that the shell reads", (shell) => {
    const script = completionScript(shell, "roomtap", specs);
    for (const word of ["demo", "rooms", "show", "runner", "scripted", "fish"]) expect(script).toContain(word);
    // Of a shell that is not installed the content has to do.
    if (isThere(shell))
      expect(spawnSync(shell, ["-n"], { input: script, encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  });

  it("quote what a shell would obey", () => {
    expect(completionScript("zsh", "roomtap", specs)).toContain(String.raw`'demo:it'\''s a demo: plays'`);
    expect(completionScript("fish", "roomtap", specs)).toContain(String.raw`-a demo -d 'it\'s a demo: plays'`);
  });

  it("mark in fish what takes a file, a word and nothing", () => {
    const script = completionScript("fish", "roomtap", specs);
    expect(script).toContain("-l db -r -F -d 'the database'");
    expect(script).toContain("-l runner -x -a 'acp scripted' -d 'what drives'");
    expect(script).toContain(`-n 'test (__roomtap_place) = "roomtap rooms ls"' -l json -d`);
  });
});
