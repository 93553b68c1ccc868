import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  checkpointOf,
  emptyState,
  fold,
  openSqliteLogReader,
  verifyLog,
  type LogRow,
  type NewRow,
  type RoomVerdict,
} from "../../rooms/index.ts";
import { makeCoordinates } from "../../core/index.ts";
import { connect } from "../../rooms/sqlite/database.ts";
import { TestLog } from "../support/logs.ts";
import { loopClock, openLog, postOf, roomOf, temporaryFolder } from "../support/open-log.ts";

/** 20 rows of 10 turns with texts of `size`, of which the last is open when `open`. */
function turns(roomId: string, { size = 10, open = false } = {}): readonly LogRow[] {
  const log = new TestLog(roomId);
  for (let turn = 1; turn <= 10; turn++) {
    const start = log.start({ member_id: "m-a", post: { message_id: `msg-${turn}`, text: "hi" } });
    if (turn < 10 || !open) log.settle(start, { text: "x".repeat(size) });
  }
  return log.rows;
}

/** A file with rooms r1 and r2, closed. */
async function write(rooms: readonly (readonly LogRow[])[]): Promise<string> {
  const file = join(temporaryFolder(), "test.db");
  const log = await openLog(file);
  for (const rows of rooms) {
    const room_id = rows[0]?.room_id ?? "";
    await log.putRoom(roomOf(room_id));
    for (const row of rows) {
      const coordinates = makeCoordinates(row);
      const added: NewRow =
        row.kind === "turn.started"
          ? { kind: row.kind, coordinates, payload: row.payload }
          : { kind: row.kind, coordinates, payload: row.payload };
      await log.append({ room_id, rows: [added], inbox: [], expected_seq: row.seq - 1 });
    }
  }
  await log.close();
  return file;
}

async function verdicts(file: string): Promise<RoomVerdict[]> {
  const clock = loopClock();
  const reader = await openSqliteLogReader({ file, clock });
  onTestFinished(() => reader.close());
  const all: RoomVerdict[] = [];
  for await (const verdict of verifyLog(reader, clock)) all.push(verdict);
  await reader.close();
  return all;
}

const change = (file: string, sql: string): void => void connect(file).exec(sql).close();

describe("verify", () => {
  it("C-073 finds nothing wrong with a right log and gives its digest", async () => {
    const rows = turns("r1");
    const [verdict] = await verdicts(await write([rows]));
    const { digest } = checkpointOf(fold(emptyState("r1"), rows), "");
    expect(verdict).toMatchObject({ room_id: "r1", rows: 20, head: 20, digest, open_turns: [], problem: null });
  });

  it("C-073 names an open turn, which is no problem", async () => {
    const [verdict] = await verdicts(await write([turns("r1", { open: true })]));
    expect(verdict).toMatchObject({ rows: 19, open_turns: [{ seq: 19, member_id: "m-a" }], problem: null });
  });

  it.each([
    ["one byte of its payload", 'payload = replace(payload, \'"text":"hi"\', \'"text":"ho"\')', "hash"],
    ["its created_at", "created_at = created_at + 1", "hash"],
    ["its hash", "hash = printf('%064d', 0)", "hash"],
    ["its kind", "kind = 'turn.settled', event_id = 'e-x', task_id = 'k-x'", "hash"],
  ])("R7 C-073 names row 7 when %s is changed", async (_, set, kind) => {
    const file = await write([turns("r1"), turns("r2")]);
    change(file, `UPDATE log SET ${set} WHERE seq = 7 AND room_id = 'r1'`);
    const [first, second] = await verdicts(file);
    expect(first).toMatchObject({ room_id: "r1", rows: 6, head: 6, problem: { seq: 7, kind } });
    expect(second).toMatchObject({ room_id: "r2", rows: 20, problem: null });
  });

  it("names the first of the missing rows", async () => {
    const file = await write([turns("r1")]);
    change(file, "DELETE FROM log WHERE seq IN (7, 8)");
    expect(await verdicts(file)).toMatchObject([{ rows: 6, problem: { seq: 7, kind: "order" } }]);
  });
});

/** Overwrites the leaf page that holds row `seq` of room r1. */
function damage(file: string, seq: number): void {
  const connection = connect(file);
  const page = connection
    .prepare<[], number>(`SELECT pageno FROM dbstat WHERE name = 'log' AND pagetype = 'leaf' ORDER BY path`)
    .pluck()
    .all();
  const rows = connection.prepare<[], number>("SELECT count(*) FROM log").pluck().get() ?? 0;
  connection.close();
  const pageno = page[Math.floor(((seq - 1) / rows) * page.length)] ?? 0;
  const handle = openSync(file, "r+");
  writeSync(handle, new Uint8Array(4_096).fill(0xff), 0, 4_096, (pageno - 1) * 4_096);
  closeSync(handle);
}

describe("a damaged page", () => {
  it("C-056 is told as log_corrupt with the file, the room and the first bad row", async () => {
    const file = await write([turns("r1", { size: 2_000 }), turns("r2", { size: 2_000 })]);
    damage(file, 10);
    const log = await openLog(file);
    const fault: unknown = await log.read("r1", { after_seq: 0 }).catch((reason: unknown) => reason);
    expect(fault).toMatchObject({ code: "log_corrupt", message: expect.stringContaining(file) });
    const bad = Number(/room r1: row (\d+)/.exec(String(fault))?.[1]);
    expect(bad).toBeGreaterThan(1);
    expect(bad).toBeLessThanOrEqual(20);
    expect((await log.read("r1", { after_seq: 0, limit: bad - 1 })).rows).toHaveLength(bad - 1);
    expect((await log.read("r2", { after_seq: 0 })).rows).toHaveLength(20);
    expect((await log.accept(postOf("hi", { room_id: "r2" }))).status).toBe("accepted");
  });

  it("C-056 is named by verify as unreadable, and the next room is checked", async () => {
    const file = await write([turns("r1", { size: 2_000 }), turns("r2", { size: 2_000 })]);
    damage(file, 10);
    const [first, second] = await verdicts(file);
    expect(first?.problem).toMatchObject({ kind: "unreadable" });
    expect(first?.problem?.seq).toBe((first?.rows ?? 0) + 1);
    expect(second).toMatchObject({ rows: 20, problem: null });
  });

  it("C-056 is told for a payload that is no payload", async () => {
    const file = await write([turns("r1")]);
    change(file, 'UPDATE log SET payload = \'{"status":"fine"}\' WHERE seq = 8');
    const log = await openLog(file);
    const read = log.read("r1", { after_seq: 0 });
    await expect(read).rejects.toMatchObject({
      code: "log_corrupt",
      message: expect.stringContaining("room r1: row 8"),
    });
  });
});
