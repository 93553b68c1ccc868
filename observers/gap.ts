import { activityKinds, type ActivityEvent, type Attempt, type EventOf } from "../core/index.ts";

/** What one consumer did not get of one attempt, in one run. */
export interface GapCount {
  /** null: counts what can no longer be told by attempt. */
  readonly attempt: Attempt | null;
  dropped: number;
  withheld: number;
  first: number | null;
  last: number | null;
  readonly kinds: Map<number, number>;
}

export function emptyGap(attempt: Attempt | null): GapCount {
  return { attempt, dropped: 0, withheld: 0, first: null, last: null, kinds: new Map() };
}

/** Counts an event, a merged delta with all its members. */
export function addToGap(gap: GapCount, event: ActivityEvent, kind: number, cause: "dropped" | "withheld"): void {
  const count = eventCount(event);
  gap[cause] += count;
  gap.kinds.set(kind, (gap.kinds.get(kind) ?? 0) + count);
  if (gap.attempt === null || event.n === null) return;
  const first = event.n_from ?? event.n;
  gap.first = gap.first === null ? first : Math.min(gap.first, first);
  gap.last = gap.last === null ? event.n : Math.max(gap.last, event.n);
}

/** Puts what `other` counts into `gap`: neighbouring gaps are one. */
export function joinGaps(gap: GapCount, other: GapCount): void {
  gap.dropped += other.dropped;
  gap.withheld += other.withheld;
  for (const [kind, count] of other.kinds) gap.kinds.set(kind, (gap.kinds.get(kind) ?? 0) + count);
  if (gap.attempt === null) return;
  if (other.first !== null) gap.first = gap.first === null ? other.first : Math.min(gap.first, other.first);
  if (other.last !== null) gap.last = gap.last === null ? other.last : Math.max(gap.last, other.last);
}

/** @param at wall time of the event that the gap precedes */
export function gapEvent(gap: GapCount, at: number): EventOf<"gap"> {
  const kinds: Record<string, number> = {};
  for (const [kind, count] of gap.kinds) kinds[activityKinds[kind] ?? "unknown"] = count;
  return {
    v: 1,
    coordinates: gap.attempt?.coordinates ?? null,
    kind: "gap",
    n: null,
    seq: null,
    at,
    payload: {
      dropped: gap.dropped,
      withheld: gap.withheld,
      first_n: gap.first,
      last_n: gap.last,
      kinds,
      reason: gap.dropped > 0 ? "overflow" : "not_granted",
    },
  };
}

/** How many events of the seam an event stands for. */
export function eventCount(event: ActivityEvent): number {
  return event.n === null || event.n_from === undefined ? 1 : event.n - event.n_from + 1;
}
