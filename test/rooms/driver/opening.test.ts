import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RoomtapError } from "../../../core/index.ts";
import { openSqliteLog, type Member, type RoomLog } from "../../../rooms/index.ts";
import { interposed } from "../../support/interposed.ts";
import {
  claim,
  goneProcess,
  loopClock,
  openLog,
  startOf,
  temporaryFolder,
  turnsOfLoop,
} from "../../support/open-log.ts";
import { HeldRunner, member, roomOf, says, TestHost } from "../../support/open-room.ts";

const newFile = (): string => join(temporaryFolder(), "test.db");

describe("opening a host", () => {
  it("C-005 settles what a killed host left open as abandoned, and tells it without a number", async () => {
    const file = newFile();
    const dead = await openLog(file);
    const content = { name: "Room", members: [], roster_digest: "d" };
    for (const room_id of ["r1", "r2", "r3"]) {
      await dead.putRoom({ room_id, ...content });
      const lease_generation = await claim(dead, room_id, "dead", goneProcess);
      const rows = [startOf("1", { room: room_id })];
      await dead.append({ room_id, rows, inbox: [], expected_seq: 0, lease_generation });
    }
    await dead.close();
    const test = await TestHost.open({ rooms: ["r1", "r2"].map((id) => roomOf(says("hi"), ["a"], id)), file });
    await test.quiet();
    // One that nobody gave is left as it is, and named.
    expect((await test.rows("r3")).length).toBe(1);
    expect(test.notices.map(({ code, subject }) => [code, subject])).toEqual([["room_not_driven", "r3"]]);
    const end = { status: "abandoned", reason_code: "host_lost", text: "", activity_count: null, duration_ms: null };
    for (const roomId of ["r1", "r2"]) {
      const rows = await test.rows(roomId);
      expect(rows.map(({ kind }) => kind)).toEqual(["turn.started", "turn.settled"]);
      expect(rows[1]?.payload).toMatchObject(end);
    }
    expect(test.kinds()).toEqual(["turn.settled", "turn.settled"]);
    expect(
      test.of("turn.settled").map(({ n, coordinates, payload }) => [n, coordinates.room_id, payload.row.seq]),
    ).toEqual([
      [null, "r1", 2],
      [null, "r2", 2],
    ]);
    expect(test.events[0]).toMatchObject({ payload: { ...end, counts: {} } });
    await test.room.post({ text: "go" });
    await test.quiet();
    expect((await test.rows()).length).toBe(4);
  });

  it("R17 C-008 starts what was accepted before, once per member, and knows its event ids", async () => {
    const file = newFile();
    const clock = loopClock();
    const log = await openSqliteLog({ file, clock });
    // This host dies before its first start is written.
    let die = (): void => undefined;
    const append: RoomLog["append"] = () =>
      new Promise((_, reject) => (die = () => reject(new RoomtapError("closed", "the host died"))));
    const first = await TestHost.open({
      rooms: [roomOf(says("hi"), ["a", "b"])],
      clock,
      log: interposed(log, { append }),
    });
    const post = { text: "hello", event_id: "k1" };
    const posted = first.room.post(post);
    const isAccepted = async (): Promise<boolean> => (await log.inbox("r1")).length === 1;
    while (!(await isAccepted())) await turnsOfLoop(1);
    await claim(log, "r1", "dead", goneProcess);
    await log.close();
    await first.pass(50);
    die();
    const receipt = await posted;
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])], file });
    expect(await test.room.post(post)).toEqual({ ...receipt, duplicate: true });
    await expect(test.room.post({ ...post, text: "x" })).rejects.toMatchObject({ code: "idempotency_conflict" });
    (await held.turn(0)).say("one");
    (await held.turn(1)).say("two");
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a completed",
      "started m-b message",
      "settled m-b completed",
    ]);
  });

  it("C-059 skips a roster entry that is none with one diagnostic, and plans the others", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const bad = { member_id: "m-x", handle: "not a handle", display_name: "X", runner_kind: "test" } satisfies Member;
    const planInput: RoomLog["planInput"] = async (roomId) => {
      const input = await log.planInput(roomId);
      if (input === undefined || roomId !== "r1") return input;
      return { ...input, room: { ...input.room, members: [bad, ...input.room.members] } };
    };
    const rooms = [roomOf(says("hi"), ["a", "b"]), roomOf(says("hi"), ["a"], "r2")];
    const test = await TestHost.open({ rooms, clock, log: interposed(log, { planInput }) });
    for (const text of ["@a @b one", "@a @b two"]) {
      await test.room.post({ text });
      await test.host.room("r2").post({ text });
      await test.quiet();
    }
    expect(test.notices.map(({ code, subject }) => [code, subject])).toEqual([["invalid_roster", "r1"]]);
    expect([test.room.folded.through_seq, test.host.room("r2").folded.through_seq]).toEqual([8, 4]);
  });

  it.each([
    ["two rooms of one id", { rooms: [roomOf(says("x")), roomOf(says("x"))] }, "duplicate_id"],
    ["a roster without members", { rooms: [{ room_id: "r1", members: [] }] }, "invalid_roster"],
    ["a handle twice", { rooms: [roomOf(says("x"), ["a", "A"])] }, "invalid_roster"],
    ["a room id that is none", { rooms: [roomOf(says("x"), ["a"], "r 1")] }, "invalid_params"],
    ["no place for turns", { rooms: [], maxConcurrentTurns: 0 }, "invalid_params"],
    ["half a place", { rooms: [], maxConcurrentTurns: 1.5 }, "invalid_params"],
    ["a grace that is no time", { rooms: [], stopGraceMs: Number.NaN }, "invalid_params"],
  ])("refuses %s", async (_, options, code) => {
    await expect(TestHost.open(options)).rejects.toMatchObject({ code });
  });

  it("writes nothing when one of its rooms is refused", async () => {
    const log = await openSqliteLog({ file: ":memory:", clock: loopClock() });
    const rooms = [roomOf(says("x")), roomOf(says("x"), ["no handle"], "r2")];
    await expect(TestHost.open({ rooms, log })).rejects.toMatchObject({ code: "invalid_roster" });
    const again = await TestHost.open({ rooms: [], log });
    expect(await again.log.rooms()).toEqual([]);
  });

  it("drives nobody for a person of the roster", async () => {
    const test = await TestHost.open({
      rooms: [{ room_id: "r1", members: [member("ada", null), member("a", says("hi"))] }],
    });
    expect(await test.room.post({ text: "@ada hello" })).toMatchObject({ addressed: [], unresolved: [] });
    expect(await test.room.post({ text: "hello" })).toMatchObject({ addressed: ["m-a"] });
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
  });

  it("names the rooms that are open when another is asked for", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi")), roomOf(says("hi"), ["a"], "r2")] });
    expect(() => test.host.room("r3")).toThrow("no room r3 is open here; open are: r1, r2");
  });
});
