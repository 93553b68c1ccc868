import { consumerDefaults, envelopeBytes, type Clock, type Report } from "../core/index.ts";
import { BatchCalls } from "./batch-calls.ts";
import { Books } from "./books.ts";
import type { CallParts, Calls, Held } from "./calls.ts";
import { isDelta } from "./coalesce.ts";
import { EventCalls } from "./event-calls.ts";
import { Healing } from "./healing.ts";
import type { ConsumerOptions, ConsumerStats } from "./observer.ts";
import { payloadBytes, type SharedShapes } from "./payload.ts";
import type { Delivery } from "./delivery.ts";
import { Queue } from "./queue.ts";
import type { Ring } from "./ring.ts";
import { View } from "./view.ts";

/** Looks at the clock are this many events apart at most; a slow handler brings them down to one. */
const maxPace = 256;
/** Between two looks so much time should pass. */
const paceMs = 0.25;

interface Parts {
  readonly ring: Ring;
  /** Shared by all consumers of the ring. */
  readonly shapes: SharedShapes;
  readonly clock: Clock;
  readonly report: Report;
  /** Asks for another drain, in a later turn of the event loop. */
  readonly wake: () => void;
}

/**
 * One registered handler: its position in the ring, its own queue once it has fallen behind, and the calls of its handler.
 * One that gets events one at a time gets them straight from the ring as long as it keeps up. Where attempts go side by
 * side, or events in batches, all of them go through the queue: it knows what may go next, and what may come back.
 */
export class Consumer implements Held {
  readonly id: string;
  readonly #parts: Parts;
  readonly #view: View;
  readonly #healing = new Healing();
  readonly #books: Books;
  readonly #queue: Queue;
  readonly #calls: Calls;
  /** Where events go straight from the ring; null if all go through the queue. */
  readonly #straightCalls: EventCalls["straight"] | null;
  /** The position of the next event in the ring. */
  cursor: number;
  /** Events that went straight from the ring to the handler; the books count the others. */
  #straight = 0;
  /** Calls until the next look at the clock. */
  #pace = 16;
  /** Whether events that it wants are delivered as they are, with nothing to tell before them. */
  #isPlain = true;
  #disposed = false;

