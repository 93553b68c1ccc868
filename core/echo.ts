import type { JsonObject } from "./frames.ts";

/** Runs of so many characters that two texts share are found if they are aligned in the source, of twice as many always. */
const runUnits = 32;

/** A longer text is not compared but taken for a repetition: a reason says as much about such an error. UTF-16 units. */
const maxComparedUnits = 65_536;

/** Shorter texts are in others by accident. */
const shortUnits = 16;

/** What a run's hash is multiplied by at each character. */
const base = 0x01_00_01_93;
/** `base` to the power of `runUnits`, modulo 2^32: what a character has become when it leaves the run. */
const leaving = Array.from({ length: runUnits }).reduce<number>((power) => Math.imul(power, base), 1);

/**
 * Looks for a source that grows in texts that must not repeat it: reasoning that a consumer may not see must not come to
 * it inside an error. The source's runs are kept, so that another text costs no more than its own length.
 */
export class Echo {
  #runs = new Set<string>();
  /** A bit per hash of a run: at most places of a text it is not set, and no string has to be made. */
  #marks = new Uint8Array(0);
  /** Units of the source whose runs are known. */
  #known = 0;

  /**
   * Whether `text` repeats `source`: it has all of it, is part of it, or shares a run of 32 to 63 characters or more.
   * @param source begins with what it was the last time
   */
  repeats(text: string, source: string): boolean {
    if (text === "" || source === "") return false;
    if (text.length > maxComparedUnits) return true;
    if (text.length < runUnits || source.length < runUnits) return isPart(text, source) || isPart(source, text);
    this.#learn(source);
    // A longer part of the source has a whole run in it.
    return this.#sharesRun(text) || (text.trim().length < 2 * runUnits && isPart(text, source));
  }

  /** Forgets the source. */
  forget(): void {
    this.#runs = new Set();
    this.#marks = new Uint8Array(0);
    this.#known = 0;
  }

  #learn(source: string): void {
    if (source.length < this.#known) this.forget();
    if (this.#marks.length === 0) this.#marks = new Uint8Array(markBytes);
    for (; this.#known + runUnits <= source.length; this.#known += runUnits) {
      this.#runs.add(source.slice(this.#known, this.#known + runUnits));
      const hash = hashOf(source, this.#known);
      const place = byteOf(hash);
      this.#marks[place] = (this.#marks[place] ?? 0) | bitOf(hash);
    }
  }

  #sharesRun(text: string): boolean {
    let hash = hashOf(text, 0);
    for (let at = 0; ; at++) {
      const isMarked = ((this.#marks[byteOf(hash)] ?? 0) & bitOf(hash)) !== 0;
      if (isMarked && this.#runs.has(text.slice(at, at + runUnits))) return true;
      if (at + runUnits >= text.length) return false;
      const next = Math.imul(hash, base) + text.charCodeAt(at + runUnits);
      hash = (next - Math.imul(text.charCodeAt(at), leaving)) | 0;
    }
  }
}

/** As `Echo.repeats`, for two texts that are compared once. */
export function repeats(text: string, source: string): boolean {
  return new Echo().repeats(text, source);
}

/** The payload of an `error` frame; one whose message repeats the attempt's reasoning is cut to its reason. */
export function withoutEcho(payload: JsonObject, repeatsReasoning: (text: string) => boolean): JsonObject {
  const { message, reason } = payload;
  if (typeof message !== "string" || !repeatsReasoning(message)) return payload;
  return { message: "", ...(reason === undefined ? {} : { reason }) };
}

function hashOf(text: string, from: number): number {
  let hash = 0;
  for (let at = from; at < from + runUnits; at++) hash = (Math.imul(hash, base) + text.charCodeAt(at)) | 0;
  return hash;
}

/** The upper 20 bits of a hash say which bit is its own: the lower ones depend on the last characters alone. */
const markBytes = 2 ** 17;

function byteOf(hash: number): number {
  return hash >>> 15;
}

function bitOf(hash: number): number {
  return 1 << ((hash >>> 12) & 7);
}

function isPart(part: string, whole: string): boolean {
  const inner = part.trim();
  return inner.length >= shortUnits && whole.includes(inner);
}
