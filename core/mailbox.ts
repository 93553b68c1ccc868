import type { Clock, Undo } from "./clock.ts";
import { limits } from "./options.ts";
import type { Session } from "./sessions.ts";
import { Chunk, type Encoding, type WireFrame } from "./wire-frame.ts";

/** The transport behind a mailbox. Neither call waits, and neither throws. */
export interface Outlet {
  /**
   * Puts the pieces on the wire, in order and as one write.
   * @param done called once when the transport has taken them or has failed; it may come before `write` returns
   */
  write(pieces: readonly Uint8Array[], done: () => void): void;
  /** Ends the connection behind what was written, with a close code and reason. */
  close(code: number, reason: string): void;
}

/** What a mailbox holds: queued, or handed over and not confirmed. Frames and replies count apart. */
export interface Occupancy {
  readonly frames: number;
  readonly bytes: number;
  readonly replies: number;
  readonly replyBytes: number;
}

/** What a mailbox is made of. */
export interface MailboxParts {
  readonly outlet: Outlet;
  readonly encoding: Encoding;
  readonly clock: Clock;
  /** Told once when the client was closed because it did not keep up. */
  readonly onOverflow?: () => void;
  /** Told when `isRepliesFull` turns false again. */
  readonly onRepliesDrained?: () => void;
}

/** A piece of the line. What it counts as is fixed when it is put in, so that the books cannot drift. */
interface Entry extends Occupancy {
  readonly content: Chunk | Uint8Array;
  /** What it is in a write, whatever it counts as. */
  readonly size: number;
  readonly onWritten: (() => void) | null;
}

/**
 * The one line of a client: frames and replies, in order. At most 256 frames and 4 MiB of them are held, by the mailbox's own
 * books: a frame that would pass either bound closes this client alone, once, with 1013 `slow_consumer`, so that it comes
 * back and replays. So does a write that is not confirmed for 30 s. Nobody ever waits for a client.
 *
 * One write is out at a time, of at most 64 KiB or one piece: what stands behind it can still be taken out.
 */
export class Mailbox {
  readonly #parts: MailboxParts;
  #line: Entry[] = [];
  #handedOver: readonly Entry[] | null = null;
  #handedOverAt = 0;
  #isHandingOver = false;
  readonly #held = { frames: 0, bytes: 0, replies: 0, replyBytes: 0 };
  #undoStallTimer: Undo | null = null;
  #state: "open" | "closed" | "slow_consumer" = "open";

  constructor(parts: MailboxParts) {
    this.#parts = parts;
  }

  get isClosed(): boolean {
    return this.#state !== "open";
  }

  /** Whether it was closed because the client did not keep up. */
  get isSlowConsumer(): boolean {
    return this.#state === "slow_consumer";
  }

  get occupancy(): Occupancy {
    return { ...this.#held };
  }

  /** Whether more than 64 replies or 8 MiB of them are held: the client's socket should not be read meanwhile. */
  get isRepliesFull(): boolean {
    return this.#held.replies > limits.maxHeldReplies || this.#held.replyBytes > limits.maxHeldReplyBytes;
  }

  /**
   * Queues frames for the next `flush`. False if the client is closed, or is closed by this. A single frame above 4 MiB is
   * taken while no other is held, and then counts as a frame but not in the bytes.
   */
  put(chunk: Chunk): boolean {
    if (this.isClosed) return false;
    const frames = chunk.frames.length;
    const isAlone = frames === 1 && chunk.bytes > limits.maxMailboxBytes;
    const fits = isAlone
      ? this.#held.frames === 0
      : this.#held.frames + frames <= limits.maxMailboxFrames &&
        this.#held.bytes + chunk.bytes <= limits.maxMailboxBytes;
    if (!fits) {
      this.overflow();
      return false;
    }
    const bytes = isAlone ? 0 : chunk.bytes;
    this.#add({ content: chunk, size: chunk.bytes, frames, bytes, replies: 0, replyBytes: 0, onWritten: null });
    return true;
  }

  /**
   * Queues a reply behind what is queued, and hands over what it may.
   * @param onWritten called when the transport has taken it; never if the mailbox closes before
   */
  reply(text: string, onWritten?: () => void): void {
    if (this.isClosed) return;
    const content = this.#parts.encoding(text);
    const size = content.length;
    this.#add({ content, size, frames: 0, bytes: 0, replies: 1, replyBytes: size, onWritten: onWritten ?? null });
    this.flush();
  }

  /** Queues what a client asked to see once more. It counts as one reply, so that it cannot evict who asked for it. */
  replay(chunks: readonly Chunk[]): void {
    if (this.isClosed) return;
    for (const [index, chunk] of chunks.entries()) {
      const size = chunk.bytes;
      const replies = index === 0 ? 1 : 0;
      this.#add({ content: chunk, size, frames: 0, bytes: 0, replies, replyBytes: size, onWritten: null });
    }
    this.flush();
  }

  /** Hands over what is queued, unless a write is still out. */
  flush(): void {
    if (this.#isHandingOver) return;
    this.#isHandingOver = true;
    while (this.#handedOver === null && this.#line.length > 0) this.#handOver(this.#nextWrite());
    this.#isHandingOver = false;
  }

  /** Hands over all that is queued, in one write: the connection is about to be closed behind it. */
  drain(): void {
    const line = this.#line.splice(0);
    // Its books go with it when it is closed.
    if (line.length > 0) this.#write(line, () => undefined);
  }

  /** Takes out the frames of a session that were not handed over yet. */
  takeOut(session: Session): void {
    const isTaken = ({ content }: Entry): boolean => content instanceof Chunk && content.session === session;
    const taken = this.#line.filter(isTaken);
    if (taken.length === 0) return;
    this.#line = this.#line.filter((entry) => !isTaken(entry));
    this.#release(taken);
  }

  /** Takes out those frames that were not handed over yet and are not to be kept. */
  retain(isKept: (frame: WireFrame, session: Session | null) => boolean): void {
    const wasFull = this.isRepliesFull;
    this.#line = this.#line.flatMap((entry) => {
      const kept = retained(entry, isKept);
      if (kept === entry) return [entry];
      this.#count(entry, -1);
      if (kept === null) return [];
      this.#count(kept, 1);
      return [kept];
    });
    if (wasFull && !this.isRepliesFull) this.#parts.onRepliesDrained?.();
  }

  /** Closes the client with 1013 `slow_consumer`: it has missed something, and comes back for it. */
  overflow(): void {
    if (this.isClosed) return;
    this.#end("slow_consumer");
    this.#parts.outlet.close(1013, "slow_consumer");
    this.#parts.onOverflow?.();
  }

  /** Lets go of everything: the connection has ended. */
  close(): void {
    if (!this.isClosed) this.#end("closed");
  }

  #add(entry: Entry): void {
    this.#count(entry, 1);
    // Most often it is alone: a list of one takes less than one that grows.
    if (this.#line.length === 0) this.#line = [entry];
    else this.#line.push(entry);
  }

  /** From the front of the line: at most 64 KiB, or one piece. */
  #nextWrite(): readonly Entry[] {
    let count = 0;
    let bytes = 0;
    for (const { size } of this.#line) {
      if (count > 0 && bytes + size > limits.maxWriteBytes) break;
      count++;
      bytes += size;
    }
    // Most often that is the whole line.
    if (count === this.#line.length) {
      const line = this.#line;
      this.#line = [];
      return line;
    }
    return this.#line.splice(0, count);
  }

