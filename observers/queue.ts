import { envelopeBytes, limits, type ActivityEvent, type Attempt } from "../core/index.ts";
import { follows, isDelta, MergedDelta } from "./coalesce.ts";
import { Fifo } from "./fifo.ts";
import { addToGap, emptyGap, gapEvent, joinGaps, type GapCount } from "./gap.ts";

/** An event that waits, in the order of its attempt. */
interface Entry {
  /** The event; of a merged delta the last one. */
  event: ActivityEvent;
  readonly attempt: Attempt;
  readonly kind: number;
  readonly order: number;
  /** Its first `n`. */
  readonly first: number | null;
  /** Events of the seam that it stands for. */
  count: number;
  bytes: number;
  merged: MergedDelta | null;
  /** What the consumer did not get right before this event. */
  gap: GapCount | null;
  before: Entry | null;
  after: Entry | null;
  /** Nothing of the attempt will come behind it. */
  isLast: boolean;
}

/** Who counts what the queue does to events. */
export interface Losses {
  merged: number;
  /** @param count events of the seam that `event` stands for */
  drop(attempt: Attempt, event: ActivityEvent, kind: number, count: number): void;
  /** Of the attempt nothing waits, and nothing will come. */
  ended(attempt: Attempt): void;
  /** Wall time, for a gap that no event follows. */
  at(): number;
}

/** What a consumer is to be told next. */
export interface Delivery {
  readonly event: ActivityEvent;
  /** null for a gap. */
  readonly attempt: Attempt | null;
  /** Whether the attempt is over with it. */
  readonly isLast: boolean;
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
 * A gap has no place of its own: it hangs on the next event of its attempt, and stays open while there is none. Open gaps
 * of an attempt that has ended are closed: they are told before the next event of anybody. Bounds: 256 open and 256
 * closed ones; what is beyond is counted in one gap without coordinates.
 */
export class Queue {
  readonly #bounds: QueueBounds;
  readonly #losses: Losses;
  readonly #deltas = new Fifo<Entry>();
  readonly #others = new Fifo<Entry>();
  /** The last waiting entry of each attempt that has one. */
  readonly #lastOf = new Map<Attempt, Entry>();
  readonly #open = new Map<Attempt, GapCount>();
  readonly #closed: GapCount[] = [];
  #rest: GapCount | null = null;
  #order = 0;
  #bytes = 0;
  #held = 0;

  constructor(bounds: QueueBounds, losses: Losses) {
    this.#bounds = bounds;
    this.#losses = losses;
  }

