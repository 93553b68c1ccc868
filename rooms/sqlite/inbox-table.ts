import { z } from "zod";
import { limits } from "../../core/index.ts";
import type { InboxRow } from "../inbox-row.ts";
import { authorSchema } from "../log-row.ts";
import type { SqliteDatabase } from "./database.ts";
import { parseStored } from "./stored-json.ts";

export interface Receipt {
  readonly body_digest: string;
}

/** A change of a room's counters of what waits; each may be negative. */
export interface InboxDelta {
  /** Posts and retries. */
  readonly inbox_posts: number;
  readonly inbox_bytes: number;
  /** Of those, posts that nobody is owed: they wait to be carried as context. */
  readonly closed_posts: number;
  readonly closed_bytes: number;
}

/** Nothing changed. */
export const noDelta: InboxDelta = { inbox_posts: 0, inbox_bytes: 0, closed_posts: 0, closed_bytes: 0 };

const textsSchema = z.array(z.string());

type RawPost = [
  room_id: string,
  number: number,
  message_id: string,
  thread_id: string,
  author: string,
  origin: string | null,
  text: string,
  attachments: string,
  owed: string,
  named: string,
  row_seq: number | null,
  after_seq: number,
  accepted_at: number,
];

const postColumns =
  "room_id, number, message_id, thread_id, author, origin, text, attachments, owed, named, row_seq, after_seq, accepted_at";

// A receipt is kept while its post stands in the inbox, however old it is; a few old ones go with each new post.
const expireReceipts = `
  DELETE FROM receipts WHERE room_id = @room_id AND accepted_at < @before AND number IN (
    SELECT number FROM receipts WHERE room_id = @room_id ORDER BY number LIMIT 16
  ) AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.room_id = receipts.room_id AND inbox.number = receipts.number)`;
const trimReceipts = `
  DELETE FROM receipts WHERE room_id = @room_id AND number <= @number
  AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.room_id = receipts.room_id AND inbox.number = receipts.number)`;

/** Statements over the inbox and its receipts. Each is synchronous; the caller holds the transaction. */
export class InboxTable {
  readonly #posts;
  readonly #post;
  readonly #insertPost;
  readonly #updatePost;
  readonly #deletePost;
  readonly #closed;
  readonly #receipt;
  readonly #insertReceipt;
  readonly #expireReceipts;
  readonly #trimReceipts;

