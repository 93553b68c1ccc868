import type { Clock } from "../core/index.ts";
import { decideClaim, sight, type ClaimReason, type LeaseSighting } from "./lease.ts";
import type { LeaseRow, ProcessMark, RoomLeases } from "./lease-row.ts";

/** Why a room cannot be had yet. */
export interface LeaseWait {
  /** `renewed`: its holder was seen to be alive. `held`: it was not seen to renew yet, and may be gone. */
  readonly why: "held" | "renewed";
  /** Of whoever holds it. */
  readonly generation: number;
  /** Of whoever holds it; null when it left no mark. */
  readonly process: ProcessMark | null;
  /** It is taken over in so many ms, unless it is renewed before. */
  readonly inMs: number;
}

/** A contender: what it is called, and what it looks with. */
export interface Contender {
  readonly log: RoomLeases;
  readonly clock: Clock;
  /** Random per host. */
  readonly holder: string;
  readonly process: ProcessMark;
  readonly ttlMs: number;
  readonly isGone: (process: ProcessMark) => boolean;
}

/** A lease that was claimed. */
export interface Claimed {
  readonly lease: LeaseRow;
  readonly reason: ClaimReason;
  /** The contender's monotonic ms before it asked. */
  readonly askedAt: number;
}

/** How often a contender looks at a lease that is held: a release or a death is noticed that soon. */
export function lookEveryMs(ttlMs: number): number {
  return ttlMs / 15;
}

/**
 * Waits until the lease may be claimed and claims it, however long that takes; null when `signal` ended the wait.
 * @param onWait told when a wait begins and whenever its end moves
 * @throws what the log throws
 */
export async function claimWhenFree(
  roomId: string,
  contender: Contender,
  signal: AbortSignal,
  onWait: (wait: LeaseWait) => void,
): Promise<Claimed | null> {
  const { log, clock, holder, process, ttlMs, isGone } = contender;
  let sighting: LeaseSighting | undefined;
  let first: LeaseRow | undefined;
  let toldUntil: number | undefined;
  while (!signal.aborted) {
    const askedAt = clock.monotonic();
    const lease = await log.lease(roomId);
    sighting = sight(sighting, lease, clock.monotonic());
    const isHolderGone = lease.process !== null && isGone(lease.process);
    const decision = decideClaim({ sighting, askedAt, ttlMs, holder, isHolderGone });
    if (decision.action === "claim") {
      const claimedAt = clock.monotonic();
      const result = await log.claimLease({ seen: lease, holder, process });
      if (result.status === "claimed") return { lease: result.lease, reason: decision.reason, askedAt: claimedAt };
      // Somebody claimed or renewed it in between: look again.
      continue;
    }
    const inMs = Math.max(0, decision.until - clock.monotonic());
    if (first?.generation !== lease.generation) first = lease;
    if (toldUntil !== decision.until) {
      toldUntil = decision.until;
      const why = first.renewal === lease.renewal ? "held" : "renewed";
      onWait({ why, generation: lease.generation, process: lease.process, inMs });
    }
    await pause(clock, Math.min(inMs, lookEveryMs(ttlMs)), signal);
  }
  return null;
}

/** Ends early when the signal does. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      undo();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const undo = clock.after(ms, end);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
