import type { ErrorCode } from "../../core/index.ts";
import type { CloseWord } from "./close-codes.ts";

/**
 * What a gateway counts: connections it ended and error replies, by their word; replies whose caller had gone; responses
 * whose id was none of a request; upgrades and requests for tickets that were answered with 429.
 */
export type Counted = CloseWord | ErrorCode | "lost_reply" | "stray_response" | "too_many_pending" | "too_many_tickets";

/** Counters of a gateway since it was made. */
export class Counts {
  readonly #counts = new Map<Counted, number>();

  add(word: Counted): void {
    this.#counts.set(word, this.of(word) + 1);
  }

  of(word: Counted): number {
    return this.#counts.get(word) ?? 0;
  }
}
