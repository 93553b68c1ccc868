import { limits } from "../../core/index.ts";
import type { InboxDelta } from "./inbox-table.ts";
import type { RoomState } from "./rooms-table.ts";
import type { Tables } from "./tables.ts";

/**
 * Posts that wait for their turns, together with retries, and posts that nobody is owed are bounded apart: so what nobody
 * answers keeps nobody from posting to a member, whose turn then carries it away.
 */
const { maxInboxRows, maxInboxBytes } = limits;

/** Posts that nobody is owed: what was accepted as such, and what a stop adds to it. */
const maxClosedRows = 2 * maxInboxRows;
const maxClosedBytes = 2 * maxInboxBytes;

/**
 * Why a post is refused, and what can be done; undefined when there is room for it.
 * @param post `bytes` as the inbox counts it; `owed`: it addresses somebody
 */
export function inboxFull(
  roomId: string,
  room: RoomState,
  post: { readonly owed: readonly string[]; readonly bytes: number },
): string | undefined {
  const { closed_posts, closed_bytes } = room;
  if (post.owed.length > 0) {
    if (!isWaitingFull(room) && room.inbox_bytes - closed_bytes + post.bytes <= maxInboxBytes) return undefined;
    return `${waitingText(roomId, room)}: wait until some have started, or stop the room`;
  }
  if (closed_posts < maxInboxRows && closed_bytes + post.bytes <= maxInboxBytes) return undefined;
  const kept = `room ${roomId} keeps ${closed_posts} posts that address nobody (${closed_bytes} bytes)`;
  return `${kept}: address a member in their thread, whose turn carries them`;
}

/** Why a retry is refused; undefined when there is room for it. */
export function retriesFull(roomId: string, room: RoomState): string | undefined {
  return isWaitingFull(room) ? `${waitingText(roomId, room)}: wait until some have started` : undefined;
}

/**
 * Counts what became of the inbox. A stop closes all that waits: of the posts that nobody is owed then, the oldest beyond
 * twice the bound are forgotten.
 */
export function countInbox(tables: Tables, roomId: string, change: InboxDelta): void {
  const add = (delta: InboxDelta): void =>
    tables.rooms.addToRoom(roomId, { ...delta, numbers: 0, rows: 0, log_bytes: 0, open_turns: 0 });
  add(change);
  const room = tables.rooms.state(roomId);
  if (room === undefined || (room.closed_posts <= maxClosedRows && room.closed_bytes <= maxClosedBytes)) return;
  add(tables.inbox.trimClosed(roomId, maxClosedRows, maxClosedBytes));
}

function isWaitingFull({ inbox_posts, closed_posts }: RoomState): boolean {
  return inbox_posts - closed_posts >= maxInboxRows;
}

function waitingText(roomId: string, room: RoomState): string {
  const [posts, bytes] = [room.inbox_posts - room.closed_posts, room.inbox_bytes - room.closed_bytes];
  return `${posts} posts and retries of room ${roomId} wait for their turns (${bytes} bytes)`;
}