  /** How often `shift` gives something at least: events, and gaps that wait for no event. */
  get held(): number {
    return this.#held;
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
  get hasOpenGaps(): boolean {
    return this.#open.size > 0;
  }

  /** Wall time of the oldest held event, or null. */
  get oldestAt(): number | null {
    return this.#next()?.event.at ?? null;
  }

  /** @param bytes estimate of the event, at most `maxBytes` */
  offer(event: ActivityEvent, attempt: Attempt, kind: number, bytes: number): void {
    const full = this.depth + 1 > this.#bounds.maxEvents || this.#bytes + bytes > this.#bounds.maxBytes;
    if (full && this.#merge(event, attempt)) this.#losses.merged++;
    else this.#append(event, attempt, kind, bytes);
    while (this.depth > this.#bounds.maxEvents || this.#bytes > this.#bounds.maxBytes) this.#dropOne();
  }

  /** Notes an event that a missing grant keeps back. */
  withhold(event: ActivityEvent, attempt: Attempt, kind: number): void {
    addToGap(this.#gapAtEnd(attempt), { kind, count: 1, first: event.n, last: event.n }, "withheld");
  }

  /** Notes that nothing of the attempt will be offered any more. */
  end(attempt: Attempt): void {
    const last = this.#lastOf.get(attempt);
    if (last !== undefined) {
      last.isLast = true;
      return;
    }
    this.#close(attempt);
    this.#losses.ended(attempt);
  }

  /** The next event, or the gap before it; undefined when nothing is left. */
  shift(): Delivery | undefined {
    const entry = this.#next();
    const told = this.#takeClosed() ?? entry?.gap ?? null;
    if (told !== null) {
      if (told === entry?.gap) entry.gap = null;
      return { event: gapEvent(told, entry?.event.at ?? this.#losses.at()), attempt: null, isLast: false };
    }
    if (entry === undefined) return undefined;
    this.#remove(entry);
    const { event, merged, attempt, isLast } = entry;
    if (isLast) this.#close(attempt);
    return { event: merged === null ? event : merged.event(), attempt, isLast };
  }

  /** The gap that has to be told before an event of this attempt is delivered past the empty queue. */
  takeGap(attempt: Attempt, at: number): ActivityEvent | undefined {
    const gap = this.#open.get(attempt);
    if (gap === undefined) return undefined;
    this.#open.delete(attempt);
    return gapEvent(gap, at);
  }

  /** Throws away what is held, as dropped, and forgets all gaps. */
  clear(): void {
    for (let entry = this.#next(); entry !== undefined; entry = this.#next()) this.#take(entry);
    this.#open.clear();
    this.#closed.length = 0;
    this.#rest = null;
    this.#held = 0;
  }

  #takeClosed(): GapCount | undefined {
    const gap = this.#closed.shift() ?? this.#rest ?? undefined;
    if (gap === undefined) return undefined;
    if (gap === this.#rest) this.#rest = null;
    this.#held--;
    return gap;
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
    last.count++;
    last.bytes += more;
    this.#bytes += more;
    return true;
  }

  #append(event: ActivityEvent, attempt: Attempt, kind: number, bytes: number): void {
    const before = this.#lastOf.get(attempt) ?? null;
    const gap = this.#open.get(attempt) ?? null;
    if (gap !== null) this.#open.delete(attempt);
    const entry: Entry = {
      event,
      attempt,
      kind,
      order: this.#order++,
      first: event.n,
      count: 1,
      bytes,
      merged: null,
      gap,
      before,
      after: null,
      isLast: event.kind === "turn.settled",
    };
    if (before !== null) before.after = entry;
    this.#lastOf.set(attempt, entry);
    (isDelta(event) ? this.#deltas : this.#others).push(entry);
    this.#bytes += bytes;
    this.#held++;
  }

  #dropOne(): void {
    const entry = this.#deltas.first ?? this.#others.first;
    if (entry === undefined) return;
    this.#take(entry);
    const { after, attempt, event, kind, count, first } = entry;
    const gap = after === null ? this.#gapAtEnd(attempt) : (after.gap ??= emptyGap(attempt.coordinates));
    if (entry.gap !== null) joinGaps(gap, entry.gap);
    addToGap(gap, { kind, count, first, last: event.n }, "dropped");
    if (entry.isLast) this.end(attempt);
  }

  /** Takes an entry out as dropped. Its members were counted as merged, and are dropped now like itself. */
  #take(entry: Entry): void {
    this.#remove(entry);
    this.#losses.merged -= entry.count - 1;
    this.#losses.drop(entry.attempt, entry.event, entry.kind, entry.count);
  }

  #remove(entry: Entry): void {
    (isDelta(entry.event) ? this.#deltas : this.#others).shift();
    this.#bytes -= entry.bytes;
    this.#held--;
    if (entry.before !== null) entry.before.after = entry.after;
    if (entry.after !== null) entry.after.before = entry.before;
    else if (entry.before !== null) this.#lastOf.set(entry.attempt, entry.before);
    else this.#lastOf.delete(entry.attempt);
  }

  /** The gap behind the attempt's last waiting event. */
  #gapAtEnd(attempt: Attempt): GapCount {
    const known = this.#open.get(attempt);
    if (known !== undefined) return known;
    const [oldest] = this.#open.size < limits.maxGapAttempts ? [] : this.#open.keys();
    if (oldest !== undefined) this.#close(oldest);
    const gap = emptyGap(attempt.coordinates);
    this.#open.set(attempt, gap);
    return gap;
  }

  /** Has the attempt's open gap told at once: by name, if it stands behind nothing that waits and there is room for it. */
  #close(attempt: Attempt): void {
    const gap = this.#open.get(attempt);
    if (gap === undefined) return;
    this.#open.delete(attempt);
    if (!this.#lastOf.has(attempt) && this.#closed.length < limits.maxGapAttempts) {
      this.#closed.push(gap);
      this.#held++;
      return;
    }
    if (this.#rest === null) this.#held++;
    this.#rest ??= emptyGap(null);
    joinGaps(this.#rest, gap);
  }
}
