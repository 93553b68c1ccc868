import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { limits } from "../../../core/index.ts";
import type { RoomDefinition } from "../../../rooms/index.ts";
import { loopClock, ownRoom, roomOf as storedRoom, temporaryFolder } from "../../support/open-log.ts";
import { HeldRunner, member, roomOf, says, TestHost } from "../../support/open-room.ts";

const definition = (changes: Partial<RoomDefinition> = {}): RoomDefinition => ({
  room_id: "new",
  name: "The new one",
  members: [member("a", says("hi"))],
  ...changes,
});

describe("a room that is made at run time", () => {
  it("is driven at once, and made again it is the same room", async () => {
    const test = await TestHost.open({ rooms: [] });
    const { room, idempotent } = await test.host.create(definition());
    expect([idempotent, room.isDriven, room.record]).toMatchObject([false, true, { name: "The new one", revision: 1 }]);
    expect((await room.post({ text: "go" })).starts).toBe(true);
    await test.quiet();
    expect(await test.told("new")).toEqual(["started m-a message", "settled m-a completed"]);
    const again = await test.host.create(definition());
    expect([again.idempotent, again.room === room]).toEqual([true, true]);
    const [one, other] = await Promise.all([
      test.host.create(definition({ room_id: "twice" })),
      test.host.create(definition({ room_id: "twice" })),
    ]);
    expect([one.room === other.room, one.idempotent, other.idempotent]).toEqual([true, false, true]);
  });

  it("is found again after a restart, driven and with its posts", async () => {
    const file = join(temporaryFolder(), "test.db");
    const clock = loopClock();
    const first = await TestHost.open({ rooms: [], file, clock });
    const { room } = await first.host.create(definition());
    await room.pause();
    await room.post({ text: "go" });
    await first.close();
    const test = await TestHost.open({ rooms: [], file, clock });
    const { room: again, idempotent } = await test.host.create(definition());
    expect([idempotent, again.isDriven, again.record.paused]).toEqual([true, true, ["m-a"]]);
    await again.resume();
    await test.quiet();
    expect(await test.told("new")).toEqual(["started m-a message", "settled m-a completed"]);
  });

  it("takes posts while another host drives it, and is driven here when that one ends", async () => {
    const file = join(temporaryFolder(), "test.db");
    const [clock, held] = [loopClock(), new HeldRunner()];
    const first = await TestHost.open({ rooms: [], file, clock });
    const test = await TestHost.open({ rooms: [], file, clock });
    await first.host.create(definition({ members: [member("a", held)] }));
    const { room } = await test.host.create(definition({ members: [member("a", held)] }));
    expect(room.isDriven).toBe(false);
    await first.close();
    await test.pass(1_000);
    expect(room.isDriven).toBe(true);
  });

  it.each([
    ["another name", definition({ name: "Other" }), "room_conflict"],
    ["another member", definition({ members: [member("b", says("hi"))] }), "room_conflict"],
    ["another kind of runner", definition({ members: [member("a", null)] }), "room_conflict"],
    ["no members", definition({ members: [] }), "invalid_roster"],
    ["an id that is none", definition({ room_id: "new one" }), "invalid_params"],
    ["a name of two lines", definition({ room_id: "r2", name: "one\ntwo" }), "invalid_params"],
  ])("is refused with %s", async (_, given, code) => {
    const test = await TestHost.open({ rooms: [] });
    await test.host.create(definition());
    await expect(test.host.create(given)).rejects.toMatchObject({ code });
    expect(test.host.rooms.length).toBe(1);
  });

  it("I8 is refused above 256 active ones, and has a place when one is disbanded", async () => {
    const test = await TestHost.open({ rooms: [] });
    const names = Array.from({ length: limits.maxRooms - 1 }, (_, index) => `x${index}`);
    await Promise.all(names.map((name) => test.log.putRoom(storedRoom(name))));
    const { room } = await test.host.create(definition());
    const more = definition({ room_id: "more" });
    await expect(test.host.create(more)).rejects.toMatchObject({ code: "too_many_rooms" });
    await room.disband();
    expect((await test.host.create(more)).idempotent).toBe(false);
  });

  it("is refused by a closed host", async () => {
    const test = await TestHost.open({ rooms: [] });
    await test.host.close();
    await expect(test.host.create(definition())).rejects.toMatchObject({ code: "closed" });
  });
});

