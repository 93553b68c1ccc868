import type { Delta } from "../../../core/index.ts";

/** A text that was streamed, as far as it was seen. */
export interface StreamedText {
  /** What was seen, in order; between two pieces something is missing. */
  readonly pieces: readonly string[];
  /** UTF-16 units that are known to be missing in or before it. */
  readonly missing_units: number;
}

/** Where a stream had come to when somebody began to look: its beginning, as far as it is kept. */
export interface StreamStart {
  readonly text: string;
  /** UTF-16 units that had been streamed; more than `text` has when that is only the beginning. */
  readonly offset: number;
}

/** Puts deltas of one kind together: each says where it belongs, and a snapshot stands for all before it. Pure. */
export function streamedText(deltas: readonly Delta[], start: StreamStart = { text: "", offset: 0 }): StreamedText {
  let pieces = [start.text];
  let missing = Math.max(0, start.offset - start.text.length);
  let end = Math.max(start.offset, start.text.length);
  // Only what is missing in front of a further piece parts it from the one before.
  let hasHole = missing > 0;
  for (const { text, offset, snapshot } of deltas) {
    if (snapshot === true) {
      if (text.length < end) continue;
      [pieces, missing, end, hasHole] = [[text], 0, text.length, false];
      continue;
    }
    const news = text.slice(Math.max(0, end - offset));
    if (offset > end) [missing, hasHole] = [missing + offset - end, true];
    if (news === "") continue;
    if (hasHole) pieces.push(news);
    else pieces.push(`${pieces.pop() ?? ""}${news}`);
    [end, hasHole] = [offset + text.length, false];
  }
  return { pieces: pieces.filter((piece) => piece !== ""), missing_units: missing };
}
