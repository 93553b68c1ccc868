import type { ActivityEvent } from "../core/index.ts";
import { emptyHand, type CallParts, type Calls, type InHand } from "./calls.ts";
import { HandlerCalls, pending } from "./handler-calls.ts";
import type { Handler } from "./observer.ts";
import type { Delivery } from "./delivery.ts";
import type { DurationBuckets } from "./stats.ts";

/** Calls of a handler with one event each, so many at a time. Who is told next is the queue's decision. */
export class EventCalls implements Calls {
  /** An event counts as delivered when the handler is called: none is in hand. */
  readonly inHand: InHand = emptyHand;
  /** Calls with events that come past the queue; their token is null. */
  readonly straight: HandlerCalls<ActivityEvent, Delivery | null>;
  readonly #most: number;
  readonly #parts: CallParts;

  constructor(handler: Handler, most: number, parts: CallParts) {
    this.#most = most;
    this.#parts = parts;
    this.straight = new HandlerCalls({
      handler,
      clock: parts.clock,
      stallMs: parts.stallMs,
      onFailure: (failure, cause) => parts.books.fail(failure, cause),
      onSettled: (delivery) => {
        if (delivery !== null) parts.held.release(delivery);
        parts.onSettled();
      },
    });
  }

  get running(): number {
    return this.straight.running;
  }

  get isFull(): boolean {
    return this.straight.running >= this.#most;
  }

  get times(): DurationBuckets {
    return this.straight.times;
  }

  callNext(): boolean {
    if (this.isFull) return false;
    const { held, books } = this.#parts;
    const delivery = held.take();
    if (delivery === undefined) return false;
    books.deliver(delivery.event);
    if (this.straight.call(delivery.event, delivery) !== pending) held.release(delivery);
    return true;
  }

  close(): void {
    this.straight.close();
  }
}
