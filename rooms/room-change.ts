import type { Author, MemberEntry } from "../core/index.ts";
import type { InboxRow } from "./inbox-row.ts";
import type { LogRow } from "./log-row.ts";

/** A post, as those who watch a room are told of it. */
export interface RoomMessage {
  readonly room_id: string;
  readonly message_id: string;
  readonly thread_id: string;
  readonly author: Author;
  /** Without secrets. */
  readonly text: string;
  /** Wall ms: when it was accepted; of a post that was not seen before its turn, when that started. */
  readonly at: number;
  /**
   * `queued`: somebody is to answer it. `closed`: nobody will; it is context of its thread's next turn. `started`: all
   * that were to answer it have started, and it left the inbox.
   */
  readonly state: "queued" | "started" | "closed";
}

/** What happened in a room, named as clients are told of it. */
export type RoomChange =
  | { readonly type: "room.message"; readonly message: RoomMessage }
  /** The next row of the log, none left out; secrets are masked in its payload. */
  | { readonly type: "room.log"; readonly row: LogRow }
  /** The entry of a member that is not as it was. */
  | { readonly type: "room.member"; readonly member: MemberEntry };

/** A post that stands in the inbox. */
export function messageOfPost(post: InboxRow, state: RoomMessage["state"] = standing(post)): RoomMessage {
  const { room_id, message_id, thread_id, author, text, accepted_at: at } = post;
  return { room_id, message_id, thread_id, author, text, at, state };
}

/** The posts that a row holds in full: each post stands so in one row, that of the first turn that it was shown to. */
export function messagesOfRow(row: LogRow): readonly RoomMessage[] {
  if (row.kind !== "turn.started") return [];
  const { room_id, thread_id, created_at: at } = row;
  return row.payload.input.flatMap((item) => {
    if (!("text" in item)) return [];
    const { message_id, author, text } = item;
    return { room_id, message_id, thread_id, author, text, at, state: "started" };
  });
}

/**
 * What is to be told of posts, each at each change of its state. A closed one that leaves the inbox changes nothing for
 * anybody. Pure.
 * @param before the inbox as it was told last, by message id
 * @param carried posts of the rows since then
 */
export function changedMessages(
  before: ReadonlyMap<string, InboxRow>,
  now: ReadonlyMap<string, InboxRow>,
  carried: readonly RoomMessage[],
): readonly RoomMessage[] {
  const left = [...before.values()].filter((post) => !now.has(post.message_id) && standing(post) === "queued");
  // Accepted and answered since: nobody saw it wait.
  const unseen = carried.filter(({ message_id }) => !before.has(message_id) && !now.has(message_id));
  const present = [...now.values()].filter((post) => {
    const previous = before.get(post.message_id);
    return previous === undefined || standing(previous) !== standing(post);
  });
  return [
    ...left.map((post) => messageOfPost(post, "started")),
    ...unseen,
    ...present.map((post) => messageOfPost(post)),
  ];
}

function standing({ owed }: InboxRow): "queued" | "closed" {
  return owed.length > 0 ? "queued" : "closed";
}
