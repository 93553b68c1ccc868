import type { LeaseRow } from "./lease-row.ts";

/** A lease as a contender saw it, and since when it saw nothing else. */
export interface LeaseSighting {
  readonly lease: LeaseRow;
  /** The contender's own monotonic ms behind the first read that gave this claim and renewal. */
  readonly unchangedSince: number;
}

/** Why a lease may be claimed. */
export type ClaimReason =
  | "never_claimed"
  | "released"
  /** It is the contender's own, of an earlier claim: whatever ran under it is fenced off by the new generation. */
  | "own"
  /** Its process provably died on this host. */
  | "holder_gone"
  /** Nobody renewed it for a whole TTL. */
  | "expired";

/** What a contender does next. `until` is its own monotonic ms: then it looks again, and sooner if it likes. */
export type LeaseDecision =
  | { readonly action: "claim"; readonly reason: ClaimReason }
  | { readonly action: "wait"; readonly until: number };

/**
 * What is known of a lease after one more look. A new claim or a renewal starts the wait anew.
 * @param at the contender's monotonic ms behind the read
 */
export function sight(before: LeaseSighting | undefined, lease: LeaseRow, at: number): LeaseSighting {
  const isSame = before?.lease.generation === lease.generation && before.lease.renewal === lease.renewal;
  return { lease, unchangedSince: isSame ? before.unchangedSince : at };
}

/**
 * Whether the lease may be claimed now. A held one only after its generation and renewal were the same for a whole TTL of
 * the contender's own monotonic clock, or at once when nobody can hold it any more. No two clocks are compared.
 */
export function decideClaim(observed: {
  readonly sighting: LeaseSighting;
  /** The contender's monotonic ms before the read that gave the sighting: what was read was true no earlier. */
  readonly askedAt: number;
  readonly ttlMs: number;
  /** The contender's own name. */
  readonly holder: string;
  /** Whether the process in the lease provably died on this host. */
  readonly isHolderGone: boolean;
}): LeaseDecision {
  const { sighting, askedAt, ttlMs, holder, isHolderGone } = observed;
  const { lease, unchangedSince } = sighting;
  if (lease.generation === 0) return { action: "claim", reason: "never_claimed" };
  if (lease.released) return { action: "claim", reason: "released" };
  if (lease.holder === holder) return { action: "claim", reason: "own" };
  if (isHolderGone) return { action: "claim", reason: "holder_gone" };
  const until = unchangedSince + ttlMs;
  return askedAt >= until ? { action: "claim", reason: "expired" } : { action: "wait", until };
}

/**
 * Until when a holder may take itself for the owner: a TTL from when it asked for its last successful claim or renewal. A
 * contender counts from when it saw the outcome, which is later, so the holder is out before anybody else may claim.
 * @param askedAt the holder's own monotonic ms before that claim or renewal
 */
export function heldUntil(askedAt: number, ttlMs: number): number {
  return askedAt + ttlMs;
}
