/**
 * Replay of a room's whole log from a file, rows validated, hashes not, against the least that any replay does: reading
 * whole rows, `JSON.parse`, and a fold that counts statuses.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../core/index.ts";
import {
  emptyState,
  openSqliteLog,
  openSqliteLogReader,
  RoomFold,
  type OpenOptions,
  type SqliteLogReader,
} from "../../rooms/index.ts";
import type { SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { openReadOnlyDatabase } from "../../rooms/sqlite/open.ts";
import { atLeast, holds, median, medianRatio, round, sideBySide, type BenchResult } from "./measure.ts";
import { writeTalk } from "./talk.ts";

const roomId = "r1";
const rowCount = 100_000;

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

async function write(options: OpenOptions): Promise<void> {
  const log = await openSqliteLog(options);
  await writeTalk(log, roomId, rowCount);
  await log.close();
}
