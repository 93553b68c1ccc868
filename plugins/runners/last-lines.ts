import type { Redactor } from "../../core/index.ts";

/** Of what is written, so much is kept: bytes. Many times what is shown, so that a secret is whole when it is masked. */
const maxTailBytes = 32_768;
/** What is shown of it: lines, and UTF-16 units of those. */
const maxLines = 5;
const maxUnits = 2_048;

/** The end of what a process writes, for an error text. */
export class LastLines {
  #tail: Buffer = Buffer.alloc(0);
  #isCut = false;

  add(chunk: Buffer): void {
    const whole = Buffer.concat([this.#tail, chunk]);
    this.#isCut ||= whole.length > maxTailBytes;
    this.#tail = whole.subarray(-maxTailBytes);
  }

  /** The lines that tell most, without secrets; "" when nothing was written. A word of which the beginning is gone is left out. */
  text(redactor: Redactor): string {
    const tail = this.#tail.toString("utf8").toWellFormed();
    const masked = redactor.text(this.#isCut ? withoutCutLine(tail) : tail);
    const shown = tellingLines(masked, maxLines).join("\n");
    return shown.length <= maxUnits ? shown : `…${withoutCutWord(shown.slice(-maxUnits))}`;
  }
}

function withoutCutLine(text: string): string {
  const end = text.indexOf("\n");
  return end >= 0 ? text.slice(end + 1) : withoutCutWord(text);
}

function withoutCutWord(text: string): string {
  return text.replace(/^\S*\s*/, "");
}

/**
 * Of a text's lines those that tell most, `count` at most, in their order: lines that speak of an error before others,
 * later ones before earlier ones. A stack trace is longer than that and has its reason on top.
 */
export function tellingLines(text: string, count: number): readonly string[] {
  const lines = text
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "");
  const speaks = lines.map((line) => /error\b/i.test(line));
  const places = [...lines.keys()].toReversed();
  const chosen = [...places.filter((at) => speaks[at]), ...places.filter((at) => !speaks[at])].slice(0, count);
  return lines.filter((_, at) => chosen.includes(at));
}
