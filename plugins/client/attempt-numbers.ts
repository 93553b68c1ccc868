import { clientLimits } from "./options.ts";
import type { ActivityEvent, Coordinates, LogRow, RunningAttempt } from "./room-types.ts";

/** Activity that did not come. */
export interface ActivityLoss {
  /** The attempt; null where the server could name none. */
  readonly coordinates: Coordinates | null;
  /** First and last missing number; null beside `coordinates: null`. */
  readonly first_n: number | null;
  readonly last_n: number | null;
  /** How many events; with a filter of kinds at most so many. */
  readonly events: number;
  /** `overflow`: the server had to drop them. `reconnect`: they passed while no connection stood. */
  readonly reason: "overflow" | "reconnect" | "unexplained";
}

interface Followed {
  readonly coordinates: Coordinates;
  /** The last number that was seen or told as missing. */
  n: number;
}

/**
 * Follows the numbers of a room's attempts: each event is seen, or lies in a gap that the server told, or is a loss.
 * Pure but for its own state.
 */
export class AttemptNumbers {
  readonly #attempts = new Map<string, Followed>();
  /** With a filter the numbers have holes that mean nothing. */
  readonly #isFiltered: boolean;

  constructor(isFiltered: boolean) {
    this.#isFiltered = isFiltered;
  }

  /** The first subscription: what ran before it is no loss. */
  begin(running: readonly RunningAttempt[]): void {
    for (const { coordinates, n } of running) this.#follow(coordinates, n);
  }

  /** Subscribed again: what the attempts that still run did meanwhile. Those that ended are told by their rows. */
  returned(running: readonly RunningAttempt[]): readonly ActivityLoss[] {
    return running.flatMap(({ coordinates, n }) => this.#missing(coordinates, n, "reconnect"));
  }

  /** A row that was written while no connection stood: what was missed of an attempt that ended. */
  missedRow(row: LogRow): readonly ActivityLoss[] {
    if (row.kind !== "turn.settled") return [];
    const { room_id, thread_id, member_id, turn_id, task_id, execution_generation } = row;
    const coordinates = { room_id, thread_id, member_id, turn_id, task_id, execution_generation };
    const { activity_count } = row.payload;
    return activity_count === null ? [] : this.#missing(coordinates, activity_count, "reconnect");
  }

  /** A live event, in the order in which it came. */
  saw(event: ActivityEvent): readonly ActivityLoss[] {
    const { coordinates } = event;
    if (event.kind === "gap") {
      const { dropped, first_n, last_n } = event.payload;
      if (coordinates !== null && last_n !== null) this.#follow(coordinates, last_n);
      return dropped > 0 ? [{ coordinates, first_n, last_n, events: dropped, reason: "overflow" }] : [];
    }
    if (coordinates === null || event.n === null) return [];
    const before = (event.n_from ?? event.n) - 1;
    const losses = this.#isFiltered ? [] : this.#missing(coordinates, before, "unexplained");
    this.#follow(coordinates, event.n);
    return losses;
  }

  /** What lies between the last number of an attempt and `n`, which is the last one from now on. */
  #missing(coordinates: Coordinates, n: number, reason: ActivityLoss["reason"]): readonly ActivityLoss[] {
    const known = this.#attempts.get(keyOf(coordinates))?.n ?? 0;
    this.#follow(coordinates, n);
    return n > known ? [{ coordinates, first_n: known + 1, last_n: n, events: n - known, reason }] : [];
  }

  #follow(coordinates: Coordinates, n: number): void {
    const key = keyOf(coordinates);
    const known = this.#attempts.get(key);
    if (known !== undefined) known.n = Math.max(known.n, n);
    else this.#attempts.set(key, { coordinates, n });
    const [oldest] = this.#attempts.keys();
    if (this.#attempts.size > clientLimits.maxFollowedAttempts && oldest !== undefined) this.#attempts.delete(oldest);
  }
}

function keyOf({ task_id, execution_generation }: Coordinates): string {
  return `${task_id}#${execution_generation}`;
}
