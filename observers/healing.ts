import { limits, type ActivityEvent, type Attempt } from "../core/index.ts";
import { isDelta, type DeltaEvent } from "./coalesce.ts";

/**
 * Makes a consumer whole again without being asked: the first delta of a kind that is delivered behind a loss in it comes
 * with everything the attempt has released of that kind. A text longer than what the seam keeps stays broken.
 */
export class Healing {
  readonly #broken = new Map<Attempt, Set<string>>();
  /** Kinds of deltas that were delivered since the consumer was renewed; null if it never was. */
  #known: Map<Attempt, Set<string>> | null = null;

  /** Whether any delta may have to be healed: otherwise none has to be looked at. */
  get isNeeded(): boolean {
    return this.#broken.size > 0 || this.#known !== null;
  }

  /** Notes that the consumer knows nothing of what was delivered before. */
  renew(): void {
    this.#known = new Map();
  }

  /** Notes that a delta of this kind was lost. */
  broke(attempt: Attempt, kind: string): void {
    const kinds = this.#broken.get(attempt);
    if (kinds !== undefined) {
      kinds.add(kind);
      return;
    }
    if (this.#broken.size >= limits.maxBrokenAttempts) forgetOne(this.#broken);
    this.#broken.set(attempt, new Set([kind]));
  }

  /** Notes that no delta of the attempt will come. */
  forget(attempt: Attempt): void {
    this.#broken.delete(attempt);
    this.#known?.delete(attempt);
  }

  /** Whether this delta is to be delivered as a snapshot, if its text is kept. */
  isBroken(delta: DeltaEvent, attempt: Attempt): boolean {
    if (this.#broken.get(attempt)?.has(delta.kind) === true) return true;
    return this.#known !== null && delta.payload.offset > 0 && this.#known.get(attempt)?.has(delta.kind) !== true;
  }

  /** The event that is to be delivered in place of `event`: itself, or a snapshot. */
  heal(event: ActivityEvent, attempt: Attempt): ActivityEvent {
    if (!isDelta(event)) return event;
    if (!this.isBroken(event, attempt)) {
      this.#know(event, attempt);
      return event;
    }
    const text = attempt.stream(event.kind)?.upTo(event.payload.offset + event.payload.text.length) ?? null;
    if (text === null) return event;
    const kinds = this.#broken.get(attempt);
    if (kinds?.delete(event.kind) === true && kinds.size === 0) this.#broken.delete(attempt);
    this.#know(event, attempt);
    const { v, coordinates, kind, n, n_from, seq, at } = event;
    const payload = { text, offset: 0, snapshot: true } as const;
    return { v, coordinates, kind, n, ...(n_from === undefined ? {} : { n_from }), seq, at, payload };
  }

  /** At the bound one attempt is forgotten: a second snapshot does no harm. */
  #know({ kind }: DeltaEvent, attempt: Attempt): void {
    if (this.#known === null) return;
    const kinds = this.#known.get(attempt);
    if (kinds !== undefined) {
      kinds.add(kind);
      return;
    }
    if (this.#known.size >= limits.maxBrokenAttempts) forgetOne(this.#known);
    this.#known.set(attempt, new Set([kind]));
  }
}

function forgetOne(map: Map<Attempt, unknown>): void {
  const attempts = [...map.keys()];
  const chosen = attempts.find((attempt) => attempt.settled) ?? attempts[0];
  if (chosen !== undefined) map.delete(chosen);
}
