import { coordinatesSchema, isId, limits, makeCoordinates, RoomtapError, type Coordinates } from "../../core/index.ts";
import { canonicalJson } from "../canonical-json.ts";
import { chargedBytes, storedRowHash } from "../hash-chain.ts";
import { eventId } from "../ids.ts";
import type { Append, AppendResult } from "../log.ts";
import { settledPayloadSchema, startedPayloadSchema, type LogRow, type NewRow } from "../log-row.ts";
import { problemText } from "../problem-text.ts";
import { isPayload } from "../row-guard.ts";
import { parseRow, type StoredRow } from "../stored-row.ts";
import { disbanded, holdsLease, leaseLost } from "./fence.ts";
import { noDelta, sum, type InboxDelta } from "./inbox-table.ts";
import { hasRoomFor, type Quota } from "./quota.ts";
import type { Tables } from "./tables.ts";

/** A new row with all that does not depend on its place. */
interface PreparedRow {
  readonly columns: Omit<StoredRow, "seq" | "created_at" | "prev_hash" | "hash"> & { readonly payload: string };
  readonly payload: LogRow["payload"];
  /** As the quota counts it. */
  readonly bytes: number;
}

export interface PreparedAppend extends Omit<Append, "rows"> {
  readonly rows: readonly PreparedRow[];
}

/**
 * Checks an append and writes its texts, before any transaction: the payloads are taken as they are now.
 * @throws RoomtapError `invalid_params` for rows that are no rows, too large, or of another room
 */
export function prepareAppend(append: Append): PreparedAppend {
  if (append.rows.length === 0) throw new RoomtapError("invalid_params", "an append needs at least one row");
  const { room_id, inbox, expected_seq, lease_generation, retries, due } = append;
  const put = due?.put && { ...due.put, due_at: Math.ceil(due.put.due_at) };
  return {
    room_id,
    rows: append.rows.map((row) => prepareRow(room_id, row)),
    inbox: [...inbox],
    expected_seq,
    lease_generation,
    retries: [...(retries ?? [])],
    due: { put, take: [...(due?.take ?? [])] },
  };
}

function prepareRow(roomId: string, row: NewRow): PreparedRow {
  const coordinates = checked("coordinates", () => parseCoordinates(row.coordinates));
  if (coordinates.room_id !== roomId) {
    throw new RoomtapError("invalid_params", `a row of room ${coordinates.room_id} in an append to room ${roomId}`);
  }
  const payload = checked(`payload of ${row.kind}`, () => parsePayload(row));
  const columns = {
    ...coordinates,
    kind: row.kind,
    event_id: eventId(roomId, row.kind, coordinates.task_id, coordinates.execution_generation),
    payload: canonicalJson(payload),
  };
  const bytes = chargedBytes(columns);
  if (bytes > limits.maxRowBytes) {
    throw new RoomtapError("invalid_params", `a row takes at most ${limits.maxRowBytes} bytes, got ${bytes}`);
  }
  return { columns, payload, bytes };
}

// The guards say yes at a fifth of what the schemas cost; what they refuse, the schemas judge and explain.
function parseCoordinates(given: Coordinates): Coordinates {
  const { room_id, thread_id, member_id, turn_id, task_id, execution_generation } = given;
  const ids = [room_id, thread_id, member_id, turn_id, task_id];
  const isRight = ids.every(isId) && Number.isSafeInteger(execution_generation) && execution_generation >= 1;
  return isRight ? makeCoordinates(given) : coordinatesSchema.parse(given);
}

// By way of text: keys without a value are left out, and what the caller changes later stays outside.
function parsePayload({ kind, payload }: NewRow): LogRow["payload"] {
  const plain: unknown = JSON.parse(JSON.stringify(payload));
  if (isPayload(kind, plain)) return plain;
  return kind === "turn.started" ? startedPayloadSchema.parse(plain) : settledPayloadSchema.parse(plain);
}

function checked<Value>(what: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (fault) {
    throw new RoomtapError("invalid_params", `invalid ${what}: ${problemText(fault)}`, { cause: fault });
  }
}

