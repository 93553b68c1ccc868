import type { ActivityEvent, Attempt } from "../core/index.ts";
import type { MergedDelta } from "./coalesce.ts";
import type { GapCount } from "./gap.ts";

/** An event that waits, in the order of its attempt. */
export interface Entry {
  /** The event; of a merged delta the last one. */
  event: ActivityEvent;
  readonly lane: Lane;
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
  /** Its neighbours in the lane. */
  before: Entry | null;
  after: Entry | null;
  /** Its neighbours in the list of all that is of its class. */
  older: Entry | null;
  newer: Entry | null;
}

/** What a queue holds of one attempt: its waiting events in order, and what is to be told of it. */
export class Lane {
  readonly attempt: Attempt;
  first: Entry | null = null;
  last: Entry | null = null;
  /** What was lost behind `last`: it waits for the attempt's next event. */
  gap: GapCount | null = null;
  /** What is told before the next event of anybody. */
  due: GapCount | null = null;
  /** Events and gaps of it that were handed out, and have not come back. */
  inHand = 0;
  /** Nothing of the attempt will come behind what waits. */
  isOver = false;
  /** Its place among the lanes that are ready; -1 while it has none. */
  place = -1;

  constructor(attempt: Attempt) {
    this.attempt = attempt;
  }

  /** Whether the queue can forget it. */
  get isIdle(): boolean {
    return this.first === null && this.gap === null && this.due === null && this.inHand === 0;
  }

  push(entry: Entry): void {
    entry.before = this.last;
    if (this.last === null) this.first = entry;
    else this.last.after = entry;
    this.last = entry;
  }

  remove(entry: Entry): void {
    if (entry.before === null) this.first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === null) this.last = entry.before;
    else entry.after.before = entry.before;
    // Whoever has it in hand must not hold all that waited behind it.
    entry.before = null;
    entry.after = null;
  }
}

/** Entries in order of their coming, of any lane; each can be taken out, at constant cost. */
export class EntryList {
  first: Entry | null = null;
  #last: Entry | null = null;

  push(entry: Entry): void {
    entry.older = this.#last;
    if (this.#last === null) this.first = entry;
    else this.#last.newer = entry;
    this.#last = entry;
  }

  remove(entry: Entry): void {
    if (entry.older === null) this.first = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === null) this.#last = entry.older;
    else entry.newer.older = entry.older;
    entry.older = null;
    entry.newer = null;
  }
}
