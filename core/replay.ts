import type { EventFrame } from "./frames.ts";
import { limits } from "./options.ts";
import { ReplayRing, type RingBounds } from "./replay-ring.ts";
import type { Session } from "./sessions.ts";

/** Bounds of the rings of a process. */
export interface ReplayBounds extends RingBounds {
  /** Of all rings together. */
  readonly maxBytesInAll: number;
}

/** The bounds of the wire. */
export const replayBounds: ReplayBounds = {
  maxEvents: limits.maxReplayEvents,
  maxBytes: limits.maxReplayBytes,
  maxBytesInAll: limits.maxReplayBytesInAll,
};

/** What a session still has above a number. */
export interface Missed {
  readonly frames: readonly EventFrame[];
  /** The last number that was given. */
  readonly latestSeq: number;
  /** Whether `frames` is not all that came above the number, or the number was never given. */
  readonly truncated: boolean;
}

/** What `session.events.stats` says. */
export interface ReplayStats {
  /** Of which events are kept. */
  readonly sessions: number;
  readonly events: number;
  readonly bytes: number;
  readonly max_per_session: number;
  readonly max_bytes_per_session: number;
  readonly max_bytes_process: number;
}

/**
 * The rings of all sessions. When they hold too much together, the session that was active least recently loses its
 * oldest events first. A session keeps its floor for as long as it keeps its numbers.
 */
export class Replay {
  readonly #bounds: ReplayBounds;
  /** By the record that has the numbers: a forgotten session takes its floor along. */
  readonly #rings = new WeakMap<Session, ReplayRing>();
  /** Rings that hold something, the least recently active first. */
  readonly #filled = new Set<ReplayRing>();
  #bytes = 0;

  constructor(bounds: ReplayBounds = replayBounds) {
    this.#bounds = bounds;
  }

  /**
   * Keeps the session's next event.
   * @param bytes of its params, as compact JSON in UTF-8
   */
  add(session: Session, frame: EventFrame, seq: number, bytes: number): void {
    const ring = this.#ringOf(session);
    const before = ring.bytes;
    ring.add(frame, seq, bytes);
    this.#bytes += ring.bytes - before;
    this.#filled.delete(ring);
    if (ring.events > 0) this.#filled.add(ring);
    this.#evict();
  }

  /** What came above `lastSeen`, which is a number the caller has seen or 0. */
  since(session: Session, lastSeen: number): Missed {
    const ring = this.#ringOf(session);
    ring.noteHead(session.seq);
    return {
      frames: ring.above(lastSeen),
      latestSeq: session.seq,
      truncated: lastSeen < ring.floor || lastSeen > session.seq,
    };
  }

  stats(): ReplayStats {
    let events = 0;
    for (const ring of this.#filled) events += ring.events;
    return {
      sessions: this.#filled.size,
      events,
      bytes: this.#bytes,
      max_per_session: this.#bounds.maxEvents,
      max_bytes_per_session: this.#bounds.maxBytes,
      max_bytes_process: this.#bounds.maxBytesInAll,
    };
  }

  #ringOf(session: Session): ReplayRing {
    const known = this.#rings.get(session);
    if (known !== undefined) return known;
    const ring = new ReplayRing(this.#bounds);
    this.#rings.set(session, ring);
    return ring;
  }

  #evict(): void {
    const { maxBytesInAll } = this.#bounds;
    for (const ring of this.#filled) {
      while (this.#bytes > maxBytesInAll && ring.events > 0) this.#bytes -= ring.dropOldest();
      if (ring.events === 0) this.#filled.delete(ring);
      if (this.#bytes <= maxBytesInAll) return;
    }
  }
}
