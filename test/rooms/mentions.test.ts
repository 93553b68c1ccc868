import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { afterLeadingMentions, mentionedWords, parseMentions, parseRoster } from "../../rooms/index.ts";
import { memberInputs } from "../support/plan-room.ts";

const members = parseRoster([...memberInputs("a", "b", "Plan-ner_2"), { handle: "pat", runner_kind: null }]);
const all = ["m-a", "m-b", "m-Plan-ner_2"];

const nobody = { addressed: [], named: [], unresolved: [] };
const toAll = { addressed: all, named: [], unresolved: [] };
const toA = { addressed: ["m-a"], named: ["m-a"], unresolved: [] };

describe("parseMentions", () => {
  it.each([
    ["@a", toA],
    ["no mention", toAll],
    ["@all", toAll],
    ["@A", toA],
    ["`@a`", toAll],
    ["x@a.example", toAll],
    ["https://h/@a", toAll],
    ["@a @zz", { ...toA, unresolved: ["zz"] }],
  ])("R23 addresses the members named, or all: %s", (text, expected) => {
    expect(parseMentions(text, members)).toEqual(expected);
  });

  it("R22 addresses nobody when all that is named is unknown", () => {
    expect(parseMentions("@nobody hello", members)).toEqual({ ...nobody, unresolved: ["nobody"] });
  });

  it.each([
    ["stop @a", ["m-a"]],
    ["don't stop @a", ["m-a"]],
    ["@a continue", ["m-a"]],
  ])("R31 takes no word for a command: %s", (text, addressed) => {
    expect(parseMentions(text, members).addressed).toEqual(addressed);
  });

  it.each([
    ["@everyone", toAll],
    ["@ALL", toAll],
    ["@all @a", { ...toAll, named: ["m-a"] }],
    ["@user", nobody],
    ["@user @a", toA],
    ["@pat look", { ...nobody, named: ["m-pat"] }],
    ["@pat @zz", { ...nobody, named: ["m-pat"], unresolved: ["zz"] }],
    ["@b and @a", { addressed: ["m-a", "m-b"], named: ["m-a", "m-b"], unresolved: [] }],
    ["@a @A @a", toA],
    ["@ZZ @zz @Yy", { ...nobody, unresolved: ["zz", "yy"] }],
    ["@plan-NER_2.", { addressed: ["m-Plan-ner_2"], named: ["m-Plan-ner_2"], unresolved: [] }],
    ["Planner and a", toAll],
    ["", toAll],
  ])("knows the room, the person and handles in any case: %s", (text, expected) => {
    expect(parseMentions(text, members)).toEqual(expected);
  });

  it("C-080 addresses members whose handles are names of the prototype", () => {
    const odd = parseRoster(memberInputs("constructor", "toString"));
    expect(parseMentions("@constructor @tostring", odd).named).toEqual(["m-constructor", "m-toString"]);
    expect(parseMentions("@hasOwnProperty", odd)).toEqual({ ...nobody, unresolved: ["hasownproperty"] });
    expect(mentionedWords("@__proto__")).toEqual([]);
  });
});

