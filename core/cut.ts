import type { TruncatedField } from "./activity.ts";
import type { JsonObject } from "./frames.ts";
import { consumerDefaults, limits } from "./options.ts";
import { cutUnits, utf8Length } from "./utf8.ts";

/** What an event takes in a queue besides its payload: envelope, slots and headers. Bytes. */
export const envelopeBytes = 160;

/**
 * Estimate of a value in bytes: lengths of strings and keys plus 16 per value. `cleanPayload` counts the same. A view of
 * bytes counts as the whole buffer that it lies in, which is what is held and copied with it.
 */
export function estimateBytes(value: unknown): number {
  if (typeof value === "string") return 16 + value.length;
  if (typeof value !== "object" || value === null) return 16;
  if (ArrayBuffer.isView(value)) return 16 + value.buffer.byteLength;
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return 16 + value.byteLength;
  let bytes = 16;
  if (value instanceof Map || value instanceof Set) {
    // Both have `forEach`; of a set the key is its value.
    value.forEach((member: unknown, key: unknown) => (bytes += estimateBytes(key) + estimateBytes(member)));
    return bytes;
  }
  if (Array.isArray(value)) {
    for (const item of value) bytes += estimateBytes(item);
    return bytes;
  }
  for (const key of Object.keys(value)) bytes += key.length + estimateBytes((value as JsonObject)[key]);
  return bytes;
}

/** Fields that name a thing or say how it ended: they are never cut. */
const namingFields: ReadonlySet<string> = new Set([
  "tool_id",
  "name",
  "outcome",
  "status",
  "reason_code",
  "id",
  "request_id",
  "method",
  "choice",
  "choices",
  "by",
  "expires_at",
  "row",
  "counts",
  "offset",
  "snapshot",
  "discussion",
  "cause",
  "origin",
  "roster_digest",
  "seen_through_seq",
  "activity_count",
  "duration_ms",
]);

/** Strings shorter than this are not worth cutting, and none is cut to less. UTF-16 units. */
const shortUnits = 64;

/** A payload that fits, and which of its fields do not have their whole text any more. */
export interface CutPayload {
  readonly payload: JsonObject;
  readonly truncated: readonly TruncatedField[];
  /** Estimate of `payload`. */
  readonly bytes: number;
}

/** What a field takes, and how far it could be cut. */
interface FieldSize {
  readonly name: string;
  readonly bytes: number;
  /** Lengths of its texts that are worth cutting. */
  readonly texts: readonly number[];
  /** Estimate with all those texts cut to 64. */
  readonly least: number;
}

/**
 * A copy of `payload` whose estimate is at most `maxBytes`, if what names the thing leaves room for that. Fields that are
 * too large even with their texts cut become null, the largest first; then the longest texts are cut, on a code-point
 * boundary. A field in which more than 64 texts are cut is named itself.
 */
export function cutPayload(payload: JsonObject, maxBytes: number): CutPayload {
  const sizes = Object.keys(payload).map((name) => sizeOf(name, payload[name]));
  const gone = tooLarge(sizes, maxBytes);
  const kept = sizes.filter((size) => !gone.has(size));
  const fixed = 16 + gone.size * 16 + sizes.reduce((sum, { name }) => sum + name.length, 0);
  const excess = fixed + kept.reduce((sum, { bytes }) => sum + bytes, 0) - maxBytes;
  const texts = excess > 0 ? kept.flatMap((size) => size.texts) : [];
  const limit = texts.length === 0 ? Infinity : textLimit(texts, excess);
  const truncated: TruncatedField[] = [];
  const copy: Record<string, unknown> = {};
  for (const size of sizes) {
    const value = payload[size.name];
    if (gone.has(size)) {
      truncated.push(wholeField(size.name, value));
      copy[size.name] = null;
    } else if (namingFields.has(size.name)) {
      copy[size.name] = value;
    } else {
      const cuts: TruncatedField[] = [];
      copy[size.name] = cutTexts(value, [size.name], limit, cuts);
      truncated.push(...(cuts.length > limits.maxTruncatedFields ? [wholeField(size.name, value)] : cuts));
    }
  }
  return { payload: copy, truncated, bytes: estimateBytes(copy) };
}

