import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../core/index.ts";
import { loopClock, temporaryFolder } from "../../../support/open-log.ts";
import { openHost, type HostClient } from "../../../support/open-host.ts";
import { activityCame, memberCame, rowCame, wiredRoom } from "../../../support/wired-room.ts";

const room_id = "r1";
const invalid = [-32602, "invalid_params"];
const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
const local = { kind: "person", id: "local" };

function memberOf(handle: string, more: JsonObject = {}): JsonObject {
  return { member_id: `m-${handle}`, handle, display_name: handle, runner_kind: "driven", ...more };
}

/** A room as lists show it. */
function roomOf(members: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  const base = { room_id, name: "r1", revision: 1, roster_digest: hash, created_at: expect.any(Number), paused: [] };
  return { ...base, disbanded_at: null, members, ...more };
}

/** Path of a param that is refused. */
async function badPath(client: HostClient, method: string, params: JsonObject): Promise<unknown> {
  const { error } = await client.ask(method, params);
  expect([method, error?.code, error?.data.reason]).toEqual([method, ...invalid]);
  return error?.data["path"];
}

describe("groups.capabilities", () => {
  it("says what this gateway does with rooms", async () => {
    const client = await (await wiredRoom()).connect();
    const told = await client.call("groups.capabilities");
    expect(told).toMatchObject({
      protocol_version: 2,
      driver: "roomtap",
      persistent_process: true,
      authority_gateway_id: expect.stringMatching(/^gw-[0-9a-f]{32}$/),
      room_link: false,
      max_log_limit: 500,
    });
    expect(told["methods"]).toEqual([
      ...["approve", "capabilities", "create", "disband", "list", "log"].map((name) => `groups.${name}`),
      ...["rename", "retry", "send", "state", "stop"].map((name) => `groups.${name}`),
      ...["cancel", "pause", "resume", "set_roster", "state", "subscribe", "unsubscribe", "verify"].map(
        (name) => `rooms.${name}`,
      ),
    ]);
    for (const name of ["replicate", "replica_state", "promote", "demote", "peer.add"]) {
      expect(await client.refused(`groups.${name}`, { room_id })).toEqual([-32601, "unknown_method"]);
    }
  });
});

