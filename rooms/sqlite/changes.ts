import type { RetryRow } from "../inbox-row.ts";
import type { Fenced, LeaseLost } from "../lease-row.ts";
import type { ChangeRefused, Refused, RoomLog } from "../log.ts";
import type { StoredCheckpoint } from "../room-reader.ts";
import { fencedRoom, holdsLease, leaseLost } from "./fence.ts";
import { countInbox, retriesFull } from "./inbox-bound.ts";
import { noDelta, sum } from "./inbox-table.ts";
import type { Tables } from "./tables.ts";

// Each decides and carries out one change inside a transaction. Each refusal comes before the first write.

/** What a change of the log resolves to. */
type Result<Change extends keyof RoomLog> = RoomLog[Change] extends (...given: never[]) => Promise<infer Value>
  ? Value
  : never;

export function stopRoom(
  tables: Tables,
  stop: Fenced & { readonly cancel_id: string | null; readonly cancelled: number },
): Result<"stop"> {
  const { room, refusal } = fencedRoom(tables, stop);
  if (refusal !== undefined) return refusal;
  const { room_id, cancel_id, cancelled } = stop;
  const first = cancel_id === null ? undefined : tables.stops.answer(room_id, cancel_id);
  if (first !== undefined) {
    const fence = { post_number: first.post_number, seq: first.seq };
    return { status: "repeated", fence, cancelled: first.cancelled };
  }
  const fence = { post_number: room.next_number - 1, seq: tables.log.head(room_id).seq };
  tables.rooms.setStop(room_id, fence);
  forgetWhatWaits(tables, room_id);
  if (cancel_id !== null) tables.stops.insert(room_id, cancel_id, { ...fence, cancelled });
  return { status: "stopped", fence, cancelled };
}

export function closePost(tables: Tables, given: Fenced & { readonly message_id: string }): Result<"closePost"> {
  const { refusal } = fencedRoom(tables, given);
  if (refusal !== undefined) return refusal;
  const post = tables.inbox.post(given.room_id, given.message_id);
  if (post === undefined || post.owed.length === 0) return { status: "unknown_message" };
  countInbox(tables, given.room_id, tables.inbox.setOwed(post, [], null));
  return { status: "closed" };
}

export function setPaused(
  tables: Tables,
  pause: Fenced & { readonly member_ids: readonly string[]; readonly paused: boolean },
): Result<"setPaused"> {
  const { refusal } = fencedRoom(tables, pause);
  if (refusal !== undefined) return refusal;
  const present = tables.rooms.room(pause.room_id);
  const before = present?.paused ?? [];
  const named = new Set(pause.member_ids);
  const members = new Set(present?.members.map(({ member_id }) => member_id));
  const after = pause.paused
    ? [...new Set([...before, ...named])].filter((memberId) => members.has(memberId))
    : before.filter((memberId) => !named.has(memberId));
  const paused = after.toSorted();
  tables.rooms.setPaused(pause.room_id, paused);
  return { status: "set", paused };
}

export function putRetry(
  tables: Tables,
  retry: RetryRow & { readonly lease_generation: number },
): { readonly status: "stored" } | Refused<"inbox_full"> | ChangeRefused {
  const { room, refusal } = fencedRoom(tables, retry);
  if (refusal !== undefined) return refusal;
  const { room_id } = retry;
  const isThere = tables.waiting.retries(room_id).some(({ task_id }) => task_id === retry.task_id);
  const full = isThere ? undefined : retriesFull(room_id, room);
  if (full !== undefined) return { status: "inbox_full", message: full };
  tables.waiting.putRetry(retry);
  if (!isThere) countInbox(tables, room_id, { ...noDelta, inbox_posts: 1 });
  return { status: "stored" };
}

export function disbandRoom(tables: Tables, fenced: Fenced, now: number): Result<"disband"> {
  const { room_id } = fenced;
  const room = tables.rooms.state(room_id);
  if (room !== undefined && room.disbanded_at !== null) return { status: "repeated", disbanded_at: room.disbanded_at };
  if (room === undefined || !holdsLease(room, fenced)) return leaseLost(room, fenced);
  tables.rooms.setDisbanded(room_id, now);
  forgetWhatWaits(tables, room_id);
  return { status: "disbanded", disbanded_at: now };
}

/** Also for a disbanded room: the cache helps who reads its log. */
export function putCheckpoint(
  tables: Tables,
  checkpoint: StoredCheckpoint & Fenced,
): { readonly status: "stored" } | LeaseLost {
  const { room_id } = checkpoint;
  const room = tables.rooms.state(room_id);
  if (room === undefined || !holdsLease(room, checkpoint)) return leaseLost(room, checkpoint);
  const present = tables.checkpoints.checkpoint(room_id);
  // One of another format, or ahead of the log, is of no use to anybody, however late its row.
  const isLater =
    present?.version === checkpoint.version &&
    present.through_seq > checkpoint.through_seq &&
    present.through_seq <= tables.log.head(room_id).seq;
  if (!isLater) tables.checkpoints.put(room_id, checkpoint);
  return { status: "stored" };
}

/** No post is owed to anybody any more, no retry and no due time is left. Posts that no row carries stay as context. */
function forgetWhatWaits(tables: Tables, roomId: string): void {
  const posts = tables.inbox.release(roomId, () => true);
  const retries = tables.waiting.clear(roomId);
  countInbox(tables, roomId, sum(posts, { ...noDelta, inbox_posts: -retries }));
}