/** What a payload may take so that its event fits into a whole queue of the default size. */
const maxFittingBytes = consumerDefaults.maxBytes - envelopeBytes;

/**
 * A payload on its way into queues, cut if it is larger than any of them.
 * @param estimate what it came with; only above 16 KiB it is looked at again, since not all of that has to be in it
 */
export function fitPayload(payload: JsonObject, estimate: number): Partial<CutPayload> & { readonly bytes: number } {
  if (estimate <= consumerDefaults.maxEventBytes) return { bytes: estimate };
  const bytes = estimateBytes(payload);
  return bytes <= maxFittingBytes ? { bytes } : cutPayload(payload, maxFittingBytes);
}

function sizeOf(name: string, value: unknown): FieldSize {
  const texts: number[] = [];
  const bytes = namingFields.has(name) ? estimateBytes(value) : measure(value, texts);
  return { name, bytes, texts, least: texts.reduce((sum, length) => sum - length + shortUnits, bytes) };
}

/** Estimates like `estimateBytes`, and notes the lengths of long texts. */
function measure(value: unknown, texts: number[]): number {
  if (typeof value === "string") {
    if (value.length > shortUnits) texts.push(value.length);
    return 16 + value.length;
  }
  if (typeof value !== "object" || value === null) return 16;
  let bytes = 16;
  if (Array.isArray(value)) {
    for (const item of value) bytes += measure(item, texts);
    return bytes;
  }
  for (const key of Object.keys(value)) bytes += key.length + measure((value as JsonObject)[key], texts);
  return bytes;
}

/** Fields that have to go, the largest first, until the others fit with their texts cut. */
function tooLarge(sizes: readonly FieldSize[], maxBytes: number): ReadonlySet<FieldSize> {
  let bytes = sizes.reduce((sum, { name, least }) => sum + name.length + least, 16);
  const gone = new Set<FieldSize>();
  for (const size of sizes.toSorted((a, b) => b.least - a.least)) {
    if (bytes <= maxBytes) break;
    if (size.least <= shortUnits || namingFields.has(size.name)) continue;
    gone.add(size);
    bytes += 16 - size.least;
  }
  return gone;
}

function wholeField(field: string, value: unknown): TruncatedField {
  return { field, bytes: utf8Length(typeof value === "string" ? value : JSON.stringify(value)) };
}

/** The length to which all longer texts must be cut so that `excess` units go. */
function textLimit(lengths: readonly number[], excess: number): number {
  const sorted = lengths.toSorted((a, b) => b - a);
  let total = 0;
  for (const [index, length] of sorted.entries()) {
    total += length;
    const count = index + 1;
    const limit = Math.floor((total - excess) / count);
    if (limit >= (sorted[count] ?? shortUnits)) return Math.max(limit, shortUnits);
  }
  return shortUnits;
}

/** @param path of `value`; its parts are joined only where a text is cut */
function cutTexts(value: unknown, path: (string | number)[], limit: number, cuts: TruncatedField[]): unknown {
  if (typeof value === "string") {
    if (value.length <= limit) return value;
    // One more than is told: then the field is told as a whole.
    if (cuts.length <= limits.maxTruncatedFields) cuts.push({ field: path.join("."), bytes: utf8Length(value) });
    return cutUnits(value, limit);
  }
  if (typeof value !== "object" || value === null) return value;
  const inside = (key: string | number, member: unknown): unknown => {
    path.push(key);
    const cut = cutTexts(member, path, limit, cuts);
    path.pop();
    return cut;
  };
  if (Array.isArray(value)) return value.map((item, index) => inside(index, item));
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) copy[key] = inside(key, (value as JsonObject)[key]);
  return copy;
}
