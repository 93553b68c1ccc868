import { z } from "zod";
import type { Author, Coordinates, TurnSettled, TurnStarted } from "../core/index.ts";
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
      readonly status: "idempotency_conflict" | "inbox_full" | "room_full" | "unknown_room";
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
}

/** What became of an append. Only `appended` wrote anything. */
export type AppendResult =
  | { readonly status: "appended"; readonly rows: readonly LogRow[] }
  /** Rows with these event ids and this content are there already. */
  | { readonly status: "exists"; readonly rows: readonly LogRow[] }
  | { readonly status: "log_conflict" | "room_full" | "unknown_room"; readonly message: string }
  | { readonly status: "position_conflict"; readonly message: string; readonly seq: number };

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

/**
 * What roomtap asks of a log engine. All appends are durable when their promise resolves, and only then is a head above
 * them seen by anybody. Refusals are values; a rejection is a fault: `log_busy`, `log_full`, `log_read_only`,
 * `log_corrupt`, `log_unavailable`, `closed`.
 */
export interface RoomLog {
  /** Rows, inbox changes and the check of the position commit together or not at all. */
  append(append: Append): Promise<AppendResult>;
  /** Stores a post and its receipt. Resolved means durable. */
  accept(post: NewPost): Promise<AcceptResult>;
  /** Creates the room, or gives it a new name or roster (`revision` + 1); equal content changes nothing. */
  putRoom(room: {
    readonly room_id: string;
    readonly name: string;
    readonly members: readonly Member[];
    readonly roster_digest: string;
  }): Promise<RoomRecord>;
  room(roomId: string): Promise<RoomRecord | undefined>;
  /** In order of `room_id` by UTF-16 units. */
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
  close(): Promise<void>;
}
