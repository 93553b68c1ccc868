import { coordinatesSchema, idSchema, isId, RoomtapError } from "../core/index.ts";
import { settledPayloadSchema, startedPayloadSchema, type LogRow } from "./log-row.ts";
import { problemText } from "./problem-text.ts";
import { isCount, isPayload } from "./row-guard.ts";

/** A row as it is stored: `payload` is text that nobody has parsed yet, as a string or as its bytes in UTF-8. */
export interface StoredRow {
  readonly room_id: string;
  readonly seq: number;
  readonly kind: string;
  readonly event_id: string;
  readonly thread_id: string;
  readonly member_id: string;
  readonly turn_id: string;
  readonly task_id: string;
  readonly execution_generation: number;
  readonly payload: string | Uint8Array;
  readonly created_at: number;
  readonly prev_hash: string;
  readonly hash: string;
}

/**
 * Checks a stored row and makes a row of the log of it. Hashes are compared by `verify`, not here.
 * @throws RoomtapError `log_corrupt`, which names room and seq
 */
export function parseRow(stored: StoredRow): LogRow {
  try {
    return {
      seq: stored.seq,
      kind: stored.kind,
      event_id: parseId(stored.event_id),
      room_id: parseId(stored.room_id),
      thread_id: parseId(stored.thread_id),
      member_id: parseId(stored.member_id),
      turn_id: parseId(stored.turn_id),
      task_id: parseId(stored.task_id),
      execution_generation: parseGeneration(stored.execution_generation),
      payload: parsePayload(stored),
      created_at: stored.created_at,
      prev_hash: stored.prev_hash,
      hash: stored.hash,
    } as LogRow;
  } catch (fault) {
    throw corruptRow(stored.room_id, stored.seq, `is no row of the log: ${problemText(fault)}`, fault);
  }
}

function parsePayload({ kind, payload }: StoredRow): unknown {
  const text = typeof payload === "string" ? payload : new TextDecoder("utf-8", { fatal: true }).decode(payload);
  const value: unknown = JSON.parse(text);
  if (isPayload(kind, value)) return value;
  switch (kind) {
    case "turn.started":
      return startedPayloadSchema.parse(value);
    case "turn.settled":
      return settledPayloadSchema.parse(value);
    default:
      throw new TypeError(`unknown kind ${kind}`);
  }
}

function parseId(value: string): string {
  return isId(value) ? value : idSchema.parse(value);
}

function parseGeneration(value: number): number {
  return isCount(value, 1) ? value : coordinatesSchema.shape.execution_generation.parse(value);
}

/** The error for a stored row that is wrong; names room and row. */
export function corruptRow(roomId: string, seq: number, what: string, cause?: unknown): RoomtapError {
  return new RoomtapError("log_corrupt", `room ${roomId}: row ${seq} ${what}`, { cause });
}
