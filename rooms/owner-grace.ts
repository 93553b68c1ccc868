import type { Clock, LiveSession, SessionEnd, SessionHost, Undo } from "../core/index.ts";

/** How long a session waits for the connection that replaces its owner's in the same step, if it waits for nobody. */
const successorMs = 1;

/** An owner that is away. */
interface Absence {
  readonly undo: Undo;
  /** False when its next connection comes in this step: nobody has to know. */
  readonly isLost: boolean;
  /** Set when the time is over and a turn still runs. */
  isOver: boolean;
}

/**
 * Sessions whose owner is away: each is closed when the grace is over, and not before the turn that runs then has settled.
 * What waits behind that turn stays for the next time that the session is opened.
 */
export class OwnerGrace {
  readonly #clock: Clock;
  readonly #sessions: SessionHost;
  readonly #away = new Map<LiveSession, Absence>();

  constructor(clock: Clock, sessions: SessionHost) {
    this.#clock = clock;
    this.#sessions = sessions;
    sessions.on("idle", ({ live }) => {
      if (this.#away.get(live)?.isOver === true) this.#close(live);
    });
    sessions.on("closing", ({ live }) => this.#forget(live));
  }

  /**
   * The owner's last connection has gone.
   * @param graceMs 0: the session is closed at once
   * @param isLost false when another connection of the owner's replaces it in this step
   */
  begin(live: LiveSession, graceMs: number, isLost: boolean): void {
    this.#forget(live);
    if (isLost && graceMs === 0) {
      this.#close(live);
      return;
    }
    const waitMs = isLost ? graceMs : Math.max(graceMs, successorMs);
    this.#away.set(live, { undo: this.#clock.after(waitMs, () => this.#expire(live)), isLost, isOver: false });
  }

  /** The owner is there. True when it was away. */
  end(live: LiveSession): boolean {
    const absence = this.#away.get(live);
    if (absence === undefined) return false;
    this.#forget(live);
    live.hold(false);
    return absence.isLost;
  }

  #expire(live: LiveSession): void {
    const absence = this.#away.get(live);
    if (absence === undefined) return;
    if (live.turnId === null) {
      this.#close(live);
      return;
    }
    absence.isOver = true;
    live.hold(true);
  }

  #close(live: LiveSession, reason: SessionEnd = "ws_orphan_reap"): void {
    void this.#sessions.close(live, reason);
  }

  #forget(live: LiveSession): void {
    this.#away.get(live)?.undo();
    this.#away.delete(live);
  }
}
