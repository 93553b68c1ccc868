import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkpointOf, fold, emptyState, openSqliteLogReader } from "../../rooms/index.ts";
import { connect } from "../../rooms/sqlite/database.ts";
import { logCommand, replayCommand, roomsCommand, verifyCommand } from "../../plugins/index.ts";
import { collectedOutput } from "../support/collected-output.ts";
import {
  loopClock,
  openLog,
  ownRoom,
  postOf,
  roomOf,
  settleOf,
  startOf,
  temporaryFolder,
} from "../support/open-log.ts";

const secret = "sk-EXAMPLE0123456789abcdef";
const literal = "correct horse battery";

/** A closed file: two turns that settled, one with `text` as its post and answer, and one that is open. */
async function writeFile(text = "hello"): Promise<string> {
  const file = join(temporaryFolder(), "room.db");
  const log = await openLog(file);
  const lease_generation = await ownRoom(log);
  const rows = [startOf("one", { text }), settleOf("one", { text }), startOf("two"), settleOf("two"), startOf("three")];
  for (const [expected_seq, row] of rows.entries()) {
    await log.append({ room_id: "r1", rows: [row], inbox: [], expected_seq, lease_generation });
  }
  await log.close();
  return file;
}

const shared = { room: "r1", raw: false, secrets: [], json: false };

/** Changes one byte of a row's stored payload. */
function damage(file: string, from: string, to: string): void {
  const bytes = readFileSync(file, "latin1");
  expect(bytes.split(from).length).toBe(2);
  writeFileSync(file, bytes.replace(from, to), "latin1");
}

describe("log", () => {
  it("shows a line for each row, oldest first", async () => {
    const output = collectedOutput();
    expect(await logCommand({ ...shared, db: await writeFile() }, output)).toBe(0);
    expect(output.lines).toEqual([
      '1  turn.started  main  m-a  k-one#1  message  ["local: hello"]',
      '2  turn.settled  main  m-a  k-one#1  completed  "hello"  5 ms, 2 events, usage not reported',
      '3  turn.started  main  m-a  k-two#1  message  ["local: hello"]',
      '4  turn.settled  main  m-a  k-two#1  completed  "done"  5 ms, 2 events, usage not reported',
      '5  turn.started  main  m-a  k-three#1  message  ["local: hello"]',
    ]);
  });

  it("shows whole rows as JSON lines", async () => {
    const output = collectedOutput();
    await logCommand({ ...shared, db: await writeFile(), json: true }, output);
    expect(output.lines.map((_, index) => output.json(index))).toMatchObject([
      { seq: 1, kind: "turn.started", event_id: expect.any(String) as string, prev_hash: "0".repeat(64) },
      { seq: 2, kind: "turn.settled", payload: { text: "hello", usage: null } },
      { seq: 3 },
      { seq: 4 },
      { seq: 5 },
    ]);
  });

  it.each([true, false])("C-071 masks the secret of an old row, unless raw is asked for (json: %s)", async (json) => {
    const db = await writeFile(`my key is ${secret} and ${literal}.`);
    const count = async (options: object, what: string): Promise<number> => {
      const output = collectedOutput();
      await logCommand({ ...shared, db, json, ...options }, output);
      return output.lines.slice(0, 1).join("").split(what).length - 1;
    };
    expect(await count({}, secret)).toBe(0);
    expect(await count({}, literal)).toBe(1);
    expect(await count({ secrets: [literal] }, literal)).toBe(0);
    expect(await count({ raw: true }, secret)).toBe(1);
  });

  it("C-072 says of an abandoned turn that it may have run, and invents no figures", async () => {
    const db = await writeFile();
    const log = await openLog(db);
    const end = settleOf("three");
    const unknown = {
      status: "abandoned",
      reason_code: "host_lost",
      text: "",
      activity_count: null,
      duration_ms: null,
    } as const;
    const used = settleOf("four");
    const rows = [
      { ...end, payload: { ...end.payload, ...unknown } },
      startOf("four"),
      { ...used, payload: { ...used.payload, usage: { tokens: 7 } } },
    ] as (typeof end)[];
    for (const [index, row] of rows.entries()) {
      await log.append({ room_id: "r1", rows: [row], inbox: [], expected_seq: 5 + index, lease_generation: 1 });
    }
    await log.close();
    const output = collectedOutput();
    await logCommand({ ...shared, db }, output);
    expect(output.lines[5]).toBe(
      '6  turn.settled  main  m-a  k-three#1  abandoned (host_lost)  ""  it may have run: time and events are not known, usage not reported',
    );
    expect(output.lines[7]).toMatch(/5 ms, 2 events, usage \{"tokens":7\}$/);
  });

  it("shows a stored text, and does not obey it", async () => {
    const output = collectedOutput();
    await logCommand({ ...shared, raw: true, db: await writeFile("\u001b[2J\u009b31m\u202e\nnext") }, output);
    expect(output.lines[0]).toContain('["local: \\u001b[2J\u{fffd}31m\u{fffd}\\nnext"]');
  });

  it("of an unknown room names the known ones", async () => {
    const db = await writeFile();
    await expect(logCommand({ ...shared, db, room: "r9" }, collectedOutput())).rejects.toMatchObject({
      code: "unknown_room",
      message: expect.stringMatching(/^no room r9 in .*; its rooms: r1$/) as string,
    });
  });
});

