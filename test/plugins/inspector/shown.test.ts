import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../plugins/client/index.ts";
import { plainStyle, replayCommand, verifyCommand } from "../../../plugins/index.ts";
import { roomOfDatabase, roomOfServer } from "../../../plugins/inspector/commands/room-show.ts";
import { turnOfDatabase, turnOfServer } from "../../../plugins/inspector/commands/turn-show.ts";
import { attemptCoordinates, autoGateway } from "../../support/auto-gateway.ts";
import { collectedOutput } from "../../support/collected-output.ts";
import { refuse, type Answers } from "../../support/fake-gateway.ts";
import {
  claim,
  goneProcess,
  openLog,
  ownRoom,
  postOf,
  settleOf,
  startOf,
  temporaryFolder,
} from "../../support/open-log.ts";
import { settled } from "../../support/wire-client.ts";

const secret = "sk-EXAMPLE0123456789abcdef";

/** A closed file: turns t-one and t-other, which have settled, and t-three, which is open; a post that waits. */
async function writeFile(text = "hello"): Promise<string> {
  const file = join(temporaryFolder(), "room.db");
  const log = await openLog(file);
  const lease_generation = await ownRoom(log);
  const rows = [
    startOf("one", { text }),
    settleOf("one", { text }),
    startOf("other"),
    settleOf("other"),
    startOf("three"),
  ];
  for (const [expected_seq, row] of rows.entries()) {
    await log.append({ room_id: "r1", rows: [row], inbox: [], expected_seq, lease_generation });
  }
  await log.accept(postOf("waits"));
  await log.close();
  return file;
}

const look = { json: false, full: false, style: plainStyle, secrets: [] };

describe("turn show of a database", () => {
  it("shows the turn whose id begins so", async () => {
    const output = collectedOutput();
    expect(await turnOfDatabase({ ...look, db: await writeFile(), id: "t-on" }, output)).toBe(0);
    expect(output.lines).toEqual([
      "t-one  r1  main  @a  k-one",
      "├─ input",
      "│  └─ local: hello",
      "└─ attempt 1 (message)  completed, 5 ms, row 2",
      "   ├─ reasoning: none",
      "   ├─ tools: 0",
      "   ├─ requests: 0",
      "   ├─ text (5 characters): hello",
      "   ├─ activity: 2 events; only its rows are at hand",
      "   └─ usage: not reported",
    ]);
  });

  it("gives the tree as JSON", async () => {
    const output = collectedOutput();
    await turnOfDatabase({ ...look, json: true, db: await writeFile(), id: "t-three", room: "r1" }, output);
    expect([output.lines.length, output.json()]).toMatchObject([
      1,
      {
        turn_id: "t-three",
        attempts: [{ settled: null, is_watched: false, tools: { certainty: "unknown", list: [] } }],
      },
    ]);
  });

  it.each([
    ["t-o", undefined, "invalid_params", "several turns begin with t-o: t-one, t-other"],
    ["t-x", undefined, "unknown_turn", /^no turn in .*room\.db begins with t-x$/],
    ["t-x", "r1", "unknown_turn", /^no turn in room r1 of .*room\.db begins with t-x$/],
    ["", undefined, "invalid_params", "ID: expected the id of a turn, or its beginning"],
  ])("refuses %j in %s: %s", async (id, room, code, message) => {
    const shown = turnOfDatabase({ ...look, db: await writeFile(), id, room }, collectedOutput());
    await expect(shown).rejects.toMatchObject({
      code,
      message: typeof message === "string" ? message : (expect.stringMatching(message) as string),
    });
  });

  it.each([true, false])("C-071 masks the secret of an old row (json: %s)", async (json) => {
    const output = collectedOutput();
    await turnOfDatabase({ ...look, json, full: true, db: await writeFile(`key ${secret}`), id: "t-one" }, output);
    expect(output.lines.join("\n")).toContain("key ");
    expect(output.lines.join("\n")).not.toContain(secret);
  });
});

