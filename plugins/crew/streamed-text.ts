import type { StreamedText } from "./board.ts";

/** A text of which nothing was released. */
export const noText: StreamedText = { start: 0, text: "", lacks_start: false, lacks_end: false };

/** A piece of a text, as its event carries it. */
export interface TextPiece {
  readonly text: string;
  readonly offset: number;
  /** `text` is everything from the beginning on. */
  readonly snapshot?: true | undefined;
}

/**
 * The text with a piece behind it. What it has already is cut off the piece; behind a hole only what follows the hole is
 * kept, until a snapshot makes it whole. However a text was cut into pieces, the result is the same. Pure.
 */
export function withPiece(before: StreamedText, piece: TextPiece, maxUnits: number): StreamedText {
  const end = before.start + before.text.length;
  const pieceEnd = piece.offset + piece.text.length;
  if (piece.snapshot === true && piece.offset === 0 && pieceEnd >= end) {
    return ended({ start: 0, text: piece.text, lacks_start: false, lacks_end: false }, maxUnits);
  }
  if (piece.offset > end) {
    return ended({ start: piece.offset, text: piece.text, lacks_start: true, lacks_end: false }, maxUnits);
  }
  const news = piece.text.slice(end - piece.offset);
  return ended({ ...before, text: before.text + news, lacks_end: false }, maxUnits);
}

/** The text, of which a piece was lost behind what is known. */
export function withLostEnd(before: StreamedText): StreamedText {
  return before.lacks_end ? before : { ...before, lacks_end: true };
}

/** A text of so many units, of which a beginning, or nothing, is known. */
export function textUpTo(known: string, units: number, maxUnits: number): StreamedText {
  if (known.length >= units) return withPiece(noText, { text: known, offset: 0 }, maxUnits);
  return { start: units, text: "", lacks_start: units > 0, lacks_end: false };
}

/** Keeps the last units, between two code points. */
function ended(streamed: StreamedText, maxUnits: number): StreamedText {
  const excess = streamed.text.length - maxUnits;
  if (excess <= 0) return streamed;
  const isInside = /^[\udc00-\udfff]/.test(streamed.text.charAt(excess)) && isHigh(streamed.text.charAt(excess - 1));
  const cut = isInside ? excess + 1 : excess;
  return { ...streamed, start: streamed.start + cut, text: streamed.text.slice(cut) };
}

function isHigh(unit: string): boolean {
  return /^[\ud800-\udbff]$/.test(unit);
}
