import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader } from "../../../plugins/runners/line-reader.ts";

/** The lines of a text that comes in pieces of so many bytes. */
function linesOf(text: string, pieceBytes: number, maxBytes?: number): readonly (string | undefined)[] {
  const reader = new LineReader(maxBytes);
  const bytes = Buffer.from(text);
  const found: (string | undefined)[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) found.push(...reader.push(bytes.subarray(at, at + pieceBytes)));
  return found;
}

describe("lines of a stream", () => {
  it("are what stands between its newlines, whatever pieces they come in", () => {
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", ""));
    fc.assert(
      fc.property(fc.array(line), fc.integer({ min: 1, max: 64 }), (lines, pieceBytes) => {
        const text = lines.map((each) => `${each}\n`).join("");
        expect(linesOf(text, pieceBytes)).toEqual(lines.map((each) => each.toWellFormed()));
        expect(linesOf(`${text}rest`, pieceBytes)).toHaveLength(lines.length);
      }),
    );
  });

  it("may come byte by byte, and long ones after short ones", () => {
    const lines = ["a", "x".repeat(200_000), "", "y".repeat(70_000), "b"];
    for (const pieceBytes of [1, 4_096, 1_000_000]) {
      expect(linesOf(lines.map((each) => `${each}\n`).join(""), pieceBytes)).toEqual(lines);
    }
  });

  it.each([
    ["one below the bound", "abc\nd\n", ["abc", "d"]],
    ["one at the bound", "abcd\ne\n", ["abcd", "e"]],
    ["one above the bound", "a\nabcde\nf\n", ["a", undefined]],
    ["one above the bound that has not ended", "a\nabcde", ["a", undefined]],
  ])("end at one that is too long: %s", (_word, text, lines) => {
    for (const pieceBytes of [1, 2, 100]) {
      const found = linesOf(text, pieceBytes, 4);
      const end = found.indexOf(undefined);
      expect(end < 0 ? found : found.slice(0, end + 1)).toEqual(lines);
    }
  });
});
