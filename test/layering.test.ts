import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readImports } from "./support/imports.ts";
import { brokenLayers, cycles, strayPackages, type Tree } from "./support/layering.ts";
import { filesUnder, readText, rootFolder, sourceFiles } from "./support/repository.ts";

/** The one file that may import each outside package. zod is where schemas are. */
const homes = {
  "@agentclientprotocol/sdk": "plugins/runners/acp.ts",
  "@opentelemetry/api": "plugins/otel/api.ts",
  "acp-agent": "plugins/runners/acp-example.ts",
  "better-sqlite3": "rooms/sqlite/database.ts",
  canonicalize: "rooms/canonical-json.ts",
  commander: "bin.ts",
  jose: "plugins/gateway/jwt.ts",
  mitt: "core/emitter.ts",
  "p-limit": "core/lane.ts",
  pino: "plugins/console/json-log.ts",
  "prom-client": "plugins/metrics/registry.ts",
  // The package itself: where its version stands.
  roomtap: "plugins/package-version.ts",
  semver: "plugins/versions.ts",
  ws: "plugins/gateway/sockets.ts",
  zod: "*",
};

const sources: Tree = new Map(sourceFiles().map((path) => [path, readImports(readText(path))]));

/** What is built into the inspector's page, and no part of what is installed. */
const ofPage = {
  preact: "plugins/inspector/web/",
  "@preact/signals": "plugins/inspector/web/",
  uplot: "plugins/inspector/web/",
};

/** A tree of made-up files; text by path. */
function treeOf(files: Record<string, string>): Tree {
  return new Map(Object.entries(files).map(([path, text]) => [path, readImports(text)]));
}

describe("the sources", () => {
  it("import one way, and other folders by their doors", () => {
    expect(brokenLayers(sources)).toEqual([]);
  });

  it("use each outside package in its home, and core uses no platform", () => {
    expect(strayPackages(sources, { ...homes, ...ofPage })).toEqual([]);
  });

  it("have no import cycle", () => {
    expect(cycles(sources)).toEqual([]);
  });

  it("give each runtime package a home that exists", () => {
    const { dependencies, peerDependencies } = JSON.parse(readText("package.json")) as {
      readonly dependencies: Record<string, string>;
      readonly peerDependencies: Record<string, string>;
    };
    const packages = Object.keys(homes).filter((name) => name !== "acp-agent" && name !== "roomtap");
    // Types that the declarations of the build name are installed with it, and imported by nobody.
    const run = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !name.startsWith("@types/"));
    expect(packages.toSorted()).toEqual(run.toSorted());
    expect(Object.values(homes).filter((home) => home !== "*" && !existsSync(rootFolder + home))).toEqual([]);
  });
});

describe("the examples", () => {
  it("import roomtap by its own name, and Node", () => {
    const examples = filesUnder("examples").filter((path) => path.endsWith(".ts"));
    const outside = examples
      .flatMap((path) => readImports(readText(path)).map(({ specifier }) => `${path}: ${specifier}`))
      .filter((line) => !/: (roomtap(\/\w+)?|node:[\w/]+)$/.test(line));
    expect(outside).toEqual([]);
  });
});

describe("the reader of imports", () => {
  it.each([
    ['import "./a.ts";', "import", "./a.ts", []],
    ['import a, { b as c } from "./a.ts";', "import", "./a.ts", ["default", "b"]],
    ['import * as a from "a";', "import", "a", ["*"]],
    ['import type { A } from "./a.ts";', "type", "./a.ts", ["A"]],
    ['import { type A, type B } from "./a.ts";', "type", "./a.ts", ["A", "B"]],
    ['import { type A, b } from "./a.ts";', "import", "./a.ts", ["A", "b"]],
    ['export { a as b } from "./a.ts";', "import", "./a.ts", ["a"]],
    ['export type { A } from "./a.ts";', "type", "./a.ts", ["A"]],
    ['export * from "./a.ts";', "import", "./a.ts", ["*"]],
    ['export * as a from "./a.ts";', "import", "./a.ts", ["*"]],
    ['const a = await import("./a.ts");', "import()", "./a.ts", ["*"]],
    ["const a = await import(name);", "import()", null, ["*"]],
    ['type A = import("./a.ts").A;', "type", "./a.ts", ["*"]],
    ['import a = require("a");', "require", "a", ["*"]],
    ['const a = require("a");', "require", "a", ["*"]],
    ['const a = import.meta.resolve("a");', "resolve", "a", []],
    ['const a = new URL("./a.js", import.meta.url);', "url", "./a.js", []],
    ['/// <reference types="node" />', "type", "node", ["*"]],
  ] as const)("reads %s", (text, form, specifier, names) => {
    expect(readImports(`\n${text}`)).toEqual([{ form, specifier, names, line: 2 }]);
  });

  it.each(["export const a = 1;", "export { a };", 'new URL("./a", base);', '// import "./a.ts"', "`import 'a'`"])(
    "finds none in %s",
    (text) => {
      expect(readImports(text)).toEqual([]);
    },
  );
});

