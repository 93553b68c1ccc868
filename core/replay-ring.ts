import type { EventFrame } from "./frames.ts";

/** An event that is kept. */
interface Kept {
  readonly seq: number;
  readonly bytes: number;
  readonly frame: EventFrame;
}

/** What a ring holds at most: events, and the bytes of their params. */
export interface RingBounds {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

/** The last events of one session, by number. What it has lost it never forgets to have lost: its floor does not fall. */
export class ReplayRing {
  readonly #bounds: RingBounds;
  readonly #kept: Kept[] = [];
  #bytes = 0;
  #floor = 0;
  #head = 0;

  constructor(bounds: RingBounds) {
    this.#bounds = bounds;
  }

  get events(): number {
    return this.#kept.length;
  }

  /** Of the params of what is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The highest number that is not kept, of those up to the head; 0 while none is lost. */
  get floor(): number {
    return this.#floor;
  }

  /** Keeps an event, unless it is larger than the whole ring, and lets the oldest go for it. */
  add(frame: EventFrame, seq: number, bytes: number): void {
    this.noteHead(seq - 1);
    this.#head = seq;
    if (bytes > this.#bounds.maxBytes) {
      this.#floor = seq;
      return;
    }
    this.#kept.push({ seq, bytes, frame });
    this.#bytes += bytes;
    while (this.#kept.length > this.#bounds.maxEvents || this.#bytes > this.#bounds.maxBytes) this.dropOldest();
  }

  /** Lets the oldest event go. Returns its bytes; 0 when there is none. */
  dropOldest(): number {
    const oldest = this.#kept.shift();
    if (oldest === undefined) return 0;
    this.#bytes -= oldest.bytes;
    // A larger number may be lost already: an event that was too large to keep.
    this.#floor = Math.max(this.#floor, oldest.seq);
    return oldest.bytes;
  }

  /** Takes note that numbers up to `seq` were given: those that never came here are lost. */
  noteHead(seq: number): void {
    if (seq <= this.#head) return;
    this.#head = seq;
    this.#floor = seq;
  }

  /** What is kept above a number, in order. */
  above(seq: number): readonly EventFrame[] {
    return this.#kept.filter((kept) => kept.seq > seq).map(({ frame }) => frame);
  }
}
