/**
 * Replay of a room's whole log from a file, rows validated, hashes not, against the least that any replay does: reading
 * whole rows, `JSON.parse`, and a fold that counts statuses.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock, type TurnStarted } from "../../core/index.ts";
import {
  emptyState,
  openSqliteLog,
  openSqliteLogReader,
  RoomFold,
  rosterDigest,
  type NewRow,
  type OpenOptions,
  type SqliteLogReader,
} from "../../rooms/index.ts";
import type { SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { openReadOnlyDatabase } from "../../rooms/sqlite/open.ts";
import { TestLog } from "../support/logs.ts";
import { atLeast, holds, median, medianRatio, round, sideBySide, type BenchResult } from "./measure.ts";

const roomId = "r1";
const rowCount = 100_000;
const membersOfRoom = ["m-planner", "m-coder", "m-reviewer"];
const plain = `I looked at it, and the second step can go: nothing reads what it writes. Please check it. ${"x".repeat(160)}`;
const naming = plain.replace("Please", "@reviewer please");

export async function run(): Promise<BenchResult> {
  const folder = mkdtempSync(fileURLToPath(new URL(".tmp-replay-", import.meta.url)));
  try {
    const options = { file: join(folder, "replay.db"), clock: systemClock };
    await write(options);
    const reader = await openSqliteLogReader(options);
    const database = await openReadOnlyDatabase(options);
    try {
      return await measure(reader, database);
    } finally {
      database.close();
      await reader.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(reader: SqliteLogReader, database: SqliteDatabase): Promise<BenchResult> {
  let folded = 0;
  let counted = 0;
  const rowNs = (start: number): number => ((performance.now() - start) * 1e6) / rowCount;
  const samples = await sideBySide({
    replay: async () => {
      const start = performance.now();
      folded = await replay(reader);
      return rowNs(start);
    },
    bare: () => {
      const start = performance.now();
      counted = bareReplay(database);
      return rowNs(start);
    },
  });
  const ratio = medianRatio(samples.bare, samples.replay);
  return {
    rows: [
      { way: "replay", row_ns: round(median(samples.replay)), rows: folded },
      { way: "read, JSON.parse, bare fold", row_ns: round(median(samples.bare)), rows: counted },
    ],
    gates: [
      atLeast("replay, x of read + JSON.parse + bare fold", ratio, 0.5),
      holds("both saw every row", folded === rowCount && counted === rowCount),
    ],
  };
}

/** What `roomtap replay` does. Returns the last row. */
async function replay(reader: SqliteLogReader): Promise<number> {
  const folding = new RoomFold(emptyState(roomId));
  for (let more = true; more;) {
    const page = await reader.read(roomId, { after_seq: folding.throughSeq });
    for (const row of page.rows) folding.apply(row);
    more = page.has_more;
  }
  return folding.state().through_seq;
}

/** The floor: whole rows, page by page, nothing checked. Returns how many it counted. */
function bareReplay(database: SqliteDatabase): number {
  const statement = database.prepare<[string, number]>(
    "SELECT * FROM log WHERE room_id = ? AND seq > ? ORDER BY seq LIMIT 500",
  );
  const page = statement.raw();
  const payloadAt = page.columns().findIndex((column) => column.name === "payload");
  const byStatus = new Map<string, number>();
  let seq = 0;
  for (;;) {
    const rows = page.all(roomId, seq) as (string | number)[][];
    if (rows.length === 0) break;
    for (const row of rows) {
      const { status = "started" } = JSON.parse(String(row[payloadAt])) as { status?: string };
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    }
    seq += rows.length;
  }
  return [...byStatus.values()].reduce((sum, count) => sum + count, 0);
}

/** A talk of three members in four threads: each post is answered by all of them, one after the other. */
async function write(options: OpenOptions): Promise<void> {
  const members = membersOfRoom.map((member_id) => {
    const handle = member_id.slice(2);
    return { member_id, handle, display_name: handle, runner_kind: "acp" };
  });
  const log = await openSqliteLog(options);
  await log.putRoom({ room_id: roomId, name: "Replay", members, roster_digest: rosterDigest(members) });
  const mark = { boot_id: "", pid_namespace: "", pid: 1, started: "" };
  await log.claimLease({ seen: await log.lease(roomId), holder: "bench", process: mark });
  const rows = talk();
  for (let seq = 0; seq < rows.length; seq += 1_000) {
    const result = await log.append({
      room_id: roomId,
      rows: rows.slice(seq, seq + 1_000),
      inbox: [],
      expected_seq: seq,
      lease_generation: 1,
    });
    if (result.status !== "appended") throw new Error(`could not write the log: ${JSON.stringify(result)}`);
  }
  await log.close();
}

function talk(): readonly NewRow[] {
  const log = new TestLog(roomId);
  for (let turn = 0; log.rows.length < rowCount; turn++) {
    const slot = turn % membersOfRoom.length;
    const message_id = `msg-${turn - slot}`;
    const before = log.rows.length;
    const post = { message_id, text: `@all step ${turn}: what do you make of this? ${"y".repeat(150)}` };
    const input: TurnStarted["input"] = Array.from({ length: slot + 1 }, (_, k) =>
      k === 0 ? { message_id, row_seq: before - 2 * slot + 1 } : { row_seq: before - 2 * (slot - k) },
    );
    const start = log.start({
      member_id: membersOfRoom[slot] ?? "m-planner",
      thread_id: `thread-${Math.floor(turn / membersOfRoom.length) % 4}`,
      ...(slot === 0 ? { post } : { input }),
      slot,
      seen_through_seq: slot === 0 ? 0 : before,
    });
    log.settle(start, { text: slot === 1 ? naming : plain, usage: { input_tokens: 1_200, output_tokens: 90 } });
  }
  return log.rows.map((row) => {
    const { room_id, thread_id, member_id, turn_id, task_id, execution_generation } = row;
    const coordinates = { room_id, thread_id, member_id, turn_id, task_id, execution_generation };
    return { kind: row.kind, coordinates, payload: row.payload } as NewRow;
  });
}
