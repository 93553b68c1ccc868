import { CallError, LinkError } from "./errors.ts";
import type { PatientCall } from "./patient-call.ts";
import { RoomFeed, roomOfEvent, type RoomListener, type RoomRequest } from "./room-feed.ts";
import type { Json, WireEvent } from "./wire.ts";

/** A room that is followed. */
export interface RoomSubscription {
  readonly room_id: string;
  /** `seq` of the last row that was handed out: where `since_seq` goes on. null before the first. */
  readonly cursor: number | null;
  /** Nothing more comes. Safe to call twice. */
  close(): Promise<void>;
}

/** What the rooms of a client need of it. */
export interface FeedsParts {
  readonly threw: (where: string, cause: unknown) => void;
  readonly problem: (code: string, message: string, cause?: unknown) => void;
}

/** The rooms that a client follows, one feed each, over every reconnect. */
export class RoomFeeds {
  readonly #parts: FeedsParts;
  readonly #feeds = new Map<string, RoomFeed>();
  #call: PatientCall | null = null;

  constructor(parts: FeedsParts) {
    this.#parts = parts;
  }

  /** Follows a room; a second feed of it takes the place of the first. Rejects when the server refuses. */
  async add(request: RoomRequest, listener: RoomListener): Promise<RoomSubscription> {
    const feed = new RoomFeed(request, listener, {
      call: (method, params, onResult) => this.#send(method, params, onResult),
      tell: (run) => this.#tell(run),
    });
    this.#feeds.get(feed.roomId)?.stop();
    this.#feeds.set(feed.roomId, feed);
    try {
      await feed.start();
    } catch (fault) {
      this.#forget(feed);
      throw fault;
    }
    return this.#subscription(feed);
  }

  /** A connection stands. Resolves when every room goes on from its last row; rejects when the connection ends before. */
  async onReady(call: PatientCall): Promise<void> {
    this.#call = call;
    await Promise.all([...this.#feeds.values()].map((feed) => this.#restart(feed)));
  }

  onDown(): void {
    this.#call = null;
  }

  /** An event of the connection that stands. A gap that names no attempt is told to each room. */
  onEvent(event: WireEvent): void {
    if (!event.type.startsWith("room.")) return;
    const roomId = roomOfEvent(event);
    for (const feed of this.#feeds.values()) {
      if (roomId !== null && feed.roomId !== roomId) continue;
      if (event.type === "room.unsubscribed") this.#goOn(feed);
      else feed.onEvent(event);
    }
  }

  end(): void {
    for (const feed of this.#feeds.values()) feed.stop();
    this.#feeds.clear();
  }

  /** The server ended it, because of what this client may do: it goes on with what it may now, or learns why not. */
  #goOn(feed: RoomFeed): void {
    // Without a connection it goes on with the next one.
    this.#restart(feed).catch(() => undefined);
  }

  async #restart(feed: RoomFeed): Promise<void> {
    try {
      await feed.start();
    } catch (fault) {
      if (!(fault instanceof CallError)) throw fault;
      this.#forget(feed);
      feed.refused(fault);
      this.#parts.problem("room_ended", `${feed.roomId}: ${fault.message}`, fault);
    }
  }

  #send(method: string, params: Json, onResult: (result: unknown) => void): Promise<unknown> {
    if (this.#call !== null) return this.#call(method, params, onResult);
    return Promise.reject(new LinkError("not_connected", `${method}: no connection stands`));
  }

  #tell(run: () => void): void {
    try {
      run();
    } catch (cause) {
      this.#parts.threw("a room", cause);
    }
  }

  #forget(feed: RoomFeed): void {
    feed.stop();
    if (this.#feeds.get(feed.roomId) === feed) this.#feeds.delete(feed.roomId);
  }

  #subscription(feed: RoomFeed): RoomSubscription {
    return {
      room_id: feed.roomId,
      get cursor() {
        return feed.cursor;
      },
      close: async () => {
        if (this.#feeds.get(feed.roomId) !== feed) return;
        this.#forget(feed);
        // Without a connection there is nothing to unsubscribe from: a subscription ends with its connection.
        if (this.#call !== null) await this.#call("rooms.unsubscribe", { room_id: feed.roomId }, () => undefined);
      },
    };
  }
}
