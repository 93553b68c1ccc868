import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";
import { zeroHash, type LogRow } from "./log-row.ts";
import type { StoredRow } from "./stored-row.ts";

/** The columns that a hash covers: all but the two hashes. */
export type HashedColumns = Omit<StoredRow, "prev_hash" | "hash">;

/** `Omit` for each member of a union by itself. */
type Unhashed<Row> = Row extends LogRow ? Omit<Row, "prev_hash" | "hash"> : never;

/**
 * SHA-256 over `prevHash` (64 hex digits, as text) followed by the canonical JSON of all columns but the two hashes;
 * `created_at` is among them. 64 lower-case hex digits.
 */
export function rowHash(prevHash: string, row: Unhashed<LogRow>): string {
  return storedRowHash(prevHash, { ...row, payload: canonicalJson(row.payload) });
}

/**
 * The same hash from the stored text, which stands in the row's canonical text as it is. So each changed byte of a
 * payload changes the hash, also one that would parse to the same value or decode to the same string.
 */
export function storedRowHash(prevHash: string, row: HashedColumns): string {
  const [before, after] = textAround(row);
  return createHash("sha256").update(prevHash).update(before).update(row.payload).update(after).digest("hex");
}

/** Size of a row in bytes: of its canonical JSON without the hashes, in UTF-8. Limits and quotas count this. */
export function rowBytes(row: HashedColumns): number {
  const [before, after] = textAround(row);
  return Buffer.byteLength(before) + Buffer.byteLength(row.payload) + Buffer.byteLength(after);
}

/** `rowBytes` with the longest `seq` and `created_at` there are: so a row that fits does so at any place and time. */
export function chargedBytes(row: Omit<HashedColumns, "seq" | "created_at">): number {
  return rowBytes({ ...row, seq: Number.MAX_SAFE_INTEGER, created_at: Number.MAX_SAFE_INTEGER });
}

// The canonical text of the row, before and behind the value of `payload`: keys in order. Strings take the general
// path, because a damaged column may hold anything.
function textAround(row: HashedColumns): readonly [string, string] {
  const before =
    `{"created_at":${row.created_at},"event_id":${JSON.stringify(row.event_id)}` +
    `,"execution_generation":${row.execution_generation},"kind":${JSON.stringify(row.kind)}` +
    `,"member_id":${JSON.stringify(row.member_id)},"payload":`;
  const after =
    `,"room_id":${JSON.stringify(row.room_id)},"seq":${row.seq},"task_id":${JSON.stringify(row.task_id)}` +
    `,"thread_id":${JSON.stringify(row.thread_id)},"turn_id":${JSON.stringify(row.turn_id)}}`;
  return [before, after];
}

/** A place in a room's chain: the last row that is known to be right. */
export interface ChainLink {
  readonly seq: number;
  readonly hash: string;
}

/** Before the first row. */
export const chainStart: ChainLink = { seq: 0, hash: zeroHash };

/** What is wrong with the first bad row. */
export interface ChainProblem {
  readonly seq: number;
  readonly kind: "order" | "prev_hash" | "hash";
  readonly message: string;
}

/**
 * Follows the chain of one room from `from` over `rows`, in order of `seq`. Returns the last link, or the first row that
 * breaks it: a number that is not the next (a row is missing), a `prev_hash` that is not the hash before, or a hash that
 * does not fit the columns.
 */
export function verifyRows(rows: Iterable<StoredRow>, from: ChainLink = chainStart): ChainLink | ChainProblem {
  let { seq, hash } = from;
  for (const row of rows) {
    seq += 1;
    if (row.seq !== seq) {
      return { seq, kind: "order", message: `expected row ${seq}, found row ${row.seq}` };
    }
    if (row.prev_hash !== hash) {
      return { seq, kind: "prev_hash", message: `row ${seq} does not follow the row before it: prev_hash differs` };
    }
    if (storedRowHash(hash, row) !== row.hash) {
      return { seq, kind: "hash", message: `row ${seq} was changed: its columns do not give its hash` };
    }
    hash = row.hash;
  }
  return { seq, hash };
}
