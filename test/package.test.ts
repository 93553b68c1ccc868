import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { fencedBlocks } from "./support/markdown.ts";
import { installPacked, type Installed } from "./support/packed.ts";
import { readText } from "./support/repository.ts";

/** Where the plugins of these tests run. */
const isolations = ["inline", "worker"] as const;
/** Each program starts workers by the dozen, on a machine that may be busy. */
const slowMs = 240_000;

let installed: Installed;
beforeAll(async () => {
  installed = await installPacked();
  installed.link(["typescript", "@types/node"]);
}, 120_000);

/** What `node --test` reports: how many passed, how many failed. */
async function tested(folder: string, args: readonly string[] = []): Promise<readonly number[]> {
  const text = await installed.node(["--test", "--test-reporter=tap", ...args], folder);
  return ["pass", "fail"].map((word) => Number(new RegExp(`^# ${word} (\\d+)$`, "m").exec(text)?.[1]));
}

describe("the packed package", () => {
  it("runs a plugin that was written as the README says, in each isolation", async () => {
    const folder = join(installed.folder, "as-in-the-readme");
    await installed.roomtap("plugin", "new", "as-in-the-readme");
    const plugin = fencedBlocks(readText("README.md"), "js").find((text) => text.startsWith("// plugin.js"));
    writeFileSync(join(folder, "plugin.js"), plugin ?? "");
    // As the README has it: where nobody says where it runs, it is a worker. Each host finds what the one before has kept.
    const program = `
      import { createRoomtap } from "roomtap";
      const runner = {
        kind: "reader",
        async run(turn) {
          turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
          turn.emit({ type: "tool.complete", payload: { tool_id: "c1", outcome: "ok" } });
          return { status: "completed", text: "done" };
        },
        async close() {},
      };
      const path = "./as-in-the-readme";
      const caller = { principal: "operator", scopes: ["read"], rooms: null, grants: [] };
      for (const entry of [${isolations.map((isolation) => `{ path, isolation: "${isolation}" }`).join(", ")}, path]) {
        const rooms = [{ room_id: "desk", members: [{ handle: "bot", runner }] }];
        const tap = await createRoomtap({ db: "readme.db", rooms, plugins: [entry] });
        await tap.room("desk").post({ text: "@bot go" });
        await tap.finish();
        const [{ id, isolation, state }] = tap.plugins.list();
        // What has left a queue may still be on its way; what is disabled has handled all, and written it down.
        await tap.plugins.disable(id);
        await tap.plugins.enable(id);
        const counted = await tap.plugins.run(id, "counts", { args: [], caller, signal: AbortSignal.timeout(60_000) });
        console.log(JSON.stringify([id, isolation, state, counted]));
        await tap.close();
      }`;
    const stdout = await installed.node(["--input-type=module", "--eval", program]);
    const told = (isolation: string, times: number): unknown => [
      ...["tool-counter", isolation, "running"],
      { counts: { "read ok": times }, lost: 0 },
    ];
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([told("inline", 1), told("worker", 2), told("worker", 3)]);
  }, 120_000);

  it(
    "makes a plugin that passes its check, in each isolation",
    async () => {
      const made = JSON.parse(await installed.roomtap("plugin", "new", "counter", "--json")) as {
        readonly folder: string;
      };
      expect(made.folder).toBe(join(installed.folder, "counter"));
      // Its own tests, and one of those that every plugin must pass for each isolation: the command runs them all.
      const names = "--test-name-pattern=counts tools|has lost|goes on after a gap";
      expect(await tested(made.folder, [names])).toEqual([2 + isolations.length, 0]);
      const report = JSON.parse(await installed.roomtap("plugin", "check", "counter", "--json")) as {
        readonly findings: readonly { readonly status: string; readonly check: string }[];
      };
      expect(report).toMatchObject({ plugin: { id: "counter", version: "0.1.0" }, ok: true });
      const others = report.findings.filter(({ status }) => status !== "ok");
      expect([report.findings.length, others.map(({ check }) => check)]).toEqual([
        2 + 15 * isolations.length,
        ["types"],
      ]);
    },
    slowMs,
  );

  it(
    "makes one in TypeScript whose tests pass, with the types of the package and of what they name",
    async () => {
      const { folder } = JSON.parse(await installed.roomtap("plugin", "new", "typed", "--typescript", "--json")) as {
        readonly folder: string;
      };
      const compiler = join(installed.folder, "node_modules/typescript/bin/tsc");
      // Nothing is left unchecked that a strict program would look at.
      await installed.node([compiler, "--skipLibCheck", "false"], folder);
      expect(await tested(folder, ["dist/plugin.test.js"])).toEqual([2 + 14 * isolations.length, 0]);
      const text = await installed.roomtap("plugin", "check", "typed", "--isolation", "inline");
      expect(text.split("\n").slice(0, 3)).toEqual([
        "ok       manifest and entry file",
        "ok       types",
        "ok       loads (inline)",
      ]);
    },
    slowMs,
  );

  it("gives every entry to a program", async () => {
    const entries = [
      "roomtap",
      "roomtap/core",
      "roomtap/rooms",
      "roomtap/observers",
      "roomtap/plugins",
      "roomtap/testing",
      "roomtap/client",
    ];
    const program = `for (const entry of ${JSON.stringify(entries)}) console.log(entry, Object.keys(await import(entry)).length > 0);`;
    const stdout = await installed.node(["--input-type=module", "--eval", program]);
    expect(stdout.trim().split("\n")).toEqual(entries.map((entry) => `${entry} true`));
  });
});
