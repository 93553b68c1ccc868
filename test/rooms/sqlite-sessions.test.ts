import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { limits, RoomtapError, type SessionRecord, type StoredMessage } from "../../core/index.ts";
import { openSqliteLogReader } from "../../rooms/index.ts";
import { connect, SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { migrate } from "../../rooms/sqlite/migrations.ts";
import { loopClock, openLog, temporaryFolder } from "../support/open-log.ts";
import { logProcess } from "../support/log-process.ts";
import { fullSession, numbered, promptOf, says, sessionOf } from "../support/session-records.ts";
import { openSessions } from "../support/sessions.ts";

const newFile = (): string => join(temporaryFolder(), "test.db");
const textsOf = (messages: readonly StoredMessage[]): string => messages.map(({ text }) => text).join(" ");
const idsOf = (sessions: readonly { readonly session_id: string }[]): string =>
  sessions.map(({ session_id }) => session_id).join(" ");

/** A file in which `sql` was carried out on top of session `full` with messages 0, 1, 2. */
async function changedFile(sql: string): Promise<string> {
  const file = newFile();
  const { store, close } = await openSessions({ file });
  await store.put(fullSession, numbered(3));
  await close();
  connect(file).exec(sql).close();
  return file;
}

describe("a session store", () => {
  it("gives back a session as it was put, also by another host", async () => {
    const file = newFile();
    const { store, close } = await openSessions({ file });
    expect(await store.session("full")).toBeUndefined();
    await store.put(fullSession);
    expect(await store.session("full")).toEqual(fullSession);
    await close();
    expect(await (await openSessions({ file })).store.session("full")).toEqual(fullSession);
  });

  it("replaces the whole row and takes it as it is at the call", async () => {
    const { store } = await openSessions();
    await store.put(fullSession);
    const queue = [promptOf("one")];
    const bare: SessionRecord = sessionOf("full", { queue });
    const putting = store.put(bare);
    queue.push(promptOf("two"));
    await putting;
    expect(await store.session("full")).toEqual({ ...bare, queue: [promptOf("one")] });
  });

  it("writes the row and its messages together or not at all", async () => {
    const { store } = await openSessions({ quota: { maxStoredSessions: 1 } });
    const puts = [store.put(sessionOf("s1"), [says("a")]), store.put(sessionOf("s2"), [says("b")])];
    expect(await Promise.allSettled(puts)).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "too_many_sessions" } },
    ]);
    expect(textsOf((await store.messages("s1", { limit: 9, maxBytes: 999 })).messages)).toBe("a");
    expect(await store.messages("s2", { limit: 9, maxBytes: 999 })).toEqual({ messages: [], first: 0 });
  });

  it.each([
    [1, "s1", undefined],
    [2, "s2 s1", undefined],
    [3, "s2 s1", "too_many_sessions"],
  ])("of at most 2, after %i were put, holds `%s`", async (count, ids, code) => {
    const { store } = await openSessions({ quota: { maxStoredSessions: 2 } });
    for (let at = 1; at < count; at++) await store.put(sessionOf(`s${at}`));
    const fault: unknown = await store.put(sessionOf(`s${count}`)).catch((thrown: unknown) => thrown);
    expect(fault instanceof RoomtapError ? fault.code : fault).toBe(code);
    expect(idsOf((await store.list({ limit: 9, offset: 0 })).sessions)).toBe(ids);
    // One that is there is replaced also when there are as many as may be.
    await store.put(sessionOf("s1", { preview: "again" }));
    expect((await store.session("s1"))?.preview).toBe("again");
  });

  it("finds a title of one principal, the latest first", async () => {
    const { store } = await openSessions();
    const owner = { client_id: null, principal: "other" };
    await store.put(sessionOf("old", { title: "Plan", last_activity: 1 }));
    await store.put(sessionOf("new", { title: "Plan", last_activity: 2.5 }));
    await store.put(sessionOf("foreign", { title: "Plan", last_activity: 3, owner }));
    expect((await store.titled("Plan", "local"))?.session_id).toBe("new");
    expect((await store.titled("Plan", "other"))?.session_id).toBe("foreign");
    expect(await store.titled("plan", "local")).toBeUndefined();
    await store.put(sessionOf("new", { title: null, last_activity: 4 }));
    expect((await store.titled("Plan", "local"))?.session_id).toBe("old");
  });

  it("answers `closed` after its log was closed", async () => {
    const { store, close } = await openSessions();
    await close();
    await expect(store.put(sessionOf("s1"))).rejects.toMatchObject({ code: "closed" });
    await expect(store.session("s1")).rejects.toMatchObject({ code: "closed" });
  });
});

