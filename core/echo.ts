import type { JsonObject } from "./frames.ts";

/** Runs of so many characters that two texts share are found if they are aligned in the source, of twice as many always. */
const runUnits = 32;

/** A longer text is not compared but taken for a repetition: a reason says as much about such an error. UTF-16 units. */
const maxComparedUnits = 65_536;

/**
 * Whether `text` repeats `source`: it has all of it, is part of it, or shares a run of 32 to 63 characters or more with it.
 * Reasoning that a consumer may not see must not come to it inside an error.
 */
export function repeats(text: string, source: string): boolean {
  if (text === "" || source === "") return false;
  if (text.length > maxComparedUnits) return true;
  if (text.length < runUnits || source.length < runUnits) return isPart(text, source) || isPart(source, text);
  const runs = new Set<string>();
  for (let at = 0; at + runUnits <= source.length; at += runUnits) runs.add(source.slice(at, at + runUnits));
  for (let at = 0; at + runUnits <= text.length; at++) if (runs.has(text.slice(at, at + runUnits))) return true;
  return isPart(text, source);
}

/** Shorter texts are in others by accident. */
const shortUnits = 16;

function isPart(part: string, whole: string): boolean {
  const inner = part.trim();
  return inner.length >= shortUnits && whole.includes(inner);
}

/** The payload of an `error` frame; one whose message repeats the attempt's reasoning is cut to its reason. */
export function withoutEcho(payload: JsonObject, reasoning: string): JsonObject {
  const { message, reason } = payload;
  if (typeof message !== "string" || !repeats(message, reasoning)) return payload;
  return { message: "", ...(reason === undefined ? {} : { reason }) };
}