describe("mentionedWords", () => {
  it.each([
    // Whole words.
    ["hi @a, (@b) [@c] \"@d\" '@e' @f/@g", ["a", "b", "c", "d", "e", "f", "g"]],
    ["@a: @b; @c! @d? **@e** @f's 请@g，好", ["a", "b", "c", "d", "e", "f", "g"]],
    ["@ab-c_d @-a @_a @ a @", ["ab-c_d"]],
    [`@${"x".repeat(64)} @${"y".repeat(65)}`, ["x".repeat(64)]],
    ["Done.@a goes on", ["a"]],
    ["@@a @a@b x@", []],
    // Code.
    ["`@a` ``@b ` @c`` @d `@e", ["d", "e"]],
    ["a stray ` here\n\n@a and ` there", ["a"]],
    ["```\n@a\n```\n@b", ["b"]],
    ["~~~ts\n@a\n```\n@b\n~~~\n@c", ["c"]],
    ["````\n@a\n```\n@b\n````\n@c", ["c"]],
    ["> ```\n> @a\n> ```\n@b", ["b"]],
    ["- ```\n  @a\n  ```\n@b", ["b"]],
    ["@a\n```\n@b and no end", ["a"]],
    ["```@a``` @b", ["b"]],
    ["\\`@a\\`", ["a"]],
    // Links.
    ["[@a](https://h) @b", ["b"]],
    ["[x](https://h/@a) @b", ["b"]],
    ['[x](@a) ![@b](c(d).png) [@c](<e f> "@g") @h', ["h"]],
    ["[[@a]](u) [@b] (@c) [@d](see @e)", ["b", "c", "d", "e"]],
    ["[`]` @a](u) @b", ["b"]],
    // URLs and addresses.
    ["https://h/(@a)/@b?c=@d) @e", ["e"]],
    ["<https://h/@a> http://x@a/ www.h.example/@a h.example/@b @c", ["c"]],
    ["ssh://git@a/@b @c", ["c"]],
    ["x.y+z@a.example <x@a> josé@a.example mailto:x@a @b", ["b"]],
    // Behind a backslash.
    ["\\@a @b \\\\@c", ["b"]],
    // In the JSON that is the rest.
    ['@a @b {"text":"@c"}', ["a", "b"]],
    ['@a: {"text":"@c"} \n', ["a"]],
    ['{"text":"@c"}', []],
    ['@a {"text":"@c"} then', ["a", "c"]],
    ["@a {not json @c}", ["a", "c"]],
    ['@a ["@c"]', ["a", "c"]],
    ['@a see {"text":"@c"}', ["a", "c"]],
  ])("reads %j", (text, words) => {
    expect(mentionedWords(text)).toEqual(words);
  });

  it("looks at each character a bounded number of times", () => {
    const size = 65_536;
    const pieces = [
      "@",
      "`",
      "[",
      "]",
      "(",
      "[](",
      "](",
      "[]()",
      "`@a``",
      "\\",
      "a.",
      "a@",
      "<",
      ']( "',
      "  ",
      "\n",
      "> ",
    ];
    const texts = [
      ...pieces.map((piece) => piece.repeat(size / piece.length)),
      Array.from({ length: 360 }, (_, length) => "`".repeat(length)).join(" "),
      `[@a](${" ".repeat(size)}`,
      `[@a](${"(".repeat(size)}`,
      `${"[".repeat(size / 2)}@a${"](u)".repeat(size / 8)}`,
      `@a {${'"@b":'.repeat(size / 5)}`,
      `${"```\n@a\n".repeat(size / 7)}`,
      `${"1. ".repeat(size / 3)}@a`,
    ];
    // Quadratic in 64 KiB would be minutes for all of them; the test's own time limit says so.
    for (const text of texts) expect(mentionedWords(`${text} @`).length).toBeLessThanOrEqual(2);
  });

  it("reads the same piece by piece as in one go", () => {
    const fragments = [
      "@a",
      "@b-c",
      "x@d.e",
      "https://h/@f",
      " ",
      ", ",
      "/",
      ".",
      "\\",
      "w",
      "é",
      "www.",
      "h.x/",
      "\u00a0",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 20 }), (parts) => {
        const text = `go ${parts.join("")} @z`;
        // The bracket means nothing, but with it the text is read as a whole.
        expect(mentionedWords(`${text} ]`)).toEqual(mentionedWords(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it("finds every plain mention in any order, once", () => {
    const word = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,8}$/);
    const between = fc.constantFrom(" ", ", ", " and ", "\n", "\n\n", "! ", " `code` ", " [l](u) ", " x@y.example ");
    fc.assert(
      fc.property(fc.array(fc.tuple(word, between)), (parts) => {
        const text = parts.map(([name, gap]) => `@${name}${gap}`).join("");
        expect(mentionedWords(text)).toEqual([...new Set(parts.map(([name]) => name))]);
      }),
    );
  });
});

describe("afterLeadingMentions", () => {
  it.each([
    ['@echo {"steps":[]}', '{"steps":[]}'],
    ['  @echo, @b:\n{"steps":[]} ', '{"steps":[]} '],
    ['@echo{"steps":[]}', '{"steps":[]}'],
    ["@all hello @b", "hello @b"],
    ["hello @b", "hello @b"],
    ["@b.", "@b."],
    ["  plain", "plain"],
    ["@a", ""],
  ])("is what follows: %j", (text, rest) => {
    expect(afterLeadingMentions(text)).toBe(rest);
  });
});