  constructor(database: SqliteDatabase) {
    this.#posts = database
      .prepare<[string], RawPost>(`SELECT ${postColumns} FROM inbox WHERE room_id = ? ORDER BY number`)
      .raw();
    this.#post = database
      .prepare<[string, string], RawPost>(`SELECT ${postColumns} FROM inbox WHERE room_id = ? AND message_id = ?`)
      .raw();
    this.#insertPost = database.prepare<[...RawPost, number]>(
      `INSERT INTO inbox (${postColumns}, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#updatePost = database
      .prepare<[string, number | null, string, number], number>(
        "UPDATE inbox SET owed = ?, row_seq = ? WHERE room_id = ? AND number = ? RETURNING bytes",
      )
      .pluck();
    this.#deletePost = database
      .prepare<[string, number], number>("DELETE FROM inbox WHERE room_id = ? AND number = ? RETURNING bytes")
      .pluck();
    this.#closed = database
      .prepare<[string], [number: number, bytes: number]>(
        "SELECT number, bytes FROM inbox WHERE room_id = ? AND owed = '[]' ORDER BY number",
      )
      .raw();
    this.#receipt = database.prepare<[string, string], Receipt>(
      "SELECT body_digest FROM receipts WHERE room_id = ? AND message_id = ?",
    );
    this.#insertReceipt = database.prepare<[string, number, string, string, number]>(
      "INSERT INTO receipts (room_id, number, message_id, body_digest, accepted_at) VALUES (?, ?, ?, ?, ?)",
    );
    this.#expireReceipts = database.prepare<[{ room_id: string; before: number }]>(expireReceipts);
    this.#trimReceipts = database.prepare<[{ room_id: string; number: number }]>(trimReceipts);
  }

  /** By number. */
  posts(roomId: string): InboxRow[] {
    return this.#posts.all(roomId).map(parsePost);
  }

  post(roomId: string, messageId: string): InboxRow | undefined {
    const raw = this.#post.get(roomId, messageId);
    return raw && parsePost(raw);
  }

  insertPost(post: InboxRow, bytes: number): void {
    this.#insertPost.run(
      post.room_id,
      post.number,
      post.message_id,
      post.thread_id,
      JSON.stringify(post.author),
      post.origin,
      post.text,
      JSON.stringify(post.attachments),
      JSON.stringify(post.owed),
      JSON.stringify(post.named),
      post.row_seq,
      post.after_seq,
      post.accepted_at,
      bytes,
    );
  }

  /**
   * The post is owed to `owed` from now on. It leaves when that is nobody and a row carries it.
   * @param rowSeq of the row that carries it now, if one does
   */
  setOwed(post: InboxRow, owed: readonly string[], rowSeq: number | null): InboxDelta {
    const row_seq = post.row_seq ?? rowSeq;
    const wasClosed = post.owed.length === 0;
    if (owed.length === 0 && row_seq !== null) {
      const bytes = this.#deletePost.get(post.room_id, post.number) ?? 0;
      const left = { inbox_posts: -1, inbox_bytes: -bytes };
      return wasClosed ? { ...left, closed_posts: -1, closed_bytes: -bytes } : { ...noDelta, ...left };
    }
    const bytes = this.#updatePost.get(JSON.stringify(owed), row_seq, post.room_id, post.number) ?? 0;
    return owed.length === 0 && !wasClosed ? { ...noDelta, closed_posts: 1, closed_bytes: bytes } : noDelta;
  }

  /** Forgets the oldest posts that nobody is owed, until at most `maxPosts` and `maxBytes` of them are left. */
  trimClosed(roomId: string, maxPosts: number, maxBytes: number): InboxDelta {
    const closed = this.#closed.all(roomId);
    let posts = closed.length;
    let bytes = closed.reduce((total, post) => total + post[1], 0);
    let left = noDelta;
    for (const [number, size] of closed) {
      if (posts <= maxPosts && bytes <= maxBytes) break;
      this.#deletePost.get(roomId, number);
      posts -= 1;
      bytes -= size;
      left = sum(left, { inbox_posts: -1, inbox_bytes: -size, closed_posts: -1, closed_bytes: -size });
    }
    return left;
  }

  /** Takes members off every post of the room: those that `isReleased` names. */
  release(roomId: string, isReleased: (memberId: string) => boolean): InboxDelta {
    let left = noDelta;
    for (const post of this.posts(roomId)) {
      const owed = post.owed.filter((memberId) => !isReleased(memberId));
      if (owed.length < post.owed.length) left = sum(left, this.setOwed(post, owed, null));
    }
    return left;
  }

  receipt(roomId: string, messageId: string): Receipt | undefined {
    return this.#receipt.get(roomId, messageId);
  }

  /** Keeps the newest `maxReceiptsPerRoom`, none older than `receiptMs`. */
  insertReceipt(post: InboxRow, bodyDigest: string): void {
    this.#insertReceipt.run(post.room_id, post.number, post.message_id, bodyDigest, post.accepted_at);
    const { room_id } = post;
    this.#expireReceipts.run({ room_id, before: post.accepted_at - limits.receiptMs });
    this.#trimReceipts.run({ room_id, number: post.number - limits.maxReceiptsPerRoom });
  }
}

export function sum(one: InboxDelta, other: InboxDelta): InboxDelta {
  return {
    inbox_posts: one.inbox_posts + other.inbox_posts,
    inbox_bytes: one.inbox_bytes + other.inbox_bytes,
    closed_posts: one.closed_posts + other.closed_posts,
    closed_bytes: one.closed_bytes + other.closed_bytes,
  };
}

function parsePost(raw: RawPost): InboxRow {
  const what = `post ${raw[1]} in the inbox of room ${raw[0]}`;
  return {
    room_id: raw[0],
    number: raw[1],
    message_id: raw[2],
    thread_id: raw[3],
    author: parseStored(authorSchema, raw[4], what),
    origin: raw[5],
    text: raw[6],
    attachments: parseStored(textsSchema, raw[7], what),
    owed: parseStored(textsSchema, raw[8], what),
    named: parseStored(textsSchema, raw[9], what),
    row_seq: raw[10],
    after_seq: raw[11],
    accepted_at: raw[12],
  };
}
