import { fdatasyncSync, mkdtempSync, openSync, closeSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../core/index.ts";
import { openSqliteLogReader, SqliteRoomLog, type NewRow } from "../../rooms/index.ts";
import type { SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { openHostDatabase } from "../../rooms/sqlite/open.ts";
import { atLeast, atMost, holds, median, medianRatio, round, sideBySide, type BenchResult } from "./measure.ts";

const roomCount = 100;
/** Ticks in which all rooms append a row each. */
const ticks = 5;
/** Appends one after the other. */
const singles = 50;

const roomIds = Array.from({ length: roomCount }, (_, index) => `room-${index}`);

interface OpenLog {
  readonly log: SqliteRoomLog;
  readonly database: SqliteDatabase;
  /** Transactions up to now. */
  readonly commits: () => number;
  /** The head of each room. */
  readonly heads: Map<string, number>;
}

async function open(file: string): Promise<OpenLog> {
  const database = await openHostDatabase({ file, clock: systemClock });
  const log = new SqliteRoomLog(database, { clock: systemClock });
  let commits = 0;
  const transact = database.transact.bind(database);
  database.transact = (work) => {
    commits += 1;
    return transact(work);
  };
  const process = { boot_id: "", pid_namespace: "", pid: 1, started: "" };
  for (const room_id of roomIds) {
    await log.putRoom({ room_id, name: room_id, members: [], roster_digest: "d" });
    await log.claimLease({ seen: await log.lease(room_id), holder: "bench", process });
  }
  return { log, database, commits: () => commits, heads: new Map() };
}

function rowOf(room_id: string, seq: number): NewRow {
  const input = [
    { message_id: "msg-1", author: { kind: "person", id: "local" }, text: "what is new? ".repeat(15) },
  ] as const;
  const discussion = { message_id: "msg-1", round: 0, slot: 0 };
  const ids = { room_id, thread_id: "main", member_id: "m-a", turn_id: `t-${seq}`, task_id: `k-${seq}` };
  return {
    kind: "turn.started",
    coordinates: { ...ids, execution_generation: 1 },
    payload: { input, cause: "message", origin: null, seen_through_seq: 0, roster_digest: "d", discussion },
  };
}

async function appendTo({ log, heads }: OpenLog, roomId: string): Promise<void> {
  const seq = heads.get(roomId) ?? 0;
  heads.set(roomId, seq + 1);
  const result = await log.append({
    room_id: roomId,
    rows: [rowOf(roomId, seq)],
    inbox: [],
    expected_seq: seq,
    lease_generation: 1,
  });
  if (result.status !== "appended") throw new Error(`expected an append, got ${result.status}`);
}

const seconds = (since: number): number => (performance.now() - since) / 1_000;

/** Rows per second when all rooms append in one tick. */
async function together(opened: OpenLog): Promise<number> {
  const before = opened.commits();
  const start = performance.now();
  for (let tick = 0; tick < ticks; tick++) await Promise.all(roomIds.map((id) => appendTo(opened, id)));
  const rate = (ticks * roomCount) / seconds(start);
  if (opened.commits() - before !== ticks) throw new Error("expected one commit per tick");
  return rate;
}

/** Rows per second when each append is awaited, and so committed, alone. */
async function oneByOne(opened: OpenLog): Promise<number> {
  const before = opened.commits();
  const start = performance.now();
  for (const id of roomIds) await appendTo(opened, id);
  const rate = roomCount / seconds(start);
  if (opened.commits() - before !== roomCount) throw new Error("expected one commit per row");
  return rate;
}

/** Bytes that `count` appends add to the WAL, per append. */
async function walBytesPerAppend(opened: OpenLog, file: string): Promise<number> {
  opened.database.pragma("wal_checkpoint(TRUNCATE)");
  for (let index = 0; index < singles; index++) await appendTo(opened, "room-0");
  return Math.round(statSync(`${file}-wal`).size / singles);
}

/** Milliseconds of one durable append. The WAL begins anew each round, so that it grows as a plain file does. */
async function durableAppend(opened: OpenLog): Promise<number> {
  opened.database.pragma("wal_checkpoint(TRUNCATE)");
  const samples: number[] = [];
  for (let index = 0; index < singles; index++) {
    const start = performance.now();
    await appendTo(opened, "room-0");
    samples.push(performance.now() - start);
  }
  return median(samples);
}

/** Milliseconds of writing as many bytes at the end of a file, and fdatasync. */
function bareWrite(file: string, bytes: number): number {
  const handle = openSync(file, "w");
  const block = Buffer.alloc(bytes, 7);
  const samples: number[] = [];
  for (let index = 0; index < singles; index++) {
    const start = performance.now();
    writeSync(handle, block);
    fdatasyncSync(handle);
    samples.push(performance.now() - start);
  }
  closeSync(handle);
  return median(samples);
}

/** Whether a second connection finds the row in the moment in which the promise resolves. */
async function durableWhenResolved(opened: OpenLog, file: string): Promise<boolean> {
  const reader = await openSqliteLogReader({ file, clock: systemClock });
  try {
    for (let index = 0; index < 20; index++) {
      await appendTo(opened, "room-1");
      if ((await reader.head("room-1")).seq !== opened.heads.get("room-1")) return false;
    }
    return true;
  } finally {
    await reader.close();
  }
}

/** Writes beside the sources, because the system's folder for temporary files may lie in memory. */
export async function run(): Promise<BenchResult> {
  const folder = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), ".tmp-log-"));
  const file = join(folder, "bench.db");
  const opened = await open(file);
  try {
    const durable = await durableWhenResolved(opened, file);
    const rates = await sideBySide({ together: () => together(opened), oneByOne: () => oneByOne(opened) });
    const bytes = await walBytesPerAppend(opened, file);
    const times = await sideBySide({
      append: () => durableAppend(opened),
      bare: () => bareWrite(join(folder, "bare"), bytes),
    });
    return {
      rows: [
        { case: "100 rooms at once", rows_per_s: round(median(rates.together)), commits_per_tick: 1 },
        { case: "one commit per row", rows_per_s: round(median(rates.oneByOne)) },
        { case: "one durable append", ms: round(median(times.append)), wal_bytes: bytes },
        { case: "write + fdatasync", ms: round(median(times.bare)), bytes },
      ],
      gates: [
        atLeast(
          "rows per second, 100 rooms at once / one commit per row",
          medianRatio(rates.together, rates.oneByOne),
          5,
        ),
        holds("an append resolves only after its commit", durable),
        atMost("one durable append / write + fdatasync of its WAL bytes", medianRatio(times.append, times.bare), 2),
      ],
    };
  } finally {
    await opened.log.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