describe("a room that is disbanded at run time", () => {
  it("R60 gives its first tombstone again, its id to nobody, and its lease back", async () => {
    const file = join(temporaryFolder(), "test.db");
    const clock = loopClock();
    const test = await TestHost.open({ rooms: [], file, clock });
    const { room } = await test.host.create(definition());
    const first = await test.host.disband("new");
    expect(first).toEqual({ room_id: "new", disbanded_at: clock.now(), idempotent: false });
    await test.quiet();
    await test.pass(50);
    expect([room.isDriven, (await test.log.lease("new")).released]).toEqual([false, true]);
    clock.advance(1_000);
    const again = { ...first, idempotent: true };
    expect([await room.disband(), await test.host.disband("new")]).toEqual([again, again]);
    await expect(room.post({ text: "more" })).rejects.toMatchObject({ code: "room_disbanded" });
    await expect(room.rename({ eventId: "e1", name: "x" })).rejects.toMatchObject({ code: "room_disbanded" });
    await expect(test.host.create(definition())).rejects.toMatchObject({ code: "room_retired" });
    await test.close();
    const later = await TestHost.open({ rooms: [], file, clock });
    expect(await later.host.disband("new")).toEqual(again);
  });

  it("says of other rooms whether they are there at all", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    await ownRoom(test.log, "elsewhere");
    await expect(test.host.disband("none")).rejects.toMatchObject({ code: "unknown_room" });
    await expect(test.host.disband("elsewhere")).rejects.toMatchObject({ code: "driver_unavailable" });
    await expect(test.host.find("elsewhere")).rejects.toMatchObject({ code: "driver_unavailable" });
    expect(await test.host.find("r1")).toBe(test.room);
  });
});

describe("a rename", () => {
  it("is a new revision, told again for the same event id, also after a restart", async () => {
    const file = join(temporaryFolder(), "test.db");
    const clock = loopClock();
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], file, clock });
    const first = await test.room.rename({ eventId: "e1", name: "Kitchen" });
    expect(first).toMatchObject({ name: "Kitchen", revision: 2, members: [{ member_id: "m-a" }] });
    await test.room.setRoster([member("a", says("hi")), member("b", says("hi"))], { expectedRevision: 2 });
    expect(test.room.record).toMatchObject({ name: "Kitchen", revision: 3 });
    await test.room.rename({ eventId: "e2", name: "Cellar" });
    await test.close();
    // What a config calls it is the name of a new room.
    const again = await TestHost.open({ rooms: [roomOf(says("hi"), ["a", "b"])], file, clock });
    expect(again.room.record).toMatchObject({ name: "Cellar", revision: 4 });
    expect(await again.room.rename({ eventId: "e1", name: "Kitchen" })).toEqual(first);
    await expect(again.room.rename({ eventId: "e1", name: "Attic" })).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
    expect(again.room.record).toMatchObject({ name: "Cellar", revision: 4 });
  });

  it("to the name that the room has changes nothing", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    expect(await test.room.rename({ eventId: "e1", name: "r1" })).toMatchObject({ name: "r1", revision: 1 });
  });

  it.each([
    ["no name", { eventId: "e1", name: "" }],
    ["a name of 201 characters", { eventId: "e1", name: "x".repeat(201) }],
    ["a line break", { eventId: "e1", name: "a\nb" }],
    ["half a surrogate pair", { eventId: "e1", name: "a\ud800" }],
    ["an event id that is none", { eventId: "e 1", name: "a" }],
  ])("is refused with %s", async (_, given) => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    await expect(test.room.rename(given)).rejects.toMatchObject({ code: "invalid_params" });
    expect((await test.room.rename({ eventId: "e1", name: "x".repeat(200) })).revision).toBe(2);
  });
});
