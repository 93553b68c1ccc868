import { z } from "zod";
import {
  reasonCodes,
  RoomtapError,
  turnStatuses,
  visibilities,
  type JsonObject,
  type ReasonCode,
  type SessionRecord,
  type SessionSummary,
  type StoredMessage,
} from "../core/index.ts";
import { problemText } from "./problem-text.ts";

// Loose where it is read: a newer roomtap may have stored more than this one knows, and that is left aside.
const jsonObject = z.record(z.string(), z.unknown());

const promptSchema = z.object({
  inputs: z.array(z.object({ id: z.string(), ref: z.string().optional() })),
  origin: z.string().nullable(),
  text: z.string(),
  parts: z.array(jsonObject).optional(),
  attachments: z.array(z.unknown()).optional(),
  display_kind: z.string().optional(),
});

const reasonSchema: z.ZodType<ReasonCode> = z.enum(Object.values(reasonCodes).flat());

const summarySchema = z.object({
  v: z.literal(1),
  session_id: z.string().min(1),
  agent_id: z.string(),
  title: z.string().nullable(),
  owner: z.object({ client_id: z.string().nullable(), principal: z.string() }),
  visibility: z.enum(visibilities).catch("private"),
  close_on_disconnect: z.boolean(),
  cwd: z.string().optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
  created_at: z.number(),
  last_activity: z.number(),
  last_turn: z
    .object({ turn_id: z.string(), status: z.enum(turnStatuses), reason_code: reasonSchema.nullable() })
    .nullable(),
  message_count: z.number(),
  preview: z.string(),
});

const recordSchema = summarySchema.extend({
  queue: z.array(promptSchema),
  message_keys: z.array(z.object({ message_id: z.string(), digest: z.string(), result: jsonObject })),
  unfinished: z.object({ turn_id: z.string(), prompt: promptSchema, attempts: z.int().min(1).optional() }).nullable(),
});

/** A message of a transcript, as it is stored. */
export const messageSchema: z.ZodType<StoredMessage> = z.object({
  role: z.enum(["user", "assistant", "system", "tool"]),
  text: z.string(),
  timestamp: z.number().optional(),
  display_kind: z.string().optional(),
  name: z.string().optional(),
  context: z.string().optional(),
  args: z.unknown().optional(),
  reasoning: z.string().optional(),
  attachments: z.array(z.unknown()).optional(),
  truncated: z.array(z.object({ field: z.string(), bytes: z.number() })).optional(),
});

/** What was read of a stored session, and what is to be told about it. */
export interface SessionReading<Kind> {
  readonly record: Kind;
  /** Set when its visibility is none of the three: then it is private. */
  readonly problem: string | null;
}

/** All that is saved of a session but its messages, as JSON has it. */
export function toSnapshot(record: SessionRecord): JsonObject {
  return { ...record };
}

/**
 * The session of a snapshot. Without a visibility, or with one that is none, it is private.
 * @param what names it in a message
 * @throws RoomtapError `log_corrupt` when the rest is no session
 */
export function fromSnapshot(snapshot: unknown, what = "a session"): SessionReading<SessionRecord> {
  return read(recordSchema, snapshot, what);
}

/** As `fromSnapshot`, of what lists show; whatever else stands in the snapshot is not looked at. */
export function summaryOf(snapshot: unknown, what = "a session"): SessionReading<SessionSummary> {
  return read(summarySchema, snapshot, what);
}

function read<Kind extends SessionSummary>(
  schema: z.ZodType<Kind>,
  snapshot: unknown,
  what: string,
): SessionReading<Kind> {
  const parsed = schema.safeParse(snapshot);
  if (!parsed.success) {
    const message = `${what} cannot be read: ${problemText(parsed.error)}`;
    throw new RoomtapError("log_corrupt", message, { cause: parsed.error });
  }
  const record = parsed.data;
  const given = (snapshot as { readonly visibility?: unknown }).visibility;
  if (given === undefined || given === record.visibility) return { record, problem: null };
  const word = JSON.stringify(given).slice(0, 64);
  return { record, problem: `session ${record.session_id} has the visibility ${word}, which is none: it is private` };
}
