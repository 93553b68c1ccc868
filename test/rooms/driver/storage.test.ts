import { join } from "node:path";
import { closeSync, openSync, writeSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { limits, RoomtapError } from "../../../core/index.ts";
import { openSqliteLog, SqliteRoomLog, type RoomLog } from "../../../rooms/index.ts";
import { connect, type NativeConnection } from "../../../rooms/sqlite/database.ts";
import { openHostDatabase } from "../../../rooms/sqlite/open.ts";
import { interposed } from "../../support/interposed.ts";
import { loopClock, temporaryFolder } from "../../support/open-log.ts";
import { HeldRunner, roomOf, says, TestHost, until } from "../../support/open-room.ts";

const newFile = (): string => join(temporaryFolder(), "test.db");

/** A connection of somebody else to the same file. */
function stranger(file: string): NativeConnection {
  const connection = connect(file);
  onTestFinished(() => void connection.close());
  return connection;
}

/** A closed file with rooms of `turns` turns each, `bytes` of text in each answer. */
async function written(rooms: readonly string[], turns: number, bytes = 2): Promise<string> {
  const file = newFile();
  const answer = says("x".repeat(bytes));
  const test = await TestHost.open({ rooms: rooms.map((roomId) => roomOf(answer, ["a"], roomId)), file });
  for (const room of test.host.rooms) {
    for (let turn = 0; turn < turns; turn++) {
      await room.post({ text: `post ${turn}` });
      await test.host.quiet();
    }
  }
  await test.close();
  // The next host reads every row.
  const connection = connect(file);
  connection.exec("DELETE FROM checkpoints");
  connection.close();
  return file;
}

describe("a locked database", () => {
  it("C-053 has a settle kept and tried again until it is written, and told only then", async () => {
    const file = newFile();
    const held = new HeldRunner();
    // The lease of a host that cannot renew it runs out: here it does not, for as long as the lock is held.
    const test = await TestHost.open({ rooms: [roomOf(held)], file, leaseTtlMs: 120_000 });
    await test.room.post({ text: "go" });
    const { say } = await held.turn(0);
    const other = stranger(file);
    other.exec("BEGIN IMMEDIATE");
    say("done");
    await test.pass(21_000);
    await test.delivered();
    expect([await test.told(), test.of("turn.settled")]).toEqual([["started m-a message"], []]);
    expect(test.notices.map(({ code, subject }) => [code, subject])).toEqual([["log_busy", "r1"]]);
    // Said to stop now, it is no less done.
    test.host.runs[0]?.stop("stopped", 0);
    other.exec("ROLLBACK");
    await test.pass(6_000);
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
    expect(test.of("turn.settled")).toHaveLength(1);
  });

  it("C-053 has a start tried again, by one timer however often it is asked for", async () => {
    const file = newFile();
    const clock = loopClock();
    let appends = 0;
    const log = await openSqliteLog({ file, clock });
    let isLocked = true;
    const append: RoomLog["append"] = async (given) => {
      appends++;
      if (isLocked) throw new RoomtapError("log_busy", "locked");
      return log.append(given);
    };
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], clock, log: interposed(log, { append }) });
    for (const text of ["one", "two", "three", "four"]) {
      await test.room.post({ text });
      await test.pass(50);
    }
    expect(appends).toBe(4);
    let finished = false;
    const finishing = test.host.finish().then(() => (finished = true));
    await test.pass(5_000);
    expect([appends, finished]).toEqual([5, false]);
    isLocked = false;
    await test.pass(5_000);
    await finishing;
    expect(appends).toBe(7);
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
  });

  it("C-053 is asked again after 250 ms, doubling to 5 s", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const tries: number[] = [];
    const append: RoomLog["append"] = async (given) => {
      if (given.rows[0]?.kind === "turn.started") return log.append(given);
      tries.push(clock.monotonic());
      throw new RoomtapError("log_full", "full");
    };
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], clock, log: interposed(log, { append }) });
    await test.room.post({ text: "go" });
    await until(() => tries.length === 1);
    await test.pass(18_000, 250);
    expect(tries).toEqual([0, 250, 750, 1_750, 3_750, 7_750, 12_750, 17_750]);
  });

  it("closes while a settle cannot be written, and the next host abandons the turn", async () => {
    const file = newFile();
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)], file, leaseTtlMs: 120_000 });
    await test.room.post({ text: "go" });
    const { say } = await held.turn(0);
    const other = stranger(file);
    other.exec("BEGIN IMMEDIATE");
    say("done");
    await test.pass(6_000);
    await Promise.all([test.close(), test.close()]);
    expect(test.of("turn.settled")).toEqual([]);
    expect(test.notices.map(({ code, message }) => [code, message.split(";")[0]])).toEqual([
      ["log_busy", expect.stringMatching(/^room r1: /)],
      ["settle_lost", expect.stringMatching(/^room r1: turn t-/)],
      ["log_busy", "a lease was not given back"],
    ]);
    other.exec("ROLLBACK");
    const next = await TestHost.open({ rooms: [roomOf(held)], file });
    await next.pass(16_000, 250);
    expect(await next.told()).toEqual(["started m-a message", "settled m-a host_lost"]);
  });

  it("takes a settle whose commit succeeded and whose answer was lost as written", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: newFile(), clock });
    let lost = 0;
    const append: RoomLog["append"] = async (given) => {
      const result = await log.append(given);
      if (given.rows[0]?.kind === "turn.settled" && lost++ === 0)
        throw new RoomtapError("log_unavailable", "no answer");
      return result;
    };
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], clock, log: interposed(log, { append }) });
    await test.room.post({ text: "one" });
    await test.pass(300);
    await test.quiet();
    await test.room.post({ text: "two" });
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a completed",
      "started m-a message",
      "settled m-a completed",
    ]);
    expect(test.of("turn.settled").map(({ payload }) => payload.row.seq)).toEqual([2, 4]);
  });
});

