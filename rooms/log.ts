import type { Undo } from "../core/index.ts";
import type { AcceptResult, DueRow, InboxChange, NewPost, RetryRow } from "./inbox-row.ts";
import type { Fenced, LeaseLost, RoomLeases } from "./lease-row.ts";
import type { LogRow, NewRow } from "./log-row.ts";
import type { RoomReader, StoredCheckpoint } from "./room-reader.ts";
import type { Member, RoomRecord, StopFence } from "./room-record.ts";
import type { VerifiableLog } from "./verify.ts";

/** Rows to be appended, with what they take from the inbox, in one transaction. */
export interface Append {
  readonly room_id: string;
  /** At least one; they get consecutive numbers. */
  readonly rows: readonly NewRow[];
  /** Takes the member off each post's `owed`; a post nobody is owed by any more leaves the inbox. */
  readonly inbox: readonly InboxChange[];
  /** The head that the caller decided upon. */
  readonly expected_seq: number;
  /** Of the caller's lease: checked in the transaction that writes. */
  readonly lease_generation: number;
  /** Retries that the first row carries out: they are waited for no more. */
  readonly retries?: readonly { readonly task_id: string; readonly execution_generation: number }[] | undefined;
  /** A due time to store with the rows, or the tasks whose due times are over. */
  readonly due?:
    | { readonly put?: Omit<DueRow, "room_id"> | undefined; readonly take?: readonly string[] | undefined }
    | undefined;
}

/**
 * What became of an append. Only `appended` wrote anything. What is asked first decides: whether the rows are there, the
 * lease, rows with other content, whether the room is disbanded, the position, the quota.
 */
export type AppendResult =
  | { readonly status: "appended"; readonly rows: readonly LogRow[] }
  /** Rows with these event ids and this content are there already; also an old holder may learn that. */
  | { readonly status: "exists"; readonly rows: readonly LogRow[] }
  /** `room_disbanded`: no turn starts there any more; what is open can still be settled. */
  | { readonly status: "log_conflict" | "room_full" | "room_disbanded" | "unknown_room"; readonly message: string }
  | { readonly status: "position_conflict"; readonly message: string; readonly seq: number }
  | LeaseLost;

/** Why a change of a room was refused; nothing was written. */
export type Refused<Word extends string> = { readonly status: Word; readonly message: string };

/** What any change under a lease may meet. */
export type ChangeRefused = Refused<"room_disbanded"> | LeaseLost;

/**
 * Is told that something was committed, after it was: the rooms it may be about, or null when another process did it and
 * it may be any. Must be quick; what it throws is reported and stops nobody else.
 */
export type ChangeListener = (roomIds: ReadonlySet<string> | null) => void;

/**
 * What roomtap asks of a log engine. All changes are durable when their promise resolves, and only then is a head above
 * them seen by anybody. Refusals are values; a rejection is a fault: `log_busy`, `log_full`, `log_read_only`,
 * `log_corrupt`, `log_unavailable`, `closed`.
 */
export interface RoomLog extends RoomReader, RoomLeases, VerifiableLog {
  /** Rows, inbox changes, retries, due times and the check of position and lease commit together or not at all. */
  append(append: Append): Promise<AppendResult>;
  /** Stores a post and its receipt. Resolved means durable. Anybody may post: it needs no lease. */
  accept(post: NewPost): Promise<AcceptResult>;
  /**
   * Creates the room, or gives it a new name or roster (`revision` + 1); equal content changes nothing. `invalid_roster`:
   * a member has the id of one that was removed and had another handle. `too_many_rooms`: 256 are active.
   */
  putRoom(room: {
    readonly room_id: string;
    readonly name: string;
    readonly members: readonly Member[];
    readonly roster_digest: string;
    /** Refused when the room's revision is another one; 0: the room is not there yet. Absent: whatever it is. */
    readonly expected_revision?: number | undefined;
    /** Members that are owed and no longer on the roster are taken off every post when this is done under a lease. */
    readonly lease_generation?: number | undefined;
  }): Promise<
    | { readonly status: "stored" | "unchanged"; readonly room: RoomRecord }
    | Refused<"revision_conflict" | "room_disbanded" | "invalid_roster" | "too_many_rooms">
    | LeaseLost
  >;
  /**
   * Gives the room another name (`revision` + 1); the name that it has changes nothing. The same `event_id` with the same
   * name gives the room as the first answer had it; with another one `idempotency_conflict`. As many are known, and for as
   * long, as receipts of posts.
   */
  rename(
    rename: Fenced & { readonly event_id: string; readonly name: string },
  ): Promise<
    | { readonly status: "renamed" | "repeated"; readonly room: RoomRecord }
    | Refused<"idempotency_conflict">
    | ChangeRefused
  >;
  /**
   * Draws the fence of a stop: every post that stands in the inbox is owed to nobody any more, retries and due times are
   * forgotten. The same `cancel_id` gives the first answer and changes nothing; the last 256 of a room are known.
   */
  stop(
    stop: Fenced & { readonly cancel_id: string | null; readonly cancelled: number },
  ): Promise<
    { readonly status: "stopped" | "repeated"; readonly fence: StopFence; readonly cancelled: number } | ChangeRefused
  >;
  /** Closes one post: it is owed to nobody any more. `unknown_message`: it does not stand in the inbox, or was closed. */
  closePost(
    post: Fenced & { readonly message_id: string },
  ): Promise<{ readonly status: "closed" | "unknown_message" } | ChangeRefused>;
  /** Gives the paused members of the room. Ids that are not on its roster are left out. */
  setPaused(
    pause: Fenced & { readonly member_ids: readonly string[]; readonly paused: boolean },
  ): Promise<{ readonly status: "set"; readonly paused: readonly string[] } | ChangeRefused>;
  /**
   * Stores a retry before anybody is told of it; asked again for the same attempt, it is there already. It stands in the
   * inbox, whose bound holds for posts and retries together.
   */
  putRetry(
    retry: RetryRow & { readonly lease_generation: number },
  ): Promise<{ readonly status: "stored" } | Refused<"inbox_full"> | ChangeRefused>;
  /**
   * Closes the room for good: it takes no posts, starts no turns, all that waits is owed to nobody any more, and its id is
   * never used again. A repeat gives the first time and needs no lease.
   */
  disband(
    room: Fenced,
  ): Promise<{ readonly status: "disbanded" | "repeated"; readonly disbanded_at: number } | LeaseLost>;
  /** Stores a checkpoint as a cache, unless one of a later row is there. */
  putCheckpoint(checkpoint: StoredCheckpoint & Fenced): Promise<{ readonly status: "stored" } | LeaseLost>;
  /**
   * Calls `listener` after commits, whoever makes them: at once for those of this process, within 250 ms for those of
   * others (`watchIntervalMs`). In force when this returns: whoever watches first and reads afterwards misses nothing, if
   * it reads on from its own cursor at each call. Neighbouring commits may be told as one.
   */
  watch(listener: ChangeListener): Undo;
  close(): Promise<void>;
}
