import { describe, expect, it } from "vitest";
import { newSession } from "../../../support/open-host.ts";
import { until } from "../../../support/turns-of-loop.ts";
import {
  activityCame,
  holders,
  memberCame,
  payloads,
  roomWords,
  rowCame,
  wiredRoom,
} from "../../../support/wired-room.ts";

const unknownTool = { tool_id: "c1", name: "read" };

describe("a subscription to a room", () => {
  it("W47 tells a room turn's frames with their coordinates, and what is withheld by a gap", async () => {
    const host = await wiredRoom(["a"], { gateway: { authenticate: holders({ plain: {} }) } });
    const client = await host.connect({ token: "plain" });
    const before = await client.call("rooms.subscribe", { room_id: "r1" });
    expect(before).toMatchObject({ rows: [], cursor: 0, latest_seq: 0, has_more: false, attempts: [] });
    await client.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    const agent = await host.agent.turn();
    agent.emit("tool.start", unknownTool);
    void agent.ask("approval", { command: "rm", tool_id: "c1" });
    agent.emit("session.info", { model: "m" });
    agent.emit("tool.complete", { tool_id: "c1", outcome: "ok" });
    agent.emit("message.delta", { text: "done" });
    agent.emit("reasoning.delta", { text: "hm" });
    await activityCame(client, "message.delta");
    agent.end();
    await rowCame(client, 2);
    await activityCame(client, "turn.settled");
    const told = payloads(client, "room.activity");
    expect(told.map(({ n, kind }) => [n, kind])).toEqual([
      [1, "turn.started"],
      [2, "tool.started"],
      [3, "request.opened"],
      [4, "tool.completed"],
      [5, "message.delta"],
      [null, "gap"],
      [7, "request.resolved"],
      [8, "turn.settled"],
    ]);
    expect(told[5]?.["payload"]).toEqual({
      dropped: 0,
      withheld: 1,
      first_n: 6,
      last_n: 6,
      kinds: { "reasoning.delta": 1 },
      reason: "not_granted",
    });
    for (const { coordinates } of told) {
      expect(coordinates).toEqual({
        room_id: "r1",
        thread_id: "main",
        member_id: "m-a",
        turn_id: expect.stringMatching(/^t-[0-9a-f]{32}$/),
        task_id: expect.stringMatching(/^k-[0-9a-f]{32}$/),
        execution_generation: 1,
      });
    }
    const log = await client.call("groups.log", { room_id: "r1" });
    expect((log["events"] as { kind: string }[]).map(({ kind }) => kind)).toEqual(["turn.started", "turn.settled"]);
  });

  it("W47 tells nothing of an ordinary session", async () => {
    const host = await wiredRoom();
    const [client, other] = [await host.connect(), await host.connect()];
    await client.call("rooms.subscribe", { room_id: "r1", reasoning: true });
    const { session_id } = await newSession(other);
    await other.call("prompt.submit", { session_id, text: "go" });
    const agent = await host.agent.turn();
    agent.emit("tool.start", unknownTool);
    void agent.ask("approval", { command: "rm", tool_id: "c1" });
    agent.emit("session.info", { model: "m" });
    agent.emit("tool.complete", { tool_id: "c1", outcome: "ok" });
    agent.emit("reasoning.delta", { text: "hm" });
    agent.say("done");
    await other.event("message.complete");
    await client.settled();
    expect(client.events()).toEqual([]);
  });

  it("W49 goes on where the client left: missed rows once, then live ones", async () => {
    const host = await wiredRoom();
    const first = await host.connect();
    await first.call("rooms.subscribe", { room_id: "r1" });
    for (const [index, text] of ["one", "two"].entries()) {
      await first.call("groups.send", { room_id: "r1", payload: { text } });
      (await host.agent.turn(index)).say(text);
      await rowCame(first, 2 * index + 2);
    }
    await first.drop();
    const poster = await host.connect();
    await poster.call("groups.send", { room_id: "r1", payload: { text: "three" } });
    (await host.agent.turn(2)).say("three");
    await host.tap.quiet();
    await poster.call("groups.send", { room_id: "r1", payload: { text: "four" } });
    const running = await host.agent.turn(3);
    running.delta("so f");
    const client = await host.connect();
    const reply = await client.call("rooms.subscribe", { room_id: "r1", since_seq: 4 });
    expect((reply["rows"] as { seq: number; kind: string }[]).map(({ seq, kind }) => [seq, kind])).toEqual([
      [5, "turn.started"],
      [6, "turn.settled"],
      [7, "turn.started"],
    ]);
    expect(reply).toMatchObject({ cursor: 7, latest_seq: 7, has_more: false });
    expect(reply["state"]).toMatchObject({ members: [{ member_id: "m-a", state: "running" }], log: { latest_seq: 7 } });
    expect(reply["attempts"]).toEqual([
      {
        coordinates: running.turn.coordinates,
        n: 2,
        text: "so f",
        offset: 4,
        reasoning_offset: 0,
        tools: [],
        open_requests: [],
      },
    ]);
    running.say("ar");
    await rowCame(client, 8);
    await activityCame(client, "turn.settled");
    await memberCame(client, "idle");
    expect(roomWords(client).filter((word) => !word.startsWith("member"))).toEqual([
      "activity 3 message.delta",
      "log 8 turn.settled",
      "activity 4 turn.settled",
    ]);
    expect(payloads(client, "room.activity")[0]?.["payload"]).toEqual({ text: "ar", offset: 4 });
  });
});

