import { Channel } from "./channel.ts";
import type { Client } from "./client.ts";
import type { Clock, Undo } from "./clock.ts";
import { Distributor } from "./distributor.ts";
import type { EventFrame, Frame, JsonObject, RequestFrame } from "./frames.ts";
import { limits } from "./options.ts";
import { Replay, type Missed, type ReplayBounds, type ReplayStats } from "./replay.ts";
import type { Seam } from "./seam.ts";
import type { Session } from "./sessions.ts";
import { Chunk, slicesOf, WireFrame } from "./wire-frame.ts";

/** Whether a frame may reach a client; the session is null for what belongs to none. Asked for each frame at delivery. */
export type MayReceive = (client: Client, session: Session | null, frame: Frame) => boolean;

/**
 * What came of attaching: `already` changes nothing; a closed or unknown connection, a hidden session, and more than 64
 * sessions of one connection are refused.
 */
export type AttachResult = "attached" | "already" | "closed" | "room_session" | "too_many_sessions";

/** What a session still has above a number, as `session.events.since` tells it. */
export interface EventsSince {
  /** Bare params, ascending; those the client may receive. */
  readonly events: readonly EventFrame["params"][];
  readonly latest_seq: number;
  readonly truncated: boolean;
}

/** What a fan-out holds now. Each client's own books are its mailbox's. */
export interface FanOutStats {
  readonly replay: ReplayStats;
  readonly clients: number;
  readonly attachments: number;
  /** Written and not distributed yet. */
  readonly pending: number;
  /** Clients that were closed because they did not keep up, so far. */
  readonly slow_consumers: number;
}

/** Events of no session for one client, in their order. */
export interface ClientLine {
  /** Queues an event, if the client may receive it by then. */
  tell(type: string, payload: JsonObject): void;
  /** Nothing more comes, also of what was told and has not left. Safe to call twice. */
  close(): void;
}

/** What a fan-out is made of. */
export interface FanOutParts {
  readonly seam: Seam;
  readonly clock: Clock;
  readonly mayReceive: MayReceive;
  /** Default: the bounds of the wire. */
  readonly replay?: ReplayBounds;
}

/**
 * Brings what leaves the seam to the clients that are attached, and keeps it for those that come back. A frame that is
 * written is only noted; in the next turn of the event loop it is serialised once, kept, and put into each mailbox. So its
 * producer waits for nobody and pays the same however many watch (I5).
 *
 * Requests come to clients by `request` only.
 */
export class FanOut {
  readonly #mayReceive: MayReceive;
  readonly #replay: Replay;
  readonly #distributor: Distributor;
  readonly #undoSink: Undo;
  readonly #clients = new Map<Client, Set<Session>>();
  readonly #channels = new WeakMap<Session, Channel>();
  readonly #everyone = new Channel(null);
  #slowConsumers = 0;

