import { envelopeBytes, type ActivityEvent, type Attempt } from "../core/index.ts";
import { follows, isDelta, MergedDelta } from "./coalesce.ts";
import { addToGap, emptyGap, gapEvent, joinGaps, type GapCount } from "./gap.ts";
import type { Delivery, HandOut, LossCause, Losses, QueueBounds } from "./delivery.ts";
import { EntryList, Lane, type Entry } from "./lane.ts";
import { PendingGaps } from "./pending-gaps.ts";
import { ReadyLanes } from "./ready-lanes.ts";

/**
 * What one consumer has to read still, within its bound in items and bytes (I8). At the bound a delta is merged into the
 * one it follows; then the oldest delta goes, then the oldest other event (I7); and each loss is told at its place (I6).
 *
 * A gap has no place of its own: it hangs on the next event of its attempt, and is pending while there is none.
 */
export class Queue {
  readonly #bounds: QueueBounds;
  readonly #losses: Losses;
  readonly #deltas = new EntryList();
  readonly #others = new EntryList();
  /** Attempts of which something waits, is to be told, or is in somebody's hands. */
  readonly #lanes = new Map<Attempt, Lane>();
  readonly #gaps = new PendingGaps();
  /** Lanes whose next event may go; null where any may. */
  readonly #ready: ReadyLanes | null;
  /** Whether what was handed out comes back. */
  readonly #comesBack: boolean;
  #order = 0;
  #bytes = 0;
  #depth = 0;

  constructor(bounds: QueueBounds, losses: Losses, handOut: HandOut = "serial") {
    this.#bounds = bounds;
    this.#losses = losses;
    this.#ready = handOut === "side_by_side" ? new ReadyLanes() : null;
    this.#comesBack = handOut !== "serial";
  }

  /** How often `shift` gives something at least: events, and gaps that wait for no event. */
  get held(): number {
    return this.#depth + this.#gaps.dueCount;
  }

  /** Events held; a merged delta is one. */
  get depth(): number {
    return this.#depth;
  }

  /** Estimated bytes held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a gap waits for an event: then `takeGap` has to be asked before one is delivered past the queue. */
  get hasOpenGaps(): boolean {
    return this.#gaps.hasOpen;
  }

  /** Wall time of the oldest held event, or null. */
  get oldestAt(): number | null {
    return this.#oldest()?.event.at ?? null;
  }

  /** The event that `shift` gives next; null if it gives a gap or nothing. */
  get nextEvent(): Entry | null {
    const entry = this.#gaps.dueCount > 0 ? undefined : this.#next();
    return entry === undefined || entry.gap !== null ? null : entry;
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
    addToGap(this.#gapAtEnd(this.#laneOf(attempt)), { kind, count: 1, first: event.n, last: event.n }, "withheld");
  }

  /** Notes that nothing of the attempt will be offered any more. */
  end(attempt: Attempt): void {
    const lane = this.#lanes.get(attempt);
    if (lane === undefined) {
      this.#losses.ended(attempt);
      return;
    }
    lane.isOver = true;
    this.#look(lane);
  }

  /** The next event, or the gap before it; undefined when nothing is left that may go now. */
  shift(): Delivery | undefined {
    const entry = this.#next();
    const due = this.#gaps.shift();
    if (due !== undefined) return this.#handOutGap(due.gap, due.lane, entry?.event.at ?? this.#losses.at());
    if (entry === undefined) return undefined;
    const { lane, gap, merged, bytes } = entry;
    if (gap !== null) {
      entry.gap = null;
      return this.#handOutGap(gap, lane, entry.event.at);
    }
    this.#remove(entry);
    const { attempt } = lane;
    const isLast = lane.isOver && lane.first === null;
    const event = merged === null ? entry.event : merged.event();
    this.#handOut(lane);
    return { event, attempt, isLast, bytes, lane, from: entry };
  }

  /** Takes back what was handed out and is done with. */
  release({ lane }: Delivery): void {
    if (lane === null || !this.#comesBack) return;
    lane.inHand--;
    this.#ready?.look(lane);
    this.#look(lane);
  }

  /** Takes back what was handed out and reached nobody, in order: it counts as dropped, and is told at its place. */
  lose(lost: readonly Delivery[]): void {
    for (const { lane, from } of lost) {
      if (lane === null) {
        if (!("lane" in from)) this.#gaps.joinRest(from);
        continue;
      }
      if ("lane" in from) this.#countDropped(from, "unhandled");
      // What is due comes before all that waits, and behind what was in hand.
      const gap = lane.due ?? this.#gapBefore(lane.first, lane);
      if ("lane" in from) addEntry(gap, from);
      else joinGaps(gap, from);
    }
    for (const delivery of lost) this.release(delivery);
  }

  /** The gap that has to be told before an event of this attempt is delivered past the empty queue. */
  takeGap(attempt: Attempt, at: number): ActivityEvent | undefined {
    const lane = this.#lanes.get(attempt);
    const gap = lane === undefined ? null : this.#gaps.take(lane);
    if (lane === undefined || gap === null) return undefined;
    this.#forgetIdle(lane);
    return gapEvent(gap, at);
  }

  /** Throws away what is held, as dropped, and forgets all gaps. */
  clear(): void {
    for (let entry = this.#oldest(); entry !== undefined; entry = this.#oldest()) {
      this.#remove(entry);
      this.#countDropped(entry, "overflow");
    }
    this.#lanes.clear();
    this.#gaps.clear();
    this.#ready?.clear();
  }

  #handOutGap(gap: GapCount, lane: Lane | null, at: number): Delivery {
    if (lane !== null) this.#handOut(lane);
    return { event: gapEvent(gap, at), attempt: null, isLast: false, bytes: 0, lane, from: gap };
  }

  #handOut(lane: Lane): void {
    if (this.#comesBack) lane.inHand++;
    this.#ready?.look(lane);
    if (lane.isOver && lane.first === null && !this.#isBusy(lane)) this.#close(lane);
    this.#forgetIdle(lane);
  }

  /** What may go next. */
  #next(): Entry | undefined {
    return this.#ready === null ? this.#oldest() : (this.#ready.first?.first ?? undefined);
  }

  #oldest(): Entry | undefined {
    const delta = this.#deltas.first;
    const other = this.#others.first;
    if (delta === null || other === null) return delta ?? other ?? undefined;
    return delta.order < other.order ? delta : other;
  }

