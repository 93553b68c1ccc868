import type { ActivityEvent, Client, JsonObject } from "../../core/index.ts";
import type { ConsumerOptions, EventConsumerOptions } from "../../observers/index.ts";
import { RoomFeed } from "../../plugins/gateway/room-feed.ts";
import type { AttemptSnapshot, LogRow, Room, RoomChange, RoomSnapshot } from "../../rooms/index.ts";

/** A feed between a room and a client that are the test's to play. */
export interface FakeFeed {
  readonly feed: RoomFeed;
  /** What its client is told, in order: type and payload. */
  readonly told: readonly { readonly type: string; readonly payload: JsonObject }[];
  /** The room tells of a change. */
  readonly change: (change: RoomChange) => void;
  /** The queue hands an event over. */
  readonly activity: (event: ActivityEvent) => unknown;
  /** The last row that the room's host has written. */
  readonly head: { seq: number };
  /** Ends what `begin` waits for: the watch, then the snapshot. */
  readonly watching: () => void;
  readonly taken: (snapshot: RoomSnapshot) => void;
  readonly consumer: () => ConsumerOptions | null;
  /** What was undone, in order: `watch`, `consumer`, `line`. */
  readonly undone: readonly string[];
}

export function fakeFeed(): FakeFeed {
  const told: { type: string; payload: JsonObject }[] = [];
  const undone: string[] = [];
  const head = { seq: 0 };
  let listener: (change: RoomChange) => void = () => undefined;
  let watching: () => void = () => undefined;
  let onInstant: () => void = () => undefined;
  let give: (snapshot: RoomSnapshot) => void = () => undefined;
  let consumer: EventConsumerOptions | null = null;
  const room = {
    record: { room_id: "r1" },
    get folded() {
      return { through_seq: head.seq };
    },
    watch: (given: typeof listener) => {
      listener = given;
      return new Promise((resolve) => {
        watching = () => resolve(() => void undone.push("watch"));
      });
    },
    snapshot: (given: () => void) => {
      onInstant = given;
      return new Promise((resolve) => (give = resolve));
    },
  } as unknown as Room;
  const feed = new RoomFeed(room, {
    client: {} as Client,
    fanOut: {
      openLine: () => ({
        tell: (type, payload) => void told.push({ type, payload }),
        close: () => void undone.push("line"),
      }),
    },
    observers: {
      observe: (options) => {
        if (options.batch !== undefined) throw new Error("a feed takes no batches");
        consumer = options;
        return { id: options.id, dispose: () => void undone.push("consumer") } as never;
      },
    },
    options: { id: "sub-1", kinds: ["tool.started", "turn.settled"], payload: "standard", grants: [] },
  });
  return {
    ...{ feed, told, head, undone },
    change: (change) => listener(change),
    activity: (event) => consumer?.handler(event),
    watching: () => watching(),
    taken: (snapshot) => {
      onInstant();
      give(snapshot);
    },
    consumer: () => consumer,
  };
}

/** A feed that is open behind a snapshot. */
export async function openFeed(latest_seq = 0, attempts: readonly AttemptSnapshot[] = []): Promise<FakeFeed> {
  const fake = fakeFeed();
  const beginning = fake.feed.begin();
  fake.watching();
  await turn();
  fake.taken(snapshotAt(latest_seq, attempts));
  fake.feed.open(await beginning);
  return fake;
}

export function snapshotAt(latest_seq: number, attempts: readonly AttemptSnapshot[] = []): RoomSnapshot {
  return { log: { latest_seq, log_hash: "" }, attempts } as unknown as RoomSnapshot;
}

export const rowChange = (row: LogRow): RoomChange => ({ type: "room.log", row });

export function memberChange(state: string): RoomChange {
  return { type: "room.member", member: { member_id: "m-a", state } } as unknown as RoomChange;
}

/** Lets what promises have made ready run. */
export async function turn(): Promise<void> {
  for (let step = 0; step < 20; step++) await Promise.resolve();
}