  constructor(parts: FanOutParts) {
    this.#mayReceive = parts.mayReceive;
    this.#replay = new Replay(parts.replay);
    this.#distributor = new Distributor({
      clock: parts.clock,
      mayReceive: (client, { session }, { frame }) => this.#mayReceive(client, session, frame),
      onFrame: ({ session }, frame) => this.#keep(session, frame),
      onClosed: (client) => void this.disconnect(client),
    });
    this.#undoSink = parts.seam.addFrameSink((frame, session) => this.#note(frame, session), { hidden: false });
  }

  /** Takes a connection in. It gets events of no session, and those of the sessions it is attached to. */
  connect(client: Client): void {
    if (this.#clients.has(client)) return;
    this.#clients.set(client, new Set());
    this.#everyone.add(client, 0);
  }

  /** Takes a connection out of all its sessions, which are returned; nobody else notices. */
  disconnect(client: Client): readonly Session[] {
    const sessions = this.#clients.get(client);
    if (sessions === undefined) return [];
    if (client.mailbox.isSlowConsumer) this.#slowConsumers++;
    for (const session of sessions) this.#channels.get(session)?.remove(client);
    this.#clients.delete(client);
    this.#everyone.remove(client);
    return [...sessions];
  }

  /**
   * Attaches a client to a session: it gets what is numbered above `after`, which by default is the head.
   * @param options.held true: it gets nothing until `join`, so that a reply can be queued before
   */
  attach(
    client: Client,
    session: Session,
    options: { readonly after?: number; readonly held?: boolean } = {},
  ): AttachResult {
    const sessions = this.#clients.get(client);
    if (sessions === undefined || client.isClosed) return "closed";
    if (session.roomPlumbing) return "room_session";
    if (sessions.has(session)) return "already";
    if (sessions.size >= limits.maxAttachedSessions) return "too_many_sessions";
    sessions.add(session);
    this.#channelOf(session).add(client, options.after ?? session.seq, options.held);
    return "attached";
  }

  /**
   * Lets an attached client take part, behind what its mailbox has: first what the session still has above `after`, then
   * what is live. For a client that takes part already it only queues once more what is numbered above `after` up to `head`.
   * @param range.head the number that the client was told as the session's last; what came above it is whole, or the
   * client is closed with 1013, so that it comes back for it
   */
  join(client: Client, session: Session, range: { readonly after: number; readonly head: number }): void {
    const channel = this.#channels.get(session);
    if (channel === undefined || !channel.has(client)) return;
    this.settle(session);
    const isNew = channel.release(client, session.seq);
    const upTo = isNew ? session.seq : range.head;
    if (isNew && this.#replay.since(session, range.head).truncated) client.mailbox.overflow();
    const frames = this.#since(session, range.after, client).frames.filter(({ params }) => (params.seq ?? 0) <= upTo);
    const wireFrames = frames.map((frame) => new WireFrame(frame));
    client.mailbox.replay([...slicesOf(wireFrames, limits.maxWriteBytes)].map((slice) => new Chunk(session, slice)));
  }

  /** Ends the attachment: what is queued still goes out, and nothing more is. False if the client was not attached. */
  leave(client: Client, session: Session): boolean {
    if (this.#clients.get(client)?.delete(session) !== true) return false;
    this.#channels.get(session)?.remove(client);
    return true;
  }

  /** Nothing more of the session reaches the client, also of what is queued. False if it was not attached. */
  detach(client: Client, session: Session): boolean {
    const wasAttached = this.leave(client, session);
    if (wasAttached) client.mailbox.takeOut(session);
    return wasAttached;
  }

  /** To be called when what a client may receive has changed: of what waits for it, the rest goes. Its attachments stay. */
  review(client: Client): void {
    client.mailbox.retain(({ frame }, session) => this.#mayReceive(client, session, frame));
  }

  /** Living connections that are attached, in order of attaching. */
  attached(session: Session): readonly Client[] {
    return [...(this.#channels.get(session)?.clients ?? [])].filter((client) => !client.isClosed);
  }

  /** Whether a living connection is attached, besides `except`. */
  isWatched(session: Session, except?: Client): boolean {
    return this.attached(session).some((client) => client !== except);
  }

  /**
   * Keeps what has left the seam, and puts it into the mailboxes, before a snapshot is read or a reply is queued. Only of a
   * burst of more than 256 frames the rest comes in later turns.
   */
  settle(session: Session): void {
    const channel = this.#channels.get(session);
    if (channel !== undefined) this.#distributor.settle(channel);
  }

  /** What the session still has above `lastSeen`. Of an unknown session (null) and a hidden one: nothing. */
  since(session: Session | null, lastSeen: number, client: Client): EventsSince {
    if (session === null || session.roomPlumbing) return { events: [], latest_seq: 0, truncated: lastSeen > 0 };
    this.settle(session);
    const { frames, latestSeq, truncated } = this.#since(session, lastSeen, client);
    return { events: frames.map(({ params }) => params), latest_seq: latestSeq, truncated };
  }

  /**
   * Sends a request to those clients that are attached and may receive it, behind all that left the seam before; not to
   * one that is held, whose reply has it. Returns them.
   */
  request(clients: Iterable<Client>, session: Session, frame: RequestFrame): readonly Client[] {
    const channel = this.#channelOf(session);
    const asked = [...clients].filter(
      (client) => !client.isClosed && channel.has(client) && this.#mayReceive(client, session, frame),
    );
    // Who waits for the reply to its attaching finds the request listed there.
    const sent = asked.filter((client) => !channel.isHeld(client));
    if (sent.length > 0) this.#distributor.note(channel, new WireFrame(frame, new Set(sent)));
    return asked;
  }

  /** Queues an event of no session for one client. It is not asked whether it may receive it. */
  toClient(client: Client, type: string, payload: JsonObject): void {
    this.toClients([client], type, payload);
  }

  /** As `toClient`, for several: they share the bytes. */
  toClients(clients: readonly Client[], type: string, payload: JsonObject): void {
    const frame: EventFrame = { jsonrpc: "2.0", method: "event", params: { type, payload } };
    this.#distributor.put(clients, new Chunk(null, [new WireFrame(frame)]));
  }

  /**
   * A line of events for one client, for more of them than now and then: like the frames of sessions they leave in a later
   * turn of the event loop, and in one turn no more than a mailbox holds.
   */
  openLine(client: Client): ClientLine {
    const channel = new Channel(null);
    channel.add(client, 0);
    return {
      tell: (type, payload) => {
        if (client.isClosed || !channel.has(client)) return;
        this.#distributor.note(channel, new WireFrame({ jsonrpc: "2.0", method: "event", params: { type, payload } }));
      },
      close: () => channel.remove(client),
    };
  }

  stats(): FanOutStats {
    return {
      replay: this.#replay.stats(),
      clients: this.#clients.size,
      attachments: [...this.#clients.values()].reduce((sum, sessions) => sum + sessions.size, 0),
      pending: this.#distributor.pending,
      slow_consumers: this.#slowConsumers,
    };
  }

  /** Takes no more frames from the seam. */
  close(): void {
    this.#undoSink();
  }

  #note(frame: Frame, session: Session | null): void {
    if ("id" in frame) return;
    this.#distributor.note(session === null ? this.#everyone : this.#channelOf(session), new WireFrame(frame));
  }

  #channelOf(session: Session): Channel {
    const known = this.#channels.get(session);
    if (known !== undefined) return known;
    const channel = new Channel(session);
    this.#channels.set(session, channel);
    return channel;
  }

  #keep(session: Session | null, wireFrame: WireFrame): void {
    const { frame, seq } = wireFrame;
    if (session === null || seq === null || "id" in frame) return;
    this.#replay.add(session, frame, seq, wireFrame.paramsBytes);
  }

  #since(session: Session, lastSeen: number, client: Client): Missed {
    const missed = this.#replay.since(session, lastSeen);
    return { ...missed, frames: missed.frames.filter((frame) => this.#mayReceive(client, session, frame)) };
  }
}
