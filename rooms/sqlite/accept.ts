import { limits, RoomtapError } from "../../core/index.ts";
import { canonicalJson, digest } from "../canonical-json.ts";
import { messageId } from "../ids.ts";
import type { AcceptResult, InboxRow, NewPost } from "../inbox-row.ts";
import { disbanded } from "./fence.ts";
import { inboxFull } from "./inbox-bound.ts";
import { hasRoomForTurn, type Quota } from "./quota.ts";
import type { Tables } from "./tables.ts";

export interface PreparedPost {
  readonly post: NewPost;
  readonly bodyDigest: string;
  /** As `inboxBytes` counts it. */
  readonly bytes: number;
}

/**
 * Takes the post as it is now.
 * @throws RoomtapError `invalid_params` when a text of it is no Unicode, `text_too_large` when it holds so many control
 * characters, which JSON writes as six, that no row could ever carry it
 */
export function preparePost(given: NewPost): PreparedPost {
  const post: NewPost = JSON.parse(JSON.stringify(given));
  const rowBytes = Buffer.byteLength(canonicalJson(post)) + limits.reservedRowBytes;
  if (rowBytes > limits.maxRowBytes) {
    throw new RoomtapError("text_too_large", `the post would take ${rowBytes} bytes of a row of ${limits.maxRowBytes}`);
  }
  return { post, bodyDigest: bodyDigest(post), bytes: inboxBytes(post) };
}

/** What tells a post that is repeated from another one with the same event id. */
export function bodyDigest({
  thread_id,
  text,
  attachments,
}: Pick<NewPost, "thread_id" | "text" | "attachments">): string {
  return digest({ thread_id, text, attachments });
}

/** What a post counts in the inbox: text, attachments and author in UTF-8. */
export function inboxBytes({ text, attachments, author }: Pick<NewPost, "text" | "attachments" | "author">): number {
  return [text, ...attachments, JSON.stringify(author)].reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

/** Decides and carries out one post inside a transaction. Each refusal comes before the first write. */
export function acceptPost(
  tables: Tables,
  { post, bodyDigest, bytes }: PreparedPost,
  options: { readonly quota: Quota; readonly now: number },
): AcceptResult {
  const room = tables.rooms.state(post.room_id);
  if (room === undefined) return { status: "unknown_room", message: `there is no room ${post.room_id}` };
  if (room.disbanded_at !== null) return disbanded(post.room_id);
  const receipt = post.message_id === null ? undefined : tables.inbox.receipt(post.room_id, post.message_id);
  if (receipt !== undefined && post.message_id !== null) {
    if (receipt.body_digest === bodyDigest) return { status: "duplicate", message_id: post.message_id };
    const message = `message ${post.message_id} was accepted before with another text, thread or attachments`;
    return { status: "idempotency_conflict", message };
  }
  const head = tables.log.head(post.room_id);
  const usage = { rows: head.seq, bytes: room.log_bytes, openTurns: room.open_turns };
  if (!hasRoomForTurn(usage, options.quota)) {
    return { status: "room_full", message: `room ${post.room_id} has no place for another turn` };
  }
  const full = inboxFull(post.room_id, room, { owed: post.owed, bytes });
  if (full !== undefined) return { status: "inbox_full", message: full };
  const number = room.next_number;
  const accepted: InboxRow = {
    ...post,
    message_id: post.message_id ?? messageId(post.room_id, { number }),
    number,
    row_seq: null,
    after_seq: head.seq,
    accepted_at: options.now,
  };
  tables.inbox.insertPost(accepted, bytes);
  tables.inbox.insertReceipt(accepted, bodyDigest);
  const closed =
    post.owed.length === 0 ? { closed_posts: 1, closed_bytes: bytes } : { closed_posts: 0, closed_bytes: 0 };
  const added = { inbox_posts: 1, inbox_bytes: bytes, ...closed };
  tables.rooms.addToRoom(post.room_id, { numbers: 1, rows: 0, log_bytes: 0, open_turns: 0, ...added });
  return { status: "accepted", post: accepted };
}