  constructor(options: ConsumerOptions, parts: Parts) {
    const { id, concurrency = 1 } = options;
    const { clock, report } = parts;
    this.id = id;
    this.#parts = parts;
    this.#view = new View(options, parts.shapes);
    this.#books = new Books({ id, clock, report, healing: this.#healing });
    const callParts: CallParts = {
      held: this,
      books: this.#books,
      clock,
      stallMs: options.stallMs ?? consumerDefaults.stallMs,
      onSettled: () => {
        if (!this.#disposed) parts.wake();
      },
    };
    if (options.batch !== undefined) {
      this.#queue = new Queue(this.#view.bounds, this.#books, "batch");
      this.#calls = new BatchCalls(options.handler, options.batch, callParts);
      this.#straightCalls = null;
    } else {
      const isSerial = concurrency === 1;
      const calls = new EventCalls(options.handler, concurrency, callParts);
      this.#queue = new Queue(this.#view.bounds, this.#books, isSerial ? "serial" : "side_by_side");
      this.#calls = calls;
      this.#straightCalls = isSerial ? calls.straight : null;
    }
    this.cursor = parts.ring.head;
    this.#look();
  }

  /** Whether a handler's call has not settled. */
  get isRunning(): boolean {
    return this.#calls.running > 0;
  }

  /** Whether nothing waits for it, and nothing is in its hands. */
  get isIdle(): boolean {
    return this.#calls.running === 0 && this.#queue.held === 0 && this.cursor === this.#parts.ring.head;
  }

  /**
   * Calls the handler with what waits, until no further call may start or `deadline` (monotonic ms) has passed: true when
   * it was the deadline, and more may be there.
   */
  drain(deadline: number): boolean {
    if (this.#disposed || this.#calls.isFull) return false;
    if (this.#straightCalls === null || this.#queue.held > 0 || this.#isBehind()) this.absorb();
    const { clock } = this.#parts;
    for (let last = clock.monotonic(); ;) {
      if (!this.#deliverSome(this.#pace)) return false;
      const now = clock.monotonic();
      this.#pace = now - last < paceMs ? Math.min(this.#pace * 2, maxPace) : Math.max(this.#pace >> 1, 1);
      if (now >= deadline) return true;
      last = now;
    }
  }

  /** Makes up to `count` calls. False when it can go no further now. */
  #deliverSome(count: number): boolean {
    const { ring } = this.#parts;
    const { ready } = ring;
    const queue = this.#queue;
    const calls = this.#straightCalls;
    const { passes, plainBytes } = this.#view;
    if (calls === null) return this.#deliverHeld(count);
    for (let left = count; left > 0; left--) {
      const at = this.cursor;
      if (queue.held > 0) {
        this.#calls.callNext();
      } else if (at >= ready) {
        return false;
      } else if (this.#isPlain && passes[ring.kind(at)] === 1 && ring.bytes(at) <= plainBytes) {
        // The cursor goes on first: the handler may ask for stats or emit, and both may move what is unread.
        this.cursor = at + 1;
        this.#straight++;
        calls.call(ring.event(at), null);
      } else {
        this.#deliverNext(calls);
      }
      if (calls.running > 0 || this.#disposed) return false;
    }
    return true;
  }

  #deliverHeld(count: number): boolean {
    for (let left = count; left > 0; left--) if (!this.#calls.callNext()) return false;
    return true;
  }

  /** Moves everything unread from the ring into its own queue, where the bound is kept. */
  absorb(): void {
    if (this.#disposed) return;
    const { ring } = this.#parts;
    for (; this.cursor < ring.head; this.cursor++) {
      const kind = ring.kind(this.cursor);
      const attempt = ring.attempt(this.cursor);
      const event = ring.event(this.cursor);
      const treatment = this.#view.treatmentOf(event, kind);
      if (treatment === "skip") {
        if (event.kind === "turn.settled") this.#queue.end(attempt);
      } else if (treatment === "withhold") {
        this.#queue.withhold(event, attempt, kind);
      } else {
        this.#books.published++;
        const bytes = ring.bytes(this.cursor);
        const shaped = this.#view.shape(event, bytes, treatment);
        this.#queue.offer(shaped, attempt, kind, shaped === event ? bytes : envelopeBytes + payloadBytes(shaped));
      }
    }
    this.#look();
  }

  stats(): ConsumerStats {
    this.absorb();
    const { published, delivered, merged, dropped, droppedByKind, gaps, failures, lagging } = this.#books;
    const { times, inHand, running } = this.#calls;
    const p50 = times.percentile(0.5);
    const p99 = times.percentile(0.99);
    const oldest = inHand.oldestAt ?? this.#queue.oldestAt;
    return {
      id: this.id,
      published: published + this.#straight,
      delivered: delivered + this.#straight,
      merged,
      dropped,
      dropped_by_kind: Object.fromEntries(droppedByKind),
      gaps,
      failures: { ...failures },
      depth: this.#queue.depth + inHand.events,
      bytes: this.#queue.bytes + inHand.bytes,
      oldest_age_ms: oldest === null ? null : Math.max(0, this.#parts.clock.now() - oldest),
      lagging,
      running,
      handler_ms: p50 === null || p99 === null ? null : { p50, p99 },
    };
  }

  /** No further call starts; what waited counts as dropped. */
  dispose(): void {
    if (this.#disposed) return;
    this.absorb();
    this.#disposed = true;
    this.#books.close();
    this.#queue.clear();
    this.#calls.close();
  }

  get nextBytes(): number {
    const entry = this.#queue.nextEvent;
    if (entry === null) return envelopeBytes;
    const { event, bytes, lane } = entry;
    // What heals brings everything before it along.
    return isDelta(event) && this.#healing.isBroken(event, lane.attempt) ? bytes + event.payload.offset : bytes;
  }

  take(): Delivery | undefined {
    const next = this.#disposed ? undefined : this.#queue.shift();
    if (next === undefined) return undefined;
    const { event, attempt, isLast } = next;
    const healed = attempt === null ? event : this.#healing.heal(event, attempt);
    if (attempt !== null && isLast) this.#healing.forget(attempt);
    this.#look();
    if (healed !== event) next.bytes = envelopeBytes + payloadBytes(healed);
    next.event = this.#view.finish(healed);
    return next;
  }

  release(delivery: Delivery): void {
    this.#queue.release(delivery);
  }

  lose(lost: readonly Delivery[]): void {
    this.#queue.lose(lost);
  }

  renew(): void {
    this.#healing.renew();
  }

  #look(): void {
    this.#isPlain = this.#view.rooms === null && !this.#queue.hasOpenGaps && !this.#healing.isNeeded;
  }

  /** Delivers the event at the cursor if it is wanted, or the gap that has to be told before it. */
  #deliverNext(calls: EventCalls["straight"]): void {
    const { ring } = this.#parts;
    const kind = ring.kind(this.cursor);
    const bytes = ring.bytes(this.cursor);
    const event = ring.event(this.cursor);
    const attempt = ring.attempt(this.cursor);
    const treatment = this.#view.treatmentOf(event, kind);
    const isSeen = treatment === "pass" || treatment === "meta";
    const gap = isSeen ? this.#queue.takeGap(attempt, event.at) : undefined;
    if (gap !== undefined) {
      this.#look();
      this.#books.deliver(gap);
      calls.call(this.#view.finish(gap), null);
      return;
    }
    this.cursor++;
    if (treatment === "withhold") this.#queue.withhold(event, attempt, kind);
    const healed = isSeen ? this.#healing.heal(event, attempt) : event;
    if (event.kind === "turn.settled") this.#queue.end(attempt);
    this.#look();
    if (!isSeen) return;
    this.#books.published++;
    const finished = this.#view.finish(this.#view.shape(healed, bytes, treatment));
    this.#books.deliver(finished);
    calls.call(finished, null);
  }

  #isBehind(): boolean {
    const { ring } = this.#parts;
    const { maxEvents, maxBytes } = this.#view.bounds;
    return ring.head - this.cursor > maxEvents || ring.bytesFrom(this.cursor) > maxBytes;
  }
}
