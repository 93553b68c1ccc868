import { RoomtapError } from "../core/index.ts";

/** Reads the path of a file. */
export function pathOf(text: string): string {
  return text === "" ? expected("the path of a file") : text;
}

/** Reads a whole number, 0 or more. */
export function wholeNumber(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : expected("a whole number, 0 or more");
}

/** Reads a whole number, 1 or more. */
export function countOf(text: string): number {
  return /^\d{1,15}$/.test(text) && Number(text) > 0 ? Number(text) : expected("a whole number, 1 or more");
}

/** Reads a port; 0 is any free one. */
export function portOf(text: string): number {
  const port = wholeNumber(text);
  return port <= 65_535 ? port : expected("a port, 0 to 65535");
}

/** Gathers the values of an option that may be repeated. */
export function listOf(text: string, before: unknown): readonly unknown[] {
  return [...(Array.isArray(before) ? (before as readonly unknown[]) : []), text];
}

/** Gathers whole numbers, 0 or more. */
export function numbersOf(text: string, before: unknown): readonly unknown[] {
  return [...listOf("", before).slice(0, -1), wholeNumber(text)];
}

/** Reads seconds, 0.1 to 86,400, as whole milliseconds. */
export function secondsOf(text: string): number {
  const seconds = Number(text);
  const isRight = /^\d{1,5}(\.\d{1,3})?$/.test(text) && seconds >= 0.1 && seconds <= 86_400;
  return isRight ? Math.round(seconds * 1_000) : expected("seconds, 0.1 to 86400");
}

/** Gathers the origins of pages. */
export function originsOf(text: string, before: unknown): readonly unknown[] {
  const isOrigin = text === "*" || text === "null" || (URL.canParse(text) && new URL(text).origin === text);
  return isOrigin ? listOf(text, before) : expected("scheme, host and port, such as https://example.org");
}

/** Reads words with commas between them. */
export function wordsOf(text: string): readonly string[] {
  return text.split(",").map((word) => word.trim());
}

/** @throws RoomtapError `invalid_params`, always: what an argument was expected to be */
function expected(what: string): never {
  throw new RoomtapError("invalid_params", `expected ${what}`);
}
