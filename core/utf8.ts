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

/** The longest beginning of `text` that takes at most `maxBytes` bytes of UTF-8 and ends between two code points. */
export function cutUtf8(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  // No more units than bytes can fit, so only those are encoded.
  const head = text.length > maxBytes ? text.slice(0, maxBytes + 1) : text;
  const { read } = encoder.encodeInto(head, new Uint8Array(maxBytes));
  return read >= text.length ? text : text.slice(0, read);
}