describe("a full disk", () => {
  it("C-055 refuses posts, keeps the settle, and writes it once when there is space", async () => {
    const clock = loopClock();
    const database = await openHostDatabase({ file: newFile(), clock });
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)], clock, log: new SqliteRoomLog(database, { clock }) });
    await test.room.post({ text: "go" });
    const { end } = await held.turn(0);
    database.pragma(`max_page_count = ${Number(database.pragma("page_count"))}`);
    end({ status: "completed", text: "x".repeat(65_536) });
    await test.pass(2_000);
    await test.delivered();
    await expect(test.room.post({ text: "y".repeat(65_536) })).rejects.toMatchObject({ code: "log_full" });
    expect([test.of("turn.settled"), await test.told()]).toEqual([[], ["started m-a message"]]);
    expect(test.notices.map(({ code }) => code)).toEqual(["log_full"]);
    database.pragma("max_page_count = 1000000");
    await test.pass(6_000);
    await test.quiet();
    expect((await test.rows()).map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, "turn.started"],
      [2, "turn.settled"],
    ]);
    expect(test.of("turn.settled")).toHaveLength(1);
    expect(await test.log.inbox("r1")).toEqual([]);
    expect(await test.room.post({ text: "y".repeat(65_536) })).toMatchObject({ addressed: ["m-a"] });
    (await held.turn(1)).say("ok");
    await test.quiet();
  });
});

