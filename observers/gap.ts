import { activityKinds, type ActivityKind, type Coordinates, type EventOf } from "../core/index.ts";

/** What one consumer did not get of one attempt, in one run. */
export interface GapCount {
  /** null: counts what can no longer be told by attempt. */
  readonly coordinates: Coordinates | null;
  dropped: number;
  withheld: number;
  first: number | null;
  last: number | null;
  readonly kinds: Map<number, number>;
}

/** Events of one kind that follow each other in `n`: one, or the members of a merged delta. */
export interface Run {
  readonly kind: number;
  readonly count: number;
  /** null for the end of an abandoned attempt, which has no number. */
  readonly first: number | null;
  readonly last: number | null;
}

export function emptyGap(coordinates: Coordinates | null): GapCount {
  return { coordinates, dropped: 0, withheld: 0, first: null, last: null, kinds: new Map() };
}

export function addToGap(gap: GapCount, run: Run, cause: "dropped" | "withheld"): void {
  gap[cause] += run.count;
  gap.kinds.set(run.kind, (gap.kinds.get(run.kind) ?? 0) + run.count);
  widen(gap, run);
}

/** Puts what `other` counts into `gap`: neighbouring gaps are one. */
export function joinGaps(gap: GapCount, other: GapCount): void {
  gap.dropped += other.dropped;
  gap.withheld += other.withheld;
  for (const [kind, count] of other.kinds) gap.kinds.set(kind, (gap.kinds.get(kind) ?? 0) + count);
  widen(gap, other);
}

/** @param at wall time of the event that the gap precedes */
export function gapEvent(gap: GapCount, at: number): EventOf<"gap"> {
  const kinds: { [Kind in ActivityKind]?: number } = {};
  for (const [kind, count] of gap.kinds) {
    const word = activityKinds[kind];
    if (word !== undefined) kinds[word] = count;
  }
  return {
    v: 1,
    coordinates: gap.coordinates,
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

function widen(gap: GapCount, by: { readonly first: number | null; readonly last: number | null }): void {
  // Numbers of several attempts in one gap would mean nothing.
  if (gap.coordinates === null) return;
  if (by.first !== null) gap.first = Math.min(gap.first ?? by.first, by.first);
  if (by.last !== null) gap.last = Math.max(gap.last ?? by.last, by.last);
}
