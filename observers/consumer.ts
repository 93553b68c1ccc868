import {
  activityKinds,
  consumerDefaults,
  envelopeBytes,
  kindIndex,
  messageOf,
  type ActivityEvent,
  type ActivityKind,
  type Attempt,
  type Clock,
  type Report,
} from "../core/index.ts";
import { isDelta } from "./coalesce.ts";
import { boundsOf, treatmentsOf, type KindTreatment, type Treatment } from "./consumer-options.ts";
import { HandlerCalls, type Failure } from "./handler-calls.ts";
import { Healing } from "./healing.ts";
import type { ConsumerOptions, ConsumerStats } from "./observer.ts";
import { atMeta, freezeEvent, payloadBytes, type SharedShapes } from "./payload.ts";
import { Queue, type Losses, type QueueBounds } from "./queue.ts";
import type { Ring } from "./ring.ts";

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
 * One registered handler: its position in the ring, its own queue once it has fallen behind, and the calls of its handler,
 * one at a time. As long as it keeps up, events go straight from the ring to the handler.
 */
export class Consumer implements Losses {
  readonly id: string;
  readonly #parts: Parts;
  readonly #bounds: QueueBounds;
  /** Up to this estimate an event cannot be over `maxEventBytes`. */
  readonly #plainBytes: number;
  readonly #treatments: readonly KindTreatment[];
  /** By the kind's number: 1 where the treatment is `pass`. */
  readonly #passes: Uint8Array;
  readonly #rooms: ReadonlySet<string> | null;
  readonly #queue: Queue;
  readonly #calls: HandlerCalls;
  readonly #healing = new Healing();
  readonly #droppedByKind = new Map<ActivityKind, number>();
  /** Kinds of notices that were reported: each only once. */
  readonly #reported = new Set<string>();
  /** The position of the next event in the ring. */
  cursor: number;
  merged = 0;
  /** Events that went straight from the ring to the handler; `#published` and `#delivered` count the others. */
  #straight = 0;
  #published = 0;
  #delivered = 0;
  #gaps = 0;
  /** Events until the next look at the clock. */
  #pace = 16;
  /** Whether events that it wants are delivered as they are, with nothing to tell before them. */
  #isPlain = true;
  #lagging = false;
  #disposed = false;

