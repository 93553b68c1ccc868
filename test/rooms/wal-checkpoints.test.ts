import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ManualClock, Notice } from "../../core/index.ts";
import { openSqliteLogReader, SqliteRoomLog } from "../../rooms/index.ts";
import { connect, type NativeConnection, type SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { openHostDatabase } from "../../rooms/sqlite/open.ts";
import { loopClock, ownRoom, settleOf, startOf, temporaryFolder, turnsOfLoop } from "../support/open-log.ts";

const mebibyte = 1_048_576;

interface Opened {
  readonly file: string;
  readonly clock: ManualClock;
  readonly database: SqliteDatabase;
  readonly log: SqliteRoomLog;
  readonly notices: Notice[];
  readonly walBytes: () => number;
  /** Appends `count` rows of `bytes` each, one commit after the other. */
  readonly append: (count: number, bytes: number) => Promise<void>;
}

async function open(): Promise<Opened> {
  const file = join(temporaryFolder(), "test.db");
  const clock = loopClock();
  const database = await openHostDatabase({ file, clock });
  // No wait for the disk at each commit: what a power cut leaves is no question here.
  database.pragma("synchronous = OFF");
  const notices: Notice[] = [];
  const log = new SqliteRoomLog(database, { clock, report: (notice) => notices.push(notice) });
  onTestFinished(() => log.close());
  await ownRoom(log);
  let seq = 0;
  const append = async (count: number, bytes: number): Promise<void> => {
    const text = "x".repeat(bytes);
    for (const until = seq + count; seq < until; seq++) {
      const rows = [startOf(`${seq}`, { text })];
      const result = await log.append({ room_id: "r1", rows, inbox: [], expected_seq: seq, lease_generation: 1 });
      expect(result.status).toBe("appended");
      await turnsOfLoop(1);
    }
  };
  return { file, clock, database, log, notices, walBytes: () => statSync(`${file}-wal`).size, append };
}

/** A reader that keeps its place in the WAL. */
function keepingReader(file: string): NativeConnection {
  const connection = connect(file, { readonly: true });
  onTestFinished(() => void connection.close());
  connection.exec("BEGIN");
  connection.prepare("SELECT count(*) FROM log").get();
  return connection;
}

describe("the WAL", () => {
  it("is cut to nothing when the log has been idle for a second", async () => {
    const { clock, log, walBytes, append } = await open();
    clock.advance(999);
    expect(walBytes()).toBeGreaterThan(0);
    await append(1, 100);
    clock.advance(1_999 - 999);
    expect(walBytes()).toBeGreaterThan(0);
    clock.advance(1_000);
    expect(walBytes()).toBe(0);
    expect((await log.head("r1")).seq).toBe(1);
  });

  it("is moved into the main file at 16 MiB while appends go on, and used anew", async () => {
    const { file, walBytes, append } = await open();
    let largest = 0;
    for (let part = 0; part < 15; part++) {
      await append(10, 250_000);
      largest = Math.max(largest, walBytes());
    }
    expect(largest).toBeLessThan(21 * mebibyte);
    expect(walBytes()).toBe(16 * mebibyte);
    expect(statSync(file).size).toBeGreaterThan(30 * mebibyte);
  });

  it("C-054 stays small beside a slow reader of pages and goes at rest", { timeout: 60_000 }, async () => {
    const { file, clock, log, notices, walBytes } = await open();
    const slow = await openSqliteLogReader({ file, clock });
    onTestFinished(() => slow.close());
    const text = "x".repeat(200);
    let [largest, cursor] = [0, 0];
    for (let seq = 0; seq < 40_000; seq += 100) {
      const turns = Array.from({ length: 50 }, (_, index) => `${seq + index}`);
      const rows = turns.flatMap((turn) => [startOf(turn, { text }), settleOf(turn, { text })]);
      const result = await log.append({ room_id: "r1", rows, inbox: [], expected_seq: seq, lease_generation: 1 });
      expect(result.status).toBe("appended");
      if (seq >= 20_000 && seq % 500 === 0) ({ cursor } = await slow.read("r1", { after_seq: cursor }));
      largest = Math.max(largest, walBytes());
    }
    expect(cursor).toBe(20_000);
    expect(largest).toBeGreaterThan(16 * mebibyte);
    expect(largest).toBeLessThan(32 * mebibyte);
    clock.advance(2_000);
    expect(walBytes()).toBe(0);
    expect(notices).toEqual([]);
  });

  it("C-054 that a reader keeps above 32 MiB is reported, once until it is small again", async () => {
    const { file, clock, notices, walBytes, append } = await open();
    await append(1, 100);
    const reader = keepingReader(file);
    await append(200, 250_000);
    expect(walBytes()).toBeGreaterThan(40 * mebibyte);
    expect(notices.map(({ code }) => code)).toEqual(["wal_held"]);
    reader.exec("COMMIT");
    await append(32, 100);
    expect(walBytes()).toBe(16 * mebibyte);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM log").get();
    await append(200, 250_000);
    expect(notices.map(({ code }) => code)).toEqual(["wal_held", "wal_held"]);
    reader.exec("COMMIT");
    clock.advance(3_000);
    expect(walBytes()).toBe(0);
  });

  it("C-054 is cut when the reader is gone, also when nothing is appended any more", async () => {
    const { file, clock, walBytes, append } = await open();
    await append(1, 100);
    const reader = keepingReader(file);
    await append(1, 100);
    clock.advance(10_000);
    expect(walBytes()).toBeGreaterThan(0);
    reader.exec("COMMIT");
    clock.advance(30_000);
    expect(walBytes()).toBe(0);
  });
});

describe("a snapshot", () => {
  it("shows one instant, and holds nothing afterwards", async () => {
    const { file, database, append, clock, walBytes } = await open();
    await append(3, 100);
    const other = connect(file);
    onTestFinished(() => void other.close());
    const count = database.prepare<[], number>("SELECT count(*) FROM log").pluck();
    const counts = await database.snapshot(() => {
      const before = count.get();
      other.exec("DELETE FROM log WHERE seq = 3");
      return [before, count.get()];
    });
    expect([...counts, count.get()]).toEqual([3, 3, 2]);
    clock.advance(3_000);
    expect(walBytes()).toBe(0);
  });
});
