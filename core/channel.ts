import type { Client } from "./client.ts";
import { limits } from "./options.ts";
import type { Session } from "./sessions.ts";
import { Chunk, slicesOf, type WireFrame } from "./wire-frame.ts";

/** What clients may still be given in one turn of the event loop. */
export interface Budget {
  frames: number;
  bytes: number;
}

/** As much as a mailbox holds: a client that drains from turn to turn takes it. */
export function wholeBudget(): Budget {
  return { frames: limits.maxMailboxFrames, bytes: limits.maxMailboxBytes };
}

/** A client's place in the stream of a session. */
interface Attachment {
  /** It gets what is numbered above. */
  after: number;
  /** Whether it gets nothing yet. */
  isHeld: boolean;
}

/**
 * Who is attached to a session, in order of attaching, and what was written there and not distributed yet. Without a
 * session: every client, and what belongs to no session.
 */
export class Channel {
  readonly session: Session | null;
  readonly #attachments = new Map<Client, Attachment>();
  #pending: WireFrame[] = [];
  /** So many of the pending ones were given out by `fresh`. */
  #seen = 0;

  constructor(session: Session | null) {
    this.session = session;
  }

  get clients(): Iterable<Client> {
    return this.#attachments.keys();
  }

  get isPending(): boolean {
    return this.#pending.length > 0;
  }

  /** @param isHeld whether the client waits for `release` */
  add(client: Client, after: number, isHeld = false): void {
    this.#attachments.set(client, { after, isHeld });
  }

  remove(client: Client): void {
    this.#attachments.delete(client);
  }

  has(client: Client): boolean {
    return this.#attachments.has(client);
  }

  /** Whether the client waits for `release`. */
  isHeld(client: Client): boolean {
    return this.#attachments.get(client)?.isHeld === true;
  }

  /** Lets a client that was held take part, from above `after` on. False if it was not held. */
  release(client: Client, after: number): boolean {
    const attachment = this.#attachments.get(client);
    if (attachment?.isHeld !== true) return false;
    attachment.after = after;
    attachment.isHeld = false;
    return true;
  }

  push(frame: WireFrame): void {
    this.#pending.push(frame);
  }

  /** The pending frames that this has not given out before. They stay pending. */
  fresh(): readonly WireFrame[] {
    const fresh = this.#seen === 0 ? this.#pending.slice() : this.#pending.slice(this.#seen);
    this.#seen = this.#pending.length;
    return fresh;
  }

  /** Takes what comes next out of the pending frames, as far as the budget goes; all, when it is null or nobody is attached. */
  take(budget: Budget | null): readonly WireFrame[] {
    let count = 0;
    if (budget === null || this.#attachments.size === 0) count = this.#pending.length;
    else while (count < this.#pending.length && spend(budget, this.#pending[count])) count++;
    this.#seen = Math.max(0, this.#seen - count);
    return this.#pending.splice(0, count);
  }

  /**
   * Queues frames for those who may receive them. Clients that get the same ones share their bytes.
   * @param onReached told of each client for whom there were any; of one perhaps several times
   */
  deliver(
    frames: readonly WireFrame[],
    mayReceive: (client: Client, frame: WireFrame) => boolean,
    onReached: (client: Client) => void,
  ): void {
    for (const slice of slicesOf(frames, limits.maxWriteBytes)) {
      const chunks = new Chunks(this.session, slice);
      for (const [client, { after, isHeld }] of this.#attachments) {
        if (isHeld) continue;
        const chunk = chunks.of(
          (frame) => frame.isFor(client) && (frame.seq === null || frame.seq > after) && mayReceive(client, frame),
        );
        if (chunk === null) continue;
        client.mailbox.put(chunk);
        onReached(client);
      }
    }
  }
}

/** The chunks that are made of some frames: one for each choice of them that some client gets. */
class Chunks {
  readonly #session: Session | null;
  readonly #frames: readonly WireFrame[];
  #whole: Chunk | null = null;
  readonly #parts: Chunk[] = [];

  constructor(session: Session | null, frames: readonly WireFrame[]) {
    this.#session = session;
    this.#frames = frames;
  }

  /** Null when none is chosen. */
  of(isChosen: (frame: WireFrame) => boolean): Chunk | null {
    if (this.#frames.every(isChosen)) return (this.#whole ??= new Chunk(this.#session, this.#frames));
    const chosen = this.#frames.filter(isChosen);
    if (chosen.length === 0) return null;
    const known = this.#parts.find(({ frames }) => isEqual(frames, chosen));
    if (known !== undefined) return known;
    const part = new Chunk(this.#session, chosen);
    this.#parts.push(part);
    return part;
  }
}

/** Takes a frame's share out of the budget. False when it does not suffice; then nothing is taken. */
function spend(budget: Budget, frame: WireFrame | undefined): boolean {
  if (frame === undefined || budget.frames === 0) return false;
  // One that is larger than a mailbox needs an empty one, so it comes first in its turn.
  const isFirst = budget.frames === limits.maxMailboxFrames;
  if (frame.bytes > budget.bytes && !isFirst) return false;
  budget.frames--;
  budget.bytes = Math.max(0, budget.bytes - frame.bytes);
  return true;
}

function isEqual(a: readonly WireFrame[], b: readonly WireFrame[]): boolean {
  return a.length === b.length && a.every((frame, index) => frame === b[index]);
}
