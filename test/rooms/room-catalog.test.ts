import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { limits, systemClock } from "../../core/index.ts";
import { connect } from "../../rooms/sqlite/database.ts";
import {
  claim,
  loopClock,
  openLog,
  ownRoom,
  roomOf as storedRoom,
  settleOf,
  startOf,
  temporaryFolder,
} from "../support/open-log.ts";
import { HeldRunner, roomOf, says, secret, TestHost } from "../support/open-room.ts";

const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `x${index + 100}`);

describe("the list of rooms", () => {
  it("goes through all of them in order, page by page, driven here or not", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    await Promise.all(ids(100).map((id) => test.log.putRoom(storedRoom(id))));
    const seen: string[] = [];
    const offsets: (number | null)[] = [];
    for (let offset: number | null = 0; offset !== null;) {
      const page = await test.host.page({ limit: 40, offset });
      seen.push(...page.rooms.map(({ room_id }) => room_id));
      offsets.push(page.next_offset);
      offset = page.next_offset;
    }
    expect(seen).toEqual(["r1", ...ids(100)]);
    expect(offsets).toEqual([40, 80, null]);
    expect(await test.host.page({ offset: 101 })).toEqual({ rooms: [], next_offset: null });
    expect((await test.host.page({ limit: 101 })).next_offset).toBe(null);
    expect((await test.host.page({ limit: 100 })).next_offset).toBe(100);
  });

  it("leaves disbanded ones out, unless they are asked for", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi")), roomOf(says("hi"), ["a"], "r2")] });
    await test.room.disband();
    const listed = async (include_disbanded: boolean): Promise<readonly string[]> =>
      (await test.host.page({ include_disbanded })).rooms.map(({ room_id }) => room_id);
    expect([await listed(false), await listed(true)]).toEqual([["r2"], ["r1", "r2"]]);
  });

  it("I8 has at most 500 rooms", async () => {
    const log = await openLog(":memory:");
    for (const room_id of ids(limits.maxListedRooms + 1)) {
      const lease_generation = await ownRoom(log, room_id);
      await log.disband({ room_id, lease_generation });
    }
    const page = { include_disbanded: true };
    for (const [limit, length] of [
      [499, 499],
      [500, 500],
      [501, 500],
      [0, 1],
    ] as const) {
      const { rooms, next_offset } = await log.roomPage({ ...page, limit });
      expect([rooms.length, next_offset]).toEqual([length, length]);
    }
  });

  it("leaves a damaged one out, and counts it where the next page begins", async () => {
    const file = join(temporaryFolder(), "test.db");
    const log = await openLog(file);
    for (const id of ["a", "b", "c"]) await log.putRoom(storedRoom(id));
    await log.close();
    const connection = connect(file);
    connection.exec("UPDATE rosters SET members = 'x' WHERE room_id = 'b'");
    connection.close();
    const again = await openLog(file);
    expect(await again.roomPage({ limit: 2 })).toMatchObject({ rooms: [{ room_id: "a" }], next_offset: 2 });
    expect(await again.roomPage({ limit: 2, offset: 2 })).toMatchObject({
      rooms: [{ room_id: "c" }],
      next_offset: null,
    });
  });
});

