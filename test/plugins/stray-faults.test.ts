/** Faults of plugins in the host's thread that no call has any more. Each test is a process of its own: it may end by them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand, type CommandResult } from "../support/command.ts";
import { tempFolder } from "../support/plugin-files.ts";
import { rootFolder } from "../support/repository.ts";

/** A host with the plugins `p` (of the given setup) and `healthy`, both inline, and three events; then `after`. */
async function play(setup: string, { before = "", after = "" } = {}): Promise<CommandResult> {
  const folder = tempFolder();
  const plugin = (id: string, body: string): string => {
    const path = join(folder, `${id}.mjs`);
    writeFileSync(path, `export default { id: "${id}", version: "1.0.0", setup(ctx) { ${body} } };`);
    return path;
  };
  const paths = [plugin("p", setup), plugin("healthy", `ctx.on("*", (event) => console.log("healthy " + event.n));`)];
  const built = (path: string): string => JSON.stringify(new URL(`dist/${path}/index.js`, `file://${rootFolder}`).href);
  const file = join(folder, "host.mjs");
  writeFileSync(
    file,
    `
import { makeCoordinates, systemClock, Tap } from ${built("core")};
import { Observers } from ${built("observers")};
import { PluginHost } from ${built("plugins")};
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
${before}
const report = ({ code, message }) => console.log(code + ": " + message);
const observers = new Observers({ report });
const tap = new Tap({ activity: observers, report });
const host = new PluginHost({ observers, clock: systemClock, report });
const paths = ${JSON.stringify(paths)};
for (const path of paths) await host.load({ path, isolation: "inline" });
const coordinates = makeCoordinates({ room_id: "r", thread_id: "main", member_id: "m", turn_id: "t", task_id: "k", execution_generation: 1 });
const attempt = tap.begin(coordinates, "s", null);
for (const text of ["a", "b", "c"]) tap.emit(attempt, { type: "message.interim", payload: { text } });
await later(100);
${after}
console.log("lives: " + host.list().map(({ id, state, faults }) => [id, state, faults].join(" ")).join(", "));
await host.close();
console.log("listeners: " + process.listenerCount("unhandledRejection") + " " + process.listenerCount("uncaughtException"));
`,
  );
  return runCommand([], { file });
}

const floating = `ctx.on("*", () => { setTimeout(() => void Promise.reject(new Error("floating")), 10); });`;
const healthy = ["healthy 1", "healthy 2", "healthy 3"];
const linesOf = ({ stdout }: CommandResult): readonly string[] => stdout.trimEnd().split("\n");
const blamed = (why: string): string => `plugin_failed: plugin p: its code failed where nobody waits for it: ${why}`;

describe("a fault that nobody waits for", () => {
  it.each([
    ["a promise that nobody holds", floating, "floating"],
    ["a timer that throws", `ctx.on("*", () => { setTimeout(() => { throw new Error("late"); }, 10); });`, "late"],
    [
      "a rejection with no error",
      `ctx.on("*", () => { setTimeout(() => void Promise.reject("a word"), 10); });`,
      "a word",
    ],
    [
      "code behind an await",
      `ctx.on("*", () => { void (async () => { await null; await new Promise((resolve) => setImmediate(resolve)); throw new Error("behind"); })(); });`,
      "behind",
    ],
  ])("C-064 of %s is counted against the plugin, and the host lives", async (_, setup, why) => {
    const result = await play(setup);
    expect([result.status, result.stderr]).toEqual([0, ""]);
    expect(linesOf(result)).toEqual([
      ...healthy,
      ...[1, 2, 3].map(() => blamed(why)),
      "lives: p running 3, healthy running 0",
      "listeners: 1 1",
    ]);
  });

  it("C-064 takes the plugin out after five, with one notice, however long it goes on", async () => {
    const result = await play(
      `let left = 20;
      const timer = setInterval(() => { if (--left === 0) clearInterval(timer); throw new Error("again"); }, 1);`,
    );
    expect(result.status).toBe(0);
    expect(linesOf(result).filter((line) => !line.startsWith("healthy"))).toEqual([
      ...[1, 2, 3, 4, 5].map(() => blamed("again")),
      "plugin_failed: plugin p: it failed so 5 times, and is taken out",
      "lives: p failed 6, healthy running 0",
      "listeners: 1 1",
    ]);
  });

  it("C-064 of a plugin that goes on after its host was closed ends no process, and keeps none", async () => {
    const result = await play(
      `let left = 20;
      const timer = setInterval(() => { if (--left === 0) clearInterval(timer); throw new Error("again " + left); }, 20);`,
      { after: `process.on("exit", (status) => console.log("ended " + status));` },
    );
    expect([result.status, result.stderr]).toEqual([0, ""]);
    expect(linesOf(result).slice(-2)).toEqual(["listeners: 1 1", "ended 0"]);
  });

  it.each([
    ["an exception", `setTimeout(() => { throw new Error("the host's own"); }, 1); await later(500);`],
    ["a rejection", `setTimeout(() => void Promise.reject(new Error("the host's own")), 1); await later(500);`],
    ["one of its main module", `throw new Error("the host's own");`],
    ["a rejection that is no error", `setTimeout(() => void Promise.reject("the host's own"), 1); await later(500);`],
  ])("C-064 of the host itself, %s, ends the process with its stack and status 1", async (_, after) => {
    const result = await play(floating, { after });
    expect(result.status).toBe(1);
    expect(result.stderr).toContain("the host's own");
    expect(linesOf(result).some((line) => line.startsWith("lives"))).toBe(false);
  });

  it("C-064 of the host itself ends the process also with two hosts in it", async () => {
    const after = `const second = new PluginHost({ observers: new Observers({ report }), clock: systemClock, report });
      await second.load({ path: paths[1], isolation: "inline" });
      setTimeout(() => { throw new Error("the host's own"); }, 1); await later(500);`;
    const result = await play(floating, { after });
    expect([result.status, result.stderr.includes("the host's own")]).toEqual([1, true]);
  });

  it.each([
    ["an exception", `setTimeout(() => { throw new Error("own"); }, 1);`],
    ["a rejection", `setTimeout(() => void Promise.reject(new Error("own")), 1);`],
  ])("C-064 of the host itself, %s, goes to who else listens, and plugins stay guarded", async (_, fault) => {
    const before = `process.on("uncaughtException", ({ message }) => console.log("heard " + message));`;
    const after = `${fault} await later(50); tap.emit(attempt, { type: "message.interim", payload: { text: "d" } }); await later(50);`;
    const result = await play(floating, { before, after });
    expect([result.status, result.stderr]).toEqual([0, ""]);
    const lines = linesOf(result);
    expect(lines.filter((line) => line === "heard own")).toHaveLength(1);
    expect(lines.filter((line) => line === blamed("floating"))).toHaveLength(4);
    expect(lines.slice(-2)).toEqual(["lives: p running 4, healthy running 0", "listeners: 1 2"]);
  });
});
