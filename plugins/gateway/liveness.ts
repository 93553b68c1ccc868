import type { Clock, Undo } from "../../core/index.ts";

/** What liveness needs of its connection. */
export interface LivenessParts {
  readonly clock: Clock;
  /** 0: the peer is never asked, and never given up. */
  readonly pingIntervalMs: number;
  /** Silent for longer than so many intervals, and it is given up. */
  readonly maxSilentPings: number;
  /** False while the peer is not read: then its silence is ours. */
  readonly isReading: () => boolean;
  readonly ping: () => void;
  readonly onSilent: () => void;
}

/**
 * Asks a peer at intervals whether it lives. Anything that comes from it counts, whatever a turn does; what is sent to it
 * never does.
 */
export class Liveness {
  readonly #parts: LivenessParts;
  #heardAt: number;
  #undoPing: Undo = () => undefined;
  #undoDeadline: Undo = () => undefined;

  constructor(parts: LivenessParts) {
    this.#parts = parts;
    this.#heardAt = parts.clock.monotonic();
    if (parts.pingIntervalMs === 0) return;
    this.#pingLater();
    this.#judgeAfter(this.#patienceMs);
  }

  heard(): void {
    this.#heardAt = this.#parts.clock.monotonic();
  }

  stop(): void {
    this.#undoPing();
    this.#undoDeadline();
  }

  get #patienceMs(): number {
    return this.#parts.pingIntervalMs * this.#parts.maxSilentPings;
  }

  #pingLater(): void {
    this.#undoPing = this.#parts.clock.after(this.#parts.pingIntervalMs, () => {
      this.#parts.ping();
      this.#pingLater();
    });
  }

  /** One timer at a time, set again only when it is due: a peer that talks costs nothing. */
  #judgeAfter(delayMs: number): void {
    // A millisecond later: exactly so long is not too long.
    this.#undoDeadline = this.#parts.clock.after(delayMs + 1, () => {
      if (!this.#parts.isReading()) this.heard();
      const leftMs = this.#heardAt + this.#patienceMs - this.#parts.clock.monotonic();
      if (leftMs < 0) this.#parts.onSilent();
      else this.#judgeAfter(leftMs);
    });
  }
}
