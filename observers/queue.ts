import { envelopeBytes, limits, type ActivityEvent, type Attempt } from "../core/index.ts";
import { follows, isDelta, MergedDelta } from "./coalesce.ts";
import { Fifo } from "./fifo.ts";
import { addToGap, emptyGap, eventCount, gapEvent, joinGaps, type GapCount } from "./gap.ts";

/** An event that waits, in the order of its attempt. */
interface Entry {
  /** The event; of a merged delta the last one. */
  event: ActivityEvent;
  readonly attempt: Attempt;
  readonly kind: number;
  readonly order: number;
  bytes: number;
  merged: MergedDelta | null;
  /** What the consumer did not get right before this event. */
  gap: GapCount | null;
  before: Entry | null;
  after: Entry | null;
}

/** Who counts what the queue does to events. */
export interface Losses {
  merged: number;
  /** @param count events of the seam that `event` stands for */
  drop(attempt: Attempt, event: ActivityEvent, kind: number, count: number): void;
  /** Wall time, for a gap that no event follows. */
  at(): number;
}

/** What a consumer is to be told next. */
export interface Delivery {
  readonly event: ActivityEvent;
  /** null for a gap. */
  readonly attempt: Attempt | null;
}

export interface QueueBounds {
  readonly maxEvents: number;
  readonly maxBytes: number;
  readonly maxEventBytes: number;
}

/**
 * What one consumer has to read still, within its bound in items and bytes (I8). At the bound a delta is merged into the
 * one it follows; then the oldest delta goes, then the oldest other event (I7); and each loss is told at its place (I6).
 *
 * A gap has no place of its own: it hangs on the next event of its attempt, and waits by itself while there is none.
 */
export class Queue {
  /** What `shift` can give at least: events, and gaps that wait for no event. */
  held = 0;
  readonly #bounds: QueueBounds;
  readonly #losses: Losses;
  readonly #deltas = new Fifo<Entry>();
  readonly #others = new Fifo<Entry>();
  /** The last waiting entry of each attempt that has one. */
  readonly #lastOf = new Map<Attempt, Entry>();
  /** Gaps of attempts whose next event has not come. */
  readonly #open = new Map<Attempt, GapCount>();
  /** Gaps of attempts that have no next event: told before the next event of anybody, or when nothing is left. */
  #closed: GapCount[] = [];
  #order = 0;
  #bytes = 0;

  constructor(bounds: QueueBounds, losses: Losses) {
    this.#bounds = bounds;
    this.#losses = losses;
  }

  /** Events held; a merged delta is one. */
  get depth(): number {
    return this.#deltas.size + this.#others.size;
  }

  /** Estimated bytes held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a gap waits for an event: then `takeGap` has to be asked before one is delivered past the queue. */
  get hasGaps(): boolean {
    return this.#open.size > 0 || this.#closed.length > 0;
  }

  /** Wall time of the oldest held event, or null. */
  get oldestAt(): number | null {
    return this.#next()?.event.at ?? null;
  }

  /** @param bytes estimate of the event, at most `maxEventBytes` and an envelope */
  offer(event: ActivityEvent, attempt: Attempt, kind: number, bytes: number): void {
    const full = this.depth + 1 > this.#bounds.maxEvents || this.#bytes + bytes > this.#bounds.maxBytes;
    if (full && this.#merge(event, attempt)) {
      this.#losses.merged++;
    } else {
      this.#append(event, attempt, kind, bytes);
    }
    while (this.depth > this.#bounds.maxEvents || this.#bytes > this.#bounds.maxBytes) this.#dropOne();
  }

  /** Notes an event that a missing grant keeps back. */
  withhold(event: ActivityEvent, attempt: Attempt, kind: number): void {
    addToGap(this.#gapAtEnd(attempt), event, kind, "withheld");
  }

  /** The next event, or the gap before it; undefined when nothing is left. */
  shift(): Delivery | undefined {
    const entry = this.#next();
    const closed = this.#takeClosed(entry?.event.at ?? this.#losses.at());
    if (closed !== undefined) return { event: closed, attempt: null };
    if (entry === undefined) return undefined;
    if (entry.gap !== null) {
      const gap = gapEvent(entry.gap, entry.event.at);
      entry.gap = null;
      return { event: gap, attempt: null };
    }
    this.#remove(entry);
    return { event: entry.merged === null ? entry.event : entry.merged.event(), attempt: entry.attempt };
  }

  /** The gap that has to be told before an event of this attempt is delivered past the empty queue. */
  takeGap(attempt: Attempt, at: number): ActivityEvent | undefined {
    const closed = this.#takeClosed(at);
    if (closed !== undefined) return closed;
    const gap = this.#open.get(attempt);
    if (gap === undefined) return undefined;
    this.#open.delete(attempt);
    return gapEvent(gap, at);
  }

  /** Throws away what is held, as dropped, and forgets all gaps. */
  clear(): void {
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) {
      this.#losses.drop(entry.attempt, entry.event, entry.kind, this.#count(entry));
      this.#remove(entry);
    }
    this.#open.clear();
    this.#closed = [];
    this.held = 0;
  }

  #takeClosed(at: number): ActivityEvent | undefined {
    const gap = this.#closed.shift();
    if (gap === undefined) return undefined;
    this.held--;
    return gapEvent(gap, at);
  }

