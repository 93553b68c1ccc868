import { z } from "zod";
import { coordinatesSchema } from "../../core/index.ts";
import type { Board } from "./board.ts";
import { newMember } from "./members.ts";
import { settledSchema, startedSchema } from "./read-event.ts";
import { begins, placed } from "./reduce.ts";
import { newTurn, nextAttempt, tallied, withEnd, withStart } from "./turn.ts";

const place = { ...coordinatesSchema.shape, seq: z.int().min(1), created_at: z.number() };
const rowSchema = z.discriminatedUnion("kind", [
  z.object({ ...place, kind: z.literal("turn.started"), payload: startedSchema }),
  z.object({ ...place, kind: z.literal("turn.settled"), payload: settledSchema }),
]);

/**
 * The board with a row of the room's log: it stands for what nobody saw, and says how a turn ended whose last event was lost.
 * The same board when it knows it already, and for what is no row of its room. Pure; it never throws.
 */
export function reduceRow(board: Board, value: unknown): Board {
  const row = readRow(value);
  if (row === null || row.room_id !== board.room_id) return board;
  const member = board.members.find(({ member_id }) => member_id === row.member_id) ?? newMember(row.member_id);
  const before = member.turns.find(({ task_id }) => task_id === row.task_id);
  const generation = before?.execution_generation ?? 0;
  if (before !== undefined && row.execution_generation < generation) return board;
  const oldest = member.turns[0]?.place ?? 0;
  if (before === undefined && row.seq < oldest && member.turns.length >= board.bounds.keepTurns) return board;
  const turn = before === undefined ? newTurn(row, row.seq - 1) : before;
  const current =
    before !== undefined && row.execution_generation > generation ? nextAttempt(before, row, board) : turn;
  const about = { seq: row.seq, at: row.created_at };
  if (row.kind === "turn.started") {
    if (current.started_seq !== null) return board;
    const after = withStart(current, { ...row.payload, ...about }, board.bounds);
    return placed(board, begins(member, before, after), tallied(after), row.created_at);
  }
  if (current.settled_seq !== null) return board;
  return placed(board, member, tallied(withEnd(current, { ...row.payload, ...about }, board.bounds)), row.created_at);
}

function readRow(value: unknown): z.output<typeof rowSchema> | null {
  try {
    return rowSchema.parse(value);
  } catch {
    // No row: another shape, or a property that throws.
    return null;
  }
}
