import type { StoredRow } from "../stored-row.ts";

/** The columns of a row in the order in which all statements read and write them. */
export const logColumns =
  "room_id, seq, kind, event_id, thread_id, member_id, turn_id, task_id, execution_generation, payload, created_at, " +
  "prev_hash, hash";

/** A row as SQLite gives it, column by column: an array takes half the time of an object with names. */
export type RawRow<Payload = string> = [
  room_id: string,
  seq: number,
  kind: string,
  event_id: string,
  thread_id: string,
  member_id: string,
  turn_id: string,
  task_id: string,
  execution_generation: number,
  payload: Payload,
  created_at: number,
  prev_hash: string,
  hash: string,
];

/** What is to be written. */
export function rawRow(row: StoredRow & { readonly payload: string }): RawRow {
  return [
    row.room_id,
    row.seq,
    row.kind,
    row.event_id,
    row.thread_id,
    row.member_id,
    row.turn_id,
    row.task_id,
    row.execution_generation,
    row.payload,
    row.created_at,
    row.prev_hash,
    row.hash,
  ];
}

/** The columns by name, nothing checked: what verification needs of a row that may be damaged. */
export function storedRow(raw: RawRow<string | Uint8Array>): StoredRow {
  return {
    room_id: raw[0],
    seq: raw[1],
    kind: raw[2],
    event_id: raw[3],
    thread_id: raw[4],
    member_id: raw[5],
    turn_id: raw[6],
    task_id: raw[7],
    execution_generation: raw[8],
    payload: raw[9],
    created_at: raw[10],
    prev_hash: raw[11],
    hash: raw[12],
  };
}
