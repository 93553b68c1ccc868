import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ManualClock } from "../../core/index.ts";
import { SqliteRoomLog } from "../../rooms/index.ts";
import { connect, type NativeConnection, type SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { openHostDatabase } from "../../rooms/sqlite/open.ts";
import { loopClock, postOf, ownRoom, settleOf, startOf, temporaryFolder, turnsOfLoop } from "../support/open-log.ts";

interface Opened {
  readonly file: string;
  readonly clock: ManualClock;
  readonly database: SqliteDatabase;
  readonly log: SqliteRoomLog;
}

async function open(file = join(temporaryFolder(), "test.db")): Promise<Opened> {
  const clock = loopClock();
  const database = await openHostDatabase({ file, clock });
  const log = new SqliteRoomLog(database, { clock });
  onTestFinished(() => log.close());
  await ownRoom(log, "r1");
  return { file, clock, database, log };
}

/** A connection of somebody else to the same file. */
function stranger(file: string): NativeConnection {
  const connection = connect(file);
  onTestFinished(() => void connection.close());
  return connection;
}

/** Moves time in steps of a retry, with turns of the loop between. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 25) {
    await turnsOfLoop(2);
    clock.advance(25);
  }
  await turnsOfLoop(2);
}

const append = (log: SqliteRoomLog, seq: number, name: string) =>
  log.append({ room_id: "r1", rows: [startOf(name)], inbox: [], expected_seq: seq, lease_generation: 1 });

describe("a busy database", () => {
  it("C-053 appends after a lock of 300 ms, and the loop turns meanwhile", async () => {
    const { file, clock, log } = await open();
    const other = stranger(file);
    other.exec("BEGIN IMMEDIATE");
    let settled = false;
    const appended = append(log, 0, "1").finally(() => (settled = true));
    await pass(clock, 300);
    expect(settled).toBe(false);
    other.exec("COMMIT");
    await pass(clock, 50);
    expect((await appended).status).toBe("appended");
    expect((await log.read("r1", { after_seq: 0 })).rows).toHaveLength(1);
  });

  it("C-053 gives up after busyTimeoutMs, writes nothing, and takes the same row later", async () => {
    const { file, clock, log } = await open();
    const other = stranger(file);
    other.exec("BEGIN IMMEDIATE");
    const [busy] = await Promise.allSettled([append(log, 0, "1"), pass(clock, 5_050)]);
    expect(busy).toMatchObject({ status: "rejected", reason: { code: "log_busy" } });
    other.exec("ROLLBACK");
    expect((await log.head("r1")).seq).toBe(0);
    expect((await append(log, 0, "1")).status).toBe("appended");
  });

  it("C-053 decides anew upon what the other one committed", async () => {
    const { file, clock, log } = await open();
    expect((await append(log, 0, "1")).status).toBe("appended");
    const other = stranger(file);
    other.exec("BEGIN IMMEDIATE");
    const late = append(log, 1, "2");
    await pass(clock, 50);
    other.exec("DELETE FROM log; COMMIT");
    await pass(clock, 50);
    expect(await late).toMatchObject({ status: "position_conflict", seq: 0 });
  });

  it("C-081 shows no head above the commit", async () => {
    const { file, clock, log } = await open();
    for (let seq = 0; seq < 7; seq++) await append(log, seq, `${seq}`);
    const other = stranger(file);
    other.exec("BEGIN IMMEDIATE");
    const eighth = append(log, 7, "8");
    await pass(clock, 100);
    expect((await log.head("r1")).seq).toBe(7);
    expect((await log.read("r1", { after_seq: 0 })).cursor).toBe(7);
    other.exec("ROLLBACK");
    await pass(clock, 50);
    expect((await eighth).status).toBe("appended");
    expect((await log.head("r1")).seq).toBe(8);
  });

  it("R6 C-081 uses no number up for an append that fails", async () => {
    const { file, clock, log } = await open();
    for (let seq = 0; seq < 7; seq++) await append(log, seq, `${seq}`);
    const other = stranger(file);
    other.exec("BEGIN IMMEDIATE");
    const [failed] = await Promise.allSettled([append(log, 7, "lost"), pass(clock, 5_050)]);
    expect(failed).toMatchObject({ status: "rejected", reason: { code: "log_busy" } });
    other.exec("ROLLBACK");
    expect((await log.head("r1")).seq).toBe(7);
    const next = await append(log, 7, "8");
    expect(next).toMatchObject({ status: "appended", rows: [{ seq: 8, task_id: "k-8" }] });
  });
});

describe("a full disk", () => {
  it("C-055 refuses what does not fit, stays readable, and takes it once there is space", async () => {
    const { database, log } = await open();
    await append(log, 0, "1");
    const settle = {
      room_id: "r1",
      rows: [settleOf("1", { text: "x".repeat(65_536) })],
      inbox: [],
      expected_seq: 1,
      lease_generation: 1,
    };
    database.pragma(`max_page_count = ${Number(database.pragma("page_count"))}`);
    const post = postOf("y".repeat(65_536));
    const [settled, accepted] = await Promise.allSettled([log.append(settle), log.accept(post)]);
    expect(settled).toMatchObject({ status: "rejected", reason: { code: "log_full" } });
    expect(accepted).toMatchObject({ status: "rejected", reason: { code: "log_full" } });
    expect(await log.inbox("r1")).toEqual([]);
    expect((await log.read("r1", { after_seq: 0 })).rows.map((row) => row.seq)).toEqual([1]);
    database.pragma("max_page_count = 1000000");
    expect(await log.append(settle)).toMatchObject({ status: "appended", rows: [{ seq: 2 }] });
    expect(await log.accept(post)).toMatchObject({ status: "accepted", post: { number: 1 } });
  });
});

describe("a fault within one operation", () => {
  it("meets its owner alone", async () => {
    const { file, log } = await open();
    await ownRoom(log, "r2");
    const other = stranger(file);
    // A row under another event id holds the place of the attempt: the table refuses the insert itself.
    await append(log, 0, "1");
    other.exec("UPDATE log SET event_id = 'e-other'");
    const results = await Promise.allSettled([
      log.append({
        room_id: "r2",
        rows: [startOf("2", { room: "r2" })],
        inbox: [],
        expected_seq: 0,
        lease_generation: 1,
      }),
      log.append({
        room_id: "r1",
        rows: [startOf("3"), startOf("1")],
        inbox: [],
        expected_seq: 1,
        lease_generation: 1,
      }),
      log.accept(postOf("hello")),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await log.head("r1")).seq).toBe(1);
    expect((await log.head("r2")).seq).toBe(1);
  });
});

describe("the table itself", () => {
  const columns = "room_id, seq, kind, event_id, thread_id, member_id, turn_id, task_id, execution_generation, payload";
  const values: Readonly<Record<string, string>> = {
    room_id: "'r1'",
    seq: "1",
    kind: "'turn.started'",
    event_id: "'e-1'",
    thread_id: "'main'",
    member_id: "'m-a'",
    turn_id: "'t-1'",
    task_id: "'k-1'",
    execution_generation: "1",
    payload: "'{}'",
  };
  const insert = (changes: Readonly<Record<string, string>>): string => {
    const all = Object.values({ ...values, ...changes }).join(", ");
    return `INSERT INTO log (${columns}, created_at, prev_hash, hash)
      VALUES (${all}, 1, printf('%064d', 0), printf('%064d', 0))`;
  };

  it("takes a row of the two kinds with all coordinates", async () => {
    const { file } = await open();
    expect(() => stranger(file).exec(insert({}))).not.toThrow();
  });

  it.each([
    ["a third kind", { kind: "'turn.paused'" }],
    ...["room_id", "thread_id", "member_id", "turn_id", "task_id"].map((name) => [`no ${name}`, { [name]: "NULL" }]),
    ["an empty thread_id", { thread_id: "''" }],
    ["no generation", { execution_generation: "NULL" }],
    ["generation 0", { execution_generation: "0" }],
    ["a number as text", { seq: "'one'" }],
    ["an unknown room", { room_id: "'r9'" }],
  ] as [string, Record<string, string>][])("R2 refuses a row with %s", async (_, changes) => {
    const { file } = await open();
    const other = stranger(file);
    other.pragma("foreign_keys = ON");
    expect(() => other.exec(insert(changes))).toThrow(/constraint|cannot store|datatype/);
  });

  it.each([
    ["position", { event_id: "'e-2'", task_id: "'k-2'" }],
    ["event id", { seq: "2", task_id: "'k-2'" }],
    ["attempt and kind", { seq: "2", event_id: "'e-2'" }],
  ] as [string, Record<string, string>][])("R2 refuses a second row of one %s", async (_, changes) => {
    const { file } = await open();
    const other = stranger(file);
    other.exec(insert({}));
    expect(() => other.exec(insert(changes))).toThrow(/UNIQUE/);
  });
});
