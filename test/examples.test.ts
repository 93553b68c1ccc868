import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { tableRows } from "./support/markdown.ts";
import { filesUnder, readText, rootFolder } from "./support/repository.ts";

const run = promisify(execFile);
const examples = filesUnder("examples").filter((path) => !/(README\.md|tsconfig\.json)$/.test(path));

describe("each example", () => {
  // An example asserts what it shows. It imports roomtap by its name, so it runs on the build.
  it.each(examples)("%s runs and holds what it says", async (path) => {
    await expect(run(process.execPath, ["--import", "tsx", path], { cwd: rootFolder })).resolves.toBeDefined();
  });

  it("stands in the table of examples/README.md, and nothing else does", () => {
    const named = tableRows(readText("examples/README.md"))
      .map(([file = ""]) => /([\w-]+\.\w+)/.exec(file)?.[1])
      .filter((file) => file !== undefined);
    expect(named.toSorted()).toEqual(examples.map((path) => path.replace("examples/", "")));
  });
});