describe("groups.create and groups.list", () => {
  it("make a room that is driven, once, and list it by pages", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    const members = [
      { handle: "x", profile: "default", target: "any" },
      { handle: "p", profile: null, display_name: "P" },
    ];
    const created = roomOf(
      [memberOf("x", { profile: "default" }), memberOf("p", { display_name: "P", runner_kind: null })],
      {
        room_id: "new",
        name: "New",
      },
    );
    const make = { room_id: "new", name: "New", members, authority_gateway_id: "gw-other" };
    expect(await client.call("groups.create", make)).toEqual({ room: { ...created, idempotent: false } });
    expect(await client.call("groups.create", make)).toEqual({ room: { ...created, idempotent: true } });
    const first = roomOf([memberOf("a")]);
    expect(await client.call("groups.list")).toEqual({ rooms: [created, first], next_offset: null });
    expect(await client.call("groups.list", { limit: 1 })).toEqual({ rooms: [created], next_offset: 1 });
    expect(await client.call("groups.list", { limit: 1, offset: 1 })).toEqual({ rooms: [first], next_offset: null });
    expect(await client.call("groups.list", { offset: 2 })).toEqual({ rooms: [], next_offset: null });
    await client.call("groups.send", { room_id: "new", payload: { text: "go" } });
    expect((await host.agent.turn()).turn.coordinates).toMatchObject({ room_id: "new", member_id: "m-x" });
  });

  it("list disbanded rooms only when asked", async () => {
    const client = await (await wiredRoom()).connect();
    await client.call("groups.disband", { room_id });
    expect(await client.call("groups.list")).toEqual({ rooms: [], next_offset: null });
    const { rooms } = await client.call("groups.list", { include_disbanded: true });
    expect(rooms).toEqual([roomOf([memberOf("a")], { disbanded_at: expect.any(Number) })]);
  });

  it("are refused", async () => {
    const client = await (await wiredRoom()).connect();
    const one = [{ handle: "x", profile: "default" }];
    const refused = (params: JsonObject): Promise<readonly [number, string]> => client.refused("groups.create", params);
    expect(await refused({ room_id, name: "Other", members: one })).toEqual([4110, "room_conflict"]);
    expect(await refused({ room_id: "n", name: "N", members: [] })).toEqual([4110, "invalid_roster"]);
    expect(await refused({ room_id: "n", name: "N", members: [{ handle: "user" }] })).toEqual([4110, "invalid_roster"]);
    const unknown = await client.ask("groups.create", {
      room_id: "n",
      name: "N",
      members: [{ handle: "x", profile: "none" }],
    });
    expect(unknown.error).toMatchObject({ code: 4110, data: { reason: "invalid_roster", known: ["default"] } });
    expect(await badPath(client, "groups.create", { room_id: "_", name: "N", members: one })).toBe("room_id");
    expect(await badPath(client, "groups.create", { room_id: "n", name: "a\nb", members: one })).toBe("name");
    expect(await badPath(client, "groups.create", { room_id: "n", name: "N", members: [{}] })).toBe("members.0.handle");
    for (const [key, value] of [
      ["limit", 0],
      ["limit", 501],
      ["offset", -1],
      ["include_disbanded", 1],
    ] as const) {
      expect(await badPath(client, "groups.list", { [key]: value })).toBe(key);
    }
    expect((await client.call("groups.list"))["rooms"]).toHaveLength(1);
  });

  it("are refused at 256 active rooms", async () => {
    const host = await wiredRoom(["a"], { gateway: { callsPerSecond: 10_000, callBurst: 10_000 } });
    const client = await host.connect();
    const create = (index: number): JsonObject => ({ room_id: `n${index}`, name: "N", members: [{ handle: "p" }] });
    for (let from = 0; from < 255; from += 51) {
      await Promise.all(Array.from({ length: 51 }, (_, index) => client.call("groups.create", create(from + index))));
    }
    expect(await client.refused("groups.create", create(255))).toEqual([4110, "too_many_rooms"]);
  });
});

