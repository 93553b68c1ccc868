import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../core/index.ts";
import { openHost, DrivenAgent, type HostClient, type OpenHost } from "../../../support/open-host.ts";
import { principals, tokenOf, type Rights } from "../../../support/principals.ts";
import { activityCame, payloads, rowCame } from "../../../support/wired-room.ts";
import { until } from "../../../support/turns-of-loop.ts";

const everything = ["read", "write", "approvals", "admin"] as const;
const people: Readonly<Record<string, Rights>> = {
  boss: { scopes: everything, grants: ["reasoning", "full"] },
  one: { scopes: everything, rooms: ["r1", "r9"] },
  reader: { scopes: ["read", "write"] },
};

interface Rooms extends OpenHost {
  readonly agent: DrivenAgent;
  readonly as: (name: string) => Promise<HostClient>;
}

/** A host with the rooms r1 and r2, a member each, and people who come by tokens of a config. */
async function twoRooms(byName = people): Promise<Rooms> {
  const agent = new DrivenAgent();
  const rooms = ["r1", "r2"].map((room_id) => ({
    room_id,
    members: [{ handle: "a", runner: agent }],
    policy: { maxRounds: 1, maxOwedPasses: 0 },
  }));
  const host = await openHost({
    rooms,
    agents: { default: agent },
    gateway: { auth: principals(byName), maxDeniedCalls: 1_000 },
  });
  return { ...host, agent, as: (name) => host.connect({ token: tokenOf(name) }) };
}

/** Every call that names a room, with all else that it needs. */
const calls: readonly (readonly [method: string, params: JsonObject])[] = [
  ["groups.state", {}],
  ["groups.send", { payload: { text: "x" } }],
  ["groups.rename", { event_id: "e1", name: "other" }],
  ["groups.log", {}],
  ["groups.stop", {}],
  ["groups.retry", { task_id: "k-1" }],
  [
    "groups.approve",
    { member_id: "m-a", task_id: "k-1", execution_generation: 1, request_id: "srq-1", choice: "once" },
  ],
  ["groups.disband", {}],
  ["groups.create", { name: "other", members: [] }],
  ["rooms.state", {}],
  ["rooms.subscribe", {}],
  ["rooms.pause", {}],
  ["rooms.resume", {}],
  ["rooms.cancel", { turn_id: "t-1" }],
  ["rooms.set_roster", { expected_revision: 1, members: [] }],
];

describe("a principal of some rooms", () => {
  it("finds the others in no call: they are like those that there are not", async () => {
    const { as, tap } = await twoRooms();
    const client = await as("one");
    for (const [method, params] of calls) {
      const ask = (room_id: string) => client.ask(method, { ...params, room_id }, "same");
      const [hidden, none] = [await ask("r2"), await ask("r3")];
      expect([method, hidden.error?.data]).toEqual([method, { reason: "unknown_room" }]);
      expect(JSON.stringify(none).replaceAll("r3", "r2")).toBe(JSON.stringify(hidden));
    }
    expect(await client.call("rooms.unsubscribe", { room_id: "r2" })).toEqual({ unsubscribed: false });
    expect((await tap.room("r2").state()).room.name).toBe("r2");
  });

  it("has its own whole, and lists no other", async () => {
    const { as } = await twoRooms();
    const [client, boss] = [await as("one"), await as("boss")];
    const names = async (who: HostClient, page: JsonObject = {}) => {
      const { rooms, next_offset } = await who.call("groups.list", page);
      return [(rooms as { room_id: string }[]).map(({ room_id }) => room_id), next_offset];
    };
    expect([await names(boss), await names(client)]).toEqual([
      [["r1", "r2"], null],
      [["r1"], null],
    ]);
    await client.call("groups.create", { room_id: "r9", name: "nine", members: [{ handle: "p", profile: null }] });
    expect([await names(client, { limit: 1 }), await names(client, { limit: 1, offset: 1 })]).toEqual([
      [["r1"], 1],
      [["r9"], null],
    ]);
    expect(await client.call("rooms.state", { room_id: "r1" })).toMatchObject({ room: { room_id: "r1" } });
  });

  it("answers no question of another room, whose id it has guessed", async () => {
    const { as, agent, tap } = await twoRooms();
    const [client, boss] = [await as("one"), await as("boss")];
    await boss.call("groups.send", { room_id: "r2", payload: { text: "go" } });
    const turn = await agent.turn(0);
    void turn.ask("approval", { command: "rm x", choices: ["once", "deny"] });
    await until(() => tap.requests.open().length === 1);
    const id = tap.requests.open()[0]?.id ?? "";
    expect(await client.refused("request.answer", { id, result: { choice: "once" } })).toEqual([
      4014,
      "unknown_request",
    ]);
    expect(tap.requests.open()).toHaveLength(1);
    expect(await boss.call("request.answer", { id, result: { choice: "once" } })).toMatchObject({ status: "ok" });
  });

  it("does not keep a policy from answering for other rooms", async () => {
    const agent = new DrivenAgent();
    const rooms = ["r1", "r2"].map((room_id) => ({ room_id, members: [{ handle: "a", runner: agent }] }));
    const gateway = { auth: principals(people) };
    const host = await openHost({ rooms, approve: "deny", gateway });
    const client = await host.connect({ token: tokenOf("one") });
    await host.tap.room("r2").post({ text: "go" });
    const answer = await (await agent.turn(0)).ask("approval", { command: "rm x", choices: ["once", "deny"] });
    expect(answer).toMatchObject({ outcome: "denied" });
    await host.tap.room("r1").post({ text: "go" });
    void (await agent.turn(1)).ask("approval", { command: "rm y", choices: ["once", "deny"] });
    await until(() => host.tap.requests.open().length === 1);
    await client.drop();
    await until(() => host.tap.requests.open().length === 0);
  });
});

