import { z } from "zod";
import { idSchema, limits, RoomtapError, utf8Length, type Author } from "../core/index.ts";
import { messageId } from "./ids.ts";
import type { NewPost } from "./inbox-row.ts";
import type { RoomRecord } from "./room-record.ts";
import { parseMentions } from "./mentions.ts";
import { displayNameSchema } from "./roster.ts";

/** What somebody writes to a room. */
export interface PostInput {
  /** At most 64 KiB of UTF-8. Half surrogate pairs become U+FFFD. */
  readonly text: string;
  /** Default `main`. A thread is there because posts name it. */
  readonly thread_id?: string | undefined;
  /** Default the person `local`. */
  readonly author?: Author | undefined;
  /** Who caused it, as turns are to carry it; default null. */
  readonly origin?: string | null | undefined;
  /** The caller's own id of the event: posted again, it is the same message. */
  readonly event_id?: string | undefined;
  /** References, at most 16 of 1 KiB each. */
  readonly attachments?: readonly string[] | undefined;
}

/** Said only when the post is durable. */
export interface PostReceipt {
  readonly room_id: string;
  readonly thread_id: string;
  readonly message_id: string;
  /** Members that will answer, in roster order. */
  readonly addressed: readonly string[];
  /** Words behind `@` that name nobody. */
  readonly unresolved: readonly string[];
  /** The same event id came before: nothing was stored, nothing starts anew. */
  readonly duplicate: boolean;
  /**
   * A turn of somebody whom it addresses is durable: its runner is being called. False when a turn has to wait (for a
   * place, another turn, a resume, a host elsewhere), and for a post that came before.
   */
  readonly starts: boolean;
}

const postSchema = z.strictObject({
  text: z.string(),
  thread_id: idSchema.default("main"),
  author: z
    .strictObject({ kind: z.enum(["person", "agent"]), id: idSchema, display_name: displayNameSchema.optional() })
    .default({ kind: "person", id: "local" }),
  origin: z.string().max(128).nullable().default(null),
  event_id: idSchema.optional(),
  attachments: z.array(z.string()).default([]),
});

/**
 * Checks a post and finds whom it addresses.
 * @throws RoomtapError `invalid_params` that names the field, `text_too_large`
 */
export function preparePostInput(input: PostInput, room: RoomRecord): { post: NewPost; unresolved: readonly string[] } {
  const parsed = postSchema.safeParse(input);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const field = issue?.path.join(".") ?? "";
    throw new RoomtapError(
      "invalid_params",
      `post${field === "" ? "" : `.${field}`}: ${issue?.message ?? "is not valid"}`,
    );
  }
  const { thread_id, author, origin, event_id } = parsed.data;
  const text = parsed.data.text.toWellFormed();
  const attachments = parsed.data.attachments.map((reference) => reference.toWellFormed());
  checkSize(text, attachments);
  const { addressed, named, unresolved } = parseMentions(text, room.members);
  const message_id = event_id === undefined ? null : messageId(room.room_id, { author_id: author.id, event_id });
  const post = {
    room_id: room.room_id,
    message_id,
    thread_id,
    author,
    origin,
    text,
    attachments,
    owed: addressed,
    named,
  };
  return { post, unresolved };
}

function checkSize(text: string, attachments: readonly string[]): void {
  const bytes = utf8Length(text);
  if (bytes > limits.maxPostBytes) {
    throw new RoomtapError("text_too_large", `a post has at most ${limits.maxPostBytes} bytes of text, got ${bytes}`);
  }
  if (attachments.length > limits.maxAttachments) {
    throw new RoomtapError(
      "text_too_large",
      `a post has at most ${limits.maxAttachments} attachments, got ${attachments.length}`,
    );
  }
  const long = attachments.findIndex((reference) => utf8Length(reference) > limits.maxAttachmentBytes);
  if (long >= 0) {
    throw new RoomtapError(
      "text_too_large",
      `attachment ${long + 1}: a reference has at most ${limits.maxAttachmentBytes} bytes`,
    );
  }
  // Control characters take six bytes each in a row.
  const rowBytes = utf8Length(JSON.stringify({ text, attachments }));
  if (rowBytes > limits.maxRowBytes - limits.reservedRowBytes) {
    throw new RoomtapError("text_too_large", `a post has at most ${limits.maxRowBytes} bytes as JSON, got ${rowBytes}`);
  }
}