describe("groups.send", () => {
  it("accepts a post, says whom it addresses, and repeats its answer", async () => {
    const host = await wiredRoom(["a", "b"]);
    const client = await host.connect();
    const payload = { text: "@a hello @zz", attachments: ["ref:1"] };
    const answer = {
      event: {
        kind: "message.user",
        event_id: expect.stringMatching(/^msg-[0-9a-f]{32}$/),
        seq: null,
        room_id,
        thread_id: "main",
        author: local,
        payload,
      },
      client_event_id: "e1",
      accepted: true,
      driver_started: true,
      addressed: ["m-a"],
      unresolved: ["zz"],
    };
    const first = await client.call("groups.send", { room_id, event_id: "e1", payload });
    expect(first).toEqual(answer);
    const again = await client.call("groups.send", { room_id, event_id: "e1", payload });
    expect(again).toEqual({ ...first, driver_started: false });
    const { turn } = await host.agent.turn();
    expect(turn.unseen).toMatchObject([{ text: payload.text, author: { kind: "person", id: "local" } }]);
    // Its member is busy: nothing starts for it now.
    const waits = await client.call("groups.send", { room_id, payload: { text: "@a and?", thread_id: "side" } });
    expect(waits).toMatchObject({ client_event_id: null, driver_started: false, event: { thread_id: "side" } });
    const log = await client.call("groups.log", { room_id });
    expect(log["events"]).toMatchObject([{ payload: { origin: client.origin, input: [{ author: local }] } }]);
  });

  it("never takes its author from a param", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    const author = { kind: "agent", id: "m-a" };
    const { event } = await client.call("groups.send", { room_id, author, payload: { text: "x", author } });
    expect(event).toMatchObject({ author: local });
    expect((await host.agent.turn()).turn.unseen).toMatchObject([{ author: local }]);
  });

  it("is refused", async () => {
    const client = await (await wiredRoom()).connect();
    await client.call("groups.send", { room_id, event_id: "e1", payload: { text: "one" } });
    const refused = (params: JsonObject): Promise<readonly [number, string]> => client.refused("groups.send", params);
    const text = "x".repeat(65_536);
    expect(await refused({ room_id, event_id: "e1", payload: { text: "two" } })).toEqual([
      4111,
      "idempotency_conflict",
    ]);
    expect(await refused({ room_id: "none", payload: { text: "two" } })).toEqual([4111, "unknown_room"]);
    await client.call("groups.send", { room_id, payload: { text } });
    expect(await refused({ room_id, payload: { text: `${text}x` } })).toEqual([4111, "text_too_large"]);
    expect(await badPath(client, "groups.send", { room_id, payload: {} })).toBe("payload.text");
    expect(await badPath(client, "groups.send", { room_id, payload: { text: "x", thread_id: "a b" } })).toBe(
      "payload.thread_id",
    );
    expect(await badPath(client, "groups.send", { room_id, event_id: "a b", payload: { text: "x" } })).toBe("event_id");
  });

  it("is refused when the inbox is full, and nothing is stored", async () => {
    const host = await wiredRoom(["a"], { gateway: { callsPerSecond: 10_000, callBurst: 10_000 } });
    const client = await host.connect();
    await client.call("rooms.pause", { room_id });
    const post = (): Promise<JsonObject> => client.call("groups.send", { room_id, payload: { text: "x" } });
    for (let sent = 0; sent < 1_024; sent += 32) await Promise.all(Array.from({ length: 32 }, post));
    expect(await client.refused("groups.send", { room_id, payload: { text: "x" } })).toEqual([4111, "inbox_full"]);
    expect((await client.call("rooms.state", { room_id }))["inbox"]).toHaveLength(1_024);
  });
});

describe("groups.rename", () => {
  it("gives a new name once for each event", async () => {
    const client = await (await wiredRoom()).connect();
    const named = { room: roomOf([memberOf("a")], { name: "Named", revision: 2 }) };
    const rename = { room_id, event_id: "n1", name: "Named" };
    expect(await client.call("groups.rename", rename)).toEqual(named);
    await client.call("groups.rename", { room_id, event_id: "n2", name: "Other" });
    expect(await client.call("groups.rename", rename)).toEqual(named);
    const refused = (params: JsonObject): Promise<readonly [number, string]> => client.refused("groups.rename", params);
    expect(await refused({ ...rename, name: "Else" })).toEqual([4117, "idempotency_conflict"]);
    expect(await refused({ ...rename, room_id: "none" })).toEqual([4117, "unknown_room"]);
    expect(await badPath(client, "groups.rename", { room_id, name: "N" })).toBe("event_id");
    expect(await badPath(client, "groups.rename", { ...rename, event_id: "n3", name: "" })).toBe("name");
    await client.call("groups.disband", { room_id });
    expect(await refused({ ...rename, event_id: "n4" })).toEqual([4117, "room_disbanded"]);
  });
});