describe("an approval of a room", () => {
  it("C-033 is shown to those who may answer it; others see only that the member waits", async () => {
    const { as, agent } = await twoRooms();
    const [boss, reader] = [await as("boss"), await as("reader")];
    for (const client of [boss, reader]) await client.call("rooms.subscribe", { room_id: "r1" });
    await reader.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    const turn = await agent.turn(0);
    void turn.ask("approval", { command: "rm x", description: "cleans up", choices: ["once", "deny"] });
    const [seen, withheld] = [await activityCame(boss, "request.opened"), await activityCame(reader, "request.opened")];
    expect(JSON.stringify(seen)).toContain("rm x");
    await reader.eventWhere("room.member", ({ payload }) => payload?.["state"] === "needs_input");
    for (const method of ["rooms.state", "groups.state"]) {
      expect(JSON.stringify(await boss.call(method, { room_id: "r1" }))).toContain("rm x");
      expect(JSON.stringify(await reader.call(method, { room_id: "r1" }))).not.toMatch(/rm x|cleans up/);
    }
    expect(JSON.stringify([withheld, ...reader.came])).not.toMatch(/rm x|cleans up/);
    const { request_id: id } = (withheld.payload?.["payload"] ?? {}) as { request_id?: string };
    const { task_id, execution_generation } = turn.turn.coordinates ?? {};
    const named = { room_id: "r1", member_id: "m-a", task_id, execution_generation, request_id: id, choice: "once" };
    for (const [method, params] of [
      ["groups.approve", named],
      ["request.answer", { id, result: { choice: "once" } }],
    ] as const) {
      const { error } = await reader.ask(method, params as JsonObject);
      expect([error?.code, error?.data["required_scope"]]).toEqual([4300, "approvals"]);
    }
    expect(await boss.call("groups.approve", named as JsonObject)).toMatchObject({ approved: true });
    turn.end();
  });
});

describe("a subscription whose rights have gone", () => {
  it.each<readonly [what: string, next: Rights]>([
    ["read", { scopes: ["write", "approvals"], grants: ["reasoning", "full"] }],
    ["approvals", { scopes: ["read", "write"], grants: ["reasoning", "full"] }],
    ["the grant of reasoning", { scopes: everything, grants: ["full"] }],
    ["the grant of whole payloads", { scopes: ["read", "write", "approvals"], grants: ["reasoning"] }],
    ["the room", { scopes: everything, grants: ["reasoning", "full"], rooms: ["r2"] }],
  ])("ends, and says so: without %s", async (_what, next) => {
    const { as, agent, gateway } = await twoRooms();
    const boss = await as("boss");
    const given = { room_id: "r1", payload: "full", reasoning: true };
    const { subscription_id } = await boss.call("rooms.subscribe", given);
    const other = await as("reader");
    await other.call("rooms.subscribe", { room_id: "r1" });
    expect(gateway.reload(principals({ ...people, boss: next }))).toBe(0);
    expect((await boss.event("room.unsubscribed")).payload).toEqual({
      room_id: "r1",
      subscription_id,
      reason: "rights_changed",
    });
    await other.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    (await agent.turn(0)).say("done");
    await rowCame(other, 2);
    await boss.settled();
    expect(boss.events().map(({ type }) => type)).toEqual(["room.unsubscribed"]);
  });

  it("goes on when rights are added, and what it leaves out is left out", async () => {
    const { as, agent, gateway } = await twoRooms();
    const reader = await as("reader");
    await reader.call("rooms.subscribe", { room_id: "r1" });
    gateway.reload(principals({ ...people, reader: { scopes: everything, rooms: ["r1"] } }));
    await reader.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    (await agent.turn(0)).say("done");
    await rowCame(reader, 2);
    expect(payloads(reader, "room.unsubscribed")).toEqual([]);
  });
});

describe("a post", () => {
  it("bears the principal's name, also one that is no id", async () => {
    const subject = { principal: "auth0|ada", generation: "g", scopes: ["read", "write"] as const, grants: [] };
    const agent = new DrivenAgent();
    const rooms = [{ room_id: "r1", members: [{ handle: "a", runner: agent }] }];
    const host = await openHost({ rooms, gateway: { authenticate: () => subject } });
    const client = await host.connect();
    const { event } = await client.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    expect((event as JsonObject)["author"]).toEqual({
      kind: "person",
      id: expect.stringMatching(/^p-[0-9a-f]{32}$/),
      display_name: "auth0|ada",
    });
    expect((await agent.turn(0)).turn.unseen).toMatchObject([{ author: { display_name: "auth0|ada" } }]);
  });
});
