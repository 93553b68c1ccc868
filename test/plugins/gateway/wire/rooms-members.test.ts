import { describe, expect, it } from "vitest";
import type { JsonObject, ManualClock } from "../../../../core/index.ts";
import { loopClock, turnsOfLoop } from "../../../support/open-log.ts";
import { DrivenAgent } from "../../../support/open-host.ts";
import { until } from "../../../support/turns-of-loop.ts";
import { activityCame, holders, memberCame, payloads, rowCame, wiredRoom } from "../../../support/wired-room.ts";

const room_id = "r1";
const approval = { command: "rm", tool_id: "c1", tool_name: "run" };

/** Lets time pass in steps that a lease survives. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 2_500) {
    clock.advance(2_500);
    await turnsOfLoop(2);
  }
}

describe("an approval of a room", () => {
  it("R50 waits an hour for somebody to come, and is in state and snapshot then", async () => {
    const clock = loopClock();
    const host = await wiredRoom(["a"], { clock });
    await host.tap.room(room_id).post({ text: "go" });
    const agent = await host.agent.turn();
    void agent.ask("approval", approval);
    await pass(clock, 3_600_000);
    const client = await host.connect();
    const [request] = host.tap.requests.open();
    const member = { member_id: "m-a", state: "needs_input", open_requests: [request?.id] };
    const waiting = { id: request?.id, request_id: request?.request_id, coordinates: agent.turn.coordinates };
    expect(await client.call("rooms.state", { room_id })).toMatchObject({
      members: [member],
      open_requests: [waiting],
    });
    const reply = await client.call("rooms.subscribe", { room_id });
    expect(reply["state"]).toMatchObject({ members: [member], open_requests: [waiting] });
    expect(reply["attempts"]).toMatchObject([
      {
        coordinates: agent.turn.coordinates,
        n: 3,
        open_requests: [request?.id],
        tools: [{ tool_id: "c1", name: "run" }],
      },
    ]);
  });

  it("R51 is answered by its exact place, and once", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "go" } });
    const agent = await host.agent.turn();
    const answer = agent.ask("approval", approval);
    await activityCame(client, "request.opened");
    const { request_id, id } = host.tap.requests.open()[0] ?? {};
    const { member_id, task_id } = agent.turn.coordinates ?? {};
    const right = { room_id, member_id, task_id, execution_generation: 1, request_id, choice: "once" };
    for (const wrong of [
      { member_id: "m-b" },
      { task_id: "k-other" },
      { execution_generation: 2 },
      { request_id: "apr-000000000000" },
    ]) {
      expect(await client.refused("groups.approve", { ...right, ...wrong })).toEqual([4115, "not_pending"]);
    }
    expect(await client.refused("groups.approve", { ...right, room_id: "none" })).toEqual([4115, "unknown_room"]);
    expect(await client.refused("groups.approve", { ...right, choice: "always" })).toEqual([4115, "invalid_choice"]);
    expect(host.tap.requests.open().length).toBe(1);
    const outcome = { outcome: "answered", choice: "once", by: { origin: client.origin } };
    expect(await client.call("groups.approve", right)).toEqual({
      approved: true,
      result: { resolved: 1, status: "ok", outcome },
    });
    expect(await answer).toMatchObject({ outcome: "answered", choice: "once" });
    expect(await client.call("groups.approve", { ...right, choice: "deny" })).toEqual({
      approved: true,
      result: { resolved: 0, status: "already_resolved", outcome },
    });
    expect(await client.call("request.answer", { id, result: { choice: "deny" } })).toEqual({
      status: "already_resolved",
      outcome,
    });
  });

  it("is answered by request.answer as well, and denied ends its call only", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "go" } });
    const agent = await host.agent.turn();
    const [first, second] = [
      agent.ask("approval", approval),
      agent.ask("approval", { ...approval, tool_id: "c2", command: "mv" }),
    ];
    await until(() => payloads(client, "room.activity").filter(({ kind }) => kind === "request.opened").length === 2);
    const [one, two] = host.tap.requests.open();
    const { member_id, task_id } = agent.turn.coordinates ?? {};
    const place = { room_id, member_id, task_id, execution_generation: 1 };
    expect(
      await client.call("groups.approve", { ...place, request_id: one?.request_id, choice: "deny" }),
    ).toMatchObject({
      approved: false,
      result: { resolved: 1, status: "ok", outcome: { outcome: "denied" } },
    });
    expect(await client.call("request.answer", { id: two?.id, result: { choice: "once" } })).toMatchObject({
      status: "ok",
    });
    expect([await first, await second]).toMatchObject([{ outcome: "denied" }, { outcome: "answered" }]);
    const { payload } = await activityCame(client, "tool.completed");
    expect(payload?.["payload"]).toMatchObject({ tool_id: "c1", outcome: "denied" });
    agent.say("done");
    await rowCame(client, 2);
  });

  it("R53 that two calls ask alike is one, and its answer goes to both", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "go" } });
    const agent = await host.agent.turn();
    const answers = [agent.ask("approval", approval), agent.ask("approval", { ...approval, tool_id: "c2" })];
    await activityCame(client, "request.opened");
    const { open_requests } = await client.call("rooms.state", { room_id });
    const [request, ...more] = open_requests as { request_id: string }[];
    expect(more).toEqual([]);
    const { member_id, task_id } = agent.turn.coordinates ?? {};
    const place = { room_id, member_id, task_id, execution_generation: 1, request_id: request?.request_id };
    expect(await client.call("groups.approve", { ...place, choice: "once" })).toMatchObject({ approved: true });
    for (const answer of answers) expect(await answer).toMatchObject({ outcome: "answered", choice: "once" });
    agent.say("done");
    await activityCame(client, "turn.settled");
    const kinds = payloads(client, "room.activity").map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "request.opened").length).toBe(1);
    expect(kinds.filter((kind) => kind === "request.resolved").length).toBe(1);
  });

  it("needs the scope approvals", async () => {
    const authenticate = holders({ plain: { scopes: ["read", "write"] } });
    const host = await wiredRoom(["a"], { gateway: { authenticate } });
    const client = await host.connect({ token: "plain" });
    await client.call("groups.send", { room_id, payload: { text: "go" } });
    const agent = await host.agent.turn();
    void agent.ask("approval", approval);
    const [request] = host.tap.requests.open();
    const { member_id, task_id } = agent.turn.coordinates ?? {};
    const place = { room_id, member_id, task_id, execution_generation: 1, request_id: request?.request_id };
    const insufficient = { code: 4300, data: { reason: "insufficient_scope", required_scope: "approvals" } };
    expect((await client.ask("groups.approve", { ...place, choice: "once" })).error).toMatchObject(insufficient);
    const answer = { id: request?.id, result: { choice: "once" } };
    expect((await client.ask("request.answer", answer)).error).toMatchObject(insufficient);
    expect(host.tap.requests.open().length).toBe(1);
  });
});

describe("a member's life", () => {
  it("R59 is told from idle to idle, and failed", async () => {
    const clock = loopClock();
    const agents = new DrivenAgent({ heedsStop: false });
    const host = await wiredRoom(["a"], { clock, maxConcurrentTurns: 1, agent: agents });
    const client = await host.connect();
    await client.call("groups.create", {
      room_id: "r2",
      name: "Other",
      members: [{ handle: "x", profile: "default" }],
    });
    await client.call("groups.send", { room_id: "r2", payload: { text: "go" } });
    const elsewhere = await host.agent.turn();
    const reply = await client.call("rooms.subscribe", { room_id });
    expect(reply["state"]).toMatchObject({ members: [{ state: "idle", last: null }] });
    await client.call("groups.send", { room_id, payload: { text: "go" } });
    const queued = await memberCame(client, "queued");
    expect(queued.payload).toMatchObject({ room_id, member_id: "m-a", behind: "slot", position: 1 });
    elsewhere.say("done");
    const agent = await host.agent.turn(1);
    const { turn_id, task_id, execution_generation, thread_id } = agent.turn.coordinates ?? {};
    const running = await memberCame(client, "running");
    expect(running.payload).toMatchObject({ turn_id, task_id, execution_generation, thread_id, open_requests: [] });
    void agent.ask("approval", approval);
    const asking = await memberCame(client, "needs_input");
    const [request] = host.tap.requests.open();
    expect(asking.payload).toMatchObject({ tool: { tool_id: "c1", name: "run" }, open_requests: [request?.id] });
    await client.call("request.answer", { id: request?.id, result: { choice: "once" } });
    await until(() => payloads(client, "room.member").filter(({ state }) => state === "running").length >= 2);
    await client.call("groups.stop", { room_id });
    await memberCame(client, "stopping");
    agent.end({ status: "cancelled" });
    await memberCame(client, "idle");
    const states = (): readonly unknown[] => payloads(client, "room.member").map(({ state }) => state);
    const changes = states().filter((state, place) => state !== states()[place - 1]);
    expect(changes).toEqual(["queued", "running", "needs_input", "running", "stopping", "idle"]);
    await client.call("groups.send", { room_id, payload: { text: "again" } });
    (await host.agent.turn(2)).fail(new Error("broken"));
    const failed = await memberCame(client, "failed");
    expect(failed.payload).toMatchObject({ reason_code: "runner_error", retryable: true, last: { status: "failed" } });
  });
});

describe("rooms.state", () => {
  it("tells all there is to know of a room", async () => {
    const host = await wiredRoom(["a", "b"]);
    const client = await host.connect();
    await client.call("rooms.pause", { room_id, member_id: "m-b" });
    const sent = await client.call("groups.send", { room_id, payload: { text: "go" } });
    const { turn } = await host.agent.turn();
    const { event_id } = sent["event"] as JsonObject;
    const member = (handle: string): JsonObject => ({
      member_id: `m-${handle}`,
      handle,
      display_name: handle,
      runner_kind: "driven",
    });
    const { turn_id, task_id, execution_generation, thread_id } = turn.coordinates ?? {};
    expect(await client.call("rooms.state", { room_id })).toEqual({
      room: { room_id, name: "r1", revision: 1, disbanded_at: null, roster: [member("a"), member("b")] },
      log: { latest_seq: 1, log_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      lease: { generation: 1, held: true },
      threads: [{ thread_id: "main", discussion: event_id, status: "running", reason: null, owed: ["m-b"] }],
      members: [
        {
          ...{ member_id: "m-a", state: "running", paused: false, since: expect.any(Number) },
          ...{ thread_id, turn_id, task_id, execution_generation, open_requests: [], last: null },
        },
        { member_id: "m-b", state: "idle", paused: true, since: expect.any(Number), open_requests: [], last: null },
      ],
      inbox: [
        {
          ...{ message_id: event_id, thread_id: "main", author: { kind: "person", id: "local" } },
          ...{ at: expect.any(Number), state: "open", owed: ["m-b"] },
        },
      ],
      open_requests: [],
      quota: { rows: 1, bytes: expect.any(Number) },
    });
    expect(await client.refused("rooms.state", { room_id: "none" })).toEqual([4130, "unknown_room"]);
  });
});

describe("rooms.pause, rooms.resume and rooms.cancel", () => {
  it("pause one member or all, and resume them", async () => {
    const client = await (await wiredRoom(["a", "b"])).connect();
    expect(await client.call("rooms.pause", { room_id, member_id: "m-b" })).toEqual({ paused: ["m-b"] });
    expect(await client.call("rooms.pause", { room_id })).toEqual({ paused: ["m-a", "m-b"] });
    expect(await client.call("rooms.resume", { room_id, member_id: "m-a" })).toEqual({ paused: ["m-b"] });
    expect(await client.call("rooms.resume", { room_id })).toEqual({ paused: [] });
    for (const method of ["rooms.pause", "rooms.resume"]) {
      expect(await client.refused(method, { room_id, member_id: "m-x" })).toEqual([4130, "unknown_member"]);
      expect(await client.refused(method, { room_id: "none" })).toEqual([4130, "unknown_room"]);
    }
  });

  it("cancel one turn that runs, or one post that waits", async () => {
    const host = await wiredRoom(["a", "b"]);
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "@a go" } });
    const { turn } = await host.agent.turn();
    const waiting = await client.call("groups.send", { room_id, payload: { text: "@a and", thread_id: "side" } });
    const { event_id: message_id } = waiting["event"] as JsonObject;
    const cancel = (what: JsonObject): Promise<JsonObject> => client.call("rooms.cancel", { room_id, ...what });
    expect(await cancel({ message_id })).toEqual({ cancelled: 1 });
    expect(await cancel({ turn_id: turn.turn_id })).toEqual({ cancelled: 1 });
    const { payload } = await rowCame(client, 2);
    expect(payload).toMatchObject({ payload: { status: "cancelled", reason_code: "turn_cancelled" } });
    await host.tap.quiet();
    expect(host.agent.turns.length).toBe(1);
    expect((await client.call("rooms.state", { room_id }))["inbox"]).toMatchObject([{ message_id, state: "closed" }]);
    const refused = (what: JsonObject): Promise<readonly [number, string]> =>
      client.refused("rooms.cancel", { room_id, ...what });
    expect(await refused({ turn_id: "t-none" })).toEqual([4130, "unknown_turn"]);
    expect(await refused({ message_id: "msg-none" })).toEqual([4130, "unknown_message"]);
    expect(await refused({ room_id: "none", turn_id: "t" })).toEqual([4130, "unknown_room"]);
    for (const what of [{}, { turn_id: "t", message_id: "m" }]) {
      expect(await refused(what)).toEqual([-32602, "invalid_params"]);
    }
  });
});

describe("rooms.set_roster", () => {
  it("changes the roster by its revision, and members keep who drives them", async () => {
    const host = await wiredRoom(["a", "b"]);
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "@b go" } });
    await host.agent.turn();
    const members = [{ handle: "a" }, { handle: "c", profile: "default" }, { handle: "p" }];
    const { room } = await client.call("rooms.set_roster", { room_id, expected_revision: 1, members });
    expect(room).toMatchObject({
      revision: 2,
      members: [
        { member_id: "m-a", runner_kind: "driven" },
        { member_id: "m-c", runner_kind: "driven", profile: "default" },
        { member_id: "m-p", runner_kind: null },
      ],
    });
    const { payload } = await rowCame(client, 2);
    expect(payload).toMatchObject({ payload: { status: "cancelled", reason_code: "member_removed" } });
    await client.call("groups.send", { room_id, payload: { text: "@c go" } });
    expect((await host.agent.turn(1)).turn.coordinates).toMatchObject({ member_id: "m-c" });
    const refused = (what: JsonObject): Promise<readonly [number, string]> =>
      client.refused("rooms.set_roster", { room_id, expected_revision: 2, members, ...what });
    expect(await refused({ expected_revision: 1 })).toEqual([4130, "revision_conflict"]);
    expect(await refused({ members: [] })).toEqual([4130, "invalid_roster"]);
    expect(await refused({ members: [{ handle: "z", profile: "none" }] })).toEqual([4130, "invalid_roster"]);
    expect(await refused({ room_id: "none" })).toEqual([4130, "unknown_room"]);
    await client.call("groups.disband", { room_id });
    expect(await refused({})).toEqual([4130, "room_disbanded"]);
  });
});
