import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { fencedBlocks } from "./support/markdown.ts";
import { readText, rootFolder } from "./support/repository.ts";

/** The first fenced block of a language. */
const blockOf = (text: string, language: string): string => fencedBlocks(text, language)[0] ?? "";

/** The block that begins with the name of a file. */
const fileOf = (text: string, name: string): string =>
  fencedBlocks(text, "js").find((block) => block.startsWith(`// ${name}\n`)) ?? "";

describe("the README", () => {
  it("holds a program that prints what stands below it", async () => {
    const readme = readText("README.md");
    // In the build's folder, from where the package finds itself by its own name.
    const file = join(rootFolder, "dist", "readme-program.mjs");
    writeFileSync(file, blockOf(readme, "js"));
    try {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [file]);
      expect(stdout).toBe(blockOf(readme, "text"));
      expect(stderr).toBe("");
    } finally {
      rmSync(file);
    }
  });

  it("holds a plugin and its test, which passes", async () => {
    const readme = readText("README.md");
    // Not in the build: another test packs that meanwhile.
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "roomtap-readme-")));
    try {
      const manifest = { apiVersion: 1, isolation: "inline" };
      writeFileSync(
        join(folder, "package.json"),
        JSON.stringify({ type: "module", exports: "./plugin.js", roomtap: manifest }),
      );
      for (const name of ["plugin.js", "plugin.test.js"]) writeFileSync(join(folder, name), fileOf(readme, name));
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(rootFolder, join(folder, "node_modules", "roomtap"));
      const args = ["--test", "--test-reporter=tap"];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 60_000 });
      expect(stdout).toMatch(/^# pass 15$/m);
      expect(stdout).toMatch(/^# fail 0$/m);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