describe("a list of sessions", () => {
  it("is ordered by last activity and says where the next page begins", async () => {
    const { store } = await openSessions();
    for (const at of [3, 1, 5, 2, 4]) await store.put(sessionOf(`s${at}`, { last_activity: at }));
    const page = async (limit: number, offset: number): Promise<unknown> => {
      const { sessions, next_offset } = await store.list({ limit, offset });
      return [idsOf(sessions), next_offset];
    };
    expect(await page(2, 0)).toEqual(["s5 s4", 2]);
    expect(await page(2, 2)).toEqual(["s3 s2", 4]);
    expect(await page(2, 4)).toEqual(["s1", null]);
    expect(await page(5, 0)).toEqual(["s5 s4 s3 s2 s1", null]);
    expect(await page(4, 5)).toEqual(["", null]);
    expect(await page(0, 0)).toEqual(["s5", 1]);
  });

  it("of one principal has its own, and those of others that are named", async () => {
    const { store } = await openSessions();
    for (const [index, principal] of ["ada", "bob", "ada", "bob", "bob"].entries()) {
      const owner = { client_id: null, principal };
      await store.put(sessionOf(`s${index}`, { last_activity: index, owner }));
    }
    const page = async (principal: string, others: readonly string[], offset = 0): Promise<unknown> => {
      const { sessions, next_offset } = await store.list({ limit: 2, offset, of: { principal, others } });
      return [idsOf(sessions), next_offset];
    };
    expect(await page("ada", ["s3", "s1", "nope"])).toEqual(["s3 s2", 2]);
    expect(await page("ada", ["s3", "s1", "nope"], 2)).toEqual(["s1 s0", null]);
    expect(await page("eve", [])).toEqual(["", null]);
  });

  it("shows of a session all but what waits in it", async () => {
    const { store } = await openSessions();
    await store.put(fullSession);
    const { queue: _, message_keys: __, unfinished: ___, ...summary } = fullSession;
    expect((await store.list({ limit: 1, offset: 0 })).sessions).toEqual([summary]);
  });

  it("of 1,001 gives at most 1,000, in the order of one instant", async () => {
    const { store } = await openSessions({ quota: { maxStoredSessions: 1_001 } });
    const records = Array.from({ length: 1_001 }, (_, at) => sessionOf(`s${at}`, { last_activity: at }));
    await Promise.all(records.map((record) => store.put(record)));
    const listing = store.list({ limit: 5_000, offset: 0 });
    // Comes to the top while the list is being read.
    await store.put(sessionOf("s500", { last_activity: 9_999, preview: "now" }));
    const { sessions, next_offset } = await listing;
    expect([sessions.length, next_offset]).toEqual([limits.maxListedSessions, 1_000]);
    expect(idsOf(sessions)).toBe(idsOf(records.toReversed().slice(0, 1_000)));
    expect((await store.list({ limit: 999, offset: 0 })).sessions).toHaveLength(999);
    expect((await store.list({ limit: 1_000, offset: 1 })).next_offset).toBeNull();
  });
});