describe("what a subscriber wants and may have", () => {
  it("is kinds of activity; rows, members and posts come whole", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id: "r1", kinds: ["tool.*"] });
    await client.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    const agent = await host.agent.turn();
    agent.delta("text");
    agent.emit("tool.start", unknownTool);
    agent.emit("reasoning.delta", { text: "hm" });
    agent.emit("tool.complete", { tool_id: "c1", outcome: "ok" });
    agent.end();
    await rowCame(client, 2);
    await memberCame(client, "idle");
    await client.settled();
    expect(payloads(client, "room.activity").map(({ n, kind }) => [n, kind])).toEqual([
      [3, "tool.started"],
      [5, "tool.completed"],
    ]);
    expect(payloads(client, "room.log").map(({ seq }) => seq)).toEqual([1, 2]);
    expect(payloads(client, "room.message").at(-1)).toMatchObject({ text: "go", state: "started" });
    expect(payloads(client, "room.member").at(-1)).toMatchObject({ member_id: "m-a", state: "idle" });
  });

  it("is no kind that there is none of", async () => {
    const client = await (await wiredRoom()).connect();
    const refused = await client.ask("rooms.subscribe", { room_id: "r1", kinds: ["tool.nothing"] });
    expect(refused.error).toMatchObject({ code: -32602, data: { reason: "invalid_params", path: "kinds" } });
  });

  it("is a level: sizes only, long fields cut, all of it", async () => {
    const host = await wiredRoom();
    const levels = ["meta", "standard", "full"] as const;
    const clients = await Promise.all(levels.map(() => host.connect()));
    for (const [index, payload] of levels.entries()) {
      await clients[index]?.call("rooms.subscribe", { room_id: "r1", payload });
    }
    await clients[0]?.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    const agent = await host.agent.turn();
    const text = "x".repeat(40_960);
    agent.emit("tool.start", unknownTool);
    agent.emit("tool.complete", { tool_id: "c1", outcome: "error", result: text });
    const [meta, standard, full] = await Promise.all(
      clients.map(async (client) => (await activityCame(client, "tool.completed")).payload ?? {}),
    );
    expect(meta?.["payload"]).toMatchObject({ tool_id: "c1", outcome: "error", sizes: { result: 40_960 } });
    expect(meta?.["payload"]).not.toHaveProperty("result");
    expect(standard?.["payload"]).toMatchObject({ tool_id: "c1", outcome: "error" });
    expect(standard?.["truncated"]).toEqual([{ field: "result", bytes: 40_960 }]);
    expect(full?.["payload"]).toMatchObject({ tool_id: "c1", outcome: "error", result: text });
    expect(full).not.toHaveProperty("truncated");
  });

  it("is not what its connection was not granted", async () => {
    const authenticate = holders({ plain: {}, thinks: { grants: ["reasoning"] } });
    const host = await wiredRoom(["a"], { gateway: { authenticate } });
    const [plain, thinks] = [await host.connect({ token: "plain" }), await host.connect({ token: "thinks" })];
    for (const [params, grant] of [
      [{ payload: "full" }, "full"],
      [{ reasoning: true }, "reasoning"],
    ] as const) {
      const { error } = await plain.ask("rooms.subscribe", { room_id: "r1", ...params });
      expect(error).toMatchObject({ code: 4130, data: { reason: "not_granted", grant } });
    }
    expect(await thinks.refused("rooms.subscribe", { room_id: "r1", payload: "full", reasoning: true })).toEqual([
      4130,
      "not_granted",
    ]);
    await thinks.call("rooms.subscribe", { room_id: "r1", reasoning: true });
    await thinks.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    (await host.agent.turn()).emit("reasoning.delta", { text: "hm" });
    const { payload } = await activityCame(thinks, "reasoning.delta");
    expect(payload?.["payload"]).toEqual({ text: "hm", offset: 0 });
  });

  it("is an approval whole only for who may answer it", async () => {
    const authenticate = holders({ plain: { scopes: ["read", "write"] }, may: { scopes: ["read", "approvals"] } });
    const host = await wiredRoom(["a"], { gateway: { authenticate } });
    const [plain, may] = [await host.connect({ token: "plain" }), await host.connect({ token: "may" })];
    for (const client of [plain, may]) await client.call("rooms.subscribe", { room_id: "r1" });
    await plain.call("groups.send", { room_id: "r1", payload: { text: "go" } });
    const agent = await host.agent.turn();
    void agent.ask("approval", { command: "rm -rf x", description: "cleans", tool_id: "c1", tool_name: "run" });
    const [meta, whole] = await Promise.all(
      [plain, may].map(async (client) => (await activityCame(client, "request.opened")).payload?.["payload"]),
    );
    const ids = { id: expect.stringMatching(/^srq-/), request_id: expect.stringMatching(/^apr-/), method: "approval" };
    const asked = { command: "rm -rf x", description: "cleans", choices: ["once", "deny"] };
    expect(whole).toEqual({ ...ids, ...asked, tool_id: "c1", expires_at: expect.any(Number) });
    expect(meta).toEqual({
      ...ids,
      tool_id: "c1",
      expires_at: expect.any(Number),
      sizes: { command: 8, description: 6, choices: 15 },
    });
    for (const [client, isWhole] of [
      [plain, false],
      [may, true],
    ] as const) {
      const { open_requests } = await client.call("rooms.state", { room_id: "r1" });
      const [entry] = open_requests as Record<string, unknown>[];
      expect(entry).toMatchObject({ ...ids, tool_id: "c1", coordinates: agent.turn.coordinates });
      expect([entry?.["command"], entry?.["description"], entry?.["choices"]]).toEqual(
        isWhole ? ["rm -rf x", "cleans", ["once", "deny"]] : [undefined, undefined, undefined],
      );
      const { driver_status } = await client.call("groups.state", { room_id: "r1" });
      const { pending_actions } = driver_status as { pending_actions: unknown[] };
      expect(pending_actions).toEqual([{ action: "answer", ...entry }]);
      const again = await client.call("rooms.subscribe", { room_id: "r1" });
      expect((again["state"] as Record<string, unknown>)["open_requests"]).toEqual([entry]);
    }
  });
});