  constructor(options: ConsumerOptions, parts: Parts) {
    this.id = options.id;
    this.#parts = parts;
    this.#bounds = boundsOf(options);
    this.#plainBytes = this.#bounds.maxEventBytes + envelopeBytes;
    this.#treatments = treatmentsOf(options);
    this.#passes = Uint8Array.from(this.#treatments, (treatment) => (treatment === "pass" ? 1 : 0));
    this.#rooms = options.rooms === undefined ? null : new Set(options.rooms);
    this.#queue = new Queue(this.#bounds, this);
    this.#calls = new HandlerCalls({
      handler: options.handler,
      clock: parts.clock,
      stallMs: options.stallMs ?? consumerDefaults.stallMs,
      onFailure: (failure, cause) => this.#onFailure(failure, cause),
      onSettled: () => {
        if (!this.#disposed) parts.wake();
      },
    });
    this.cursor = parts.ring.head;
    this.#look();
  }

  /** Whether a handler's call has not settled. */
  get isRunning(): boolean {
    return this.#calls.running;
  }

  /** Whether anything waits for it. */
  get isIdle(): boolean {
    return !this.#calls.running && this.#queue.held === 0 && this.cursor === this.#parts.ring.head;
  }

  /** Calls the handler with what waits, until it awaits something or `deadline` (monotonic ms) has passed. */
  drain(deadline: number): void {
    if (this.#calls.running || this.#disposed) return;
    if (this.#queue.held > 0 || this.#isBehind()) this.absorb();
    const { clock } = this.#parts;
    for (let last = clock.monotonic(); ;) {
      if (!this.#deliverSome(this.#pace)) return;
      const now = clock.monotonic();
      this.#pace = now - last < paceMs ? Math.min(this.#pace * 2, maxPace) : Math.max(this.#pace >> 1, 1);
      if (now >= deadline) return;
      last = now;
    }
  }

  /** Delivers up to `count` events. False when it can go no further now. */
  #deliverSome(count: number): boolean {
    const { ring } = this.#parts;
    const { ready } = ring;
    const queue = this.#queue;
    const calls = this.#calls;
    for (let left = count; left > 0; left--) {
      const at = this.cursor;
      if (queue.held > 0) {
        this.#deliverQueued();
      } else if (at >= ready) {
        return false;
      } else if (this.#isPlain && this.#passes[ring.kind(at)] === 1 && ring.bytes(at) <= this.#plainBytes) {
        // The cursor goes on first: the handler may ask for stats or emit, and both may move what is unread.
        this.cursor = at + 1;
        this.#straight++;
        calls.call(ring.event(at));
      } else {
        this.#deliverNext();
      }
      if (calls.running || this.#disposed) return false;
    }
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
      const treatment = this.#treatmentOf(event, kind);
      if (treatment === "skip") {
        if (event.kind === "turn.settled") this.#queue.end(attempt);
      } else if (treatment === "withhold") {
        this.#queue.withhold(event, attempt, kind);
      } else {
        this.#published++;
        const bytes = ring.bytes(this.cursor);
        const shaped = this.#shape(event, bytes, treatment);
        this.#queue.offer(shaped, attempt, kind, shaped === event ? bytes : envelopeBytes + payloadBytes(shaped));
      }
    }
    this.#look();
  }

  stats(): ConsumerStats {
    this.absorb();
    const p50 = this.#calls.times.percentile(0.5);
    const p99 = this.#calls.times.percentile(0.99);
    const oldest = this.#queue.oldestAt;
    const dropped = [...this.#droppedByKind.values()].reduce((sum, count) => sum + count, 0);
    return {
      id: this.id,
      published: this.#published + this.#straight,
      delivered: this.#delivered + this.#straight,
      merged: this.merged,
      dropped,
      dropped_by_kind: Object.fromEntries(this.#droppedByKind),
      gaps: this.#gaps,
      failures: { ...this.#calls.failures },
      depth: this.#queue.depth,
      bytes: this.#queue.bytes,
      oldest_age_ms: oldest === null ? null : Math.max(0, this.#parts.clock.now() - oldest),
      lagging: this.#lagging,
      running: this.#calls.running,
      handler_ms: p50 === null || p99 === null ? null : { p50, p99 },
    };
  }

  /** No further call starts; what was held counts as dropped. */
  dispose(): void {
    if (this.#disposed) return;
    this.absorb();
    this.#disposed = true;
    this.#queue.clear();
    this.#calls.close();
  }

  drop(attempt: Attempt, event: ActivityEvent, kind: number, count: number): void {
    const word = activityKinds[kind] ?? event.kind;
    this.#droppedByKind.set(word, (this.#droppedByKind.get(word) ?? 0) + count);
    if (this.#disposed) return;
    if (isDelta(event)) {
      this.#healing.broke(attempt, event.kind);
    } else {
      this.#lagging = true;
      this.#reportOnce("lagging", "it lost events that start or end something: its handler is too slow for its bound");
    }
    this.#reportOnce("saturated", "its queue reached its bound; what it loses is counted and told as gaps");
  }

  ended(attempt: Attempt): void {
    this.#healing.forget(attempt);
  }

  at(): number {
    return this.#parts.clock.now();
  }

  #look(): void {
    this.#isPlain = this.#rooms === null && !this.#queue.hasOpenGaps && !this.#healing.isNeeded;
  }

  /** Delivers the event at the cursor if it is wanted, or the gap that has to be told before it. */
  #deliverNext(): void {
    const { ring } = this.#parts;
    const kind = ring.kind(this.cursor);
    const bytes = ring.bytes(this.cursor);
    const event = ring.event(this.cursor);
    const attempt = ring.attempt(this.cursor);
    const treatment = this.#treatmentOf(event, kind);
    const isSeen = treatment === "pass" || treatment === "meta";
    const gap = isSeen ? this.#queue.takeGap(attempt, event.at) : undefined;
    if (gap !== undefined) {
      this.#look();
      this.#deliver(gap);
      return;
    }
    this.cursor++;
    if (treatment === "withhold") this.#queue.withhold(event, attempt, kind);
    const healed = isSeen ? this.#healing.heal(event, attempt) : event;
    if (event.kind === "turn.settled") this.#queue.end(attempt);
    this.#look();
    if (!isSeen) return;
    this.#published++;
    this.#deliver(this.#shape(healed, bytes, treatment));
  }

  #deliverQueued(): void {
    const next = this.#queue.shift();
    if (next === undefined) return;
    const { event, attempt, isLast } = next;
    const healed = attempt === null ? event : this.#healing.heal(event, attempt);
    if (attempt !== null && isLast) this.#healing.forget(attempt);
    this.#look();
    this.#deliver(healed);
  }

  #deliver(event: ActivityEvent): void {
    if (event.kind === "gap") this.#gaps++;
    else this.#delivered++;
    // Of a delta the text had to stay until here, for merging and healing.
    const isMeta = isDelta(event) && this.#treatments[kindIndex.get(event.kind) ?? 0] === "meta";
    const shaped = isMeta ? atMeta(event) : event;
    freezeEvent(shaped);
    this.#calls.call(shaped);
  }

  /** The event as far as it is granted, and cut to `maxEventBytes`. Deltas are short, and cut they would be broken. */
  #shape(event: ActivityEvent, bytes: number, treatment: Treatment): ActivityEvent {
    if (isDelta(event)) return event;
    const { shapes } = this.#parts;
    if (treatment === "meta") return shapes.meta(event);
    return bytes - envelopeBytes <= this.#bounds.maxEventBytes ? event : shapes.cut(event, this.#bounds.maxEventBytes);
  }

  #isBehind(): boolean {
    const { ring } = this.#parts;
    return ring.head - this.cursor > this.#bounds.maxEvents || ring.bytesFrom(this.cursor) > this.#bounds.maxBytes;
  }

  #treatmentOf(event: ActivityEvent, kind: number): Treatment {
    if (this.#rooms !== null && !this.#rooms.has(event.coordinates?.room_id ?? "")) return "skip";
    const treatment = this.#treatments[kind] ?? "skip";
    if (treatment !== "meta_of_approval") return treatment;
    return "method" in event.payload && event.payload.method !== "approval" ? "pass" : "meta";
  }

  #onFailure(failure: Failure, cause: unknown): void {
    if (failure === "thrown") this.#reportOnce("handler_threw", `its handler threw: ${messageOf(cause)}`, cause);
    else if (failure === "rejected")
      this.#reportOnce("handler_rejected", `its handler rejected: ${messageOf(cause)}`, cause);
    else this.#reportOnce("stalled", "a call of its handler has run for longer than stallMs");
  }

  #reportOnce(code: string, message: string, cause?: unknown): void {
    if (this.#reported.has(code)) return;
    this.#reported.add(code);
    this.#parts.report({ code, message: `consumer ${this.id}: ${message}`, subject: this.id, cause });
  }
}
