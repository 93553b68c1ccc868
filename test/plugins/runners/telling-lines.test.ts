import { describe, expect, it } from "vitest";
import { tellingLines } from "../../../plugins/runners/last-lines.ts";

const stack = ["at a (a.js:1)", "at b (b.js:2)", "at c (c.js:3)"];

describe("the telling lines of an agent's standard error", () => {
  it.each<readonly [string, string, readonly string[]]>([
    ["nothing", "", []],
    ["only empty lines", "\n \n\r\n", []],
    ["fewer lines than fit", "a\nb\n", ["a", "b"]],
    ["more lines than fit: the last ones", "a\nb\nc\nd\n", ["b", "c", "d"]],
    ["a stack: its reason, and the last lines", ["Error: no", ...stack].join("\n"), ["Error: no", ...stack.slice(1)]],
    ["a reason in other letters", ["fatal error: no", ...stack].join("\n"), ["fatal error: no", ...stack.slice(1)]],
    [
      "many errors: the last ones, in their order",
      "Error: 1\nx\nError: 2\nError: 3\nError: 4",
      [2, 3, 4].map((n) => `Error: ${n}`),
    ],
    ["a path that names errors is no reason", "lib/errors.js\nx\ny\nz", ["x", "y", "z"]],
  ])("of %s", (_, text, lines) => {
    expect(tellingLines(text, 3)).toEqual(lines);
  });
});
