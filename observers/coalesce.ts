import type { ActivityEvent, EventOf } from "../core/index.ts";

export type DeltaEvent = EventOf<"message.delta"> | EventOf<"reasoning.delta">;

export function isDelta(event: ActivityEvent): event is DeltaEvent {
  return event.kind === "message.delta" || event.kind === "reasoning.delta";
}

/** Whether `next` goes on exactly where `last` ends: the same kind and the next `n`. Both are of one attempt. */
export function follows(last: DeltaEvent, next: DeltaEvent): boolean {
  return last.kind === next.kind && last.n !== null && next.n === last.n + 1;
}

/** So many pieces are joined into one: at each step would be quadratic, never would cost an object per piece. */
const joinEvery = 64;

/** Deltas of one attempt and kind as one. */
export class MergedDelta {
  readonly #first: DeltaEvent;
  #last: DeltaEvent;
  #pieces: string[];

  constructor(first: DeltaEvent) {
    this.#first = first;
    this.#last = first;
    this.#pieces = [first.payload.text];
  }

  add(next: DeltaEvent): void {
    this.#last = next;
    if (this.#pieces.push(next.payload.text) >= joinEvery) this.#pieces = [this.#pieces.join("")];
  }

  /** One event for `n_from` .. `n`, with the offset of the first and the numbers of the last. */
  event(): ActivityEvent {
    const { v, coordinates, kind, n, seq, at } = this.#last;
    const payload = { text: this.#pieces.join(""), offset: this.#first.payload.offset };
    return { v, coordinates, kind, n, n_from: this.#first.n ?? undefined, seq, at, payload };
  }
}
