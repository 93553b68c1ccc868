import { z } from "zod";
import type { Author, Coordinates, TurnSettled, TurnStarted, Undo } from "../core/index.ts";
import { coordinatesSchema, idSchema, reasonCodes, startCauses, turnStatuses } from "../core/index.ts";

/** The two kinds of row, and no third. */
export const rowKinds = ["turn.started", "turn.settled"] as const;
/** A word of `rowKinds`. */
export type RowKind = (typeof rowKinds)[number];

/** `prev_hash` of a room's first row. */
export const zeroHash = "0".repeat(64);

interface RowBase extends Coordinates {
  /** Gapless from 1 per room. The only order there is. */
  readonly seq: number;
  readonly event_id: string;
  /** Wall time in ms; part of the hash, ignored by the fold. */
  readonly created_at: number;
  readonly prev_hash: string;
  readonly hash: string;
}

/** The first row of an attempt: what it was shown, and why it began. */
export interface StartedRow extends RowBase {
  readonly kind: "turn.started";
  readonly payload: TurnStarted;
}

/** The last row of an attempt: how it ended. */
export interface SettledRow extends RowBase {
  readonly kind: "turn.settled";
  readonly payload: TurnSettled;
}

/** A row of the room log. `hash` is SHA-256 over `prev_hash` and the canonical JSON of all other columns. */
export type LogRow = StartedRow | SettledRow;

/** A row before it has a place: the log gives `seq`, `created_at` and the hashes. */
export type NewRow =
  | { readonly kind: "turn.started"; readonly coordinates: Coordinates; readonly payload: TurnStarted }
  | { readonly kind: "turn.settled"; readonly coordinates: Coordinates; readonly payload: TurnSettled };

export const authorSchema = z.strictObject({
  kind: z.enum(["person", "agent"]),
  id: idSchema,
  display_name: z.string().optional(),
});

const inputItemSchema = z.union([
  z.strictObject({
    message_id: idSchema,
    author: authorSchema,
    text: z.string(),
    attachments: z.array(z.string()).optional(),
  }),
  z.strictObject({ message_id: idSchema, row_seq: z.int().min(1) }),
  z.strictObject({ row_seq: z.int().min(1) }),
]);

/** Strict: rows are ours, and a key that nobody knows is damage or a newer schema. */
export const startedPayloadSchema = z.strictObject({
  input: z.array(inputItemSchema).min(1),
  cause: z.enum(startCauses),
  origin: z.string().nullable(),
  seen_through_seq: z.int().min(0),
  roster_digest: z.string(),
  discussion: z.strictObject({ message_id: idSchema, round: z.int().min(0), slot: z.int().min(0) }),
});

const everyReason = Object.values(reasonCodes).flat();

/** Payload of a `turn.settled` row, strict. */
export const settledPayloadSchema = z.strictObject({
  status: z.enum(turnStatuses),
  reason_code: z.enum(everyReason).nullable(),
  text: z.string(),
  truncated: z.boolean(),
  error: z.string().nullable(),
  usage: z.record(z.string(), z.number()).nullable(),
  activity_count: z.int().min(1).nullable(),
  duration_ms: z.int().min(0).nullable(),
});

export { coordinatesSchema };

/** A member of a roster. Persons are listed, never driven. */
export interface Member {
  readonly member_id: string;
  /** What `@handle` names; unique in the room, case ignored. */
  readonly handle: string;
  readonly display_name: string;
  /** The kind of its runner, e.g. `acp`; null for a person. */
  readonly runner_kind: string | null;
}

/** A room with its present roster. */
export interface RoomRecord {
  readonly room_id: string;
  readonly name: string;
  /** Counts changes of name and roster, from 1. */
  readonly revision: number;
  readonly members: readonly Member[];
  /** Digest over member id, handle and runner kind, in roster order. */
  readonly roster_digest: string;
  readonly created_at: number;
  /** Members that do not answer until they are resumed, in order of their ids. */
  readonly paused: readonly string[];
  /** The last stop; posts and discussions before it start nothing any more. */
  readonly stop: StopFence | null;
  /** Wall ms; a disbanded room takes nothing any more and its id is never used again. */
  readonly disbanded_at: number | null;
}

