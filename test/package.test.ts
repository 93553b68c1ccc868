import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { fencedBlocks } from "./support/markdown.ts";
import { installPacked, type Installed } from "./support/packed.ts";
import { readText } from "./support/repository.ts";

/** Where the plugins of these tests run. */
const isolations: readonly string[] = ["inline"];
/** Their own tests, and of what every plugin must survive what is for these isolations. */
const names = `counts tools|has lost|\\((${isolations.join("|")})\\)$`;
const passing = 2 + 14 * isolations.length;

let installed: Installed;
beforeAll(async () => {
  installed = await installPacked();
  installed.link(["typescript", "@types/node"]);
}, 120_000);

/** What `node --test` reports: how many passed, how many failed. */
async function tested(folder: string, file: readonly string[] = []): Promise<readonly number[]> {
  const text = await installed.node(["--test", "--test-reporter=tap", `--test-name-pattern=${names}`, ...file], folder);
  return ["pass", "fail"].map((word) => Number(new RegExp(`^# ${word} (\\d+)$`, "m").exec(text)?.[1]));
}

describe("the packed package", () => {
  it("runs a plugin that was written as the README says, in each isolation", async () => {
    const folder = join(installed.folder, "as-in-the-readme");
    await installed.roomtap("plugin", "new", "as-in-the-readme");
    const plugin = fencedBlocks(readText("README.md"), "js").find((text) => text.startsWith("// plugin.js"));
    writeFileSync(join(folder, "plugin.js"), plugin ?? "");
    const program = `
      import { openTestHost } from "roomtap/testing";
      const runner = async (turn) => {
        turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
        turn.emit({ type: "tool.complete", payload: { tool_id: "c1", outcome: "ok" } });
        return { status: "completed", text: "done" };
      };
      for (const isolation of ${JSON.stringify(isolations)}) {
        const rooms = [{ room_id: "desk", members: [{ handle: "bot", runner }] }];
        const host = await openTestHost({ path: "./as-in-the-readme", isolation, rooms });
        await host.rooms.room("desk").post({ text: "@bot go" });
        await host.rooms.quiet();
        await host.settled();
        console.log(JSON.stringify([host.id, isolation, await host.command("counts")]));
        await host.close();
      }`;
    const stdout = await installed.node(["--input-type=module", "--eval", program]);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(isolations.map((isolation) => ["tool-counter", isolation, { counts: { "read ok": 1 }, lost: 0 }]));
  });

  it("makes a plugin whose tests pass and that passes its check", async () => {
    const made = JSON.parse(await installed.roomtap("plugin", "new", "counter", "--json")) as {
      readonly folder: string;
    };
    expect(made.folder).toBe(join(installed.folder, "counter"));
    expect(await tested(made.folder)).toEqual([passing, 0]);
    const text = await installed.roomtap("plugin", "check", "counter", "--isolation", "inline", "--json");
    const report = JSON.parse(text) as {
      readonly findings: readonly { readonly status: string; readonly check: string }[];
    };
    expect(report).toMatchObject({ plugin: { id: "counter", version: "0.1.0" }, ok: true });
    const others = report.findings.filter(({ status }) => status !== "ok");
    expect([report.findings.length, others.map(({ check }) => check)]).toEqual([17, ["types"]]);
  }, 120_000);

  it("makes one in TypeScript, with the types of the package and of what they name", async () => {
    const { folder } = JSON.parse(await installed.roomtap("plugin", "new", "typed", "--typescript", "--json")) as {
      readonly folder: string;
    };
    const compiler = join(installed.folder, "node_modules/typescript/bin/tsc");
    // Nothing is left unchecked that a strict program would look at.
    await installed.node([compiler, "--skipLibCheck", "false"], folder);
    expect(await tested(folder, ["dist/plugin.test.js"])).toEqual([passing, 0]);
    const text = await installed.roomtap("plugin", "check", "typed", "--isolation", "inline");
    expect(text.split("\n").slice(0, 3)).toEqual([
      "ok       manifest and entry file",
      "ok       types",
      "ok       loads (inline)",
    ]);
  }, 120_000);

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
