import { envelopeBytes, limits, type ActivityEvent } from "../core/index.ts";
import { readOutcome } from "./batch-outcome.ts";
import { emptyHand, type CallParts, type Calls, type InHand } from "./calls.ts";
import { HandlerCalls, pending } from "./handler-calls.ts";
import type { BatchHandler } from "./observer.ts";
import type { Delivery } from "./delivery.ts";
import type { DurationBuckets } from "./stats.ts";

type Batch = readonly Delivery[];

/**
 * Calls of a handler with batches, one at a time. What becomes of a batch is known when its call has settled: until then
 * its events are in hand, and neither delivered nor dropped.
 */
export class BatchCalls implements Calls {
  inHand: InHand = emptyHand;
  readonly #most: number;
  readonly #parts: CallParts;
  readonly #calls: HandlerCalls<readonly ActivityEvent[], Batch>;

  constructor(handler: BatchHandler, most: number, parts: CallParts) {
    this.#most = most;
    this.#parts = parts;
    this.#calls = new HandlerCalls({
      handler,
      clock: parts.clock,
      stallMs: parts.stallMs,
      onFailure: (failure, cause) => parts.books.fail(failure, cause),
      onSettled: (batch, value) => {
        this.#settle(batch, value);
        parts.onSettled();
      },
    });
  }

  get running(): number {
    return this.#calls.running;
  }

  get isFull(): boolean {
    return this.#calls.running > 0;
  }

  get times(): DurationBuckets {
    return this.#calls.times;
  }

  callNext(): boolean {
    if (this.isFull) return false;
    const batch = this.#take();
    if (batch.length === 0) return false;
    const value = this.#calls.call(
      batch.map(({ event }) => event),
      batch,
    );
    if (value !== pending) this.#settle(batch, value);
    return true;
  }

  close(): void {
    this.#calls.close();
  }

  /** Takes as many as are there, within the bounds of a batch. */
  #take(): Batch {
    const { held } = this.#parts;
    const batch: Delivery[] = [];
    let total = 0;
    while (batch.length < this.#most && (batch.length === 0 || total + held.nextBytes <= limits.maxBatchBytes)) {
      const delivery = held.take();
      if (delivery === undefined) break;
      batch.push(delivery);
      total += delivery.attempt === null ? envelopeBytes : delivery.bytes;
    }
    const events = batch.filter(({ attempt }) => attempt !== null);
    const bytes = events.reduce((sum, delivery) => sum + delivery.bytes, 0);
    this.inHand = { events: events.length, bytes, oldestAt: events[0]?.event.at ?? null };
    return batch;
  }

  #settle(batch: Batch, value: unknown): void {
    const { held, books } = this.#parts;
    this.inHand = emptyHand;
    const { handled, lost, failures, fresh } = readOutcome(value, batch.length);
    const isLost = (place: number): boolean => lost?.has(place) ?? place >= handled;
    books.addFailures(failures);
    if (fresh) held.renew();
    for (const [place, delivery] of batch.entries()) {
      if (isLost(place)) continue;
      books.deliver(delivery.event);
      held.release(delivery);
    }
    held.lose(batch.filter((_, place) => isLost(place)));
  }
}
