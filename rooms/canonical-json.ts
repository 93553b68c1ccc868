import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { limits, RoomtapError } from "../core/index.ts";

/**
 * The one JSON text of `value` by RFC 8785: keys sorted by UTF-16 units, no white space, numbers as ECMAScript prints
 * them. Values that are equal as JSON have equal texts.
 * @throws RoomtapError `invalid_params` for what has no such text: undefined (also as the value of a key), functions,
 * symbols, bigints, NaN and infinities, lone surrogates, cycles, nesting above `maxPayloadDepth`, holes in an array,
 * and objects that are neither plain nor arrays (Date, Map, whatever has a `toJSON` of its own)
 */
export function canonicalJson(value: unknown): string {
  refuseUnprintable(value, 0);
  const text = canonicalize(value);
  if (text === undefined) throw refusal("undefined");
  return text;
}

/** SHA-256 of the canonical text of `value`, as 64 lower-case hex digits. Throws as `canonicalJson` does. */
export function digest(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

// A cycle is nesting without end, so the depth catches it.
function refuseUnprintable(value: unknown, depth: number): void {
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) throw refusal("a lone surrogate");
      return;
    case "number":
      if (!Number.isFinite(value)) throw refusal(String(value));
      return;
    case "boolean":
      return;
    case "object":
      if (value !== null) refuseWithin(value, depth + 1);
      return;
    default:
      throw refusal(typeof value);
  }
}

function refuseWithin(value: object, depth: number): void {
  if (depth > limits.maxPayloadDepth) throw refusal(`nesting above ${limits.maxPayloadDepth}`);
  if (Array.isArray(value)) {
    // By index: a hole reads as undefined, which is refused.
    for (let index = 0; index < value.length; index++) refuseUnprintable(value[index], depth);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw refusal("an object that is not plain");
  for (const [key, inner] of Object.entries(value)) {
    if (!key.isWellFormed()) throw refusal("a lone surrogate in a key");
    refuseUnprintable(inner, depth);
  }
}

function refusal(got: string): RoomtapError {
  return new RoomtapError("invalid_params", `expected a value with a canonical JSON text, got ${got}`);
}