describe("rooms", () => {
  it("lists rooms with their rows, members and posts that wait", async () => {
    const db = await writeFile();
    const log = await openLog(db);
    await log.putRoom({ ...roomOf("a"), name: "Evil \u001b[2J" });
    await log.accept(postOf("waits", { room_id: "a" }));
    await log.close();
    const output = collectedOutput();
    expect(await roomsCommand({ db, json: false }, output)).toBe(0);
    expect(output.lines).toEqual([
      "a  Evil \u{fffd}[2J  rows: 0  @a @b @c  waiting posts: 1",
      "r1  Room r1  rows: 5  @a @b @c",
    ]);
    const asJson = collectedOutput();
    await roomsCommand({ db, json: true }, asJson);
    expect(asJson.json()).toMatchObject([
      { room_id: "a", rows: 0, waiting_posts: 1 },
      { room_id: "r1", rows: 5, waiting_posts: 0, members: [{ handle: "a" }, { handle: "b" }, { handle: "c" }] },
    ]);
  });

  it("I8 shows the others when one is damaged, and obeys none", async () => {
    const db = await writeFile();
    const log = await openLog(db);
    await log.putRoom(roomOf("a"));
    await log.close();
    connect(db).exec("UPDATE rosters SET members = replace(members, 'b', '\u001b[2J') WHERE room_id = 'a'").close();
    const output = collectedOutput();
    expect(await roomsCommand({ db, json: false }, output)).toBe(4);
    expect(output.lines[0]).toMatch(/^a  damaged: .*the roster of room a cannot be read: /);
    expect(output.lines[1]).toBe("r1  Room r1  rows: 5  @a @b @c");
    const asJson = collectedOutput();
    expect(await roomsCommand({ db, json: true }, asJson)).toBe(4);
    expect(asJson.json()).toMatchObject([{ room_id: "a", problem: expect.any(String) as string }, { room_id: "r1" }]);
    const shown = [...output.lines, ...asJson.lines].join("");
    expect(shown).not.toMatch(/\p{Cc}/u);
    await expect(replayCommand({ db, room: "a", json: false, at: undefined }, output)).rejects.toMatchObject({
      code: "log_corrupt",
      message: expect.not.stringContaining("\n") as string,
    });
  });

  it("notes that a database holds none", async () => {
    const file = join(temporaryFolder(), "empty.db");
    await (await openLog(file)).close();
    const output = collectedOutput();
    expect(await roomsCommand({ db: file, json: false }, output)).toBe(0);
    expect([output.lines, output.notes]).toEqual([[], [`${file} holds no rooms`]]);
  });
});

