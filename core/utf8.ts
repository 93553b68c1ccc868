const encoder = new TextEncoder();
let scratch = new Uint8Array(4_096);

/** Length of `text` in bytes of UTF-8; a lone surrogate counts as U+FFFD, 3 bytes. */
export function utf8Length(text: string): number {
  // A UTF-16 unit takes at most 3 bytes.
  const room = text.length * 3;
  if (room > scratch.length) {
    if (room > 1_048_576) return encoder.encode(text).length;
    scratch = new Uint8Array(room);
  }
  return encoder.encodeInto(text, scratch).written;
}

// A byte order mark is text like any other.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * A beginning of `text` of at most `units` UTF-16 units that ends between two code points, with memory of its own: a
 * plain slice keeps the whole text alive as long as itself. `text` is well formed.
 */
export function cutUnits(text: string, units: number): string {
  if (text.length <= units) return text;
  const last = text.charCodeAt(units - 1);
  return ownText(text.slice(0, last >= 0xd800 && last <= 0xdbff ? units - 1 : units));
}

/** The same text with memory of its own. It is well formed. */
export function ownText(text: string): string {
  return decoder.decode(encoder.encode(text));
}

/** The longest beginning of `text` that takes at most `maxBytes` bytes of UTF-8 and ends between two code points. */
export function cutUtf8(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  // No more units than bytes can fit, so only those are encoded.
  const head = text.length > maxBytes ? text.slice(0, maxBytes + 1) : text;
  const bytes = new Uint8Array(maxBytes);
  const { read, written } = encoder.encodeInto(head, bytes);
  return read >= text.length ? text : decoder.decode(bytes.subarray(0, written));
}

/** Code points of a well-formed text. */
export function codePointCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
