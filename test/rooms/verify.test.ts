import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
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
import { loopClock, openLog, postOf, ownRoom, settleOf, temporaryFolder } from "../support/open-log.ts";

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
    await ownRoom(log, room_id);
    for (const row of rows) {
      const coordinates = makeCoordinates(row);
      const added: NewRow =
        row.kind === "turn.started"
          ? { kind: row.kind, coordinates, payload: row.payload }
          : { kind: row.kind, coordinates, payload: row.payload };
      await log.append({ room_id, rows: [added], inbox: [], expected_seq: row.seq - 1, lease_generation: 1 });
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

const noRules = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;";

describe("what stands beside the rows", () => {
  /** Rooms r1 and r2 with 20 rows each, and a post that waits in r1. */
  async function writeBoth(): Promise<string> {
    const file = await write([turns("r1"), turns("r2")]);
    const log = await openLog(file);
    await log.accept(postOf("hi", { message_id: "msg-1" }));
    await log.close();
    return file;
  }

  it.each([
    ["its last row is gone", "DELETE FROM log WHERE room_id = 'r1' AND seq = 20", "head", 20],
    ["all its rows are gone", "DELETE FROM log WHERE room_id = 'r1'", "head", 1],
    ["the number of its last row is too small", "UPDATE rooms SET head_seq = 19 WHERE room_id = 'r1'", "head", 20],
    ["its size is wrong", "UPDATE rooms SET log_bytes = 0 WHERE room_id = 'r1'", "counters", null],
    ["its open turns are wrong", "UPDATE rooms SET open_turns = 9 WHERE room_id = 'r1'", "counters", null],
    ["its posts are counted wrongly", "UPDATE rooms SET inbox_posts = 1024 WHERE room_id = 'r1'", "counters", null],
    ["its closed posts are, too", "UPDATE rooms SET closed_bytes = 5 WHERE room_id = 'r1'", "counters", null],
    ["its roster is changed", "UPDATE rosters SET members = replace(members, 'm-a', 'm-x')", "roster", null],
    ["its roster's digest is changed", "UPDATE rosters SET roster_digest = '00'", "roster", null],
    ["its roster is no JSON", "UPDATE rosters SET members = 'x'", "room", null],
    ["its roster is gone", "DELETE FROM rosters", "room", null],
    ["a handle is none", "UPDATE rosters SET members = replace(members, '\"b\"', '\"b\u001b\"')", "room", null],
    ["its stop lies ahead", "UPDATE rooms SET stop_seq = 99, stop_post_number = 0 WHERE room_id = 'r1'", "room", null],
    ["a waiting post is changed", "UPDATE inbox SET text = 'ho'", "inbox", null],
    ["a waiting post's receipt is gone", "DELETE FROM receipts", "inbox", null],
    ["a waiting post is damaged", "UPDATE inbox SET owed = '['", "inbox", null],
    ["a waiting post is gone", "DELETE FROM inbox", "counters", null],
    ["its lease is damaged", "UPDATE leases SET process = '{}'", "lease", null],
  ])("C-073 is a problem when %s", async (_, sql, kind, seq) => {
    const file = await writeBoth();
    change(file, `${noRules} ${sql}`);
    const [first] = await verdicts(file);
    expect(first).toMatchObject({
      room_id: "r1",
      rows: kind === "head" ? (first?.rows ?? 0) : 20,
      problem: { kind, seq },
    });
    expect(first?.problem?.message).not.toContain("\n");
  });

  it("C-073 names rows that belong to a room that is not there", async () => {
    const file = await writeBoth();
    change(file, `${noRules} UPDATE log SET room_id = 'r9' WHERE room_id = 'r1' AND seq = 20`);
    const found = await verdicts(file);
    expect(found.map(({ room_id, problem }) => [room_id, problem?.kind])).toEqual([
      ["r1", "head"],
      ["r2", undefined],
      ["r9", "orphan"],
    ]);
    change(file, `${noRules} DELETE FROM rooms`);
    const orphans = await verdicts(file);
    expect(orphans.map(({ room_id, problem }) => [room_id, problem?.kind])).toEqual([
      ["r1", "orphan"],
      ["r2", "orphan"],
      ["r9", "orphan"],
    ]);
    expect(orphans[0]?.problem?.message).toMatch(/: 19 of log, 1 of rosters, 1 of inbox, 1 of receipts, 1 of leases$/);
  });

  it("C-073 is looked for in the row itself, whatever an index says", async () => {
    const file = await writeBoth();
    const bytes = readFileSync(file, "latin1");
    // As a row has it, with its number and its kind behind it; an index has no kind there.
    writeFileSync(file, bytes.replaceAll("r1\u0007turn.started", "rX\u0007turn.started"), "latin1");
    const found = await verdicts(file);
    expect(found).toMatchObject([{ problem: { seq: 7, kind: "hash" } }, { problem: null }]);
    const reader = await openSqliteLogReader({ file, clock: loopClock() });
    expect((await reader.fileProblems()).length).toBeGreaterThan(0);
    await reader.close();
  });

  it("is all right while a host appends", async () => {
    const file = await write([turns("r1", { open: true })]);
    const log = await openLog(file);
    const clock = loopClock();
    const reader = await openSqliteLogReader({ file, clock });
    onTestFinished(() => reader.close());
    const [last] = (await log.read("r1", { after_seq: 18 })).rows;
    if (last === undefined) throw new Error("no row 19");
    const settle = { ...settleOf("x"), coordinates: makeCoordinates(last) };
    const racing = {
      fileProblems: () => reader.fileProblems(),
      roomIds: () => reader.roomIds(),
      orphans: () => reader.orphans(),
      storedRows: (roomId: string, afterSeq: number) => reader.storedRows(roomId, afterSeq),
      // Behind the last page, and before its sums are read.
      roomCheck: async (roomId: string) => {
        await log.append({ room_id: "r1", rows: [settle], inbox: [], expected_seq: 19, lease_generation: 1 });
        return reader.roomCheck(roomId);
      },
    };
    const all: RoomVerdict[] = [];
    for await (const verdict of verifyLog(racing, clock)) all.push(verdict);
    expect(all).toMatchObject([{ rows: 20, open_turns: [], problem: null }]);
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
