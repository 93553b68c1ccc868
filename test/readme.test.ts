import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { readText, rootFolder } from "./support/repository.ts";

/** The first fenced block of a language. */
function blockOf(text: string, language: string): string {
  return new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(text)?.[1] ?? "";
}

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
});
