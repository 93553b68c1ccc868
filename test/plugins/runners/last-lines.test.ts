import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../core/index.ts";
import { LastLines } from "../../../plugins/runners/last-lines.ts";

const secret = `sk-${"a1B2".repeat(10)}`;

function shown(...chunks: readonly string[]): string {
  const last = new LastLines();
  for (const chunk of chunks) last.add(Buffer.from(chunk));
  return last.text(createRedactor());
}

describe("the last lines of a process", () => {
  it.each([
    ["nothing", [], ""],
    ["one line", ["no model\n"], "no model"],
    ["five of seven lines", ["1\n2\n3\n", "4\n5\n6\n7\n"], "3\n4\n5\n6\n7"],
    ["a secret in two pieces", [`key ${secret.slice(0, 9)}`, `${secret.slice(9)} no\n`], "key [redacted] no"],
  ])("are %s", (_, chunks, text) => {
    expect(shown(...chunks)).toBe(text);
  });

  it("I13 begin behind a line whose beginning is gone, and so hold no part of a secret", () => {
    for (let cut = 1; cut < secret.length; cut++) {
      const rest = "y".repeat(32_768 - secret.length + cut - 6);
      expect(shown(`${secret}${rest}\nlast\n`)).toBe("last");
    }
  });

  it("I13 of one endless line leave out the word whose beginning is gone", () => {
    expect(shown(`key=${secret} ${"z ".repeat(16_380)}end`)).toMatch(/^…(z )+end$/);
    expect(shown(`${secret}${"z".repeat(40_000)}`)).toBe("");
    expect(shown(`${"a ".repeat(2_000)}${secret}${" b".repeat(1_010)}`)).not.toMatch(/a1B2/);
  });

  it("I13 of a key on many lines hold none of it", () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${"QUJD".repeat(16)}\n`.concat(`${"REVG".repeat(16)}\n`.repeat(40));
    expect(shown(`before\n${key}-----END PRIVATE KEY-----\nafter\n`)).toBe("before\n[redacted]\nafter");
  });
});