  #next(): Entry | undefined {
    const delta = this.#deltas.first;
    const other = this.#others.first;
    if (delta === undefined || other === undefined) return delta ?? other;
    return delta.order < other.order ? delta : other;
  }

  #merge(event: ActivityEvent, attempt: Attempt): boolean {
    const last = this.#lastOf.get(attempt);
    if (last === undefined || !isDelta(event) || !isDelta(last.event) || !follows(last.event, event)) return false;
    const more = event.payload.text.length;
    if (last.bytes - envelopeBytes + more > this.#bounds.maxEventBytes) return false;
    last.merged ??= new MergedDelta(last.event);
    last.merged.add(event);
    last.event = event;
    last.bytes += more;
    this.#bytes += more;
    return true;
  }

  #append(event: ActivityEvent, attempt: Attempt, kind: number, bytes: number): void {
    const before = this.#lastOf.get(attempt) ?? null;
    const gap = this.#open.get(attempt) ?? null;
    if (gap !== null) this.#open.delete(attempt);
    const entry = { event, attempt, kind, order: this.#order++, bytes, merged: null, gap, before, after: null };
    if (before !== null) before.after = entry;
    this.#lastOf.set(attempt, entry);
    (isDelta(event) ? this.#deltas : this.#others).push(entry);
    this.#bytes += bytes;
    this.held++;
  }

  #dropOne(): void {
    const entry = this.#deltas.first ?? this.#others.first;
    if (entry === undefined) return;
    const count = this.#count(entry);
    if (entry.merged !== null) {
      this.#losses.merged -= count - 1;
      entry.event = entry.merged.event();
    }
    const { after, attempt, event, kind } = entry;
    this.#remove(entry);
    this.#losses.drop(attempt, event, kind, count);
    const gap = after === null ? this.#gapAtEnd(attempt) : (after.gap ??= emptyGap(attempt));
    if (entry.gap !== null) joinGaps(gap, entry.gap);
    addToGap(gap, event, kind, "dropped");
    if (event.kind === "turn.settled") this.#close(attempt);
  }

  #count(entry: Entry): number {
    return eventCount(entry.merged === null ? entry.event : entry.merged.event());
  }

  #remove(entry: Entry): void {
    (isDelta(entry.event) ? this.#deltas : this.#others).shift();
    this.#bytes -= entry.bytes;
    this.held--;
    if (entry.before !== null) entry.before.after = entry.after;
    if (entry.after !== null) entry.after.before = entry.before;
    else if (entry.before !== null) this.#lastOf.set(entry.attempt, entry.before);
    else this.#lastOf.delete(entry.attempt);
  }

  /** The gap behind the attempt's last waiting event. At the bound of attempts the oldest is told without its name. */
  #gapAtEnd(attempt: Attempt): GapCount {
    const known = this.#open.get(attempt);
    if (known !== undefined) return known;
    const gap = emptyGap(attempt);
    this.#open.set(attempt, gap);
    if (this.#open.size > limits.maxGapAttempts) {
      for (const oldest of this.#open.keys()) {
        this.#close(oldest);
        break;
      }
    }
    return gap;
  }

  #close(attempt: Attempt): void {
    const gap = this.#open.get(attempt);
    if (gap === undefined) return;
    this.#open.delete(attempt);
    const last = this.#closed.at(-1);
    if (this.#closed.length < limits.maxGapAttempts) {
      this.#closed.push(gap);
      this.held++;
    } else if (last?.attempt === null) {
      joinGaps(last, gap);
    } else {
      const rest = emptyGap(null);
      joinGaps(rest, gap);
      this.#closed.push(rest);
      this.held++;
    }
  }
}
