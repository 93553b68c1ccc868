import type { ReasonCode, TurnStarted, TurnStatus } from "../core/index.ts";

/** What the log says, folded: data without times or hashes, of equal digest wherever the same rows were folded. */
export interface FoldState {
  readonly room_id: string;
  /** The last row that is in here; 0 for an empty log. */
  readonly through_seq: number;
  /** By thread id (UTF-16 units). At most 256; the one with the oldest last row and nothing open goes first. */
  readonly threads: readonly ThreadState[];
  /** By member id. At most 256; the one with the oldest last row and nothing open goes first. */
  readonly members: readonly MemberState[];
  /** In the order in which their last attempts started. All open ones and the 256 that settled last. */
  readonly tasks: readonly TaskState[];
}

/** A line of talk, as far as the log has it. */
export interface ThreadState {
  readonly thread_id: string;
  readonly last_row: number;
  readonly discussion: DiscussionState;
  /** The last 24 rows that show a text, oldest first. */
  readonly transcript: readonly ShownRow[];
  /** Turns without a settle, in the order in which they started. */
  readonly open_turns: readonly string[];
}

/** The talk that the newest person's post opened in a thread. */
export interface DiscussionState {
  readonly message_id: string;
  /** The row of its first turn. */
  readonly first_row: number;
  readonly last_row: number;
  /** The present round. Those behind the policy's last one give members that were named one more turn. */
  readonly round: number;
  /** Who had a turn in this round, by the row of its start, oldest first; the last 64. Retries do not count again. */
  readonly turns: readonly MemberRow[];
  /** Turns that completed with a text, over all rounds. */
  readonly completed: number;
  /** The last completed text of each member in it, oldest first; the last 64. */
  readonly spoke: readonly MemberRow[];
  /** Words behind `@` in the post and in completed texts, in order of first appearance; the last 64. */
  readonly named: readonly NamedWord[];
}

/** A member and a row of its own. */
export interface MemberRow {
  readonly member_id: string;
  readonly row: number;
}

/** A word that was named in a discussion. Whether it is a member's handle is the roster's to say. */
export interface NamedWord {
  /** Lower case. */
  readonly word: string;
  /** The first round it counts in: 0 for the post's, else the one behind the round in which it was said. */
  readonly round: number;
  /** The last text of a member that named it; null when only the post did. */
  readonly row: number | null;
}

/** A row that shows a text: a start that holds posts in full, or a completed answer. */
export interface ShownRow {
  readonly row: number;
  /** Whose turn it is: who was shown the posts, or who answered. */
  readonly member_id: string;
  /** Ids of the posts that a start holds in full, its last 24; empty for an answer. */
  readonly posts: readonly string[];
}

/** What a member is doing, was shown, and did last. */
export interface MemberState {
  readonly member_id: string;
  readonly last_row: number;
  readonly open: OpenAttempt | null;
  /** What it was shown, by thread id, of the threads that are kept. */
  readonly seen: readonly SeenThread[];
  readonly last: SettledAttempt | null;
}

/** An attempt that has started and not settled. A member has at most one. */
export interface OpenAttempt {
  readonly thread_id: string;
  readonly turn_id: string;
  readonly task_id: string;
  readonly execution_generation: number;
  readonly started_row: number;
}

/** How far a member knows a thread. */
export interface SeenThread {
  readonly thread_id: string;
  /** The highest of its turns: all rows of the thread up to it were shown. */
  readonly seen_through_seq: number;
  /** Its last start there: what that row holds in full was shown as well. */
  readonly started_row: number;
}

/** The end of a member's last attempt. */
export interface SettledAttempt {
  readonly turn_id: string;
  readonly status: TurnStatus;
  readonly reason_code: ReasonCode | null;
  readonly settled_row: number;
}

/** A unit of work and its last attempt. */
export interface TaskState {
  readonly task_id: string;
  readonly turn_id: string;
  readonly thread_id: string;
  readonly member_id: string;
  readonly discussion: TurnStarted["discussion"];
  readonly execution_generation: number;
  /** null while the attempt is open. */
  readonly status: TurnStatus | null;
  readonly reason_code: ReasonCode | null;
  readonly started_row: number;
  readonly settled_row: number | null;
}

/** The state of a room whose log has no row. */
export function emptyState(roomId: string): FoldState {
  return { room_id: roomId, through_seq: 0, threads: [], members: [], tasks: [] };
}

/** Entries sorted by an id, in UTF-16 units: the order canonical JSON gives keys, and the same on every machine. */
export function sortedBy<Entry>(entries: Iterable<Entry>, idOf: (entry: Entry) => string): readonly Entry[] {
  return [...entries].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}
