import type { Clock, Undo } from "./clock.ts";
import { limits } from "./options.ts";
import type { LiveSession } from "./session-driver.ts";

/** Tells of sessions that were not used for 30 minutes. */
export class IdleTimers {
  readonly #clock: Clock;
  readonly #onIdle: (live: LiveSession) => void;
  readonly #timers = new Map<LiveSession, Undo>();

  /** @param onIdle is told; what it does not want to end it has to watch again */
  constructor(clock: Clock, onIdle: (live: LiveSession) => void) {
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  /** From now on it is watched. */
  watch(live: LiveSession): void {
    this.#timers.get(live)?.();
    const stop = this.#clock.after(limits.idleSessionMs, () => this.#onIdle(live));
    this.#timers.set(live, stop);
  }

  /** It was used; without effect on one that is not watched. */
  use(live: LiveSession): void {
    if (this.#timers.has(live)) this.watch(live);
  }

  forget(live: LiveSession): void {
    this.#timers.get(live)?.();
    this.#timers.delete(live);
  }
}
