import { createHash } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSqliteLog, openSqliteLogReader } from "../../rooms/index.ts";
import { connect, SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { migrate } from "../../rooms/sqlite/migrations.ts";
import { logProcess, type LogProcess } from "../support/log-process.ts";
import { claim, loopClock, openLog, ownRoom, postOf, roomOf, startOf, temporaryFolder } from "../support/open-log.ts";

const somebodyElse = 65_534;

function child(action: "hold" | "open" | "look" | "post", file: string, uid?: number): LogProcess {
  const started = logProcess(action, file, uid);
  onTestFinished(() => started.kill());
  return started;
}

/** Not while this process has the file open: closing it here would drop its locks. */
const bytesOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

const newFile = (): string => join(temporaryFolder(), "test.db");
const filesBeside = (file: string): string[] => readdirSync(join(file, "..")).sort();

/** A closed log with `rows` rows in room r1. */
async function closedLog(rows = 1): Promise<string> {
  const file = newFile();
  const log = await openLog(file);
  await ownRoom(log, "r1");
  for (let seq = 0; seq < rows; seq++) {
    await log.append({ room_id: "r1", rows: [startOf(`${seq}`)], inbox: [], expected_seq: seq, lease_generation: 1 });
  }
  await log.close();
  return file;
}

describe("hosts of one database", () => {
  it("write side by side, also by another name of the file", async () => {
    const file = newFile();
    const one = await openLog(file);
    const link = `${file}.link`;
    symlinkSync(file, link);
    const other = await openLog(link);
    await ownRoom(one);
    expect(await other.accept(postOf("hello"))).toMatchObject({ status: "accepted", post: { number: 1 } });
    expect(await one.accept(postOf("hello again"))).toMatchObject({ status: "accepted", post: { number: 2 } });
    await one.close();
    expect(await other.inbox("r1")).toHaveLength(2);
    await other.close();
    expect(filesBeside(file)).toEqual(["test.db", "test.db.link"]);
  });

  it("take over from one that was killed", { timeout: 60_000 }, async () => {
    const file = newFile();
    const holder = child("hold", file);
    expect(await holder.line()).toBe("ready");
    const log = await openLog(file);
    await holder.kill();
    expect(await claim(log)).toBe(2);
    const append = { room_id: "r1", rows: [startOf("next")], inbox: [], expected_seq: 1, lease_generation: 2 };
    expect((await log.append(append)).status).toBe("appended");
  });

  it("lose no post that they accepted when they are killed", { timeout: 60_000 }, async () => {
    for (const count of [1, 7, 40]) {
      const file = newFile();
      const poster = child("post", file);
      const accepted: string[] = [];
      while (accepted.length < count) accepted.push(await poster.line());
      await poster.kill();
      const log = await openLog(file);
      const there = new Set((await log.inbox("r1")).map((post) => post.message_id));
      expect(accepted.filter((id) => !there.has(id))).toEqual([]);
      await log.close();
    }
  });

  it("share nothing in memory", async () => {
    const [one, two] = [await openLog(":memory:"), await openLog(":memory:")];
    await one.putRoom(roomOf("r1"));
    expect(await two.rooms()).toEqual([]);
  });
});

describe("a file that is not ours to use", () => {
  const refusals: readonly [what: string, code: string, make: (file: string) => void | Promise<void>][] = [
    [
      "text",
      "log_foreign",
      (file) => writeFileSync(file, "not a database, but long enough to be read as one\n".repeat(99)),
    ],
    [
      "a database of somebody else",
      "log_foreign",
      (file) => void connect(file).exec("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')").close(),
    ],
    [
      "a database of somebody else in WAL mode",
      "log_foreign",
      (file) => void connect(file).exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)").close(),
    ],
  ];

  it.each(refusals)("refuses %s with %s and leaves it as it is", async (_, code, make) => {
    const file = newFile();
    await make(file);
    const [bytes, files] = [bytesOf(file), filesBeside(file)];
    for (const open of [openSqliteLog, openSqliteLogReader]) {
      await expect(open({ file, clock: loopClock() })).rejects.toMatchObject({ code });
    }
    expect([bytesOf(file), filesBeside(file)]).toEqual([bytes, files]);
  });

  it("refuses a newer schema and leaves it as it is", async () => {
    const file = await closedLog();
    connect(file).exec("PRAGMA user_version = 99").close();
    const [bytes, files] = [bytesOf(file), filesBeside(file)];
    for (const open of [openSqliteLog, openSqliteLogReader]) {
      await expect(open({ file, clock: loopClock() })).rejects.toMatchObject({ code: "log_newer_schema" });
    }
    expect([bytesOf(file), filesBeside(file)]).toEqual([bytes, files]);
  });

  it("brings an older schema up to date, which a look refuses to do", async () => {
    const file = newFile();
    const clock = loopClock();
    const connection = connect(file);
    connection.exec("PRAGMA application_id = 0x726d7470; PRAGMA journal_mode = WAL");
    const database = new SqliteDatabase({ connection, file, clock, busyTimeoutMs: 0, dispose: (open) => open.close() });
    await migrate(database, 1);
    database.exec(`
      INSERT INTO rooms (room_id, name, revision, created_at) VALUES ('r1', 'Old', 3, 7);
      INSERT INTO rosters VALUES ('r1', 3, '[]', 'd');
      INSERT INTO inbox VALUES ('r1', 1, 'msg-1', 'main', '{"kind":"person","id":"p"}', NULL, 'hi', '[]', '["m-a"]', '[]', NULL, 0, 9, 2);
      INSERT INTO inbox VALUES ('r1', 2, 'msg-2', 'main', '{"kind":"person","id":"p"}', NULL, 'all', '[]', '[]', '[]', NULL, 0, 9, 3);
      UPDATE rooms SET next_number = 3, inbox_posts = 2, inbox_bytes = 5`);
    database.close();
    const bytes = bytesOf(file);
    await expect(openSqliteLogReader({ file, clock })).rejects.toMatchObject({ code: "log_older_schema" });
    expect([bytesOf(file), filesBeside(file)]).toEqual([bytes, ["test.db"]]);
    const log = await openLog(file);
    const room = { name: "Old", revision: 3, created_at: 7, paused: [], stop: null, disbanded_at: null };
    expect(await log.planInput("r1")).toMatchObject({
      room,
      inbox: [{ message_id: "msg-1", owed: ["m-a"] }, { owed: [] }],
    });
    const kept = connect(file).prepare("SELECT head_seq, closed_posts, closed_bytes FROM rooms").get();
    expect(kept).toEqual({ head_seq: 0, closed_posts: 1, closed_bytes: 3 });
    expect(await claim(log)).toBe(1);
    await log.close();
    const reader = await openSqliteLogReader({ file, clock });
    expect(await reader.lease("r1")).toMatchObject({ generation: 1, released: false });
    await reader.close();
  });

  it("C-073 refuses a log that is cut off with log_corrupt", async () => {
    const file = await closedLog(20);
    truncateSync(file, 20_480);
    const bytes = bytesOf(file);
    for (const open of [openSqliteLog, openSqliteLogReader]) {
      await expect(open({ file, clock: loopClock() })).rejects.toMatchObject({ code: "log_corrupt" });
    }
    expect(bytesOf(file)).toBe(bytes);
  });

  it("refuses a locked file with log_busy", { timeout: 60_000 }, async () => {
    const file = await closedLog();
    const other = connect(file);
    onTestFinished(() => void other.close());
    other.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    expect(await child("open", file).line()).toBe("log_busy");
    expect(await child("look", file).line()).toBe("log_busy");
  });

  it("refuses a folder, and a file in a folder that is not there", async () => {
    const folder = temporaryFolder();
    const clock = loopClock();
    await expect(openSqliteLog({ file: folder, clock })).rejects.toMatchObject({ code: "log_unavailable" });
    const nowhere = openSqliteLog({ file: join(folder, "no", "test.db"), clock });
    await expect(nowhere).rejects.toMatchObject({ code: "log_unavailable" });
    expect(existsSync(join(folder, "no"))).toBe(false);
  });

  // Root may write everywhere, so the child runs as somebody else; where nobody can change the user, as ourselves.
  const uid = process.getuid?.() === 0 ? somebodyElse : undefined;

  it("refuses a file and a folder that cannot be written", { timeout: 60_000 }, async () => {
    const file = await closedLog();
    const folder = join(file, "..");
    chmodSync(folder, 0o555);
    onTestFinished(() => chmodSync(folder, 0o755));
    const bytes = bytesOf(file);
    expect(await child("open", file, uid).line()).toBe("log_read_only");
    expect(await child("look", file, uid).line()).toBe("log_read_only");
    expect(await child("open", join(folder, "new.db"), uid).line()).toBe("log_read_only");
    chmodSync(folder, 0o777);
    chmodSync(file, 0o444);
    expect(await child("open", file, uid).line()).toBe("log_read_only");
    expect(await child("look", file, uid).line()).toBe("opened");
    expect(bytesOf(file)).toBe(bytes);
  });
});

