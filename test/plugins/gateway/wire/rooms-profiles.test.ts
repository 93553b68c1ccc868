import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DrivenAgent, openHost } from "../../../support/open-host.ts";
import { temporaryFolder } from "../../../support/open-log.ts";

const members = [
  { handle: "a", profile: "default" },
  { handle: "b", profile: "other" },
  { handle: "p", profile: null },
];

describe("a room that was made over the wire", () => {
  it("is driven again after a restart, without being made again", async () => {
    const db = join(temporaryFolder(), "test.db");
    const agents = () => ({ default: new DrivenAgent(), other: new DrivenAgent() });
    const first = await openHost({ db, agents: agents() });
    const maker = await first.connect();
    const { room } = await maker.call("groups.create", { room_id: "made", name: "Made", members });
    await maker.call("rooms.pause", { room_id: "made" });
    await maker.call("groups.send", { room_id: "made", payload: { text: "@b go" } });
    await first.close();
    const again = agents();
    const host = await openHost({ db, agents: again });
    const client = await host.connect();
    expect(host.tap.rooms.map(({ record, isDriven }) => [record.room_id, record.revision, isDriven])).toEqual([
      ["made", 1, true],
    ]);
    await client.call("rooms.resume", { room_id: "made" });
    const { turn } = await again.other.turn();
    expect(turn.coordinates).toMatchObject({ room_id: "made", member_id: "m-b", execution_generation: 1 });
    const made = await client.call("groups.create", { room_id: "made", name: "Made", members });
    expect(made["room"]).toMatchObject({ ...(room as object), paused: [], idempotent: true });
    expect(host.notices).toEqual([]);
  });

  it("is left as it is, and named, when an agent of it is not here", async () => {
    const db = join(temporaryFolder(), "test.db");
    const first = await openHost({ db, agents: { default: new DrivenAgent(), other: new DrivenAgent() } });
    await (await first.connect()).call("groups.create", { room_id: "made", name: "Made", members });
    await first.close();
    const host = await openHost({ db });
    expect(host.notices.map(({ code, subject }) => [code, subject])).toEqual([["room_not_driven", "made"]]);
    const client = await host.connect();
    expect(await client.refused("groups.send", { room_id: "made", payload: { text: "go" } })).toEqual([
      4123,
      "driver_unavailable",
    ]);
  });

  it("keeps its agents through a new roster that does not name them", async () => {
    const db = join(temporaryFolder(), "test.db");
    const agents = () => ({ default: new DrivenAgent(), other: new DrivenAgent() });
    const first = await openHost({ db, agents: agents() });
    const maker = await first.connect();
    await maker.call("groups.create", { room_id: "made", name: "Made", members });
    await maker.call("rooms.set_roster", { room_id: "made", expected_revision: 1, members: [{ handle: "b" }] });
    await first.close();
    const again = agents();
    const host = await openHost({ db, agents: again });
    await (await host.connect()).call("groups.send", { room_id: "made", payload: { text: "go" } });
    expect((await again.other.turn()).turn.coordinates).toMatchObject({ member_id: "m-b" });
    expect(host.tap.room("made").record).toMatchObject({ revision: 2, members: [{ handle: "b", profile: "other" }] });
  });

  it("is no business of a host whose config defines it", async () => {
    const db = join(temporaryFolder(), "test.db");
    const first = await openHost({ db });
    await (
      await first.connect()
    ).call("groups.create", {
      room_id: "made",
      name: "Made",
      members: [{ handle: "a", profile: "default" }],
    });
    await first.close();
    const own = new DrivenAgent();
    const host = await openHost({ db, rooms: [{ room_id: "made", members: [{ handle: "a", runner: own }] }] });
    await (await host.connect()).call("groups.send", { room_id: "made", payload: { text: "go" } });
    await own.turn();
    const { members: stored, revision } = host.tap.room("made").record;
    expect([revision, stored]).toEqual([2, [expect.not.objectContaining({ profile: expect.anything() })]]);
  });
});
