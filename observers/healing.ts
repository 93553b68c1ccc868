import { limits, type ActivityEvent, type Attempt } from "../core/index.ts";
import { isDelta } from "./coalesce.ts";

/**
 * Makes a consumer whole again without being asked: the first delta of a kind that is delivered behind a loss in it comes
 * with everything the attempt has released of that kind. A text longer than what the seam keeps stays broken.
 */
export class Healing {
  readonly #broken = new Map<Attempt, Set<string>>();

  /** Whether anything is broken: otherwise no delta has to be looked at. */
  get isNeeded(): boolean {
    return this.#broken.size > 0;
  }

  /** Notes that a delta of this kind was lost. */
  broke(attempt: Attempt, kind: string): void {
    const kinds = this.#broken.get(attempt);
    if (kinds !== undefined) {
      kinds.add(kind);
      return;
    }
    if (this.#broken.size >= limits.maxBrokenAttempts) this.#forgetOne();
    this.#broken.set(attempt, new Set([kind]));
  }

  /** Notes that no delta of the attempt will come. */
  forget(attempt: Attempt): void {
    this.#broken.delete(attempt);
  }

  /** The event that is to be delivered in place of `event`: itself, or a snapshot. */
  heal(event: ActivityEvent, attempt: Attempt): ActivityEvent {
    if (!isDelta(event)) return event;
    const kinds = this.#broken.get(attempt);
    if (kinds === undefined || !kinds.has(event.kind)) return event;
    const text = attempt.stream(event.kind)?.upTo(event.payload.offset + event.payload.text.length) ?? null;
    if (text === null) return event;
    kinds.delete(event.kind);
    if (kinds.size === 0) this.#broken.delete(attempt);
    const { v, coordinates, kind, n, n_from, seq, at } = event;
    const payload = { text, offset: 0, snapshot: true } as const;
    return { v, coordinates, kind, n, ...(n_from === undefined ? {} : { n_from }), seq, at, payload };
  }

  #forgetOne(): void {
    const attempts = [...this.#broken.keys()];
    const chosen = attempts.find((attempt) => attempt.settled) ?? attempts[0];
    if (chosen !== undefined) this.#broken.delete(chosen);
  }
}
