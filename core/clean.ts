import type { JsonObject } from "./frames.ts";
import { limits } from "./options.ts";
import type { Redactor } from "./redact.ts";
import { isSecretKey, mask } from "./secret-rules.ts";

/** A payload of roomtap's own: JSON, without secrets, shared with nobody. */
export interface Cleaned {
  readonly payload: JsonObject;
  /** Estimate of what it takes in memory: lengths of strings plus a constant per value. */
  readonly bytes: number;
  /** `unserialisable`: what came was no JSON, and only what names the call was kept. */
  readonly problem: "unserialisable" | null;
}

/** Stands in place of what is nested deeper than 64. */
const tooDeep = "[cut: nested deeper than 64]";

/** Stands in place of what is beyond 65,536 values: the last item of an array, the last field of an object, by this key. */
const tooMany = "[cut: more than 65536 values]";
const cutKey = "[cut]";

/** A whole number from -9,999,999 to 99,999,999 has less than the 9 characters of the shortest literal. */
const shortNumbers = { from: -9_999_999, to: 99_999_999 } as const;

/** What of a payload that is no JSON is kept, if it is a string: it names the call that started or ended. */
const namingFields = ["tool_id", "name", "outcome"] as const;

/** Thrown inside the walk, caught by `cleanPayload`: never seen outside. */
class NotJson extends Error {}

/**
 * Copies a payload as JSON would have it, in one walk: strings well formed, secrets masked by value and by key, what is
 * nested deeper than 64 or beyond 65,536 values cut, `__proto__` keys left out. The producer's object is read once and not
 * changed. A cycle, a bigint, NaN, Infinity, a Map, more than 65,536 bytes, a throwing getter or `toJSON` make it `{"unserialisable": true}`.
 */
export function cleanPayload(payload: unknown, redactor: Redactor): Cleaned {
  const walk = new Walk(redactor);
  try {
    const copy = walk.value(payload, 0);
    if (isObject(copy)) return { payload: copy, bytes: walk.bytes, problem: null };
  } catch {
    // A getter or a `toJSON` may throw anything: whatever it was, the payload is no JSON.
  }
  return { payload: naming(payload, redactor), bytes: 64 + 3 * limits.maxToolIdUnits, problem: "unserialisable" };
}

/** A text of roomtap's own: well formed and without secrets. */
export function cleanText(text: string, redactor: Redactor): string {
  return redactor.text(text.toWellFormed());
}

class Walk {
  bytes = 0;
  readonly #redactor: Redactor;
  readonly #ancestors: object[] = [];
  #values = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** @param depth of `value`: the payload is 0, the value of a field 1 */
  value(value: unknown, depth: number): unknown {
    if (depth > 1) this.#values++;
    this.bytes += 16;
    switch (typeof value) {
      case "string":
        return this.#string(value);
      case "number":
        return this.#number(value);
      case "boolean":
        return value;
      case "object":
        return value === null ? null : this.#object(value, depth);
      case "undefined":
      case "function":
      case "symbol":
        return undefined;
      case "bigint":
        throw new NotJson("a bigint");
    }
  }

  #string(text: string): string {
    const clean = this.#redactor.text(text.isWellFormed() ? text : text.toWellFormed());
    this.bytes += clean.length;
    return clean;
  }

  #number(value: number): number | string {
    if (!Number.isFinite(value)) throw new NotJson("not a finite number");
    if (Number.isInteger(value) && value >= shortNumbers.from && value <= shortNumbers.to) return value;
    const text = String(value);
    return this.#redactor.text(text) === text ? value : mask;
  }

  #object(value: object, depth: number): unknown {
    if (depth > limits.maxPayloadDepth) return tooDeep;
    if (this.#ancestors.includes(value)) throw new NotJson("a cycle");
    this.#ancestors.push(value);
    const copy = this.#members(value, depth);
    this.#ancestors.pop();
    return copy;
  }

  #members(value: object, depth: number): unknown {
    if (Array.isArray(value)) return this.#items(value, depth);
    // A `Buffer` says itself as a list of numbers: a large one would be copied many times over before anything is cut.
    if (ArrayBuffer.isView(value) && value.byteLength > limits.maxPayloadValues) throw new NotJson("too many bytes");
    if ("toJSON" in value && typeof value.toJSON === "function") {
      return this.value((value.toJSON as () => unknown)(), depth);
    }
    if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) throw new NotJson("a container");
    return this.#fields(value as Record<string, unknown>, depth);
  }

  #fields(value: Record<string, unknown>, depth: number): Record<string, unknown> {
    const copy: Record<string, unknown> = {};
    let count = 0;
    for (const key of Object.keys(value)) {
      // Copied on by assignment somewhere, an own `__proto__` would become a prototype.
      if (key === "__proto__") continue;
      // Fields of the payload itself name the thing, whatever stands before them, and have a bound of their own.
      if (depth > 0 ? this.#isFull : ++count > limits.maxPayloadValues) {
        copy[cutKey] = this.#cut();
        break;
      }
      const member = this.value(value[key], depth + 1);
      if (member === undefined) continue;
      this.bytes += key.length;
      copy[cleanText(key, this.#redactor)] = isSecretKey(key) && hides(member) ? mask : member;
    }
    return copy;
  }

  #items(items: readonly unknown[], depth: number): unknown[] {
    const copy: unknown[] = [];
    // A length alone costs its maker nothing: holes are values too, `null` in JSON.
    for (const item of items) {
      if (this.#isFull) {
        copy.push(this.#cut());
        break;
      }
      copy.push(this.value(item, depth + 1) ?? null);
    }
    return copy;
  }

  get #isFull(): boolean {
    return this.#values >= limits.maxPayloadValues;
  }

  #cut(): string {
    this.bytes += 16 + tooMany.length;
    return tooMany;
  }
}

/** Whether a value under a secret key may hold the secret: null and booleans hold none. */
function hides(value: unknown): boolean {
  return value !== null && typeof value !== "boolean" && value !== "";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function naming(payload: unknown, redactor: Redactor): JsonObject {
  const kept: Record<string, unknown> = { unserialisable: true };
  for (const field of namingFields) {
    try {
      const value = isObject(payload) ? payload[field] : undefined;
      // What is too long to name anything is left out: cut, it would name another call.
      if (typeof value === "string" && value.length <= limits.maxToolIdUnits) kept[field] = cleanText(value, redactor);
    } catch {
      // A throwing getter: the field stays out.
    }
  }
  return kept;
}