describe("subscriptions of one connection", () => {
  const send = (text: string) => ({ room_id: "r1", payload: { text } });

  it("a second one of a room takes the place of the first", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    const first = await client.call("rooms.subscribe", { room_id: "r1" });
    const second = await client.call("rooms.subscribe", { room_id: "r1", kinds: ["turn.settled"] });
    expect(first["subscription_id"]).not.toBe(second["subscription_id"]);
    await client.call("groups.send", send("go"));
    (await host.agent.turn()).say("done");
    await activityCame(client, "turn.settled");
    await memberCame(client, "idle");
    await client.settled();
    expect(payloads(client, "room.activity").length).toBe(1);
    expect(payloads(client, "room.log").length).toBe(2);
  });

  it("end when they are unsubscribed", async () => {
    const host = await wiredRoom();
    const [client, other] = [await host.connect(), await host.connect()];
    for (const each of [client, other]) await each.call("rooms.subscribe", { room_id: "r1" });
    expect(await client.call("rooms.unsubscribe", { room_id: "r1" })).toEqual({ unsubscribed: true });
    expect(await client.call("rooms.unsubscribe", { room_id: "r1" })).toEqual({ unsubscribed: false });
    expect(await client.call("rooms.unsubscribe", { room_id: "nowhere" })).toEqual({ unsubscribed: false });
    await client.call("groups.send", send("go"));
    (await host.agent.turn()).say("done");
    await memberCame(other, "idle");
    await client.settled();
    expect(client.events()).toEqual([]);
  });

  it("are 64 at most", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    for (let room = 0; room < 64; room++) {
      const room_id = `n${room}`;
      await client.call("groups.create", { room_id, name: room_id, members: [{ handle: "p", profile: null }] });
      await client.call("rooms.subscribe", { room_id });
    }
    expect(await client.refused("rooms.subscribe", { room_id: "r1" })).toEqual([4130, "too_many_subscriptions"]);
    await client.call("rooms.subscribe", { room_id: "n0" });
    await client.call("rooms.unsubscribe", { room_id: "n0" });
    await client.call("rooms.subscribe", { room_id: "r1" });
  });

  it("end with the connection: nothing of them is left", async () => {
    const host = await wiredRoom();
    const before = host.tap.stats().length;
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id: "r1" });
    expect(host.tap.stats().length).toBe(before + 1);
    client.send({ jsonrpc: "2.0", id: "x", method: "rooms.subscribe", params: { room_id: "r1" } });
    await client.drop();
    await until(() => host.tap.stats().length === before);
  });

  it("close a client that does not read, and no other", async () => {
    const host = await wiredRoom();
    const [stuck, other] = [await host.connect(), await host.connect()];
    for (const each of [stuck, other]) await each.call("rooms.subscribe", { room_id: "r1", payload: "full" });
    stuck.ws.pause();
    await other.call("groups.send", send("go"));
    const agent = await host.agent.turn();
    const text = "x".repeat(60_000);
    for (let tool = 0; tool < 300; tool++) {
      agent.emit("tool.start", { tool_id: `c${tool}`, name: "read", context: text });
      await other.eventWhere("room.activity", ({ payload }) => payload?.["n"] === tool + 2);
    }
    await until(() => host.gateway.count("slow_consumer") === 1);
    stuck.ws.resume();
    expect(await stuck.closed).toEqual({ code: 1013, reason: "slow_consumer" });
    agent.say("done");
    await memberCame(other, "idle");
    expect(payloads(other, "room.activity").map(({ n }) => n)).toEqual(Array.from({ length: 603 }, (_, n) => n + 1));
  });

  it("survive a burst that is larger than a mailbox", async () => {
    const host = await wiredRoom();
    const client = await host.connect();
    await client.call("rooms.subscribe", { room_id: "r1" });
    await client.call("groups.send", send("go"));
    const agent = await host.agent.turn();
    for (let tool = 0; tool < 400; tool++) agent.emit("tool.start", { tool_id: `c${tool}`, name: "read" });
    agent.say("done");
    await activityCame(client, "turn.settled");
    expect(payloads(client, "room.activity").map(({ n }) => n)).toEqual(Array.from({ length: 803 }, (_, n) => n + 1));
  });
});
