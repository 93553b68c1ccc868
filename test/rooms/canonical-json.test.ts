import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, digest } from "../../rooms/canonical-json.ts";

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;

describe("canonical JSON", () => {
  it.each([
    [
      "sorts keys by UTF-16 units",
      { b: 1, a: 2, "\u20ac": 3, "\r": 4, "\ud83d\ude00": 5, "\ufb33": 6, 1: 7 },
      '{"\\r":4,"1":7,"a":2,"b":1,"\u20ac":3,"\ud83d\ude00":5,"\ufb33":6}',
    ],
    [
      "prints numbers as ECMAScript does",
      [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0],
      "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]",
    ],
    [
      "escapes control characters and no more",
      '\u20ac$\u000f\nA\'B"\\"/\u007f',
      '"\u20ac$\\u000f\\nA\'B\\"\\\\\\"/\u007f"',
    ],
    [
      "keeps names of the prototype as data",
      JSON.parse('{"toString":1,"__proto__":{"a":1}}'),
      '{"__proto__":{"a":1},"toString":1}',
    ],
    ["takes nesting of 64", nested(64), `${"[".repeat(64)}1${"]".repeat(64)}`],
  ])("%s", (_, value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it.each([
    ["undefined", undefined],
    ["a key without a value", { a: undefined }],
    ["a function", () => 1],
    ["a symbol", Symbol("a")],
    ["a bigint", [1n]],
    ["NaN", { a: Number.NaN }],
    ["infinity", -Infinity],
    ["a lone surrogate", ["\ud800"]],
    ["a lone surrogate in a key", { "\udc00": 1 }],
    ["a cycle", cycle],
    ["nesting of 65", nested(65)],
    ["nesting of 5,000", nested(5_000)],
    ["a hole", Array.from({ length: 2 }).concat([1])],
    ["a Date", new Date(0)],
    ["a Map", new Map()],
    ["an object with a toJSON", { toJSON: () => 1 }],
  ])("refuses %s", (_, value) => {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: "invalid_params" }));
  });

  it("gives equal values one text, and comes back equal", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });

  it("digests that text", () => {
    expect(digest({ b: [], a: "é" })).toBe("3b12411c43ffddc6ca15b939affce350343d00181028c04373c2e3458ec9570c");
  });
});
