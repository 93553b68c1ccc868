import {
  cutPayload,
  estimateBytes,
  utf8Length,
  type ActivityEvent,
  type ActivityKind,
  type JsonObject,
} from "../core/index.ts";
import { isDelta } from "./coalesce.ts";

/** Fields of each kind that stay at level `meta`: ids, names, outcomes, numbers. Of the others the size is told. */
const metaFields: { readonly [Kind in ActivityKind]: readonly string[] } = {
  "turn.started": ["cause", "origin", "seen_through_seq", "roster_digest", "discussion", "row"],
  "turn.settled": ["status", "reason_code", "truncated", "usage", "activity_count", "duration_ms", "row", "counts"],
  "tool.started": ["tool_id", "name", "unserialisable"],
  "tool.completed": ["tool_id", "name", "outcome", "duration_ms", "unserialisable"],
  "tool.output_risk": ["tool_id", "name", "risk", "redacted", "unserialisable"],
  "message.delta": ["offset", "snapshot"],
  "message.interim": ["already_streamed", "unserialisable"],
  "reasoning.delta": ["offset", "snapshot"],
  "request.opened": ["id", "request_id", "method", "tool_id", "expires_at"],
  "request.resolved": ["id", "request_id", "method", "outcome", "reason", "by"],
  "turn.error": ["reason", "unserialisable"],
  gap: ["dropped", "withheld", "first_n", "last_n", "kinds", "reason"],
};

/** The event with ids, names, outcomes and, in `sizes`, how many bytes of UTF-8 each other field would take. */
export function atMeta(event: ActivityEvent): ActivityEvent {
  const keep = metaFields[event.kind];
  const payload: Record<string, unknown> = {};
  const sizes: Record<string, number> = {};
  for (const [field, value] of Object.entries(event.payload as object)) {
    if (keep.includes(field)) payload[field] = value;
    else
      sizes[field] =
        wholeBytes(event, field) ?? utf8Length(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
  }
  if (Object.keys(sizes).length > 0) payload["sizes"] = sizes;
  return { ...withoutTruncated(event), payload } as ActivityEvent;
}

/** The length that a field had before it was cut. */
function wholeBytes(event: ActivityEvent, field: string): number | undefined {
  return event.truncated?.find((cut) => cut.field === field)?.bytes;
}

/** Shapes of an event, by the bound they are cut to. */
type Shapes = Map<number, ActivityEvent>;

/** Of one event so many shapes are kept: a host's consumers rarely have more bounds than the default and the full one. */
const maxShapes = 8;

/**
 * Shapes of events that consumers share, made once for all that have the same bound or level. They go with their event.
 */
export class SharedShapes {
  readonly #metas = new WeakMap<ActivityEvent, ActivityEvent>();
  readonly #cuts = new WeakMap<ActivityEvent, Shapes>();

  /** As `atMeta`. */
  meta(event: ActivityEvent): ActivityEvent {
    const known = this.#metas.get(event);
    if (known !== undefined) return known;
    const shape = atMeta(event);
    this.#metas.set(event, shape);
    return shape;
  }

  /** As `cutEvent`. */
  cut(event: ActivityEvent, maxEventBytes: number): ActivityEvent {
    const shapes: Shapes = this.#cuts.get(event) ?? new Map();
    const known = shapes.get(maxEventBytes);
    if (known !== undefined) return known;
    const shape = cutEvent(event, maxEventBytes);
    if (shapes.size >= maxShapes) shapes.clear();
    this.#cuts.set(event, shapes.set(maxEventBytes, shape));
    return shape;
  }
}

/** The event with its long fields cut, so that it takes at most `maxEventBytes` by estimate. */
export function cutEvent(event: ActivityEvent, maxEventBytes: number): ActivityEvent {
  const { payload, truncated } = cutPayload(event.payload as unknown as JsonObject, maxEventBytes);
  if (truncated.length === 0) return event;
  // A field that was cut before keeps the length it had at first.
  const earlier = event.truncated ?? [];
  const again = truncated.filter((cut) => !earlier.some((known) => known.field === cut.field));
  return { ...event, payload, truncated: [...earlier, ...again] } as unknown as ActivityEvent;
}

/** Estimated bytes of an event's payload. */
export function payloadBytes(event: ActivityEvent): number {
  return estimateBytes(event.payload);
}

/** Freezes an event to its depth. Coordinates are frozen already, once per attempt. */
export function freezeEvent(event: ActivityEvent): void {
  // A delta is flat: the general walk would cost as much as its whole way through the ring.
  if (isDelta(event)) Object.freeze(event.payload);
  else freezeDeep(event.payload);
  if (event.truncated !== undefined) freezeDeep(event.truncated);
  Object.freeze(event);
}

function freezeDeep(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const key in value) freezeDeep((value as Record<string, unknown>)[key]);
}

function withoutTruncated(event: ActivityEvent): ActivityEvent {
  const { truncated: _, ...rest } = event;
  return rest as ActivityEvent;
}