  #laneOf(attempt: Attempt): Lane {
    const known = this.#lanes.get(attempt);
    if (known !== undefined) return known;
    const lane = new Lane(attempt);
    this.#lanes.set(attempt, lane);
    return lane;
  }

  /** Whether an event or a gap of the attempt has to come back before its next one may go. */
  #isBusy(lane: Lane): boolean {
    return this.#ready !== null && lane.inHand > 0;
  }

  #merge(event: ActivityEvent, attempt: Attempt): boolean {
    const last = this.#lanes.get(attempt)?.last;
    if (last === undefined || last === null) return false;
    if (!isDelta(event) || !isDelta(last.event) || !follows(last.event, event)) return false;
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
    const lane = this.#laneOf(attempt);
    const entry: Entry = {
      event,
      lane,
      kind,
      order: this.#order++,
      first: event.n,
      count: 1,
      bytes,
      merged: null,
      gap: this.#gaps.take(lane),
      before: null,
      after: null,
      older: null,
      newer: null,
    };
    lane.push(entry);
    (isDelta(event) ? this.#deltas : this.#others).push(entry);
    if (event.kind === "turn.settled") lane.isOver = true;
    this.#bytes += bytes;
    this.#depth++;
    this.#ready?.look(lane);
  }

  #dropOne(): void {
    const entry = this.#deltas.first ?? this.#others.first;
    if (entry === null) return;
    const { after } = entry;
    this.#remove(entry);
    this.#countDropped(entry, "overflow");
    const gap = this.#gapBefore(after, entry.lane);
    if (entry.gap !== null) joinGaps(gap, entry.gap);
    addEntry(gap, entry);
    this.#look(entry.lane);
  }

  /** Counts an entry as dropped. Its members were counted as merged, and are dropped now like itself. */
  #countDropped({ lane, event, kind, count }: Entry, cause: LossCause): void {
    this.#losses.merged -= count - 1;
    this.#losses.drop(lane.attempt, event, kind, count, cause);
  }

  #remove(entry: Entry): void {
    (isDelta(entry.event) ? this.#deltas : this.#others).remove(entry);
    entry.lane.remove(entry);
    this.#ready?.look(entry.lane);
    this.#bytes -= entry.bytes;
    this.#depth--;
  }

  /** The gap right before a waiting event; with none, the one behind all that waits. */
  #gapBefore(next: Entry | null, lane: Lane): GapCount {
    return next === null ? this.#gapAtEnd(lane) : (next.gap ??= emptyGap(lane.attempt.coordinates));
  }

  /** The gap behind the attempt's last waiting event. */
  #gapAtEnd(lane: Lane): GapCount {
    const inTheWay = lane.gap === null ? this.#gaps.inTheWay : undefined;
    if (inTheWay !== undefined) {
      this.#close(inTheWay);
      this.#forgetIdle(inTheWay);
    }
    return this.#gaps.open(lane);
  }

  /** Has the attempt's open gap told at once: by name, unless something of it waits or is in hand that comes before. */
  #close(lane: Lane): void {
    this.#gaps.close(lane, lane.first === null && !this.#isBusy(lane));
  }

  /** Closes the books of an attempt that is over, when nothing of it waits or has to come back first. */
  #look(lane: Lane): void {
    if (lane.isOver && lane.first === null && !this.#isBusy(lane)) {
      this.#close(lane);
      this.#losses.ended(lane.attempt);
    }
    this.#forgetIdle(lane);
  }

  #forgetIdle(lane: Lane): void {
    if (lane.isIdle) this.#lanes.delete(lane.attempt);
  }
}

function addEntry(gap: GapCount, { kind, count, first, event }: Entry): void {
  addToGap(gap, { kind, count, first, last: event.n }, "dropped");
}