  #handOver(entries: readonly Entry[]): void {
    const { clock } = this.#parts;
    this.#handedOver = entries;
    this.#handedOverAt = clock.monotonic();
    this.#undoStallTimer ??= clock.after(limits.mailboxStallMs, () => this.#checkStall());
    this.#write(entries, () => this.#confirm(entries));
  }

  #write(entries: readonly Entry[], done: () => void): void {
    const { outlet, encoding } = this.#parts;
    const pieces = entries.map(({ content }) => (content instanceof Chunk ? content.encoded(encoding) : content));
    outlet.write(pieces, done);
  }

  #confirm(entries: readonly Entry[]): void {
    // Told twice, or after the mailbox was closed.
    if (this.#handedOver !== entries) return;
    this.#handedOver = null;
    this.#release(entries);
    for (const { onWritten } of entries) onWritten?.();
    this.flush();
  }

  #release(entries: readonly Entry[]): void {
    const wasFull = this.isRepliesFull;
    for (const entry of entries) this.#count(entry, -1);
    if (wasFull && !this.isRepliesFull) this.#parts.onRepliesDrained?.();
  }

  #count(entry: Occupancy, sign: 1 | -1): void {
    const held = this.#held;
    held.frames += sign * entry.frames;
    held.bytes += sign * entry.bytes;
    held.replies += sign * entry.replies;
    held.replyBytes += sign * entry.replyBytes;
  }

  /** One timer at a time, set again only while a write is out: most writes are confirmed long before. */
  #checkStall(): void {
    this.#undoStallTimer = null;
    if (this.#handedOver === null) return;
    const leftMs = this.#handedOverAt + limits.mailboxStallMs - this.#parts.clock.monotonic();
    if (leftMs <= 0) this.overflow();
    else this.#undoStallTimer = this.#parts.clock.after(leftMs, () => this.#checkStall());
  }

  #end(state: "closed" | "slow_consumer"): void {
    this.#state = state;
    this.#line = [];
    this.#handedOver = null;
    Object.assign(this.#held, { frames: 0, bytes: 0, replies: 0, replyBytes: 0 });
    this.#undoStallTimer?.();
    this.#undoStallTimer = null;
  }
}

/** The same entry when all of it is kept, null when nothing is; else one that holds the rest, and counts as such. */
function retained(entry: Entry, isKept: (frame: WireFrame, session: Session | null) => boolean): Entry | null {
  if (!(entry.content instanceof Chunk)) return entry;
  const { session, frames } = entry.content;
  const kept = frames.filter((frame) => isKept(frame, session));
  if (kept.length === frames.length) return entry;
  if (kept.length === 0) return null;
  const content = new Chunk(session, kept);
  const size = content.bytes;
  const counts = entry.frames > 0 ? { frames: kept.length, bytes: size } : { replyBytes: size };
  return { ...entry, content, size, ...counts };
}
