import type { Clock } from "./clock.ts";
import type { Coordinates } from "./coordinates.ts";
import type { OpenRequest } from "./open-request.ts";
import { limits } from "./options.ts";
import type { RequestOutcome } from "./runner.ts";
import type { Session } from "./sessions.ts";

/** How a request ended, and what decides who may hear of it. */
export interface KeptOutcome {
  readonly outcome: RequestOutcome;
  readonly method: string;
  readonly session: Session;
  /** Where its turn belonged in its room; null outside rooms. */
  readonly coordinates: Coordinates | null;
}

interface Kept extends KeptOutcome {
  readonly request_id: string | null;
  /** Monotonic ms. */
  readonly at: number;
}

/** Outcomes, so that a later answer learns which it was: for 10 minutes, 1,024 of them; the oldest is forgotten. */
export class KeptOutcomes {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  /** `srq-` ids by the approvals' own. */
  readonly #approvals = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep({ id, request_id, method, session, coordinates }: OpenRequest, outcome: RequestOutcome): void {
    this.#kept.set(id, { outcome, method, session, coordinates, request_id, at: this.#clock.monotonic() });
    if (request_id !== null) this.#approvals.set(request_id, id);
    this.#forgetOld();
  }

  /** @param id the request's own, or that of the approval */
  of(id: string): KeptOutcome | undefined {
    this.#forgetOld();
    return this.#kept.get(this.#approvals.get(id) ?? id);
  }

  #forgetOld(): void {
    const oldest = this.#clock.monotonic() - limits.keptOutcomeMs;
    for (const [id, { at, request_id }] of this.#kept) {
      if (at >= oldest && this.#kept.size <= limits.maxKeptOutcomes) return;
      this.#kept.delete(id);
      if (request_id !== null) this.#approvals.delete(request_id);
    }
  }
}