describe("replay", () => {
  const replay = async (db: string, at?: number) => {
    const output = collectedOutput();
    expect(await replayCommand({ db, room: "r1", json: true, at }, output)).toBe(0);
    return output.json() as {
      through_seq: number;
      digest: string;
      log_hash: string;
      open_turns: unknown[];
      state: object;
    };
  };

  it("R11 at each row equals the log cut there, and the last is the whole", async () => {
    const db = await writeFile();
    const reader = await openSqliteLogReader({ file: db, clock: loopClock() });
    const { rows } = await reader.read("r1", { after_seq: 0 });
    await reader.close();
    for (let at = 0; at <= rows.length; at++) {
      const expected = checkpointOf(fold(emptyState("r1"), rows.slice(0, at)), rows[at - 1]?.hash ?? "0".repeat(64));
      const { through_seq, digest, log_hash, state } = await replay(db, at);
      expect({ through_seq, digest, log_hash, state }).toEqual({ through_seq: at, ...expected });
    }
    expect(await replay(db)).toEqual(await replay(db, 5));
    expect(await replay(db)).toEqual(await replay(db));
  });

  it("C-073 names an open turn", async () => {
    const db = await writeFile();
    expect((await replay(db)).open_turns).toMatchObject([{ turn_id: "t-three", status: null, started_row: 5 }]);
    const output = collectedOutput();
    expect(await replayCommand({ db, room: "r1", json: false, at: undefined }, output)).toBe(0);
    expect(output.lines.slice(0, 4)).toEqual([
      "room r1 through row 5",
      expect.stringMatching(/^digest [0-9a-f]{64}$/),
      expect.stringMatching(/^log_hash [0-9a-f]{64}$/),
      "open t-three of m-a since row 5",
    ]);
  });

  it("refuses a row beyond the head", async () => {
    await expect(replay(await writeFile(), 6)).rejects.toThrow("--at: room r1 has 5 rows, got 6");
  });

  it("C-073 is log_corrupt for a row that cannot be folded, and names it", async () => {
    const db = await writeFile("find me here");
    damage(db, '"status":"completed","text":"find me here"', '"status":"complexed","text":"find me here"');
    await expect(replay(db)).rejects.toMatchObject({
      code: "log_corrupt",
      message: expect.stringMatching(/\b2\b/) as string,
    });
    expect((await replay(db, 1)).through_seq).toBe(1);
  });
});

describe("verify", () => {
  it("C-073 is 0 for a log that is right, and names its open turns", async () => {
    const output = collectedOutput();
    expect(await verifyCommand({ db: await writeFile(), json: false }, output)).toBe(0);
    expect(output.lines).toEqual([
      expect.stringMatching(/^r1: 5 rows, all right, log_hash [0-9a-f]{64}, digest [0-9a-f]{64}$/),
      "r1: open turn t-three of m-a since row 5",
    ]);
    expect(output.notes).toEqual([]);
  });

  it("names no open turn of a room with a bad row: it may have settled behind it", async () => {
    const db = await writeFile("find me here");
    damage(db, '"status":"completed","text":"find me here"', '"status":"completed","text":"find me hero"');
    const output = collectedOutput();
    expect(await verifyCommand({ db, json: false }, output)).toBe(1);
    expect(output.lines).toEqual([expect.stringMatching(/^r1: row 2 is bad \(hash\): /)]);
  });

  it("C-073 is 1 for one changed byte, and names the row", async () => {
    const db = await writeFile("find me here");
    damage(db, '"status":"completed","text":"find me here"', '"status":"completed","text":"find me hers"');
    const output = collectedOutput();
    expect(await verifyCommand({ db, json: false }, output)).toBe(1);
    expect(output.lines[0]).toMatch(/^r1: row 2 is bad \(hash\): /);
    expect(output.notes).toEqual(["the log is damaged: restore the file from a backup; nothing is repaired by itself"]);
    const asJson = collectedOutput();
    expect(await verifyCommand({ db, json: true }, asJson)).toBe(1);
    expect(asJson.json()).toMatchObject({ ok: false, rooms: [{ room_id: "r1", problem: { seq: 2, kind: "hash" } }] });
  });
});

