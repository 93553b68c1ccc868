import type { ActivityEvent } from "../../../core/index.ts";

/**
 * How sure a list is. `exact`: all there is, or was; of an attempt that is open, so far. `at_least`: there may be more, which
 * was lost or passed before anybody looked. `unknown`: nothing of it was seen.
 */
export type Certainty = "exact" | "at_least" | "unknown";

/** Numbers from `first` to `last`, both among them. */
export interface NumberRange {
  readonly first: number;
  readonly last: number;
}

/** Which numbers of an attempt were seen, lie in gaps that were told, or are simply not there. */
export interface Coverage {
  /** The last number that is known of; null when none is. */
  readonly last_n: number | null;
  /** Events that were seen; merged ones count with all their members. */
  readonly seen: number;
  /** Told as dropped, and told as withheld for want of a grant, which is no loss. */
  readonly dropped: number;
  readonly withheld: number;
  /** Of nobody told: they passed before anybody looked, or while no connection stood. */
  readonly unseen: number;
  /** By kind, what gaps told of. */
  readonly missing: ReadonlyMap<string, number>;
}

/**
 * What is known of the numbers 1 .. `lastN` of one attempt. Pure.
 * @param about.lastN the highest number that is known of from elsewhere; null when none is
 * @param about.known numbers that something else stands for: rows for start and end
 */
export function coverageOf(
  events: readonly ActivityEvent[],
  about: { readonly lastN: number | null; readonly known: readonly NumberRange[] },
): Coverage {
  const seen: NumberRange[] = [...about.known];
  const told: NumberRange[] = [];
  const missing = new Map<string, number>();
  let [dropped, withheld] = [0, 0];
  for (const event of events) {
    if (event.kind === "gap") {
      const { first_n, last_n, kinds } = event.payload;
      dropped += event.payload.dropped;
      withheld += event.payload.withheld;
      if (first_n !== null && last_n !== null) told.push({ first: first_n, last: last_n });
      for (const [kind, count] of Object.entries(kinds)) missing.set(kind, (missing.get(kind) ?? 0) + count);
    } else if (event.n !== null) {
      seen.push({ first: event.n_from ?? event.n, last: event.n });
    }
  }
  const highest = [...seen, ...told].reduce((max, { last }) => Math.max(max, last), about.lastN ?? 0);
  return {
    last_n: highest === 0 ? null : highest,
    seen: lengthOf(seen),
    dropped,
    withheld,
    unseen: highest - lengthOf([...seen, ...told]),
    missing,
  };
}

/** How sure a list of what these kinds tell is. */
export function certaintyOf(
  coverage: Coverage,
  about: {
    readonly kinds: readonly string[];
    /** Any activity of the attempt was seen. */
    readonly isWatched: boolean;
    /** Of an attempt whose host died nobody knows how many events there were. */
    readonly standing: "open" | "settled" | "abandoned";
  },
): Certainty {
  const { kinds, isWatched, standing } = about;
  const isWhole =
    coverage.last_n !== null && coverage.unseen === 0 && !kinds.some((kind) => coverage.missing.has(kind));
  if (isWhole && (standing === "settled" || (standing === "open" && isWatched))) return "exact";
  return isWatched ? "at_least" : "unknown";
}

/** How many numbers lie in one of them. */
function lengthOf(ranges: readonly NumberRange[]): number {
  let [length, end] = [0, 0];
  for (const { first, last } of [...ranges].sort((a, b) => a.first - b.first)) {
    length += Math.max(0, last - Math.max(first - 1, end));
    end = Math.max(end, last);
  }
  return length;
}
