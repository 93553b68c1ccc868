import {
  hostDefaults,
  messageOf,
  RoomtapError,
  type Clock,
  type IdSource,
  type Report,
  type Undo,
} from "../core/index.ts";
import { claimWhenFree, lookEveryMs, type Contender, type LeaseWait } from "./lease-claim.ts";
import { heldUntil, type ClaimReason } from "./lease.ts";
import type { ProcessMark, RoomLeases } from "./lease-row.ts";
import { isGone, processMark } from "./process-mark.ts";

/** The right to write a room, while it lasts. */
export interface Lease {
  readonly room_id: string;
  /** What every write is checked against. */
  readonly generation: number;
  /** Why it could be had. */
  readonly reason: ClaimReason;
}

/** How a holder learns that a room is not its own any more. */
export type LossReason =
  /** A renewal or a write was refused: somebody else has claimed it. */
  | "refused"
  /** It could not be renewed for a TTL: from now on somebody else may claim it. */
  | "expired";

/** What a keeper is made of. */
export interface LeaseKeeperOptions {
  readonly log: RoomLeases;
  readonly clock: Clock;
  /** Names this holder. */
  readonly ids: IdSource;
  readonly report: Report;
  /** 100 to 600,000. Default 15,000. Hosts that share a database have the same. */
  readonly leaseTtlMs?: number | undefined;
  /** Told once for each lease that was lost. Stop what runs under it; it can be acquired again. */
  readonly onLost: (roomId: string, generation: number, reason: LossReason) => void;
  /** Told why a room cannot be had yet and when it can, at the beginning and whenever that moves. */
  readonly onWait?: ((roomId: string, wait: LeaseWait) => void) | undefined;
  /** Default: that of this process. */
  readonly process?: ProcessMark | undefined;
  /** Whether a process provably died. Default: asked of this machine. */
  readonly isGone?: ((process: ProcessMark) => boolean) | undefined;
}

/** What a keeper counted since it was made. */
export interface LeaseCounters {
  /** Leases that a renewal found in other hands. */
  readonly refused_renewals: number;
  /** Renewals of all leases that the database did not take. */
  readonly failed_renewals: number;
  /** Leases that ran out unrenewed. */
  readonly expired: number;
}

interface Held extends Lease {
  /** Monotonic ms before the claim, or before the last renewal that was granted. */
  askedAt: number;
}

interface Wait {
  readonly result: Promise<Lease | null>;
  readonly cancel: () => void;
}