describe("turn show of a server", () => {
  const coordinates = { ...attemptCoordinates, turn_id: "t-1" };
  const payload = {
    input: [{ message_id: "m", author: { kind: "person", id: "ada" }, text: "Go" }],
    cause: "message",
    origin: null,
  };
  const started = { ...coordinates, seq: 1, kind: "turn.started", created_at: 0, payload };
  const end = { status: "completed", reason_code: null, text: "Done", truncated: false, error: null, usage: null };
  const settledRow = {
    ...{ ...coordinates, seq: 2, kind: "turn.settled", created_at: 0 },
    payload: { ...end, activity_count: 4, duration_ms: 9 },
  };
  const roster = [{ member_id: "m-a", handle: "a" }];

  function opened(rows: readonly object[], more: Answers = {}, follow = false) {
    const gateway = autoGateway({
      "groups.list": () => ({ rooms: [{ room_id: "r1" }], next_offset: null }),
      "groups.log": ({ since_seq }) => ({ events: since_seq === 0 ? rows : [] }),
      "rooms.state": () => ({ room: { roster }, members: [] }),
      "rooms.subscribe": ({ reasoning }) => ({
        state: { room: { roster }, members: [], open_requests: [] },
        ...{ rows: [], cursor: 1, latest_seq: 1, has_more: false },
        attempts: [{ coordinates, n: 1, text: "", offset: 0, tools: [], open_requests: [], reasoning }],
      }),
      "rooms.unsubscribe": () => ({}),
      ...more,
    });
    const [output, stop] = [collectedOutput(), new AbortController()];
    const options = {
      ...{ url: "ws://h/api/ws", token: "t", WebSocket: gateway.WebSocket, runtimeFolder: "/nowhere" },
      ...{ ...look, id: "t-1", follow },
    };
    return { gateway, output, stop, status: turnOfServer(options, output, stop.signal) };
  }

  const activity = (n: number, kind: string, about: object): Json => ({
    payload: { v: 1, coordinates, kind, n, seq: null, at: 0, payload: about },
  });

  it("has the rows of one that has settled, and subscribes to nothing", async () => {
    const { gateway, output, status } = opened([started, settledRow]);
    expect(await status).toBe(0);
    expect(output.lines).toContain("   ├─ tools: not known, rows do not tell");
    expect(gateway.socket.calls("rooms.subscribe")).toEqual([]);
  });

  it("shows of an open one what it did since it was followed, until it settles", async () => {
    const { gateway, output, status } = opened([started], {}, true);
    await settled();
    gateway.socket.event("room.activity", activity(2, "tool.started", { tool_id: "c1", name: "make" }));
    gateway.socket.event(
      "room.activity",
      activity(3, "tool.completed", { tool_id: "c1", name: "make", outcome: "ok" }),
    );
    gateway.socket.event("room.log", { payload: settledRow });
    gateway.socket.event(
      "room.activity",
      activity(4, "turn.settled", { ...settledRow.payload, row: { seq: 2 }, counts: {} }),
    );
    expect(await status).toBe(0);
    expect(output.lines).toEqual(
      expect.arrayContaining([
        "└─ attempt 1 (message)  completed, 9 ms, row 2",
        "   ├─ tools: 1",
        "   │  └─ make c1  ok, time not reported",
        "   ├─ activity: 4 events, 4 seen",
      ]),
    );
  });

  it("does without reasoning when the credential has no grant, and says so", async () => {
    const asked: unknown[] = [];
    const subscribe: Answers["rooms.subscribe"] = ({ reasoning }) => {
      asked.push(reasoning);
      if (reasoning === true) throw refuse(4403, "not_granted");
      return {
        state: { room: { roster }, members: [], open_requests: [] },
        ...{ rows: [], cursor: 1, latest_seq: 1, has_more: false, attempts: [] },
      };
    };
    const { output, status } = opened([started], { "rooms.subscribe": subscribe });
    expect([await status, asked]).toEqual([0, [true, undefined]]);
    expect(output.notes).toEqual(["reasoning is not shown: this credential has no grant for it"]);
  });

  it("ends with the status of Ctrl-C, and shows what it saw", async () => {
    const { output, stop, status } = opened([started], {}, true);
    await settled();
    stop.abort(130);
    expect(await status).toBe(130);
    expect(output.lines).toContain("└─ attempt 1 (message)  open: it has not settled");
  });
});

describe("rooms show", () => {
  it("C-072 of a database does not say what members do now, nor which requests wait", async () => {
    const db = await writeFile();
    const output = collectedOutput();
    expect(await roomOfDatabase({ db, room: "r1", json: false, style: plainStyle }, output)).toBe(0);
    expect(output.lines).toEqual([
      "r1  Room r1",
      "record   revision 1, 5 rows",
      "lease    generation 1, held by a process that this machine knows nothing of (pid 1)",
      "members",
      "  @a  scripted  open turn t-three since row 5: what it does its driver knows  last completed  owes 1 answer",
      "  @b  scripted  no open turn  owes 1 answer",
      "  @c  scripted  no open turn  owes 1 answer",
      "threads",
      "  main  round 0 of the discussion of msg-three  open: t-three",
      "inbox",
      expect.stringMatching(/^ {2}msg-\w+ {2}main {2}local {2}owed: @a @b @c$/),
      "requests  not known: they live in the process that drives the room",
    ]);
    const asJson = collectedOutput();
    await roomOfDatabase({ db, room: "r1", json: true, style: plainStyle }, asJson);
    expect(asJson.json()).toMatchObject({ source: "database", open_requests: null, lease: { holder: "unknown" } });
  });

  it("tells when the driver has gone without a word", async () => {
    const db = await writeFile();
    const log = await openLog(db);
    await claim(log, "r1", "dead", goneProcess);
    await log.close();
    const output = collectedOutput();
    await roomOfDatabase({ db, room: "r1", json: false, style: plainStyle }, output);
    expect(output.lines[2]).toMatch(/^lease {4}generation 2, its driver has gone without a word: /);
  });

  it("of a server has live states, requests and what is owed", async () => {
    const state = {
      room: {
        room_id: "r1",
        name: "R\u001b[2J",
        revision: 2,
        disbanded_at: null,
        roster: [{ member_id: "m-a", handle: "a" }],
      },
      ...{ log: { latest_seq: 3, log_hash: "h" }, lease: { generation: 4, held: true }, quota: { rows: 3, bytes: 99 } },
      threads: [{ thread_id: "main", status: "waiting", reason: "slot", owed: ["m-a"], discussion: "msg-1" }],
      members: [
        { member_id: "m-a", state: "needs_input", paused: true, since: 0, open_requests: ["srq-1"], last: null },
      ],
      inbox: [{ message_id: "msg-1", thread_id: "main", author: { id: "ada" }, at: 0, state: "open", owed: ["m-a"] }],
      open_requests: [
        { id: "srq-1", method: "approval", command: "make\nall", coordinates: attemptCoordinates, expires_at: null },
      ],
    };
    const gateway = autoGateway({ "rooms.state": () => state });
    const shared = { url: "ws://h/api/ws", token: "t", WebSocket: gateway.WebSocket, runtimeFolder: "/nowhere" };
    const output = collectedOutput();
    expect(await roomOfServer({ ...shared, room: "r1", json: false, style: plainStyle }, output)).toBe(0);
    expect(output.lines).toEqual([
      "r1  R\u{fffd}[2J",
      "record   revision 2, 3 rows",
      "lease    generation 4, held: some process drives it",
      "quota    3 rows, 99 bytes",
      "members",
      expect.stringMatching(/^ {2}@a {2}needs_input {2}\d+ d \d+ h {2}paused$/),
      "threads",
      "  main  waiting (slot)  owed: @a",
      "inbox",
      "  msg-1  main  ada  owed: @a",
      "requests",
      "  srq-1  approval  @a  make",
    ]);
    const asJson = collectedOutput();
    await roomOfServer({ ...shared, room: "r1", json: true, style: plainStyle }, asJson);
    expect(asJson.json()).toEqual({ source: "server", ...state });
  });
});