describe("a file with sessions", () => {
  it("that an earlier roomtap wrote gets their tables", async () => {
    const file = newFile();
    const clock = loopClock();
    const connection = connect(file);
    connection.exec("PRAGMA application_id = 0x726d7470; PRAGMA journal_mode = WAL");
    const database = new SqliteDatabase({ connection, file, clock, busyTimeoutMs: 0, dispose: (open) => open.close() });
    await migrate(database, 3);
    database.exec("INSERT INTO rooms (room_id, name, revision, created_at) VALUES ('r1', 'Old', 1, 7)");
    database.exec("INSERT INTO rosters VALUES ('r1', 1, '[]', 'd')");
    database.close();
    const log = await openLog(file);
    await log.sessions.put(fullSession);
    expect(await log.sessions.session("full")).toEqual(fullSession);
    expect(await log.room("r1")).toMatchObject({ name: "Old" });
    await log.close();
    await using reader = await openSqliteLogReader({ file, clock });
    expect(await reader.room("r1")).toMatchObject({ name: "Old" });
    expect(await reader.fileProblems()).toEqual([]);
  });

  it.each([
    ["json_remove(summary, '$.visibility')", []],
    ["json_set(summary, '$.visibility', 'public')", ["full"]],
    ["json_set(summary, '$.visibility', 7)", ["full"]],
  ])("S47 loads %s as private, and tells it once", async (summary, told) => {
    const file = await changedFile(`UPDATE sessions SET summary = ${summary}`);
    const { store, notices } = await openSessions({ file });
    for (let time = 0; time < 2; time++) {
      expect((await store.session("full"))?.visibility).toBe("private");
      expect((await store.list({ limit: 1, offset: 0 })).sessions[0]?.visibility).toBe("private");
    }
    const odd = notices.filter(({ code }) => code === "unknown_visibility");
    expect(odd.map(({ subject }) => subject)).toEqual(told);
  });

  it.each([
    ["summary = '{'", "session full cannot be read: "],
    ["summary = json_remove(summary, '$.owner')", "session full cannot be read: owner: "],
    ["summary = '7'", "session full cannot be read: "],
  ])("names a session of which %s, and lists the others", async (change, message) => {
    const file = await changedFile(`UPDATE sessions SET ${change}`);
    const { store } = await openSessions({ file });
    await store.put(sessionOf("s1"));
    await expect(store.session("full")).rejects.toThrow(message);
    await expect(store.session("full")).rejects.toMatchObject({ code: "log_corrupt" });
    expect(await store.list({ limit: 9, offset: 0 })).toMatchObject({ sessions: [{ session_id: "s1" }] });
  });

  it("whose prompts are damaged is still listed", async () => {
    const { store } = await openSessions({ file: await changedFile("UPDATE sessions SET work = '{}'") });
    await expect(store.session("full")).rejects.toThrow("session full cannot be read: queue: ");
    expect(idsOf((await store.list({ limit: 9, offset: 0 })).sessions)).toBe("full");
  });

  it.each([
    ["UPDATE session_messages SET message = '[]' WHERE position = 1", "message 1 of session full cannot be read: "],
    ["DELETE FROM session_messages WHERE position = 1", "message 0 of session full is followed by one that is missing"],
  ])("names the message that is gone or damaged by %s", async (sql, message) => {
    const { store } = await openSessions({ file: await changedFile(sql) });
    const reading = store.messages("full", { limit: 9, maxBytes: 9_999 });
    await expect(reading).rejects.toMatchObject({ code: "log_corrupt" });
    await expect(reading).rejects.toThrow(message);
    expect(textsOf((await store.messages("full", { limit: 1, maxBytes: 9_999 })).messages)).toBe("2");
  });
});

describe("a host that is killed", { timeout: 60_000 }, () => {
  it.each([1, 9, 60])("after %i puts has lost none of them, and left none half-written", async (count) => {
    const file = newFile();
    const host = logProcess("put", file);
    onTestFinished(() => host.kill());
    const stored = new Map<string, number>();
    for (let line = 0; line < count; line++) {
      const [id = "", said] = (await host.line()).split(" ");
      stored.set(id, Number(said));
    }
    await host.kill();
    const { store } = await openSessions({ file });
    for (const [id, said] of stored) {
      const record = await store.session(id);
      const put = record?.message_count ?? 0;
      expect(put).toBeGreaterThanOrEqual(said);
      expect(record?.queue).toEqual([promptOf(`${put}`)]);
      const { messages } = await store.messages(id, { limit: 9_999, maxBytes: 999_999 });
      expect(messages.map(({ text }) => text)).toEqual(Array.from({ length: put }, (_, at) => `${at + 1}`));
    }
  });
});
