import {
  reportLater,
  RoomtapError,
  systemClock,
  type ActivityEvent,
  type ActivitySink,
  type Attempt,
  type Clock,
  type Report,
} from "../core/index.ts";
import { Consumer } from "./consumer.ts";
import { checkConsumerOptions } from "./consumer-options.ts";
import type { ConsumerOptions, ConsumerStats, Subscription } from "./observer.ts";
import { SharedShapes } from "./payload.ts";
import { Ring } from "./ring.ts";

/** How long one turn of the event loop may go to handlers before I/O has its turn. */
const drainBudgetMs = 8;

/** What a bounded drain could not deliver. */
export interface DrainResult {
  /** Events that were held when the time was over. */
  readonly undelivered: number;
  /** Consumers whose handler had not come back. */
  readonly unfinished: readonly string[];
}

/**
 * All consumers of a host. The seam pushes into one ring and returns; handlers run in a later turn of the event loop, one
 * consumer after the other, each at its own pace.
 */
export class Observers implements ActivitySink {
  /** Whether anybody listens. */
  listening = false;
  readonly #clock: Clock;
  readonly #report: Report;
  readonly #ring = new Ring(() => this.#absorbAll());
  readonly #shapes = new SharedShapes();
  readonly #consumers = new Map<string, Consumer>();
  #scheduled = false;
  #draining: (() => void)[] = [];

  /** @param options.report told of lagging, stalled and failing consumers, in a later turn of the event loop */
  constructor(options: { readonly clock?: Clock; readonly report?: Report } = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#report = reportLater(options.report ?? (() => undefined), this.#clock);
  }

  /**
   * Registers a consumer. It gets what is published from now on.
   * @throws RoomtapError `duplicate_id`, `unknown_kind`, `invalid_params`
   */
  observe(options: ConsumerOptions): Subscription {
    checkConsumerOptions(options);
    if (this.#consumers.has(options.id)) {
      throw new RoomtapError("duplicate_id", `a consumer with the id ${options.id} is registered already`);
    }
    const consumer = new Consumer(options, {
      ring: this.#ring,
      shapes: this.#shapes,
      clock: this.#clock,
      report: this.#report,
      wake: () => this.#wake(),
    });
    this.#consumers.set(options.id, consumer);
    this.listening = true;
    return {
      id: options.id,
      stats: () => consumer.stats(),
      renew: () => consumer.renew(),
      dispose: () => this.#dispose(consumer),
    };
  }

  /** Counters of all consumers, in order of registration. */
  stats(): readonly ConsumerStats[] {
    return [...this.#consumers.values()].map((consumer) => consumer.stats());
  }

  /** Ends all registrations, so that no handler is called and no timer waits any more. Safe to call twice. */
  close(): void {
    for (const consumer of [...this.#consumers.values()]) this.#dispose(consumer);
  }

  push(event: ActivityEvent, attempt: Attempt, kind: number, bytes: number): void {
    this.#ring.push(event, attempt, kind, bytes);
    if (!this.#scheduled) this.#wake();
  }

  /**
   * Waits until consumers have read what they hold, at most `deadlineMs`.
   * @param ids those that are waited for; default all
   */
  drain(deadlineMs: number, ids?: readonly string[]): Promise<DrainResult> {
    const consumers = (): readonly Consumer[] =>
      [...this.#consumers.values()].filter(({ id }) => ids === undefined || ids.includes(id));
    return new Promise((resolve) => {
      let done = false;
      const finish = (): void => {
        if (done) return;
        done = true;
        stopTimer();
        this.#draining = this.#draining.filter((check) => check !== look);
        resolve(leftOf(consumers()));
      };
      const look = (): void => {
        if (consumers().every(({ isIdle }) => isIdle)) finish();
      };
      const stopTimer = this.#clock.after(deadlineMs, finish);
      this.#draining.push(look);
      look();
    });
  }

  #wake(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.defer(() => this.#drainAll());
  }

  #drainAll(): void {
    this.#scheduled = false;
    const deadline = this.#clock.monotonic() + drainBudgetMs;
    this.#ring.freeze();
    let tail = this.#ring.head;
    let left = false;
    for (const consumer of this.#consumers.values()) {
      if (consumer.drain(deadline)) left = true;
      if (consumer.cursor < tail) tail = consumer.cursor;
    }
    this.#ring.trim(tail);
    if (left) this.#wake();
    for (const look of this.#draining) look();
  }

  #absorbAll(): void {
    for (const consumer of this.#consumers.values()) consumer.absorb();
  }

  #dispose(consumer: Consumer): void {
    consumer.dispose();
    // A second call must not take off who has the id now.
    if (this.#consumers.get(consumer.id) !== consumer) return;
    this.#consumers.delete(consumer.id);
    this.listening = this.#consumers.size > 0;
    // What only this consumer had not read is let go of in the next drain.
    this.#wake();
    for (const look of this.#draining) look();
  }
}

function leftOf(consumers: readonly Consumer[]): DrainResult {
  return {
    undelivered: consumers.reduce((sum, consumer) => sum + consumer.stats().depth, 0),
    unfinished: consumers.filter(({ isRunning }) => isRunning).map(({ id }) => id),
  };
}