/** Where a stop drew the line: what was accepted or logged before it starts nothing any more. */
export interface StopFence {
  /** The number of the last post before it; 0 when there was none. */
  readonly post_number: number;
  /** The last row before it. */
  readonly seq: number;
}

/** A retry that was asked for and has not started. */
export interface RetryRow {
  readonly room_id: string;
  readonly task_id: string;
  /** Of the last attempt; the retry is the next one. */
  readonly execution_generation: number;
  /** Of who asked; null when nobody is named. */
  readonly origin: string | null;
  /** `retry`: somebody asked. `auto_continue`: the runner said that it may run again after a crash. */
  readonly cause: "retry" | "auto_continue";
}

/** An attempt that is to begin by itself later, because its runner proved that nothing ran. */
export interface DueRow {
  readonly room_id: string;
  readonly task_id: string;
  /** Of the last attempt. */
  readonly execution_generation: number;
  /** Wall ms: it has to outlive a restart. */
  readonly due_at: number;
}

/** A process, so that another one on the same machine can prove that it is gone. */
export interface ProcessMark {
  /** Of the machine's present boot; "" where it cannot be told. */
  readonly boot_id: string;
  /** Of the pid namespace; "" where it cannot be told. */
  readonly pid_namespace: string;
  readonly pid: number;
  /** Clock ticks since boot; "" where it cannot be told. */
  readonly started: string;
}

/** Who may write a room. No wall time in it: nothing is compared between two clocks. */
export interface LeaseRow {
  readonly room_id: string;
  /** + 1 at each claim. 0: never claimed. */
  readonly generation: number;
  /** Random per host; "" when it was never claimed. */
  readonly holder: string;
  /** + 1 at each renewal. */
  readonly renewal: number;
  /** Nobody holds it: it was given back, or never claimed. */
  readonly released: boolean;
  readonly process: ProcessMark | null;
}

/** An accepted post whose turns have not all started, or that waits to be carried as context. */
export interface InboxRow {
  readonly room_id: string;
  /** Gapless per room, from 1, never used twice. */
  readonly number: number;
  readonly message_id: string;
  readonly thread_id: string;
  readonly author: Author;
  readonly origin: string | null;
  readonly text: string;
  readonly attachments: readonly string[];
  /** Members it addressed that have not started, in roster order. Empty and not carried: `closed`, it is context only. */
  readonly owed: readonly string[];
  /** Members that it named by handle. Empty when it addressed all by naming nobody, or by `@all`. */
  readonly named: readonly string[];
  /** The `turn.started` row that holds its text, once one does. */
  readonly row_seq: number | null;
  /** The log's head when it was accepted: what came later waited. */
  readonly after_seq: number;
  readonly accepted_at: number;
}

/** A checked post on its way to the inbox. */
export interface NewPost {
  readonly room_id: string;
  /** A digest: see ids. Without an event id of the caller, null: the log makes it from the post's number. */
  readonly message_id: string | null;
  readonly thread_id: string;
  readonly author: Author;
  readonly origin: string | null;
  readonly text: string;
  readonly attachments: readonly string[];
  readonly owed: readonly string[];
  readonly named: readonly string[];
}

/** What became of a post. A refusal stored nothing. */
export type AcceptResult =
  | { readonly status: "accepted"; readonly post: InboxRow }
  /** The same event id with the same content came before; nothing was stored. */
  | { readonly status: "duplicate"; readonly message_id: string }
  | {
      readonly status: "idempotency_conflict" | "inbox_full" | "room_full" | "room_disbanded" | "unknown_room";
      readonly message: string;
    };

/** A member was shown a post that stands in the inbox, by the first row of the same append. */
export interface InboxChange {
  readonly message_id: string;
  readonly member_id: string;
}

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

/**
 * The caller has no lease of the room: another one claimed it, or it was given back. It must stop what it runs and write
 * nothing more.
 */
export interface LeaseLost {
  readonly status: "lease_lost";
  readonly message: string;
  /** The room's present generation; 0 when nobody ever claimed it. */
  readonly generation: number;
}