describe("rows of a room", () => {
  it("R9 are read in pages with secrets masked, and no cursor is above the head", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"), ["a", "b"])] });
    const { host } = test;
    await test.room.post({ text: `my key is ${secret}` });
    await test.quiet();
    const page = await host.log("r1", { since_seq: 0, limit: 1 });
    expect(page).toMatchObject({ cursor: 1, latest_seq: 4, has_more: true });
    expect(JSON.stringify(page)).not.toContain(secret);
    expect(page.rows[0]?.hash).toBe((await test.rows())[0]?.hash);
    expect(await host.log("r1", { since_seq: 1 })).toMatchObject({ cursor: 4, has_more: false });
    expect((await host.log("r1", { since_seq: 4 })).rows).toEqual([]);
    for (const limit of [Number.NaN, 1.5, -1, 0, "5", null]) {
      const asked = host.log("r1", { limit: limit as number });
      await expect(asked).rejects.toMatchObject({ code: "invalid_params" });
    }
    await expect(host.log("r1", { since_seq: 5 })).rejects.toMatchObject({ code: "cursor_ahead" });
    await expect(host.log("r1", { since_seq: -1 })).rejects.toMatchObject({ code: "invalid_params" });
    await expect(host.log("none", { since_seq: 0 })).rejects.toMatchObject({ code: "unknown_room" });
  });

  it("R60 of a disbanded room are given when they are asked for, for 90 days", async () => {
    const clock = loopClock();
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], clock });
    const { host } = test;
    await test.room.post({ text: "go" });
    await test.quiet();
    await test.room.disband();
    await expect(host.log("r1", { since_seq: 0 })).rejects.toMatchObject({ code: "room_disbanded" });
    const read = () => host.log("r1", { since_seq: 0, include_disbanded: true });
    clock.setNow(clock.now() + limits.disbandedHistoryMs - 1);
    expect((await read()).rows.length).toBe(2);
    expect((await host.state("r1", { include_disbanded: true })).room.disbanded_at).not.toBe(null);
    clock.setNow(clock.now() + 1);
    await expect(read()).rejects.toMatchObject({ code: "history_expired" });
    await expect(host.state("r1", { include_disbanded: true })).rejects.toMatchObject({ code: "history_expired" });
    clock.setNow(clock.now() + 1);
    await expect(read()).rejects.toMatchObject({ code: "history_expired" });
  });
});

describe("the state of a room that nobody drives here", () => {
  it("follows from its log, its inbox and its roster", async () => {
    const test = await TestHost.open({ rooms: [] });
    const lease_generation = await ownRoom(test.log, "far");
    const rows = [startOf("1", { room: "far" }), settleOf("1", { room: "far" }), startOf("2", { room: "far" })];
    await test.log.append({ room_id: "far", rows, inbox: [], expected_seq: 0, lease_generation });
    const state = await test.host.state("far");
    expect(state.log.latest_seq).toBe(3);
    expect(state.lease).toEqual({ generation: 1, held: true });
    expect(state.members.map(({ member_id, state: word, task_id }) => [member_id, word, task_id])).toEqual([
      ["m-a", "running", "k-2"],
      ["m-b", "idle", undefined],
      ["m-c", "idle", undefined],
    ]);
    await expect(test.host.state("none")).rejects.toMatchObject({ code: "unknown_room" });
  });

  it("is refused where the log contradicts itself", async () => {
    const test = await TestHost.open({ rooms: [] });
    await test.log.putRoom(storedRoom("far"));
    const lease_generation = await claim(test.log, "far");
    const rows = [settleOf("1", { room: "far" })];
    await test.log.append({ room_id: "far", rows, inbox: [], expected_seq: 0, lease_generation });
    await expect(test.host.state("far")).rejects.toMatchObject({ code: "log_corrupt" });
  });
});

describe("reading", () => {
  it("gives way to others between its pieces, however much is asked for at once", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    const lease_generation = await ownRoom(test.log, "big");
    const rows = Array.from({ length: 100 }, (_, turn) => [
      startOf(`${turn}`, { room: "big" }),
      settleOf(`${turn}`, { room: "big" }),
    ]).flat();
    await test.log.append({ room_id: "big", rows, inbox: [], expected_seq: 0, lease_generation });
    await Promise.all(ids(100).map((id) => test.log.putRoom(storedRoom(id))));
    const { host } = test;
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) systemClock.defer(count);
    };
    systemClock.defer(count);
    await Promise.all([
      ...Array.from({ length: 10 }, () => host.log("big", { since_seq: 0 })),
      ...Array.from({ length: 10 }, () => host.page()),
      ...Array.from({ length: 100 }, () => test.room.state()),
    ]);
    isOver = true;
    // A turn of the loop for each piece: 200 rows are 7 pieces, masked in 13; 102 rooms are 4; a state is one.
    expect(turns).toBeGreaterThan(10 * 13 + 100);
  });
});
