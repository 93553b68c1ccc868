import type { TruncatedField } from "./activity.ts";
import type { JsonObject } from "./frames.ts";
import { consumerDefaults } from "./options.ts";
import { cutUnits, utf8Length } from "./utf8.ts";

/** What an event takes in a queue besides its payload: envelope, slots and headers. Bytes. */
export const envelopeBytes = 160;

/** Estimate of a value in bytes: lengths of strings and keys plus 16 per value. `cleanPayload` counts the same. */
export function estimateBytes(value: unknown): number {
  if (typeof value === "string") return 16 + value.length;
  if (typeof value !== "object" || value === null) return 16;
  let bytes = 16;
  for (const [key, member] of Object.entries(value)) {
    bytes += estimateBytes(member) + (Array.isArray(value) ? 0 : key.length);
  }
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
}

/**
 * A copy of `payload` whose estimate is at most `maxBytes`, if what names the thing leaves room for that. The longest
 * strings are cut first, on a code-point boundary; if that is not enough, whole fields become null, the largest first.
 */
export function cutPayload(payload: JsonObject, maxBytes: number): CutPayload {
  const texts = longTexts(payload, "");
  const excess = estimateBytes(payload) - maxBytes;
  const limit = textLimit(texts, excess);
  const truncated: TruncatedField[] = [];
  const copy = cutTexts(payload, "", limit, truncated) as Record<string, unknown>;
  for (;;) {
    const left = estimateBytes(copy) - maxBytes;
    const field = left > 0 ? largestField(copy) : undefined;
    if (field === undefined) return { payload: copy, truncated };
    const inside = truncated.filter((cut) => cut.field !== field && !cut.field.startsWith(`${field}.`));
    truncated.splice(0, truncated.length, ...inside, { field, bytes: utf8Length(JSON.stringify(payload[field])) });
    copy[field] = null;
  }
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
  return bytes <= maxFittingBytes ? { bytes } : { ...cutPayload(payload, maxFittingBytes), bytes: maxFittingBytes };
}

function longTexts(value: unknown, key: string): number[] {
  if (typeof value === "string") return value.length > shortUnits ? [value.length] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    key === "" && namingFields.has(name) ? [] : longTexts(member, name),
  );
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

function cutTexts(value: unknown, path: string, limit: number, truncated: TruncatedField[]): unknown {
  if (typeof value === "string") {
    if (value.length <= limit || path === "") return value;
    truncated.push({ field: path, bytes: utf8Length(value) });
    return cutUnits(value, limit);
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, index) => cutTexts(item, `${path}.${index}`, limit, truncated));
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const keep = path === "" && namingFields.has(key);
    copy[key] = keep ? member : cutTexts(member, path === "" ? key : `${path}.${key}`, limit, truncated);
  }
  return copy;
}

function largestField(payload: JsonObject): string | undefined {
  let largest: string | undefined;
  let most = shortUnits;
  for (const [key, value] of Object.entries(payload)) {
    const bytes = namingFields.has(key) ? 0 : estimateBytes(value);
    if (bytes > most) [largest, most] = [key, bytes];
  }
  return largest;
}