/** Where a room's log ends. */
export interface Head {
  /** 0 when the room has no row. */
  readonly seq: number;
  readonly hash: string;
}

/** Rows read in one go, and where the next ones begin. */
export interface Page {
  readonly rows: readonly LogRow[];
  /** Pass as `after_seq` to read on. */
  readonly cursor: number;
  readonly has_more: boolean;
}

/** What a change of a room is done under: the caller's lease. */
export interface Fenced {
  readonly room_id: string;
  readonly lease_generation: number;
}

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
export interface RoomLog extends RoomReader, RoomLeases {
  /** Rows, inbox changes, retries, due times and the check of position and lease commit together or not at all. */
  append(append: Append): Promise<AppendResult>;
  /** Stores a post and its receipt. Resolved means durable. Anybody may post: it needs no lease. */
  accept(post: NewPost): Promise<AcceptResult>;
  /**
   * Creates the room, or gives it a new name or roster (`revision` + 1); equal content changes nothing. `invalid_roster`:
   * a member has the id of one that was removed and had another handle.
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
    | Refused<"revision_conflict" | "room_disbanded" | "invalid_roster">
    | LeaseLost
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

/** A folded state in the database: a cache, never trusted over the log. */
export interface StoredCheckpoint {
  /** Of the format of the state. */
  readonly version: number;
  readonly through_seq: number;
  readonly log_hash: string;
  readonly digest: string;
  /** Canonical JSON of the state. */
  readonly state: string;
}

/** What can be read of rooms. */
export interface RoomReader {
  /** @throws RoomtapError `log_corrupt` when it cannot be read */
  room(roomId: string): Promise<RoomRecord | undefined>;
  /** In order of `room_id` by UTF-16 units. A damaged one is left out; `room` tells what is wrong with it. */
  rooms(): Promise<readonly RoomRecord[]>;
  head(roomId: string): Promise<Head>;
  /**
   * A page of rows above `after_seq`: at most 500 rows or 2 MiB of payload, whichever comes first, always at least one
   * if there is one. No read position is kept between pages.
   * @throws RoomtapError `log_corrupt` (names the seq) when a stored row is no row
   */
  read(roomId: string, page: { readonly after_seq: number; readonly limit?: number }): Promise<Page>;
  /** Posts that stand in the inbox, by number. */
  inbox(roomId: string): Promise<readonly InboxRow[]>;
  /** All that a plan needs beside the folded state, of one instant. */
  planInput(roomId: string): Promise<PlanInput | undefined>;
  /** The stored checkpoint as it is, unchecked; undefined when there is none. */
  checkpoint(roomId: string): Promise<unknown>;
}

/** A room, what waits in it, and where it stands, of one instant. */
export interface PlanInput {
  readonly room: RoomRecord;
  /** By number. */
  readonly inbox: readonly InboxRow[];
  /** In the order in which they were asked for. */
  readonly retries: readonly RetryRow[];
  /** By due time. */
  readonly due: readonly DueRow[];
  readonly head: Head;
  /** Of the log, as the quota counts them. */
  readonly log_bytes: number;
  readonly lease: LeaseRow;
}

/** One writer per room (I10). */
export interface RoomLeases {
  lease(roomId: string): Promise<LeaseRow>;
  /**
   * Claims the room: generation + 1, if the lease is still as `seen` (generation and renewal). Whether a held lease may
   * be claimed is the caller's to decide.
   * @throws RoomtapError `unknown_room`
   */
  claimLease(claim: {
    readonly seen: LeaseRow;
    readonly holder: string;
    readonly process: ProcessMark;
  }): Promise<
    { readonly status: "claimed"; readonly lease: LeaseRow } | { readonly status: "changed"; readonly lease: LeaseRow }
  >;
  /** Renews all of a host's leases in one transaction. Gives the rooms whose lease it no longer is. */
  renewLeases(
    held: readonly { readonly room_id: string; readonly generation: number }[],
    holder: string,
  ): Promise<readonly string[]>;
  /** Gives the lease back; of an old generation it changes nothing. */
  releaseLease(roomId: string, generation: number, holder: string): Promise<boolean>;
}
