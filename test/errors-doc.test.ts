import { expect, it } from "vitest";
import { errorTable } from "../core/index.ts";
import { readText } from "./support/repository.ts";
import { tableRows } from "./support/markdown.ts";

it("ERRORS.md has each code with its meaning, remedy and exit status, and no other", () => {
  const documented = tableRows(readText("ERRORS.md")).filter(([code]) => /^`[a-z_]+`$/.test(code ?? ""));
  const known = Object.entries(errorTable).map(([code, { meaning, remedy, exit }]) => [
    `\`${code}\``,
    meaning,
    remedy,
    String(exit),
  ]);
  expect(documented).toEqual(known);
});

it("the table of codes is in alphabetical order", () => {
  const codes = Object.keys(errorTable);
  expect(codes).toEqual(codes.toSorted());
});
