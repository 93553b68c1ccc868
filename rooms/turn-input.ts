import { limits, utf8Length, type InputItem } from "../core/index.ts";
import type { SeenThread, ThreadState } from "./fold-state.ts";
import type { InboxChange, InboxRow } from "./inbox-row.ts";

/** Whose turn it is to be, in which thread, and what is known of both. */
export interface TurnInputSource {
  readonly member_id: string;
  /** The thread's posts in the inbox, by number. */
  readonly posts: readonly InboxRow[];
  readonly thread: ThreadState | undefined;
  /** What the member was shown of the thread; undefined when it had no turn there. */
  readonly seen: SeenThread | undefined;
}

/** What a turn shows its member, and what that takes from the inbox. */
export interface TurnInput {
  /** In the order of the log; behind it, by number, the posts that no row holds yet. */
  readonly items: readonly InputItem[];
  readonly seen_through_seq: number;
  /** The posts of the inbox among them, by number. */
  readonly posts: readonly InboxRow[];
  readonly inbox: readonly InboxChange[];
}

interface Candidate {
  readonly item: InputItem;
  /** The row that holds it; null when this turn's row will be the first. */
  readonly row: number | null;
  readonly post: InboxRow | undefined;
}

/**
 * All of the thread that the member was not shown: posts, addressed to it or not, and answers of others that completed.
 * Bounded so that the row stays below `maxRowBytes`: the oldest that fit, at least one; what is left out stays owed.
 */
export function turnInput(source: TurnInputSource): TurnInput {
  const referenced = heldByRows(source);
  const candidates = [...referenced, ...inFull(source.posts)];
  const taken = candidates.slice(0, countThatFits(candidates));
  const posts = taken.flatMap(({ post }) => post ?? []);
  return {
    items: taken.map(({ item }) => item),
    seen_through_seq: seenThrough(source, taken, taken.length >= referenced.length),
    posts,
    inbox: posts
      .filter((post) => post.row_seq === null || post.owed.includes(source.member_id))
      .map(({ message_id }) => ({ message_id, member_id: source.member_id })),
  };
}

function heldByRows({ member_id, posts, thread, seen }: TurnInputSource): readonly Candidate[] {
  const held = new Map(posts.filter((post) => post.row_seq !== null).map((post) => [post.message_id, post]));
  const candidates: Candidate[] = [];
  for (const shown of thread?.transcript ?? []) {
    // The member knows its own answers, and what its own starts held.
    const isNew = shown.row > (seen?.seen_through_seq ?? 0) && shown.member_id !== member_id;
    if (shown.posts.length === 0 && isNew) {
      candidates.push({ item: { row_seq: shown.row }, row: shown.row, post: undefined });
    }
    for (const message_id of shown.posts) {
      const post = held.get(message_id);
      held.delete(message_id);
      if (!isNew && post?.owed.includes(member_id) !== true) continue;
      candidates.push({ item: { message_id, row_seq: shown.row }, row: shown.row, post });
    }
  }
  for (const post of held.values()) {
    // Its row is older than what the transcript keeps.
    if (post.row_seq === null || !post.owed.includes(member_id)) continue;
    candidates.push({ item: { message_id: post.message_id, row_seq: post.row_seq }, row: post.row_seq, post });
  }
  return candidates.sort((a, b) => (a.row ?? 0) - (b.row ?? 0));
}

function inFull(posts: readonly InboxRow[]): readonly Candidate[] {
  return posts.filter((post) => post.row_seq === null).map((post) => ({ item: itemInFull(post), row: null, post }));
}

function itemInFull({ message_id, author, text, attachments }: InboxRow): InputItem {
  const { kind, id, display_name } = author;
  return {
    message_id,
    author: display_name === undefined ? { kind, id } : { kind, id, display_name },
    text,
    ...(attachments.length === 0 ? {} : { attachments }),
  };
}

function countThatFits(candidates: readonly Candidate[]): number {
  let bytes: number = limits.reservedRowBytes;
  for (const [index, { item }] of candidates.entries()) {
    bytes += utf8Length(JSON.stringify(item)) + 1;
    if (bytes > limits.maxRowBytes) return Math.max(index, 1);
  }
  return candidates.length;
}

/** The last row of the thread that the member knows once it was shown this. */
function seenThrough({ thread, seen }: TurnInputSource, taken: readonly Candidate[], isAll: boolean): number {
  const last = isAll ? thread?.transcript.at(-1)?.row : taken.at(-1)?.row;
  return Math.max(seen?.seen_through_seq ?? 0, last ?? 0);
}
