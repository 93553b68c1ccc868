import { describe, expect, it } from "vitest";
import { tableRows } from "./support/markdown.ts";
import { filesUnder, readText } from "./support/repository.ts";
import { leadingIds, readTitles } from "./support/titles.ts";

describe("CONFORMANCE.md", () => {
  const listed = tableRows(readText("test/CONFORMANCE.md")).flatMap(([cell = ""]) => leadingIds(cell));
  const proved = filesUnder("test")
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => readTitles(readText(path)))
    .flatMap(leadingIds);

  it("has a line for each id that a test's title begins with", () => {
    expect([...new Set(proved)].filter((id) => !listed.includes(id)).toSorted()).toEqual([]);
  });

  it("has no line that no test proves", () => {
    expect(listed.filter((id) => !proved.includes(id))).toEqual([]);
  });

  it("has one line for each id", () => {
    expect(listed.filter((id, index) => listed.indexOf(id) !== index)).toEqual([]);
  });
});

describe("the reader of titles", () => {
  it.each([
    ['it("a", () => {});', ["a"]],
    ['describe("a", () => { test("b", run); });', ["a", "b"]],
    ['it.each([1, 2])("a %s", run);', ["a %s"]],
    ["it.each`x`(`a ${b} c`, run);", ["a "]],
    ['it.skipIf(root)("a", run);', ["a"]],
    ['split("a"); it.each(["a"]);', []],
  ])("reads %s", (text, titles) => {
    expect(readTitles(text)).toEqual(titles);
  });

  it.each([
    ["C-053 keeps rows", ["C-053"]],
    ["R1, R3 and C-058: plans the same", ["R1", "R3", "C-058"]],
    ["I4 R11 folds", ["I4", "R11"]],
    ["I12", ["I12"]],
    ["Redacts R1", []],
    ["R1a is none", []],
    ["keeps C-053", []],
  ])("finds the ids of %s", (title, ids) => {
    expect(leadingIds(title)).toEqual(ids);
  });
});
