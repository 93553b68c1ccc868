import {
  limits,
  Signal,
  type ActivityEvent,
  type ActivityKind,
  type Client,
  type FanOut,
  type Undo,
} from "../../core/index.ts";
import type { Grant, Observers, PayloadLevel, Subscription } from "../../observers/index.ts";
import type { LogRow, Room, RoomChange, RoomSnapshot } from "../../rooms/index.ts";
import { FeedFilter } from "./feed-filter.ts";
import { HeldLine } from "./held-line.ts";

/** What a client wants to be told of a room, checked already. */
export interface FeedOptions {
  /** Names the subscription among all of the process. */
  readonly id: string;
  readonly kinds: readonly ActivityKind[];
  readonly payload: PayloadLevel;
  readonly grants: readonly Grant[];
}

/** What a feed is made of. */
export interface FeedParts {
  readonly client: Client;
  readonly fanOut: Pick<FanOut, "openLine">;
  readonly observers: Pick<Observers, "observe">;
  readonly options: FeedOptions;
}

/** Kinds by which a feed knows which attempts are over: it is told of them whatever its client wants. */
const framing: readonly ActivityKind[] = ["turn.started", "turn.settled"];

/**
 * One client's subscription to a room: posts, rows, members and activity, in one order, from a snapshot on. It is a consumer
 * like any other, with a bounded queue, so it can slow nobody down; behind it stands the client's mailbox, which closes a
 * client that does not keep up.
 *
 * A row is told before the activity that it makes durable.
 */
export class RoomFeed {
  readonly #parts: FeedParts;
  readonly #room: Room;
  readonly #line: HeldLine;
  readonly #opened = new Signal();
  #filter: FeedFilter | null = null;
  #consumer: Subscription | null = null;
  #unwatch: Undo = () => undefined;
  /** Changes that came before the feed was opened. */
  #early: RoomChange[] = [];
  #isOver = false;
  #rowSeq = 0;
  /** Fires when a row is told. */
  #rowTold = new Signal();

  constructor(room: Room, parts: FeedParts) {
    this.#room = room;
    this.#parts = parts;
    this.#line = new HeldLine(parts.fanOut.openLine(parts.client));
  }

  /** Names it among all subscriptions of the process. */
  get id(): string {
    return this.#parts.options.id;
  }

  /** The rights that what is told rests on. */
  get grants(): readonly Grant[] {
    return this.#parts.options.grants;
  }

  /** Whether nothing is told any more. Before it is opened: more came than is kept, or its client has gone. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Begins to listen, and takes the snapshot behind which it goes on once `open` is called.
   * @throws RoomtapError as `Room.watch`; nothing is left registered then
   */
  async begin(): Promise<RoomSnapshot> {
    const { id, payload, grants, kinds } = this.#parts.options;
    this.#consumer = this.#parts.observers.observe({
      id: `gateway-${id}`,
      rooms: [this.#room.record.room_id],
      kinds: [...new Set([...framing, ...kinds])],
      payload,
      grants,
      handler: (event) => this.#onActivity(event),
    });
    try {
      this.#unwatch = await this.#room.watch((change) => this.#onChange(change));
      const snapshot = await this.#room.snapshot(() => this.#forgetOlder());
      if (this.#isOver) this.#unwatch();
      return snapshot;
    } catch (fault) {
      this.close();
      throw fault;
    }
  }

  /** Goes on behind the snapshot: call it in the step in which that is queued. */
  open({ log, attempts }: RoomSnapshot): void {
    if (this.#isOver) return;
    const early = this.#early;
    this.#early = [];
    this.#rowSeq = log.latest_seq;
    this.#filter = new FeedFilter(attempts);
    for (const change of early) this.#tell(change, this.#filter);
    this.#opened.fire();
  }

  /** When its call has failed, nothing is left of it. */
  closeUnlessOpen(): void {
    if (this.#filter === null) this.close();
  }

  /** What is told from now on waits until it is released, as far as `HeldLine` keeps it. */
  hold(): void {
    this.#line.hold();
  }

  release(): void {
    this.#line.release();
  }

  /** Nothing more is told, also of what waits to leave. Safe to call twice. */
  close(): void {
    this.#isOver = true;
    this.#consumer?.dispose();
    this.#unwatch();
    this.#line.close();
    this.#early = [];
    this.#opened.fire();
    this.#rowTold.fire();
  }

  #onChange(change: RoomChange): void {
    if (this.#isOver) return;
    if (this.#filter !== null) return this.#tell(change, this.#filter);
    // Nothing is left out in silence: beyond the bound it is over, and who asked is told to ask again.
    if (this.#early.push(change) > limits.maxMailboxFrames) this.close();
  }

  /** At the instant of the snapshot: what it has of posts and members is newer. Rows go by their numbers. */
  #forgetOlder(): void {
    this.#early = this.#early.filter(({ type }) => type === "room.log");
  }

  #tell(change: RoomChange, filter: FeedFilter): void {
    switch (change.type) {
      case "room.log":
        return this.#tellRow(change.row, filter);
      case "room.message":
        return this.#line.tell(change.type, { ...change.message });
      case "room.member":
        return this.#line.tell(change.type, { room_id: this.#room.record.room_id, ...change.member });
    }
  }

  #tellRow(row: LogRow, filter: FeedFilter): void {
    if (row.seq <= this.#rowSeq) return;
    this.#rowSeq = row.seq;
    filter.told(row);
    this.#line.tell("room.log", { ...row });
    this.#rowTold.fire();
    this.#rowTold = new Signal();
  }

  /** Synchronous once it is open, but for an event whose row was not told yet. */
  #onActivity(event: ActivityEvent): Promise<void> | void {
    if (this.#filter === null) return this.#onceOpened(event);
    return this.#pass(event, this.#filter);
  }

  async #onceOpened(event: ActivityEvent): Promise<void> {
    await this.#opened.fired;
    if (this.#filter !== null) await this.#pass(event, this.#filter);
  }

  #pass(event: ActivityEvent, filter: FeedFilter): Promise<void> | void {
    const seq = this.#seqBefore(event, filter);
    if (seq > this.#rowSeq) return this.#onceTold(event, seq, filter);
    this.#tellActivity(event, filter);
  }

  async #onceTold(event: ActivityEvent, seq: number, filter: FeedFilter): Promise<void> {
    while (!this.#isOver && seq > this.#rowSeq) await this.#rowTold.fired;
    this.#tellActivity(event, filter);
  }

  #tellActivity(event: ActivityEvent, filter: FeedFilter): void {
    if (this.#isOver) return;
    const told = filter.pass(event);
    if (told === null) return;
    if (told.kind !== "gap" && !this.#parts.options.kinds.includes(told.kind)) return;
    this.#line.tell("room.activity", { ...told });
  }

  /** The row that has to be told before the event: its own; of an attempt that is not known, the last one there is. */
  #seqBefore(event: ActivityEvent, filter: FeedFilter): number {
    if (event.kind === "turn.started" || event.kind === "turn.settled") return event.payload.row.seq;
    // Its start may have been lost at the bound of the queue.
    return filter.knows(event) ? 0 : this.#room.folded.through_seq;
  }
}