describe("a damaged room", () => {
  it.each([
    ["a changed byte", 71, "payload = replace(payload, 'post 35', 'post 99')", "row 71 was changed"],
    ["a row of another kind", 72, "kind = 'turn.started', event_id = 'e-x', task_id = 'k-x'", "row 72 was changed"],
  ])("C-056 is read-only with one diagnostic for %s, and others go on", async (_, seq, set, problem) => {
    const file = await written(["r1", "r2"], 40);
    const other = connect(file);
    other.exec(`UPDATE log SET ${set} WHERE room_id = 'r1' AND seq = ${seq}`);
    other.close();
    const rooms = ["r1", "r2"].map((roomId) => roomOf(says("hi"), ["a"], roomId));
    const test = await TestHost.open({ rooms, file });
    const [notice, ...more] = test.notices;
    expect([notice?.code, notice?.subject, more]).toEqual(["log_corrupt", "r1", []]);
    for (const part of [file, `first at row ${seq}:`, problem, "takes no posts", "Restore the file from a backup"]) {
      expect(notice?.message).toContain(part);
    }
    expect(test.room.folded.through_seq).toBe(seq - 1);
    const refusals = await Promise.allSettled(Array.from({ length: 100 }, () => test.room.post({ text: "more" })));
    expect(refusals.filter((it) => it.status === "rejected" && it.reason.code === "log_corrupt")).toHaveLength(100);
    await test.host.room("r2").post({ text: "go" });
    await test.quiet();
    expect([(await test.log.head("r1")).seq, (await test.log.head("r2")).seq]).toEqual([80, 82]);
    expect(test.notices).toHaveLength(1);
  });

  it("C-056 names the first row on a damaged page", async () => {
    const file = await written(["r1", "r2"], 40, 2_000);
    const { first, pageno } = middlePage(file);
    const handle = openSync(file, "r+");
    writeSync(handle, new Uint8Array(4_096).fill(0xff), 0, 4_096, (pageno - 1) * 4_096);
    closeSync(handle);
    const rooms = ["r1", "r2"].map((roomId) => roomOf(says("hi"), ["a"], roomId));
    const test = await TestHost.open({ rooms, file });
    expect(test.notices.map(({ code, subject }) => [code, subject])).toEqual([["log_corrupt", "r1"]]);
    expect(test.notices[0]?.message).toContain(`${file} is damaged, first at row ${first}: `);
    await expect(test.room.post({ text: "more" })).rejects.toMatchObject({ code: "log_corrupt" });
    expect(await test.host.room("r2").post({ text: "go" })).toMatchObject({ addressed: ["m-a"] });
    await test.quiet();
  });

  it("C-056 becomes read-only at the first sign while it runs", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: newFile(), clock });
    const signs = { read: 0, accept: 0 };
    const fault = new RoomtapError("log_corrupt", "test.db: room r1: row 1 lies on a damaged page");
    const damaged = interposed(log, {
      read: async (...given) => {
        if (signs.read++ > 0) throw fault;
        return log.read(...given);
      },
    });
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], clock, log: damaged });
    for (const text of ["one", "two", "three"]) {
      await test.room.post({ text });
      await test.quiet();
      if (test.room.damage !== null) break;
    }
    await expect(test.room.post({ text: "more" })).rejects.toBe(fault);
    expect(test.notices.map(({ code }) => code)).toEqual(["log_corrupt"]);
    expect((await log.head("r1")).seq % 2).toBe(0);
  });
});

/** The page in the middle of room r1's rows, and the first row on it. */
function middlePage(file: string): { first: number; pageno: number } {
  const connection = connect(file);
  const pages = connection
    .prepare<[], number>("SELECT pageno FROM dbstat WHERE name = 'log' AND pagetype = 'leaf' ORDER BY path")
    .pluck()
    .all();
  const bytes = connection.serialize();
  connection.close();
  const pageno = pages[Math.floor(pages.length / 4)] ?? 0;
  const ids =
    bytes
      .subarray((pageno - 1) * 4_096, pageno * 4_096)
      .toString("latin1")
      .match(/e-[0-9a-f]{32}/g) ?? [];
  const reader = connect(file);
  const seqOf = reader.prepare<[string], number>("SELECT seq FROM log WHERE event_id = ?").pluck();
  const first = Math.min(...ids.map((id) => seqOf.get(id) ?? Infinity));
  reader.close();
  return { first, pageno };
}

describe("a room's quota", () => {
  it("R10 lets what runs settle, starts no more, and refuses posts, also in mid-run", async () => {
    const held = new HeldRunner();
    const quota = { maxRoomRows: 4, maxRoomBytes: limits.maxRoomBytes };
    const rooms = [roomOf(held, ["a", "b", "c"]), roomOf(says("hi"), ["a"], "r2")];
    const test = await TestHost.open({ rooms, quota });
    await Promise.all([test.room.post({ text: "to three" }), test.room.post({ text: "@c more" })]);
    (await held.turn(0)).say("one");
    (await held.turn(1)).say("two");
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a completed",
      "started m-b message",
      "settled m-b completed",
    ]);
    await expect(test.room.post({ text: "no" })).rejects.toMatchObject({ code: "room_full" });
    expect(test.notices.map(({ code }) => code)).toEqual(["room_full"]);
    expect((await test.log.inbox("r1")).map(({ owed }) => owed)).toEqual([["m-c"], ["m-c"]]);
    expect(await test.host.finish()).toEqual([]);
    await test.host.room("r2").post({ text: "go" });
    await until(() => test.host.room("r2").folded.through_seq === 2);
  });
});
