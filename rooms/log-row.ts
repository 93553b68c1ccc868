import { z } from "zod";
import type { Coordinates, TurnSettled, TurnStarted } from "../core/index.ts";
import { idSchema, reasonCodes, startCauses, turnStatuses } from "../core/index.ts";

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

/** Where a room's log ends. */
export interface Head {
  /** 0 when the room has no row. */
  readonly seq: number;
  readonly hash: string;
}

/** Rows that follow each other, and where the next ones begin. */
export interface Page {
  readonly rows: readonly LogRow[];
  /** Pass as `after_seq` to read on. */
  readonly cursor: number;
  /** The last row of the log when the page was read. */
  readonly latest_seq: number;
  readonly has_more: boolean;
}