describe("groups.log", () => {
  it("gives rows above a number, page by page", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "go" } });
    const { turn } = await host.agent.turn();
    host.agent.turns[0]?.say("done");
    await rowCame(client, 2);
    const authority = { gateway_id: (await client.call("groups.capabilities"))["authority_gateway_id"] };
    const page = await client.call("groups.log", { room_id, limit: 1 });
    expect(page).toEqual({
      events: [
        {
          ...turn.coordinates,
          seq: 1,
          kind: "turn.started",
          event_id: expect.stringMatching(/^e-[0-9a-f]{32}$/),
          payload: expect.objectContaining({ cause: "message", seen_through_seq: 0 }),
          created_at: expect.any(Number),
          prev_hash: "0".repeat(64),
          hash,
        },
      ],
      cursor: 1,
      latest_seq: 2,
      has_more: true,
      authority,
    });
    const rest = await client.call("groups.log", { room_id, since_seq: 1 });
    expect(rest).toMatchObject({
      events: [{ seq: 2, payload: { status: "completed", text: "done" } }],
      has_more: false,
    });
    expect(await client.call("groups.log", { room_id, since_seq: 2 })).toEqual({
      events: [],
      cursor: 2,
      latest_seq: 2,
      has_more: false,
      authority,
    });
    expect(await client.refused("groups.log", { room_id, since_seq: 3 })).toEqual([4112, "cursor_ahead"]);
    expect(await client.refused("groups.log", { room_id: "none" })).toEqual([4112, "unknown_room"]);
    expect(await badPath(client, "groups.log", { room_id, since_seq: -1 })).toBe("since_seq");
    expect(await badPath(client, "groups.log", { room_id, limit: 501 })).toBe("limit");
  });

  it("is gone 90 days after the room was disbanded", async () => {
    const [clock, db] = [loopClock(), join(temporaryFolder(), "test.db")];
    const first = await wiredRoom(["a"], { db, clock });
    await (await first.connect()).call("groups.disband", { room_id });
    await first.close();
    const read = { room_id, include_disbanded: true };
    clock.advance(90 * 86_400_000 - 1);
    const second = await openHost({ db, clock });
    expect((await (await second.connect()).call("groups.log", read))["events"]).toEqual([]);
    await second.close();
    clock.advance(1);
    const later = await (await openHost({ db, clock })).connect();
    expect(await later.refused("groups.log", read)).toEqual([4112, "history_expired"]);
  });
});

describe("groups.stop and groups.retry", () => {
  it("stop what runs once for each id, and run a task again", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "go" } });
    const { turn } = await host.agent.turn();
    const { task_id, turn_id, thread_id } = turn.coordinates ?? {};
    expect(await client.refused("groups.retry", { room_id, task_id })).toEqual([4115, "task_open"]);
    expect(await client.call("groups.stop", { room_id, cancel_id: "s1" })).toEqual({ cancelled: 1 });
    await rowCame(client, 2);
    expect(await client.call("groups.stop", { room_id, cancel_id: "s1" })).toEqual({ cancelled: 1 });
    expect(await client.call("groups.stop", { room_id })).toEqual({ cancelled: 0 });
    await memberCame(client, "idle");
    expect(await client.call("groups.retry", { room_id, task_id, execution_generation: 1 })).toEqual({
      retried: true,
      task: { room_id, task_id, thread_id, turn_id, status: "queued", execution_generation: 2 },
    });
    (await host.agent.turn(1)).say("done");
    await rowCame(client, 4);
    const refused = (params: JsonObject): Promise<readonly [number, string]> =>
      client.refused("groups.retry", { room_id, ...params });
    expect(await refused({ task_id, execution_generation: 1 })).toEqual([4115, "stale_generation"]);
    expect(await refused({ task_id })).toEqual([4115, "not_retryable"]);
    expect(await refused({ task_id: "k-none" })).toEqual([4115, "unknown_task"]);
    for (const method of ["groups.stop", "groups.retry"]) {
      expect(await client.refused(method, { room_id: "none", task_id })).toEqual([4115, "unknown_room"]);
    }
    const log = await client.call("groups.log", { room_id, since_seq: 2 });
    expect(log["events"]).toMatchObject([{ payload: { cause: "retry", origin: client.origin } }, { seq: 4 }]);
  });
});

