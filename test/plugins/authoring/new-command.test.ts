import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newPluginCommand, type NewOptions } from "../../../plugins/index.ts";
import { collectedOutput, type CollectedOutput } from "../../support/collected-output.ts";
import { temporaryFolder } from "../../support/open-log.ts";

async function make(name: string, options: NewOptions): Promise<CollectedOutput> {
  const output = collectedOutput();
  expect(await newPluginCommand(name, options, { output, version: "1.2.3" })).toBe(0);
  return output;
}

const plainFiles = [".gitignore", "README.md", "package.json", "plugin.js", "plugin.test.js"];

describe("plugin new", () => {
  it("writes a package of its name, for this version", async () => {
    const dir = temporaryFolder();
    const output = await make("tool-counter", { dir, json: true });
    const folder = join(dir, "tool-counter");
    const files = ["package.json", "plugin.js", "plugin.test.js", "README.md", ".gitignore"];
    expect(output.json()).toEqual({ name: "tool-counter", folder, language: "javascript", files });
    expect(readdirSync(folder).toSorted()).toEqual(plainFiles);
    expect(readdirSync(dir)).toEqual(["tool-counter"]);
    expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).toMatchObject({
      ...{ name: "tool-counter", exports: "./plugin.js", peerDependencies: { roomtap: "^1.2.3" } },
      roomtap: { apiVersion: 1, engines: { roomtap: "^1.2.3" }, permissions: { payload: "meta" } },
    });
    expect(readFileSync(join(folder, "plugin.js"), "utf8").split("\n").length).toBeLessThan(50);
  });

  it("names each file, and what comes next", async () => {
    const output = await make("typed", { dir: temporaryFolder(), typescript: true });
    expect(output.lines.map((line) => line.replace(/.*typed\//, ""))).toEqual([
      ...["package.json", "src/plugin.ts", "src/plugin.test.ts", "README.md", ".gitignore", "tsconfig.json"],
    ]);
    expect(output.notes).toEqual([expect.stringMatching(/^next: cd .*typed && npm install && npm test$/)]);
  });

  it.each(["", "Tool", "a b", "../up", ".hidden", "-a", "a-", "a".repeat(65), "@scope/a"])(
    "refuses the name %j, and writes nothing",
    async (name) => {
      const dir = temporaryFolder();
      await expect(make(name, { dir })).rejects.toMatchObject({
        code: "invalid_params",
        remedy: expect.stringMatching(/Choose such a name/),
      });
      expect(readdirSync(dir)).toEqual([]);
    },
  );

  it("takes an empty folder, and refuses one with anything in it, and a file", async () => {
    const dir = temporaryFolder();
    mkdirSync(join(dir, "empty"));
    await make("empty", { dir });
    expect(readdirSync(join(dir, "empty")).toSorted()).toEqual(plainFiles);
    const taken = expect.objectContaining({
      code: "invalid_params",
      message: expect.stringContaining("a folder with .gitignore in it"),
    });
    await expect(make("empty", { dir })).rejects.toEqual(taken);
    writeFileSync(join(dir, "file"), "");
    await expect(make("file", { dir })).rejects.toThrow("found a file of this name");
    expect(readdirSync(dir).toSorted()).toEqual(["empty", "file"]);
  });

  it("makes the folders above it, and leaves nothing when it cannot write", async () => {
    const dir = temporaryFolder();
    await make("deep", { dir: join(dir, "a", "b") });
    expect(existsSync(join(dir, "a", "b", "deep", "plugin.js"))).toBe(true);
    writeFileSync(join(dir, "file"), "");
    await expect(make("x", { dir: join(dir, "file") })).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(readdirSync(dir).toSorted()).toEqual(["a", "file"]);
  });
});