/** Decides and carries out one append inside a transaction. Each refusal comes before the first write. */
export function appendRows(
  tables: Tables,
  append: PreparedAppend,
  options: { readonly quota: Quota; readonly now: number },
): AppendResult {
  const { room_id, rows } = append;
  const room = tables.rooms.state(room_id);
  if (room === undefined) return { status: "unknown_room", message: `there is no room ${room_id}` };
  const known = findKnown(tables, rows);
  if (known?.status === "exists") return known;
  // Before a conflict: an old holder whose attempt was settled meanwhile is to learn that it is out.
  if (!holdsLease(room, append)) return leaseLost(room, append);
  if (known !== undefined) return known;
  const starts = rows.filter(({ columns }) => columns.kind === "turn.started").length;
  if (starts > 0 && room.disbanded_at !== null) return disbanded(room_id);
  const head = tables.log.head(room_id);
  if (head.seq !== append.expected_seq) {
    const message = `room ${room_id} is at row ${head.seq}, expected ${append.expected_seq}`;
    return { status: "position_conflict", message, seq: head.seq };
  }
  const placed = place(rows, head, options.now);
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  const openTurns = starts - (rows.length - starts);
  const after = {
    rows: head.seq + rows.length,
    bytes: room.log_bytes + bytes,
    openTurns: room.open_turns + openTurns,
  };
  // A settle was paid for by its start.
  if (starts > 0 && !hasRoomFor(after, options.quota)) {
    return { status: "room_full", message: `room ${room_id} has no place for a turn at row ${head.seq + 1}` };
  }
  for (const { stored } of placed) tables.log.insert(stored);
  const left = takeWhatWaits(tables, append, head.seq + 1);
  tables.rooms.addToRoom(room_id, {
    numbers: 0,
    rows: rows.length,
    log_bytes: bytes,
    open_turns: openTurns,
    ...left,
  });
  return { status: "appended", rows: placed.map(({ row }) => row) };
}

// All rows are there, equal: `exists`. None is: undefined. Anything between is a conflict.
function findKnown({ log }: Tables, rows: readonly PreparedRow[]): AppendResult | undefined {
  const found: StoredRow[] = [];
  for (const { columns } of rows) {
    const first = log.byEvent(columns.event_id);
    if (first === undefined) continue;
    const differs = (Object.keys(columns) as (keyof typeof columns)[]).find((key) => first[key] !== columns[key]);
    if (differs !== undefined) {
      const message = `${columns.kind} ${columns.event_id} is row ${first.seq} already, with another ${differs}`;
      return { status: "log_conflict", message };
    }
    found.push(first);
  }
  if (found.length === 0) return undefined;
  if (found.length === rows.length) return { status: "exists", rows: found.map(parseRow) };
  return {
    status: "log_conflict",
    message: `row ${found[0]?.seq} is in the log already, others of the append are not`,
  };
}

interface PlacedRow {
  readonly stored: StoredRow & { readonly payload: string };
  readonly row: LogRow;
}

function place(
  rows: readonly PreparedRow[],
  head: { readonly seq: number; readonly hash: string },
  now: number,
): PlacedRow[] {
  let { seq, hash } = head;
  return rows.map(({ columns, payload }) => {
    seq += 1;
    const placed = { ...columns, seq, created_at: now };
    const stored = { ...placed, prev_hash: hash, hash: storedRowHash(hash, placed) };
    hash = stored.hash;
    // Kind and payload were checked to belong together.
    return { stored, row: { ...stored, payload } as LogRow };
  });
}

// What a change names and no longer finds has left the inbox with an earlier row.
function takeWhatWaits({ inbox, waiting }: Tables, append: PreparedAppend, rowSeq: number): InboxDelta {
  const { room_id, due } = append;
  let left = noDelta;
  for (const { message_id, member_id } of append.inbox) {
    const post = inbox.post(room_id, message_id);
    if (post === undefined) continue;
    const owed = post.owed.filter((member) => member !== member_id);
    left = sum(left, inbox.setOwed(post, owed, rowSeq));
  }
  for (const { task_id, execution_generation } of append.retries ?? []) {
    const taken = waiting.takeRetry(room_id, task_id, execution_generation);
    left = sum(left, { ...noDelta, inbox_posts: -taken });
  }
  for (const taskId of due?.take ?? []) waiting.takeDue(room_id, taskId);
  if (due?.put !== undefined) waiting.putDue({ ...due.put, room_id });
  return left;
}
