import { z } from "zod";
import { idSchema, reasonCodes, turnStatuses } from "../core/index.ts";
import type { FoldState } from "./fold-state.ts";

/**
 * The format of a folded state. To be raised when the state's shape changes, and when the fold makes another state of the
 * same rows: a stored state of another version is left aside and the log folded anew.
 */
export const foldStateVersion = 1;

const row = z.int().min(1);
const count = z.int().min(0);
const status = z.enum(turnStatuses);
const reason = z.enum(Object.values(reasonCodes).flat()).nullable();

const memberRow = z.strictObject({ member_id: idSchema, row });

const discussion = z.strictObject({
  message_id: idSchema,
  first_row: row,
  last_row: row,
  round: count,
  turns: z.array(memberRow),
  completed: count,
  spoke: z.array(memberRow),
  named: z.array(z.strictObject({ word: z.string(), round: count, row: row.nullable() })),
});

const thread = z.strictObject({
  thread_id: idSchema,
  last_row: row,
  discussion,
  transcript: z.array(z.strictObject({ row, member_id: idSchema, posts: z.array(idSchema) })),
  open_turns: z.array(idSchema),
});

const openAttempt = z.strictObject({
  thread_id: idSchema,
  turn_id: idSchema,
  task_id: idSchema,
  execution_generation: z.int().min(1),
  started_row: row,
});

const member = z.strictObject({
  member_id: idSchema,
  last_row: row,
  open: openAttempt.nullable(),
  seen: z.array(z.strictObject({ thread_id: idSchema, seen_through_seq: count, started_row: row })),
  last: z.strictObject({ turn_id: idSchema, status, reason_code: reason, settled_row: row }).nullable(),
});

const task = z.strictObject({
  task_id: idSchema,
  turn_id: idSchema,
  thread_id: idSchema,
  member_id: idSchema,
  discussion: z.strictObject({ message_id: idSchema, round: count, slot: count }),
  execution_generation: z.int().min(1),
  status: status.nullable(),
  reason_code: reason,
  started_row: row,
  settled_row: row.nullable(),
});

/** A folded state as it is read back. Strict: a key that is missing or unknown is damage or another version. */
export const foldStateSchema = z.strictObject({
  room_id: idSchema,
  through_seq: count,
  threads: z.array(thread),
  members: z.array(member),
  tasks: z.array(task),
}) satisfies z.ZodType<FoldState>;
