import { limits, RoomtapError, type Client, type Undo } from "../../core/index.ts";
import { feedRefusal } from "./room-access.ts";
import type { RoomFeed } from "./room-feed.ts";

/** The rooms that one connection is subscribed to; each once. */
export class RoomFeeds {
  readonly #feeds = new Map<string, RoomFeed>();
  /** Calls of the connection that are not answered yet, by the room that they change. */
  readonly #holds = new Map<string, number>();
  #isClosed = false;

  /** @throws RoomtapError `too_many_subscriptions` when one more room would be above the bound */
  check(roomId: string): void {
    if (this.#feeds.has(roomId) || this.#feeds.size < limits.maxRoomSubscriptions) return;
    const message = `a connection is subscribed to ${limits.maxRoomSubscriptions} rooms at most`;
    throw new RoomtapError("too_many_subscriptions", message);
  }

  /**
   * Takes a feed in, in the place of the one of that room before it. When the connection has gone, it is closed.
   * @throws RoomtapError as `check`
   */
  set(roomId: string, feed: RoomFeed): void {
    this.check(roomId);
    if (this.#isClosed) return feed.close();
    this.#feeds.get(roomId)?.close();
    this.#feeds.set(roomId, feed);
    if (this.#holds.has(roomId)) feed.hold();
  }

  /**
   * Holds what is told of a room back until the returned function is called, so that a reply comes before what its call
   * caused. Several holds of a room end with the last one.
   */
  hold(roomId: string): Undo {
    this.#holds.set(roomId, (this.#holds.get(roomId) ?? 0) + 1);
    this.#feeds.get(roomId)?.hold();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#holds.get(roomId) ?? 1) - 1;
      if (left > 0) {
        this.#holds.set(roomId, left);
        return;
      }
      this.#holds.delete(roomId);
      this.#feeds.get(roomId)?.release();
    };
  }

  /** False when there was none. */
  end(roomId: string): boolean {
    this.#feeds.get(roomId)?.close();
    return this.#feeds.delete(roomId);
  }

  /** Ends those of which this is so. Gives them, by room. */
  endWhere(
    isOver: (roomId: string, feed: RoomFeed) => boolean,
  ): readonly (readonly [roomId: string, feed: RoomFeed])[] {
    const ended = [...this.#feeds].filter(([roomId, feed]) => isOver(roomId, feed));
    for (const [roomId] of ended) this.end(roomId);
    return ended;
  }

  /** Ends all of them, and what comes later at once. */
  close(): void {
    this.#isClosed = true;
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
  }
}

/** All subscriptions to rooms, by connection. */
export class RoomSubscriptions {
  readonly #byClient = new WeakMap<Client, RoomFeeds>();
  #opened = 0;

  /** An id for a subscription, unique in the process. */
  nextId(): string {
    return `sub-${++this.#opened}`;
  }

  of(client: Client): RoomFeeds {
    const known = this.#byClient.get(client);
    if (known !== undefined) return known;
    const feeds = new RoomFeeds();
    this.#byClient.set(client, feeds);
    return feeds;
  }

  /**
   * Ends the subscriptions of a client that rest on rights which it has no more: what they would leave out from now on would
   * be lost in silence. Gives them, for the client to be told.
   */
  review(client: Client): readonly { readonly room_id: string; readonly subscription_id: string }[] {
    return this.of(client)
      .endWhere((roomId, { grants }) => feedRefusal(client, roomId, grants) !== null)
      .map(([room_id, { id: subscription_id }]) => ({ room_id, subscription_id }));
  }

  /** The connection is over: so are its subscriptions, and those that it asked for and did not get yet. */
  end(client: Client): void {
    this.of(client).close();
  }
}
