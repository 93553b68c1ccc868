import type { ActivityEvent, Attempt } from "../core/index.ts";
import { isDelta } from "./coalesce.ts";

/** Attempts whose text is broken for one consumer; beyond it those that have ended are forgotten first. */
const maxBroken = 1_024;

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
    const kinds = this.#broken.get(attempt) ?? new Set();
    kinds.add(kind);
    this.#broken.set(attempt, kinds);
    if (this.#broken.size > maxBroken) this.#forgetOne();
  }

  /** The event that is to be delivered in place of `event`: itself, or a snapshot. */
  heal(event: ActivityEvent, attempt: Attempt): ActivityEvent {
    const kinds = this.#broken.get(attempt);
    if (kinds === undefined) return event;
    if (event.kind === "turn.settled") this.#broken.delete(attempt);
    if (!isDelta(event) || !kinds.has(event.kind)) return event;
    const text = attempt.stream(event.kind)?.upTo(event.payload.offset + event.payload.text.length) ?? null;
    if (text === null) return event;
    kinds.delete(event.kind);
    if (kinds.size === 0) this.#broken.delete(attempt);
    const { v, coordinates, kind, n, n_from: from, seq, at } = event;
    const payload = { text, offset: 0, snapshot: true };
    return {
      v,
      coordinates,
      kind,
      n,
      ...(from === undefined ? {} : { n_from: from }),
      seq,
      at,
      payload,
    } as ActivityEvent;
  }

  #forgetOne(): void {
    for (const attempt of this.#broken.keys()) {
      if (!attempt.settled) continue;
      this.#broken.delete(attempt);
      return;
    }
    for (const attempt of this.#broken.keys()) {
      this.#broken.delete(attempt);
      return;
    }
  }
}
