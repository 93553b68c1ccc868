import { wholeBudget, type Budget, type Channel } from "./channel.ts";
import type { Client } from "./client.ts";
import type { Clock } from "./clock.ts";
import { limits } from "./options.ts";
import type { Chunk, WireFrame } from "./wire-frame.ts";

/** What a distributor is made of. */
export interface DistributorParts {
  readonly clock: Clock;
  readonly mayReceive: (client: Client, channel: Channel, frame: WireFrame) => boolean;
  /** Told of each frame, in order, before any client gets it. */
  readonly onFrame: (channel: Channel, frame: WireFrame) => void;
  /** Told of a client that was closed when something was put into its mailbox. */
  readonly onClosed: (client: Client) => void;
}

/**
 * Carries what is pending in channels to mailboxes, once per turn of the event loop and all of a turn in one write. In one turn
 * nobody is given more than a mailbox holds: so no burst closes a client that drains, and one that is stuck is still
 * closed at its bound.
 */
export class Distributor {
  readonly #parts: DistributorParts;
  /** Channels with pending frames, in order of their turn. */
  readonly #waiting = new Set<Channel>();
  /** Clients with something queued since the last hand-over, some perhaps several times. */
  #touched: Client[] = [];
  #budget = wholeBudget();
  #pendingFrames = 0;
  #pendingBytes = 0;
  #isScheduled = false;
  #isDelivering = false;

  constructor(parts: DistributorParts) {
    this.#parts = parts;
  }

  /** Frames that were noted and not distributed yet. */
  get pending(): number {
    return this.#pendingFrames;
  }

  /** Takes a frame for the next turn. At the bound of what is pending all of it leaves at once. */
  note(channel: Channel, frame: WireFrame): void {
    channel.push(frame);
    this.#pendingFrames++;
    this.#pendingBytes += frame.estimate;
    this.#waiting.add(channel);
    this.#schedule();
    if (this.#pendingFrames < limits.maxPendingFrames && this.#pendingBytes < limits.maxPendingBytes) return;
    for (const waiting of [...this.#waiting]) {
      if (this.#distribute(waiting, null)) this.#waiting.delete(waiting);
    }
    this.#handOver();
  }

  /** Distributes a channel now, as far as this turn's budget goes. All of it counts as told to `onFrame` then. */
  settle(channel: Channel): void {
    this.#distribute(channel, this.#budget);
    this.#handOver();
  }

  /** Queues a chunk for clients, to be handed over in the next turn. Returns those that took it. */
  put(clients: readonly Client[], chunk: Chunk): readonly Client[] {
    const reached = clients.filter((client) => client.mailbox.put(chunk));
    for (const client of clients) this.#touch(client);
    this.#schedule();
    return reached;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#parts.clock.defer(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    for (const channel of [...this.#waiting]) {
      if (!this.#distribute(channel, this.#budget)) continue;
      // What is left of it comes after the others.
      this.#waiting.delete(channel);
      if (channel.isPending) this.#waiting.add(channel);
    }
    this.#budget = wholeBudget();
    if (this.#waiting.size > 0) this.#schedule();
    this.#handOver();
  }

  /** False when nothing left the channel, though something is pending. */
  #distribute(channel: Channel, budget: Budget | null): boolean {
    // Asked for by somebody who was told in the middle of it that a client was closed: the others come first.
    if (this.#isDelivering) return false;
    this.#isDelivering = true;
    try {
      return this.#carry(channel, budget);
    } finally {
      this.#isDelivering = false;
    }
  }

  #carry(channel: Channel, budget: Budget | null): boolean {
    for (const frame of channel.fresh()) this.#parts.onFrame(channel, frame);
    const frames = channel.take(budget);
    this.#pendingFrames -= frames.length;
    for (const { estimate } of frames) this.#pendingBytes -= estimate;
    const { mayReceive } = this.#parts;
    channel.deliver(
      frames,
      (client, frame) => mayReceive(client, channel, frame),
      (client) => this.#touch(client),
    );
    return frames.length > 0 || !channel.isPending;
  }

  #touch(client: Client): void {
    if (!client.isClosed) this.#touched.push(client);
    else this.#parts.onClosed(client);
  }

  #handOver(): void {
    const touched = this.#touched;
    this.#touched = [];
    for (const client of touched) client.mailbox.flush();
  }
}
