import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkPluginCommand, type CheckKit, type CheckOptions, type Finding } from "../../../plugins/index.ts";
import { conformanceChecks, openTestHost } from "../../../plugins/testing/index.ts";
import { collectedOutput } from "../../support/collected-output.ts";
import { temporaryFolder } from "../../support/open-log.ts";
import { rootFolder } from "../../support/repository.ts";

const kit: CheckKit = { conformanceChecks, openTestHost };

interface Report {
  readonly status: number;
  readonly plugin: unknown;
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

/** A folder with a package of one file. */
function packageOf(code: string, fields: object = {}): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", exports: "./plugin.js", ...fields }));
  writeFileSync(join(folder, "plugin.js"), code);
  return folder;
}

async function check(path: string, options: CheckOptions = {}): Promise<Report> {
  const output = collectedOutput();
  const status = await checkPluginCommand(path, { isolation: "inline", ...options, json: true }, { output, kit });
  return { status, ...(output.json() as Omit<Report, "status">) };
}

const failures = ({ findings }: Report): readonly Finding[] => findings.filter(({ status }) => status === "failed");

const plugin = (setup: string): string =>
  `export default { id: "demo", version: "1.0.0", setup(ctx, config) { ${setup} } };`;
const manifest = { roomtap: { apiVersion: 1, permissions: { approvals: "answer", routes: true } } };

describe("plugin check", () => {
  it("finds nothing in a plugin that is one, and grants it what its manifest asks for", async () => {
    const report = await check(packageOf(plugin(`ctx.routes.add("GET", "/", () => ({}));`), manifest));
    expect([report.status, report.ok, report.plugin]).toEqual([0, true, { id: "demo", version: "1.0.0" }]);
    expect(report.findings.slice(0, 3).map(({ check: name, status }) => [name, status])).toEqual([
      ["manifest and entry file", "ok"],
      ["types", "skipped"],
      ["loads (inline)", "ok"],
    ]);
  });

  it("names what is not granted when grants are named, and what to do", async () => {
    const report = await check(packageOf(plugin(""), manifest), { grant: ["routes"] });
    expect(failures(report)).toEqual([
      expect.objectContaining({
        check: "loads (inline)",
        message: expect.stringContaining("asks for answer; granted: routes"),
      }),
    ]);
    expect(failures(report)[0]?.remedy).not.toBe("");
  });

  it.each([
    ["nothing", () => "nowhere", "manifest and entry file", /found nothing there/],
    [
      "a manifest with a wrong word",
      () => packageOf(plugin(""), { roomtap: { apiVersion: 2 } }),
      "manifest and entry file",
      /apiVersion/,
    ],
    ["code that cannot be read", () => packageOf("export default {"), "loads (inline)", /cannot be imported/],
    ["code that exports nothing", () => packageOf("export {};"), "loads (inline)", /default export/],
    ["a setup that throws", () => packageOf(plugin(`throw new Error("no");`)), "loads (inline)", /plugin demo: no/],
    [
      "a handler that throws at a gap",
      () => packageOf(plugin(`ctx.on("*", (event) => event.coordinates.room_id);`)),
      "goes on after a gap (inline)",
      /expected handlers that come back from a gap that names no attempt/,
    ],
  ])("finds %s", async (_, folderOf, name, message) => {
    const report = await check(folderOf());
    expect([report.status, report.ok]).toEqual([1, false]);
    expect(failures(report)[0]).toMatchObject({ check: name, message: expect.stringMatching(message) });
    expect(failures(report)[0]?.remedy).toBeTruthy();
  });

  it("loads it with a config, and refuses a file that is none", async () => {
    const folder = packageOf(plugin(`if (config.unit !== "calls") throw new Error("no unit");`));
    const file = join(folder, "config.json");
    writeFileSync(file, JSON.stringify({ unit: "calls" }));
    expect((await check(folder, { config: file })).status).toBe(0);
    expect((await check(folder)).status).toBe(1);
    await expect(check(folder, { config: join(folder, "none") })).rejects.toThrow(
      /--config .*: expected a file of JSON/,
    );
    await expect(check(folder, { grant: ["all"] })).rejects.toThrow(
      "--grant: no such word all; known: full, reasoning",
    );
  });

  it("has the compiler that is installed there look at the types", async () => {
    const folder = packageOf(plugin(""));
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions: { types: [] }, files: ["wrong.ts"] }),
    );
    writeFileSync(join(folder, "wrong.ts"), "const text: string = 1;\n");
    const typesOf = async (): Promise<Finding | undefined> =>
      (await check(folder)).findings.find(({ check: name }) => name === "types");
    expect(await typesOf()).toMatchObject({
      status: "skipped",
      message: "typescript is not installed there: npm install",
    });
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(join(rootFolder, "node_modules/typescript"), join(folder, "node_modules/typescript"));
    expect(await typesOf()).toMatchObject({
      status: "failed",
      message: expect.stringContaining("wrong.ts(1,7): error TS2322"),
    });
    writeFileSync(join(folder, "wrong.ts"), "const text: string = '';\n");
    expect(await typesOf()).toMatchObject({ status: "ok" });
  }, 60_000);

  it("says that one which is to be built is not", async () => {
    const folder = packageOf(plugin(""), { exports: "./dist/plugin.js" });
    writeFileSync(join(folder, "tsconfig.json"), "{}");
    expect(failures(await check(folder))[0]).toMatchObject({
      remedy: "Build it first, if it is not built: npm run build.",
    });
  });

  it("prints a line for each look, with what to do, and a sum", async () => {
    const output = collectedOutput();
    const folder = packageOf(plugin(`throw new Error("no");`));
    expect(await checkPluginCommand(folder, { isolation: "inline" }, { output, kit })).toBe(1);
    expect(output.lines.map((line) => line.split(":")[0])).toEqual([
      "ok       manifest and entry file",
      "skipped  manifest",
      "skipped  types",
      "failed   loads (inline)",
      folder,
    ]);
    expect(output.lines.at(-1)).toBe(`${folder}: 4 looked at, 1 failed`);
    expect(output.lines[3]?.split("\n").length).toBe(2);
  });
});
