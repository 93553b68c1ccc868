import { digest } from "./canonical-json.ts";
import type { RowKind } from "./log-row.ts";

/** What a turn is a digest of: who answers, where, at which place of which discussion, having seen what. */
export interface TurnIdParts {
  readonly room_id: string;
  readonly thread_id: string;
  readonly member_id: string;
  /** Message id of the post that opened the discussion. */
  readonly discussion: string;
  readonly round: number;
  readonly slot: number;
  readonly seen_through_seq: number;
}

/**
 * `msg-` and 32 hex. With an event id of the caller's the same post has the same id however often it is sent;
 * without one, its number in the room's inbox tells it apart.
 */
export function messageId(
  roomId: string,
  source: { readonly author_id: string; readonly event_id: string } | { readonly number: number },
): string {
  return "number" in source
    ? idOf("msg", ["message_id", roomId, source.number])
    : idOf("msg", ["message_id", roomId, source.author_id, source.event_id]);
}

/** `t-` and 32 hex. Stays the same over the attempts of its task. */
export function turnId(parts: TurnIdParts): string {
  const { room_id, thread_id, member_id, discussion, round, slot, seen_through_seq } = parts;
  return idOf("t", ["turn_id", room_id, thread_id, member_id, discussion, round, slot, seen_through_seq]);
}

/** `k-` and 32 hex. `messageIds` are those of the turn's input, in its order. */
export function taskId(turn: string, messageIds: readonly string[], rosterDigest: string): string {
  return idOf("k", ["task_id", turn, messageIds, rosterDigest]);
}

/** `e-` and 32 hex: one per kind and attempt, so a row that is appended twice is found out. */
export function eventId(roomId: string, kind: RowKind, task: string, generation: number): string {
  return idOf("e", ["event_id", roomId, kind, task, generation]);
}

/** `s-` and 32 hex: durable id of the hidden session a member has in a thread. Threads never share one. */
export function sessionId(roomId: string, threadId: string, memberId: string): string {
  return idOf("s", ["session_id", roomId, threadId, memberId]);
}

function idOf(prefix: string, parts: readonly unknown[]): string {
  return `${prefix}-${digest(parts).slice(0, 32)}`;
}