describe("groups.state", () => {
  it("tells how the driver is doing, and what a person may do", async () => {
    const host = await wiredRoom(["a", "b"]);
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "@a go" } });
    (await host.agent.turn()).fail(new Error("broken"));
    await memberCame(client, "failed");
    await client.call("groups.send", { room_id, payload: { text: "@b go" } });
    const asking = await host.agent.turn(1);
    void asking.ask("approval", { command: "rm", tool_id: "c1", tool_name: "run" });
    const { payload } = await activityCame(client, "request.opened");
    const room = { room_id, name: "r1", revision: 1, disbanded_at: null, paused: [] };
    expect(await client.call("groups.state", { room_id })).toEqual({
      room: { ...room, members: [memberOf("a"), memberOf("b")] },
      driver_status: {
        running: true,
        working: true,
        blocked: false,
        counts: { needs_input: 1, stopping: 0, running: 0, queued: 0, failed: 1, idle: 0 },
        pending_actions: [
          { action: "answer", ...(payload?.["payload"] as JsonObject), coordinates: asking.turn.coordinates },
          { action: "retry", coordinates: host.agent.turns[0]?.turn.coordinates, reason_code: "runner_error" },
        ],
        peer_routes: [],
      },
    });
    expect(await client.refused("groups.state", { room_id: "none" })).toEqual([4114, "unknown_room"]);
  });
});

describe("a disbanded room", () => {
  it("R60 takes nothing more, and its log stays readable", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id });
    await client.call("groups.send", { room_id, payload: { text: "go" } });
    await host.agent.turn();
    const { tombstone } = await client.call("groups.disband", { room_id });
    expect(tombstone).toEqual({ room_id, disbanded_at: expect.any(Number), idempotent: false });
    await rowCame(client, 2);
    const disbanded = "room_disbanded";
    expect(await client.refused("groups.send", { room_id, payload: { text: "x" } })).toEqual([4111, disbanded]);
    expect(await client.refused("groups.stop", { room_id })).toEqual([4115, disbanded]);
    expect(await client.refused("groups.log", { room_id })).toEqual([4112, disbanded]);
    expect(await client.refused("groups.state", { room_id })).toEqual([4114, disbanded]);
    expect(await client.refused("rooms.subscribe", { room_id })).toEqual([4130, disbanded]);
    const { events } = await client.call("groups.log", { room_id, include_disbanded: true });
    expect(events).toMatchObject([
      { kind: "turn.started" },
      { payload: { status: "cancelled", reason_code: "room_disbanded" } },
    ]);
    const state = await client.call("groups.state", { room_id, include_disbanded: true });
    expect(state["room"]).toMatchObject({ disbanded_at: (tombstone as JsonObject)["disbanded_at"] });
    const create = { room_id, name: "r1", members: [{ handle: "a", profile: "default" }] };
    expect(await client.refused("groups.create", create)).toEqual([4110, "room_retired"]);
    expect(await client.call("groups.disband", { room_id })).toEqual({
      tombstone: { ...(tombstone as JsonObject), idempotent: true },
    });
    expect(await client.refused("groups.disband", { room_id: "none" })).toEqual([4113, "unknown_room"]);
  });
});

describe("a room that is not open here", () => {
  it("can be read and not changed", async () => {
    const db = join(temporaryFolder(), "test.db");
    await (await wiredRoom(["a"], { db })).close();
    const client = await (await openHost({ db })).connect();
    expect((await client.call("groups.list"))["rooms"]).toHaveLength(1);
    expect(await client.call("groups.state", { room_id })).toMatchObject({ driver_status: { running: false } });
    expect((await client.call("rooms.state", { room_id }))["members"]).toMatchObject([{ state: "idle" }]);
    expect((await client.call("groups.log", { room_id }))["events"]).toEqual([]);
    const calls: readonly (readonly [string, JsonObject])[] = [
      ["groups.send", { payload: { text: "x" } }],
      ["groups.stop", {}],
      ["groups.disband", {}],
      ["groups.retry", { task_id: "k" }],
      ["rooms.pause", {}],
      ["rooms.subscribe", {}],
    ];
    for (const [method, params] of calls) {
      expect([method, ...(await client.refused(method, { room_id, ...params }))]).toEqual([
        method,
        4123,
        "driver_unavailable",
      ]);
    }
  });
});
