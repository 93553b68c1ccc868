import { limits, RoomtapError } from "../../core/index.ts";
import { canonicalJson, digest } from "../canonical-json.ts";
import { messageId } from "../ids.ts";
import type { AcceptResult, InboxRow, NewPost } from "../log.ts";
import { hasRoomForTurn, type Quota } from "./quota.ts";
import type { Tables } from "./tables.ts";

export interface PreparedPost {
  readonly post: NewPost;
  readonly bodyDigest: string;
  /** What the post counts in the inbox: text, attachments and author in UTF-8. */
  readonly bytes: number;
}

/** What a row holds besides one post in full, ids and digests above all, takes less than this. */
const reservedRowBytes = 16_384;

/**
 * Takes the post as it is now.
 * @throws RoomtapError `invalid_params` when a text of it is no Unicode, `text_too_large` when it holds so many control
 * characters, which JSON writes as six, that no row could ever carry it
 */
export function preparePost(given: NewPost): PreparedPost {
  const post: NewPost = JSON.parse(JSON.stringify(given));
  const rowBytes = Buffer.byteLength(canonicalJson(post)) + reservedRowBytes;
  if (rowBytes > limits.maxRowBytes) {
    throw new RoomtapError("text_too_large", `the post would take ${rowBytes} bytes of a row of ${limits.maxRowBytes}`);
  }
  const { thread_id, text, attachments, author } = post;
  const bodyDigest = digest({ thread_id, text, attachments });
  const bytes = [text, ...attachments, JSON.stringify(author)].reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  return { post, bodyDigest, bytes };
}

/** Decides and carries out one post inside a transaction. Each refusal comes before the first write. */
export function acceptPost(
  tables: Tables,
  { post, bodyDigest, bytes }: PreparedPost,
  options: { readonly quota: Quota; readonly now: number },
): AcceptResult {
  const room = tables.rooms.state(post.room_id);
  if (room === undefined) return { status: "unknown_room", message: `there is no room ${post.room_id}` };
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
  if (room.inbox_posts >= limits.maxInboxRows || room.inbox_bytes + bytes > limits.maxInboxBytes) {
    const message = `the inbox of room ${post.room_id} holds ${room.inbox_posts} posts, ${room.inbox_bytes} bytes`;
    return { status: "inbox_full", message };
  }
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
  tables.rooms.addToRoom(post.room_id, { numbers: 1, log_bytes: 0, open_turns: 0, inbox_posts: 1, inbox_bytes: bytes });
  return { status: "accepted", post: accepted };
}