describe("verify of what stands beside the rows", () => {
  it.each([
    ["its last row is gone", "DELETE FROM log WHERE seq = 5", "r1: row 5 is bad (head): "],
    [
      "its roster is changed",
      "UPDATE rosters SET roster_digest = '00'",
      "r1: what stands beside its rows is bad (roster): ",
    ],
    ["its room is gone", "DELETE FROM rooms", "r1: what stands beside its rows is bad (orphan): "],
    ["an id is none", "UPDATE rooms SET room_id = char(27) || '[2J'", "\u{fffd}[2J: row 1 is bad (head): "],
  ])("C-073 is 1 when %s", async (_, sql, line) => {
    const db = await writeFile();
    connect(db).exec(`PRAGMA foreign_keys = OFF; ${sql}`).close();
    const output = collectedOutput();
    expect(await verifyCommand({ db, json: false }, output)).toBe(1);
    expect(output.lines[0]?.startsWith(line)).toBe(true);
    const asJson = collectedOutput();
    expect(await verifyCommand({ db, json: true }, asJson)).toBe(1);
    expect(asJson.json()).toMatchObject({ ok: false, file: [] });
    expect(asJson.lines.join("")).not.toMatch(/\p{Cc}/u);
  });

  it("C-056 is 4 when the file itself is damaged, and says what SQLite finds", async () => {
    const db = await writeFile();
    // A row changes its room, and no index knows of it.
    const bytes = readFileSync(db, "latin1");
    writeFileSync(db, bytes.replaceAll("r1\u0005turn.started", "rX\u0005turn.started"), "latin1");
    const output = collectedOutput();
    expect(await verifyCommand({ db, json: false }, output)).toBe(4);
    expect(output.lines[0]).toMatch(/^the file is damaged: /);
  });
});

describe("every command that looks", () => {
  it("C-070 leaves the file and its folder as they are", async () => {
    const db = await writeFile();
    const before = [readFileSync(db, "latin1"), readdirSync(dirname(db)).toSorted()];
    const output = collectedOutput();
    await logCommand({ ...shared, db }, output);
    await roomsCommand({ db, json: true }, output);
    await replayCommand({ db, room: "r1", json: true, at: undefined }, output);
    await verifyCommand({ db, json: true }, output);
    expect([readFileSync(db, "latin1"), readdirSync(dirname(db)).toSorted()]).toEqual(before);
  });

  it("C-069 closes the file when the reader leaves after a line", async () => {
    const db = await writeFile();
    const before = readdirSync(dirname(db)).toSorted();
    const left = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
    const lines: string[] = [];
    const out = (line: string): Promise<void> => (lines.push(line) === 1 ? Promise.resolve() : Promise.reject(left));
    await expect(logCommand({ ...shared, db }, { out, note: () => undefined })).rejects.toBe(left);
    expect([lines.length, readdirSync(dirname(db)).toSorted()]).toEqual([2, before]);
  });

  it.each([
    ["log", (db: string) => logCommand({ ...shared, db }, collectedOutput())],
    ["rooms", (db: string) => roomsCommand({ db, json: false }, collectedOutput())],
    ["replay", (db: string) => replayCommand({ db, room: "r1", json: false, at: undefined }, collectedOutput())],
    ["verify", (db: string) => verifyCommand({ db, json: false }, collectedOutput())],
  ])("C-070 creates nothing for a path that leads nowhere: %s", async (_, look) => {
    const folder = temporaryFolder();
    await expect(look(join(folder, "typo.db"))).rejects.toMatchObject({ code: "log_not_found" });
    expect(readdirSync(folder)).toEqual([]);
  });
});