describe("the rules", () => {
  const doors = {
    "core/index.ts": "",
    "core/a.ts": "",
    "rooms/index.ts": "",
    "observers/index.ts": "",
    "plugins/index.ts": 'export { define } from "./plugin.ts"; export { cards } from "./cards/index.ts";',
    "plugins/plugin.ts": "",
    "plugins/cards/index.ts": "",
    "plugins/cards/lines.ts": "",
    "plugins/client/index.ts": "",
    "plugins/client/call.ts": "",
    "plugins/runners/index.ts": "",
    "index.ts": "",
    "bin.ts": "",
  };

  it.each([
    ["rooms/x.ts", "../core/index.ts"],
    ["rooms/sqlite/x.ts", "../../core/index.ts"],
    ["rooms/sqlite/x.ts", "../index.ts"],
    ["plugins/x.ts", "../observers/index.ts"],
    ["plugins/x.ts", "./cards/index.ts"],
    ["plugins/cards/x.ts", "./lines.ts"],
    ["plugins/cards/x.ts", "../../rooms/index.ts"],
    ["bin.ts", "./index.ts"],
    ["bin.ts", "./plugins/cards/index.ts"],
    ["plugins/cards/x.ts", "../client/index.ts"],
  ])("let %s import %s", (from, to) => {
    expect(brokenLayers(treeOf({ ...doors, [from]: `import { a } from "${to}";` }))).toEqual([]);
  });

  it.each([
    ["core/x.ts", 'import type { A } from "../rooms/index.ts";', "core may not import rooms"],
    ["rooms/x.ts", 'export { a } from "../observers/index.ts";', "rooms may not import observers"],
    ["observers/x.ts", 'await import("../plugins/index.ts");', "observers may not import plugins"],
    ["plugins/x.ts", 'import { a } from "../index.ts";', "plugins may not import index.ts"],
    ["index.ts", 'import { a } from "./bin.ts";', "index.ts may not import bin.ts"],
    ["rooms/x.ts", 'import { a } from "../core/a.ts";', "core is entered by core/index.ts, not by core/a.ts"],
    ["rooms/x.ts", 'new URL("../core/a.js", import.meta.url);', "core is entered by core/index.ts, not by core/a.ts"],
    [
      "bin.ts",
      'import { a } from "./plugins/cards/lines.ts";',
      "plugins/cards is entered by plugins/cards/index.ts, not by plugins/cards/lines.ts",
    ],
    [
      "plugins/runners/x.ts",
      'import { a } from "../cards/index.ts";',
      "a built-in plugin imports another one, plugins/cards",
    ],
    [
      "plugins/x.ts",
      'import { a } from "./cards/lines.ts";',
      "plugins/cards is entered by plugins/cards/index.ts, not by plugins/cards/lines.ts",
    ],
    [
      "plugins/cards/x.ts",
      'import { define, inner } from "../plugin.ts";',
      "plugins/index.ts does not offer inner of plugins/plugin.ts",
    ],
    ["core/x.ts", "await import(name);", "a computed import: nobody can say where it leads"],
    ["core/x.ts", 'import { a } from "./gone.ts";', "no such source: core/gone.ts"],
  ])("refuse in %s: %s", (from, text, why) => {
    expect(brokenLayers(treeOf({ ...doors, [from]: text }))).toEqual([`${from}:1 ${why}`]);
  });

  it.each([
    ["core/x.ts", 'import { z } from "zod/mini";', []],
    ["core/emitter.ts", 'import mitt from "mitt";', []],
    ["core/x.ts", 'import type { Emitter } from "mitt";', ["core/x.ts:1 mitt lives in core/emitter.ts"]],
    [
      "rooms/x.ts",
      'import { a } from "@agentclientprotocol/sdk/x";',
      ["rooms/x.ts:1 @agentclientprotocol/sdk lives in plugins/runners/acp.ts"],
    ],
    ["rooms/x.ts", 'import a from "toString";', ["rooms/x.ts:1 toString has no home"]],
    ["core/x.ts", 'import { a } from "node:fs";', ["core/x.ts:1 core uses node:fs"]],
    ["rooms/x.ts", 'import { a } from "node:fs";', []],
  ])("judge the packages of %s: %s", (from, text, problems) => {
    expect(strayPackages(treeOf({ [from]: text }), homes)).toEqual(problems);
  });

  it("print a cycle as its path", () => {
    const tree = treeOf({
      "core/a.ts": 'import { b } from "./b.ts";',
      "core/b.ts": 'export { c } from "./c.ts";',
      "core/c.ts": 'import { b } from "./b.ts"; import type { A } from "./a.ts"; new URL("./a.js", import.meta.url);',
    });
    expect(cycles(tree)).toEqual(["core/b.ts -> core/c.ts -> core/b.ts"]);
  });
});
