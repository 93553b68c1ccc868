/** What a new plugin is written in. */
export type Language = "javascript" | "typescript";

/** What the files of a new plugin name. */
export interface NewPluginNames {
  /** Of its folder, its package and itself. */
  readonly name: string;
  readonly language: Language;
  /** Of the host that it is written for. */
  readonly version: string;
}

/** Files of a new plugin, texts by path. A whole one: it counts, it keeps, it answers, and its test passes. */
export function templateFiles(names: NewPluginNames): ReadonlyMap<string, string> {
  const isTyped = names.language === "typescript";
  const at = isTyped ? "src/plugin" : "plugin";
  const end = isTyped ? "ts" : "js";
  return new Map([
    ["package.json", packageText(names)],
    [`${at}.${end}`, pluginText(names)],
    [`${at}.test.${end}`, testText(names)],
    ["README.md", readmeText(names)],
    [".gitignore", isTyped ? "node_modules/\ndist/\n" : "node_modules/\n"],
    ...(isTyped ? [["tsconfig.json", tsconfigText] as const] : []),
  ]);
}

function packageText({ name, language, version }: NewPluginNames): string {
  const isTyped = language === "typescript";
  const range = `^${version}`;
  return json({
    name,
    version: "0.1.0",
    description: "A plugin for roomtap: counts how often each tool ended, by outcome.",
    private: true,
    type: "module",
    exports: isTyped ? "./dist/plugin.js" : "./plugin.js",
    files: isTyped ? ["dist/plugin.js", "dist/plugin.d.ts"] : ["plugin.js"],
    scripts: isTyped
      ? { build: "tsc", test: "tsc && node --test dist/plugin.test.js", check: "tsc && roomtap plugin check ." }
      : { test: "node --test", check: "roomtap plugin check ." },
    peerDependencies: { roomtap: range },
    devDependencies: {
      ...(isTyped ? { "@types/node": "^20.19.0" } : {}),
      roomtap: range,
      ...(isTyped ? { typescript: "^6.0.3" } : {}),
    },
    roomtap: {
      apiVersion: 1,
      engines: { roomtap: range },
      hooks: ["tool.completed"],
      permissions: { payload: "meta" },
      disclosure: "Keeps the names of tools and how often each ended; no texts.",
    },
  });
}

const tsconfigText = json({
  compilerOptions: {
    ...{ target: "ES2023", module: "NodeNext", types: ["node"], strict: true, verbatimModuleSyntax: true },
    ...{ rewriteRelativeImportExtensions: true, rootDir: "src", outDir: "dist", declaration: true, skipLibCheck: true },
  },
  include: ["src"],
});

function pluginText({ name, language }: NewPluginNames): string {
  const isTyped = language === "typescript";
  const read = isTyped
    ? `    const kept = (await ctx.storage.get("counts")) as readonly [string, number][] | undefined;`
    : `    const kept = /** @type {[string, number][] | undefined} */ (await ctx.storage.get("counts"));`;
  const map = "    const counts = new Map(kept);";
  return `${isTyped ? "" : "// @ts-check\n"}// Counts how often each tool ended, by outcome. The counts outlive restarts.
import { definePlugin } from "roomtap";

/** So many pairs of a tool and an outcome are counted; what comes beyond them is not. */
const maxCounts = 500;

export default definePlugin({
  id: "${name}",
  version: "0.1.0",
  async setup(ctx) {
${read}
${map}
    let lost = 0;

    // One event at a time. What is thrown here is counted and reported, and harms no turn.
    ctx.on("tool.completed", (event) => {
      if (event.kind === "gap") {
        // This handler was too slow: so many events were dropped before this one.
        lost += event.payload.dropped;
        return;
      }
      const { name, outcome } = event.payload;
      const key = \`\${name} \${outcome}\`;
      if (counts.has(key) || counts.size < maxCounts) counts.set(key, (counts.get(key) ?? 0) + 1);
    });

    // At unload, when no event is on its way any more.
    ctx.onDrain(() => ctx.storage.set("counts", [...counts]));

    // roomtap plugin run ${name} counts
    ctx.commands.add({
      name: "counts",
      summary: "how often each tool ended, by outcome",
      scope: "read",
      run: () => ({ counts: Object.fromEntries(counts), lost }),
    });
  },
});
`;
}

function testText({ name, language }: NewPluginNames): string {
  const isTyped = language === "typescript";
  const end = isTyped ? "ts" : "js";
  return `import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { conformanceChecks, openTestHost } from "roomtap/testing";
import plugin from "./plugin.${end}";

describe("${name}", () => {
  it("counts tools by outcome, and keeps the counts", async () => {
    const host = await openTestHost({ plugin });
    try {
      const turn = host.turn({ room_id: "r1", member_id: "m-a" }).started();
      turn.tool("read", { path: "a.txt" }).ok("text").tool("read").fails("no such file").tool("read").ok("text");
      turn.settled({ status: "completed" });
      await host.settled();
      const expected = { counts: { "read ok": 2, "read error": 1 }, lost: 0 };
      assert.deepEqual(await host.command("counts"), expected);
      await host.reload();
      assert.deepEqual(await host.command("counts"), expected);
    } finally {
      await host.close();
    }
  });

  it("knows how much it has lost", async () => {
    const host = await openTestHost({ plugin, bounds: { maxEvents: 4 } });
    try {
      await host.lag(3);
      const { lost } = ${isTyped ? 'await host.command("counts") as { lost: number }' : 'await host.command("counts")'};
      assert.ok(lost >= 3);
    } finally {
      await host.close();
    }
  });
});

// What every plugin must survive, in each isolation that package.json allows.
describe("${name} as a plugin", () => {
  const path = fileURLToPath(new URL("${isTyped ? ".." : "."}", import.meta.url));
  for (const check of conformanceChecks({ path })) it(check.name, check.run);
});
`;
}

function readmeText({ name, language }: NewPluginNames): string {
  const isTyped = language === "typescript";
  const file = isTyped ? "src/plugin.ts" : "plugin.js";
  return `# ${name}

A plugin for [roomtap](https://www.npmjs.com/package/roomtap): counts how often each tool ended, by outcome.

    npm install
    npm test                # the tests of ${file}, and what every plugin must survive
    npm run check           # the same from outside: manifest, types, loading, both isolations

Start at \`${file}\`. What it may see stands under \`roomtap\` in \`package.json\`: a handler for a kind that \`hooks\` does not name is
refused, and so is a host that was not granted what \`permissions\` ask for.

In the config of a host${isTyped ? ", after `npm run build`" : ""}:

    { "rooms": [...], "plugins": [{ "path": "./${name}" }] }

and while it runs, \`roomtap plugin run ${name} counts\`.
`;
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
