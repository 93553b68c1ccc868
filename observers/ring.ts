import { limits, type ActivityEvent, type Attempt } from "../core/index.ts";
import { freezeEvent } from "./payload.ts";

/** A power of two, so that a slot is a mask away. */
const slots = limits.maxRingEvents;

/**
 * One list of events for all consumers; each consumer has only a position in it. So the producer's cost is one store,
 * however many listen (I5). Positions count events since the beginning and are never reused.
 *
 * It holds at most 1,024 unread events and 4 MiB, a larger event alone. Before it overflows, `onFull` must move every reader to `head`.
 */
export class Ring {
  /** The position of the next event. */
  head = 0;
  /** The lowest position that may still be read. */
  #tail = 0;
  /** Events below it are frozen: they may be handed out as they are. */
  ready = 0;
  #total = 0;
  readonly #onFull: () => void;
  readonly #events: (ActivityEvent | undefined)[] = Array.from({ length: slots }, () => undefined);
  readonly #attempts: (Attempt | undefined)[] = Array.from({ length: slots }, () => undefined);
  readonly #kinds = new Uint8Array(slots);
  /** All bytes that were pushed before this slot's event. */
  readonly #before = new Float64Array(slots);
  readonly #bytes = new Float64Array(slots);

  constructor(onFull: () => void) {
    this.#onFull = onFull;
  }

  push(event: ActivityEvent, attempt: Attempt, kind: number, bytes: number): void {
    const unread = this.head - this.#tail;
    if (unread === slots || (unread > 0 && this.bytesFrom(this.#tail) + bytes > limits.maxRingBytes)) {
      this.#onFull();
      this.trim(this.head);
    }
    const slot = this.head & (slots - 1);
    this.#events[slot] = event;
    this.#attempts[slot] = attempt;
    this.#kinds[slot] = kind;
    this.#before[slot] = this.#total;
    this.#bytes[slot] = bytes;
    this.#total += bytes;
    this.head++;
  }

  /** Estimated bytes from a position to the head. */
  bytesFrom(position: number): number {
    return position >= this.head ? 0 : this.#total - (this.#before[position & (slots - 1)] ?? 0);
  }

  kind(position: number): number {
    return this.#kinds[position & (slots - 1)] ?? 0;
  }

  bytes(position: number): number {
    return this.#bytes[position & (slots - 1)] ?? 0;
  }

  /** The event; frozen only after `freeze`. */
  event(position: number): ActivityEvent {
    return present(this.#events[position & (slots - 1)], position);
  }

  attempt(position: number): Attempt {
    return present(this.#attempts[position & (slots - 1)], position);
  }

  /** Freezes what came since the last call, so that it can be handed out. */
  freeze(): void {
    for (let at = Math.max(this.ready, this.#tail); at < this.head; at++) freezeEvent(this.event(at));
    this.ready = this.head;
  }

  /** Lets go of what every reader has behind it. */
  trim(position: number): void {
    for (; this.#tail < position; this.#tail++) {
      const slot = this.#tail & (slots - 1);
      this.#events[slot] = undefined;
      this.#attempts[slot] = undefined;
    }
  }
}

function present<T>(value: T | undefined, position: number): T {
  if (value === undefined) throw new RangeError(`position ${position} is not in the ring`);
  return value;
}