/**
 * The leases of one host: waits for them, renews all of them in one transaction every third of the TTL, and notices when
 * one is lost. It believes in no lease for longer than a TTL of its own monotonic clock, so it is out before another host
 * may be in; a wall clock that jumps changes nothing. Without a lease it keeps no timer.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #ttlMs: number;
  readonly #contender: Contender;
  readonly #held = new Map<string, Held>();
  readonly #waits = new Map<string, Wait>();
  readonly #counters = { refused_renewals: 0, failed_renewals: 0, expired: 0 };
  #renewal: Undo | undefined;
  #isRenewing = false;
  #expiry: Undo = () => undefined;

  /** @throws RoomtapError `invalid_params` for a TTL out of its range */
  constructor(options: LeaseKeeperOptions) {
    const { log, clock, ids, leaseTtlMs: ttlMs = hostDefaults.leaseTtlMs } = options;
    if (!(ttlMs >= 100 && ttlMs <= 600_000)) {
      throw new RoomtapError("invalid_params", `leaseTtlMs: expected 100 to 600,000, got ${ttlMs}`);
    }
    const { process = processMark() } = options;
    this.#options = options;
    this.#ttlMs = ttlMs;
    const proves = options.isGone ?? ((mark: ProcessMark) => isGone(mark, process));
    this.#contender = { log, clock, holder: `h-${ids.hex(16)}`, process, ttlMs, isGone: proves };
  }

  get counters(): LeaseCounters {
    return { ...this.#counters };
  }

  /** Whether this host may still write the room under that generation, by its own clock. */
  isHeld(roomId: string, generation: number): boolean {
    const held = this.#held.get(roomId);
    return held?.generation === generation && !this.#isOver(held);
  }

  /**
   * The lease of the room, as soon as it can be had: at once when nobody holds it, else after a TTL in which nobody
   * renewed it, or when its holder has died. null when `release` or `releaseAll` ended the wait.
   * @throws what the log throws
   */
  async acquire(roomId: string): Promise<Lease | null> {
    this.#expire();
    const held = this.#held.get(roomId);
    if (held !== undefined) return leaseOf(held);
    const present = this.#waits.get(roomId);
    if (present !== undefined) return present.result;
    const stop = new AbortController();
    const result = this.#claim(roomId, stop.signal).finally(() => this.#waits.delete(roomId));
    this.#waits.set(roomId, { result, cancel: () => stop.abort() });
    return result;
  }

  /**
   * Gives the room back, so that others can have it at once; ends a wait for it. To be called when nothing runs under the
   * lease any more. Of a room that is not held it does nothing.
   * @throws what the log throws; the lease then runs out by itself
   */
  async release(roomId: string): Promise<void> {
    const wait = this.#waits.get(roomId);
    wait?.cancel();
    await wait?.result.catch(() => null);
    const held = this.#held.get(roomId);
    if (held === undefined) return;
    this.#drop(roomId);
    await this.#options.log.releaseLease(roomId, held.generation, this.#contender.holder);
  }

  /** Releases every room and ends every wait. Goes on when the database refuses one, which is reported. */
  async releaseAll(): Promise<void> {
    const rooms = new Set([...this.#waits.keys(), ...this.#held.keys()]);
    await Promise.all(
      [...rooms].map((roomId) => this.release(roomId).catch((fault) => this.#reportFault(fault, roomId))),
    );
  }

  /** To be called when a write was refused because of its lease: this host learns of it before its next renewal. */
  writeRefused(roomId: string, generation: number): void {
    const held = this.#held.get(roomId);
    if (held?.generation === generation) this.#lose(held, "refused");
  }

  async #claim(roomId: string, signal: AbortSignal): Promise<Lease | null> {
    const { log, onWait } = this.#options;
    const claimed = await claimWhenFree(roomId, this.#contender, signal, (wait) => onWait?.(roomId, wait));
    if (claimed === null) return null;
    const { generation } = claimed.lease;
    if (signal.aborted) {
      await log.releaseLease(roomId, generation, this.#contender.holder);
      return null;
    }
    const held: Held = { room_id: roomId, generation, reason: claimed.reason, askedAt: claimed.askedAt };
    this.#held.set(roomId, held);
    this.#armExpiry();
    this.#armRenewal(this.#ttlMs / 3);
    return leaseOf(held);
  }

  async #renew(): Promise<void> {
    this.#expire();
    const { log, clock } = this.#options;
    const asked = [...this.#held.values()];
    if (asked.length === 0) return;
    const askedAt = clock.monotonic();
    this.#isRenewing = true;
    let nextMs = this.#ttlMs / 3;
    try {
      const rooms = asked.map(({ room_id, generation }) => ({ room_id, generation }));
      const refused = new Set(await log.renewLeases(rooms, this.#contender.holder));
      for (const held of asked) {
        // Released, or lost by other means, in the meantime.
        if (this.#held.get(held.room_id) !== held) continue;
        if (refused.has(held.room_id)) {
          this.#counters.refused_renewals++;
          this.#lose(held, "refused");
        } else {
          held.askedAt = askedAt;
        }
      }
    } catch (fault) {
      this.#counters.failed_renewals++;
      this.#reportFault(fault);
      nextMs = lookEveryMs(this.#ttlMs);
    }
    this.#isRenewing = false;
    this.#armExpiry();
    this.#armRenewal(nextMs);
  }

  #armRenewal(inMs: number): void {
    if (this.#renewal !== undefined || this.#isRenewing || this.#held.size === 0) return;
    this.#renewal = this.#options.clock.after(inMs, () => {
      this.#renewal = undefined;
      void this.#renew();
    });
  }

  /** Sets the one timer for the lease that runs out first. */
  #armExpiry(): void {
    this.#expiry();
    this.#expiry = () => undefined;
    if (this.#held.size === 0) return;
    const { clock } = this.#options;
    const first = Math.min(...[...this.#held.values()].map(({ askedAt }) => heldUntil(askedAt, this.#ttlMs)));
    this.#expiry = clock.after(Math.max(0, first - clock.monotonic()), () => {
      this.#expire();
      this.#armExpiry();
    });
  }

  #isOver(held: Held): boolean {
    return this.#options.clock.monotonic() >= heldUntil(held.askedAt, this.#ttlMs);
  }

  #expire(): void {
    for (const held of [...this.#held.values()]) {
      if (!this.#isOver(held)) continue;
      this.#counters.expired++;
      this.#lose(held, "expired");
    }
  }

  #lose({ room_id, generation }: Held, reason: LossReason): void {
    this.#drop(room_id);
    try {
      this.#options.onLost(room_id, generation, reason);
    } catch (fault) {
      this.#reportFault(fault, room_id);
    }
  }

  #drop(roomId: string): void {
    this.#held.delete(roomId);
    if (this.#held.size > 0) return;
    this.#renewal?.();
    this.#renewal = undefined;
    this.#armExpiry();
  }

  #reportFault(fault: unknown, roomId?: string): void {
    const code = fault instanceof RoomtapError ? fault.code : "internal";
    const subject = roomId === undefined ? {} : { subject: roomId };
    this.#options.report({ code, message: `leases: ${messageOf(fault)}`, ...subject, cause: fault });
  }
}

function leaseOf({ room_id, generation, reason }: Lease): Lease {
  return { room_id, generation, reason };
}