describe("replay --diff", () => {
  const diff = async (rows: readonly number[], json = false) => {
    const output = collectedOutput();
    await replayCommand({ db: await writeFile(), room: "r1", json, at: undefined, diff: rows }, output);
    return output;
  };

  it("shows what differs between two rows, by path, the same each time", async () => {
    const { lines } = await diff([1, 2]);
    expect(lines[0]).toMatch(/^room r1, row 1 to row 2: \d+ changes$/);
    expect(lines).toContain('~ tasks[k-one].status: null -> "completed"');
    expect((await diff([1, 2])).lines).toEqual(lines);
    expect((await diff([3, 3])).lines).toEqual(["room r1, row 3 to row 3: 0 changes"]);
  });

  it("goes back as well, and has the digests of both as JSON", async () => {
    const there = (await diff([0, 5], true)).json() as { from: object; to: object; changes: unknown[] };
    const back = (await diff([5, 0], true)).json() as typeof there;
    expect([back.from, back.to, back.changes.length]).toEqual([there.to, there.from, there.changes.length]);
  });

  it.each([
    [[1], "--diff: expected two rows, such as --diff 2 5, got 1"],
    [[1, 2, 3], "--diff: expected two rows, such as --diff 2 5, got 3"],
    [[1, 6], "--diff: room r1 has 5 rows, got 6"],
  ])("refuses %j", async (rows, message) => {
    await expect(diff(rows)).rejects.toMatchObject({ code: "invalid_params", message });
  });
});

describe("progress", () => {
  it("is told of each page of verify and replay, and ends with all rows", async () => {
    const db = await writeFile();
    const steps: (readonly [number, number])[] = [];
    const progress = { step: (done: number, total: number) => void steps.push([done, total]), clear: () => undefined };
    await verifyCommand({ db, json: true }, collectedOutput(), progress);
    await replayCommand({ db, room: "r1", json: true, at: 4 }, collectedOutput(), progress);
    expect([steps[0], steps.at(-1)]).toEqual([
      [5, 5],
      [4, 4],
    ]);
  });
});

describe("looking at a room or a turn", () => {
  it("C-070 leaves the file and its folder as they are", async () => {
    const db = await writeFile();
    const before = [readFileSync(db, "latin1"), readdirSync(dirname(db)).toSorted()];
    await roomOfDatabase({ db, room: "r1", json: true, style: plainStyle }, collectedOutput());
    await turnOfDatabase({ ...look, db, id: "t-one" }, collectedOutput());
    await replayCommand({ db, room: "r1", json: true, at: undefined, diff: [1, 2] }, collectedOutput());
    expect([readFileSync(db, "latin1"), readdirSync(dirname(db)).toSorted()]).toEqual(before);
  });

  it.each([
    [
      "rooms show",
      (db: string) => roomOfDatabase({ db, room: "r1", json: false, style: plainStyle }, collectedOutput()),
    ],
    ["turn show", (db: string) => turnOfDatabase({ ...look, db, id: "t" }, collectedOutput())],
  ])("C-070 creates nothing for a path that leads nowhere: %s", async (_, shown) => {
    const folder = temporaryFolder();
    await expect(shown(join(folder, "typo.db"))).rejects.toMatchObject({ code: "log_not_found" });
    expect(readdirSync(folder)).toEqual([]);
  });
});