describe("a look", () => {
  it("C-070 creates nothing for a wrong path and names it", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "typo.db");
    const look = openSqliteLogReader({ file, clock: loopClock() });
    await expect(look).rejects.toMatchObject({ code: "log_not_found", message: expect.stringContaining(file) });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("C-070 leaves a closed log as it was", async () => {
    const file = await closedLog();
    const [bytes, files] = [bytesOf(file), filesBeside(file)];
    const reader = await openSqliteLogReader({ file, clock: loopClock() });
    expect((await reader.read("r1", { after_seq: 0 })).rows).toHaveLength(1);
    await reader.close();
    await reader.close();
    expect([bytesOf(file), filesBeside(file)]).toEqual([bytes, files]);
  });

  it("C-070 sees what a live host commits later and outlives a kill", { timeout: 60_000 }, async () => {
    const file = newFile();
    const host = child("hold", file);
    await host.line();
    const bytes = bytesOf(file);
    const reader = await openSqliteLogReader({ file, clock: loopClock() });
    expect((await reader.head("r1")).seq).toBe(1);
    host.say("next");
    expect(await host.line()).toBe("appended");
    expect((await reader.head("r1")).seq).toBe(2);
    await host.kill();
    expect((await reader.read("r1", { after_seq: 0 })).rows).toHaveLength(2);
    await reader.close();
    const files = filesBeside(file);
    expect(files).toEqual(["test.db", "test.db-shm", "test.db-wal"]);
    expect(bytesOf(file)).toBe(bytes);
    // The WAL of the dead host still holds the rows.
    const next = await openSqliteLogReader({ file, clock: loopClock() });
    expect((await next.head("r1")).seq).toBe(2);
    await next.close();
    expect([bytesOf(file), filesBeside(file)]).toEqual([bytes, files]);
  });

  it("C-070 that began on a closed log leaves the WAL of a host killed meanwhile", { timeout: 60_000 }, async () => {
    const file = await closedLog();
    const bytes = bytesOf(file);
    const reader = await openSqliteLogReader({ file, clock: loopClock() });
    const host = child("hold", file);
    await host.line();
    expect((await reader.head("r1")).seq).toBe(2);
    await host.kill();
    await reader.close();
    expect(bytesOf(file)).toBe(bytes);
    expect((await (await openLog(file)).head("r1")).seq).toBe(2);
  });

  it("C-070 leaves nothing when its host closed before it", async () => {
    const file = newFile();
    const log = await openLog(file);
    await ownRoom(log, "r1");
    const reader = await openSqliteLogReader({ file, clock: loopClock() });
    await log.close();
    expect(await reader.rooms()).toHaveLength(1);
    await reader.close();
    expect(filesBeside(file)).toEqual(["test.db"]);
  });
});
