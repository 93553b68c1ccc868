import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, type Redactor, type StreamRedactor } from "../../core/redact.ts";

const secret = "tok_EXAMPLE_0123456789abcdef";
const key = `sk-${"a1B2".repeat(8)}`;

function streamOf(redactor: Redactor): StreamRedactor {
  const stream = redactor.stream();
  if (stream === null) throw new Error("redaction is off");
  return stream;
}

/** What no literal and no `sk-` key of 4 to 12 characters covers, one character at a time. */
function shownOf(text: string, literals: readonly string[]): string {
  const hidden = new Uint8Array(text.length);
  let covered = -1;
  for (let at = 0; at < text.length; at++) {
    const isWordStart = at === 0 || at === covered || !/[A-Za-z0-9]/.test(text[at - 1] ?? "");
    const run = isWordStart ? (/^sk-[ab-]{4,12}/.exec(text.slice(at))?.[0].length ?? 0) : 0;
    const whole = literals.filter((literal) => text.startsWith(literal, at)).map((literal) => literal.length);
    const length = Math.max(run, ...whole);
    hidden.fill(1, at, at + length);
    if (length > 0) covered = Math.max(covered, at + length);
  }
  return [...text].filter((_, at) => hidden[at] === 0).join("");
}

describe("redactor", () => {
  it.each([
    [`key: ${secret} ok`, "key: [redacted] ok"],
    [`${secret}${secret}`, "[redacted][redacted]"],
    [`use ${key}, then`, "use [redacted], then"],
    ["task-list-of-many-things-to-do-today", "task-list-of-many-things-to-do-today"],
    ["sk-short", "sk-short"],
    [`ghp_${"x".repeat(36)}`, "[redacted]"],
    [`github_pat_${"x".repeat(40)}.`, "[redacted]."],
    ["xoxb-123456789012-abc", "[redacted]"],
    ["AKIAABCDEFGHIJKLMNOP", "[redacted]"],
    [`AIza${"y".repeat(35)}`, "[redacted]"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_def-ghi", "[redacted]"],
    ["Authorization: Bearer abcdefghijklmnop0123", "Authorization: [redacted]"],
    ["a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n[redacted]\nb"],
    ["plain words, nothing else", "plain words, nothing else"],
    ["tok_EXAMPLE_012", "tok_EXAMPLE_012"],
  ])("masks %j", (text, masked) => {
    expect(createRedactor({ literals: [secret] }).text(text)).toBe(masked);
  });

  it("masks the longer of two literals when one begins like the other", () => {
    const redactor = createRedactor({ literals: ["abcdefghi", "abcdefghijkl"] });
    expect(redactor.text("x abcdefghijkl y")).toBe("x [redacted] y");
    expect(redactor.text("x abcdefghijk y")).toBe("x [redacted]jk y");
  });

  it.each([
    ["short123", "9"],
    ["x".repeat(4_097), "4096"],
  ])("refuses a literal it could not mask", (literal, bound) => {
    expect(() => createRedactor({ literals: [literal] })).toThrow(bound);
  });

  it("C-046 masks a secret cut at any place to the same text", () => {
    const text = `key: ${secret} ok`;
    const redactor = createRedactor({ literals: [secret] });
    for (let cut = 1; cut < text.length; cut++) {
      const stream = streamOf(redactor);
      const out = stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.flush();
      expect(out).toBe("key: [redacted] ok");
    }
    const stream = streamOf(redactor);
    expect([...text].map((char) => stream.push(char)).join("") + stream.flush()).toBe("key: [redacted] ok");
  });

  it("C-046 shows at most 8 characters of a secret that frames interrupt", () => {
    const redactor = createRedactor({ literals: [secret] });
    for (let cut = 1; cut < secret.length; cut++) {
      const stream = streamOf(redactor);
      const before = stream.push(`k ${secret.slice(0, cut)}`) + stream.flush();
      const after = stream.push(`${secret.slice(cut)} ok`) + stream.flush();
      expect(before).toBe(cut <= 8 ? `k ${secret.slice(0, cut)}` : "k [redacted]");
      expect(after).toBe(cut <= 8 ? "[redacted] ok" : " ok");
    }
    const stream = streamOf(redactor);
    const singles = [...`k ${secret} ok`].map((char) => stream.push(char) + stream.flush()).join("");
    expect(singles).toBe("k tok_EXAM[redacted] ok");
  });

  it("C-046 masks a held tail of more than 8 characters at the end", () => {
    const stream = streamOf(createRedactor({ literals: [secret] }));
    expect(stream.push(`k ${secret.slice(0, 9)}`)).toBe("k ");
    expect(stream.flush()).toBe("[redacted]");
  });

  it("lets go of a held tail that turns out to be no secret", () => {
    const stream = streamOf(createRedactor({ literals: [secret] }));
    expect(stream.push("tok_EXAMPLE_")).toBe("");
    expect(stream.holds).toBe(true);
    expect(stream.push("of a word")).toBe("tok_EXAMPLE_of a word");
  });

  it("takes away what goes on of a secret that was masked already", () => {
    const stream = streamOf(createRedactor());
    expect([key, "moreOfIt", " and text"].map((piece) => stream.push(piece))).toEqual(["[redacted]", "", " and text"]);
  });

  it("masks a private key that arrives in many pieces, and nothing behind it", () => {
    const pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nabc=\n-----END PRIVATE KEY-----";
    for (const size of [1, 2, 7, 20, 64]) {
      const stream = streamOf(createRedactor());
      const pieces = `x ${pem} y`.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      expect(pieces.map((piece) => stream.push(piece)).join("") + stream.flush()).toBe("x [redacted] y");
    }
  });

  it.each([
    ["AAAAABBBBBCCCCCDDDDDEEEEE", "[redacted]"],
    ["AAAAABBBBBCCCCC.", "[redacted]CCCCC."],
    ["AAAAABBBBBAAAAABBBBB", "[redacted][redacted]"],
    [`key my-secret-sk-${"a1B2".repeat(8)} x`, "key [redacted] x"],
    [`x${secret}sk-${"a1B2".repeat(8)} x`, "x[redacted][redacted] x"],
    [`sk-${"a".repeat(520)} ghp_${"b".repeat(20)}`, `[redacted]${"a".repeat(8)} [redacted]`],
    [`Bearer sk-${"a".repeat(20)}/${secret}é`, "[redacted]é"],
  ])("I13 masks all of %j: the union of secrets that overlap or touch", (text, masked) => {
    const literals = ["AAAAABBBBB", "BBBBBCCCCCDDDDDEEEEE", "my-secret-sk-", secret];
    const redactor = createRedactor({ literals });
    expect(redactor.text(text)).toBe(masked);
    for (const size of [1, 3, 10]) {
      const stream = streamOf(redactor);
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
      expect(pieces.map((piece) => stream.push(piece)).join("") + stream.flush()).toBe(masked);
    }
  });

  it("I13 of literals that overlap in any way no character is shown, however they are cut", () => {
    const literal = fc.string({ unit: fc.constantFrom("a", "b", "-"), minLength: 9, maxLength: 14 });
    fc.assert(
      fc.property(
        fc.uniqueArray(literal, { minLength: 1, maxLength: 3 }),
        fc.array(fc.oneof(fc.nat(2), fc.constantFrom("a", "b", "-", "sk-", "ab-a")), { maxLength: 10 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }),
        fc.nat(9),
        (literals, parts, sizes, overlap) => {
          const rules = [{ prefixes: ["sk-"], chars: "ab-", min: 4, max: 12 }];
          const redactor = createRedactor({ literals, rules });
          const joined = (text: string, part: string | number): string =>
            typeof part === "string" ? text + part : text.slice(0, text.length - overlap) + (literals[part] ?? "a");
          const text = parts.reduce(joined, "");
          const whole = redactor.text(text);
          expect(whole.replaceAll("[redacted]", "")).toBe(shownOf(text, literals));
          const stream = streamOf(redactor);
          let out = "";
          for (let at = 0, piece = 0; at < text.length; piece++) {
            const size = sizes[piece % sizes.length] ?? 1;
            out += stream.push(text.slice(at, at + size));
            at += size;
          }
          expect(whole.startsWith(out)).toBe(true);
          if (!stream.holds) expect(out).toBe(whole);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it.each([
    ['a"quoted"\\secret', String.raw`{"x":"a\"quoted\"\\secret"}`],
    ["two\nlines-of-it", String.raw`{"x":"two\nlines-of-it"}`],
    ["schlüssel-wort", String.raw`{"x":"schl\u00fcssel-wort"}`],
    ["schlüssel-wort", '{"x":"schlüssel-wort"}'],
  ])("I13 masks the literal %j also as JSON escapes it", (literal, text) => {
    expect(createRedactor({ literals: [literal] }).text(text)).toBe('{"x":"[redacted]"}');
  });

  it("I13 any cuts of any text give the text that the whole gives", () => {
    const literals = [secret, "abcabcabcabd", "ünïcode-literal"];
    const part = fc.oneof(
      fc.constantFrom(
        ...literals,
        key,
        "sk-",
        "Bearer ",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
        "PRIVATE KEY-----",
        "abcabc",
      ),
      fc.constantFrom(
        "AKIAABCDEFGHIJKLMNOP",
        "tok_EXAMPLE_0123",
        " ",
        "-",
        "a",
        "😀",
        "ünï",
        "ghp_",
        "s",
        "ABCDEFGHIJKLMNOPQRSTUV",
      ),
      fc.string({ maxLength: 6 }),
    );
    const redactor = createRedactor({ literals });
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        (parts, sizes) => {
          const text = parts.join("").toWellFormed();
          const stream = streamOf(redactor);
          let out = "";
          for (let at = 0, piece = 0; at < text.length; piece++) {
            const size = sizes[piece % sizes.length] ?? 1;
            out += stream.push(text.slice(at, at + size));
            at += size;
          }
          // A tail that may still become a secret is treated with more care than the end of a whole text.
          const held = stream.holds;
          out += stream.flush();
          if (!held) expect(out).toBe(redactor.text(text));
          for (const literal of literals) expect(out).not.toContain(literal);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
