import { describe, expect, it } from "vitest";
import { DrivenAgent, newSession, openHost } from "../../../support/open-host.ts";

const secret = "tok_EXAMPLE_0123456789abcdef";

describe("session.create", () => {
  it("gives both ids, what it was made with, and the role", async () => {
    const host = await openHost({ agents: { first: new DrivenAgent(), second: new DrivenAgent() } });
    const a = await host.connect();
    const given = { agent_id: "second", title: "notes", cwd: "/srv", model: "m-1", provider: "p" };
    const made = await a.call("session.create", given);
    expect(made).toEqual({
      session_id: expect.stringMatching(/^s-[0-9a-f]{16}$/),
      stored_session_id: expect.stringMatching(/^ses-[0-9a-f]{24}$/),
      message_count: 0,
      messages: [],
      info: {
        running: false,
        title: "notes",
        stored_session_id: made["stored_session_id"],
        visibility: "private",
        queued: 0,
        agent_id: "second",
        ...{ cwd: "/srv", model: "m-1", provider: "p" },
      },
      visibility: "private",
      role: "owner",
    });
    expect((await a.call("session.create"))["info"]).toMatchObject({ agent_id: "first", title: null });
  });

  it("begins with the messages it is given, secrets masked", async () => {
    const host = await openHost({ secrets: [secret] });
    const a = await host.connect();
    const messages = [
      { role: "user", text: `my key is ${secret}`, timestamp: 5, extra: 1 },
      { role: "assistant", text: "I forget it", context: secret },
      { role: "user", text: "unseen", display_kind: "hidden" },
    ];
    const made = await a.call("session.create", { messages });
    const told = made["messages"] as { text: string }[];
    expect(told.map(({ text }) => text)).toEqual([expect.not.stringContaining(secret), "I forget it", ""]);
    expect(told[0]).toEqual({ role: "user", text: expect.stringMatching(/^my key is /), timestamp: 5 });
    expect(made["message_count"]).toBe(3);
    const { session_id } = made;
    expect((await a.call("session.history", { session_id }))["messages"]).toEqual(told);
    expect(JSON.stringify(a.came)).not.toContain(secret);
    await a.call("prompt.submit", { session_id, text: "and now?" });
    const { earlier } = (await host.agent.turn()).turn;
    expect(earlier.map(({ author, text }) => [author.kind, text])).toEqual([
      ["person", told[0]?.text],
      ["agent", "I forget it"],
      ["person", "unseen"],
    ]);
  });

  it("shows its details with secrets masked, wherever they stand", async () => {
    const host = await openHost({ secrets: [secret] });
    const [a, b] = [await host.connect(), await host.connect()];
    const details = { cwd: `/srv/${secret}`, model: `m ${secret}`, provider: secret };
    const made = await a.call("session.create", details);
    const masked = { cwd: "/srv/[redacted]", model: "m [redacted]", provider: "[redacted]" };
    expect(made["info"]).toMatchObject(masked);
    const snapshot = await b.call("session.resume", { session_id: made["stored_session_id"] });
    expect(snapshot["info"]).toMatchObject(masked);
  });

  it("takes details of up to 4,096 characters", async () => {
    const a = await (await openHost()).connect();
    for (const name of ["cwd", "model", "provider"]) {
      for (const length of [4_095, 4_096]) {
        const { info } = await a.call("session.create", { [name]: "x".repeat(length) });
        expect(info).toMatchObject({ [name]: "x".repeat(length) });
      }
      const { error } = await a.ask("session.create", { [name]: "x".repeat(4_097) });
      expect(error).toMatchObject({ code: -32602, data: { path: name } });
    }
  });

  it("is refused with its own words", async () => {
    const host = await openHost();
    const a = await host.connect();
    expect(await a.refused("session.create", { visibility: "public" })).toEqual([4306, "invalid_visibility"]);
    expect(await a.refused("session.create", { agent_id: "nobody" })).toEqual([5032, "agent_unavailable"]);
    expect((await a.ask("session.create", { title: "x".repeat(201) })).error).toMatchObject({
      code: -32602,
      data: { reason: "invalid_params", path: "title" },
    });
    for (let made = 0; made < 64; made++) await newSession(a);
    expect(await a.refused("session.create")).toEqual([4310, "too_many_sessions"]);
    expect(host.tap.sessions.live).toHaveLength(64);
    expect(await a.call("session.list", { limit: 1_000 })).toMatchObject({ sessions: { length: 64 } });
  });
});

describe("session.resume and session.activate", () => {
  it("give one snapshot, by stored id, exact title and runtime id", async () => {
    const host = await openHost();
    const [a, b] = [await host.connect(), await host.connect()];
    const { session_id, stored_session_id } = await newSession(a, { title: "the plan" });
    const byId = await b.call("session.resume", { session_id: stored_session_id });
    expect(byId).toEqual({
      session_id,
      stored_session_id,
      session_key: stored_session_id,
      resumed: stored_session_id,
      message_count: 0,
      messages: [],
      messages_omitted: 0,
      info: expect.objectContaining({ title: "the plan" }),
      running: false,
      turn_started_at: null,
      started_at: expect.any(Number),
      status: "idle",
      inflight: null,
      queued: null,
      queue: [],
      last_turn: null,
      pending_approval: null,
      open_requests: [],
      watching: true,
      visibility: "private",
      role: "owner",
      epoch: a.ready["replay_epoch"],
      latest_seq: 0,
      truncated: false,
    });
    expect(await b.call("session.resume", { session_id: "the plan" })).toEqual(byId);
    expect(await b.call("session.activate", { session_id })).toEqual(byId);
    expect(await b.refused("session.resume", { session_id: "the plan " })).toEqual([4001, "unknown_session"]);
    expect(await b.refused("session.resume", { session_id: "the" })).toEqual([4001, "unknown_session"]);
    expect(await b.refused("session.activate", { session_id: stored_session_id })).toEqual([4001, "unknown_session"]);
    expect(await b.refused("session.resume", { session_id: stored_session_id, last_seen: -1 })).toEqual([
      -32602,
      "invalid_params",
    ]);
  });

  it("show the turn that runs apart from the transcript, and what waits", async () => {
    const agent = new DrivenAgent({ takes: () => true });
    const host = await openHost({ agents: { default: agent } });
    const [a, b] = [await host.connect({ asks: true }), await host.connect({ asks: true })];
    const { session_id } = await newSession(a);
    await a.call("prompt.submit", { session_id, text: "one" });
    (await agent.turn()).say("1");
    await a.event("message.complete");
    await a.call("prompt.submit", { session_id, text: "two" });
    const turn = await agent.turn(1);
    turn.delta("2…");
    await a.call("session.steer", { session_id, text: "faster" });
    const { submission } = await a.call("prompt.submit", { session_id, text: "three", queued: true });
    await a.call("prompt.submit", { session_id, text: [{ type: "text", text: "four" }], queued: true });
    void turn.ask("approval", { tool_name: "rm", command: "rm x" });
    const { input_id } = submission as { input_id: string };
    const shown = await b.call("session.activate", { session_id });
    expect(shown).toMatchObject({
      running: true,
      status: "waiting",
      message_count: 2,
      messages: [
        { role: "user", text: "one" },
        { role: "assistant", text: "1" },
      ],
      inflight: { user: "two", assistant: "2…", streaming: true, corrections: ["faster"], correction_offsets: [2] },
      queued: { user: "three" },
      queue: [
        { input_id, origin: a.origin, text: "three" },
        { input_id: expect.any(String), origin: a.origin, text: "four" },
      ],
      pending_approval: { request_id: expect.stringMatching(/^apr-/), command: "rm x", session_id },
      open_requests: [{ id: expect.stringMatching(/^srq-[0-9a-f]{12}$/), method: "approval" }],
      last_turn: { status: "completed" },
      latest_seq: a.events().at(-1)?.seq,
    });
    const bare = await b.call("session.activate", { session_id, omit_messages: true, last_seen: 0 });
    expect(bare).toMatchObject({ messages: [], messages_omitted: 2, message_count: 2, inflight: null });
  });

  it("W48 refuse a room's own session, and tell only an admin why", async () => {
    const agent = new DrivenAgent();
    const identity = (scopes: readonly ("read" | "write" | "admin")[]): object => ({
      principal: "local",
      generation: "1",
      scopes,
      grants: [],
    });
    const host = await openHost({
      rooms: [{ room_id: "r1", members: [{ handle: "x", runner: agent }] }],
      gateway: { authenticate: ({ value }) => identity(value === "w" ? ["read", "write"] : ["admin"]) as never },
    });
    const [writer, admin] = [await host.connect({ token: "w" }), await host.connect({ token: "adm" })];
    await host.tap.room("r1").post({ text: "go" });
    const turn = await agent.turn();
    const session_id = turn.turn.session;
    for (const [client, refusal] of [
      [writer, [4001, "unknown_session"]],
      [admin, [4122, "room_session"]],
    ] as const) {
      expect(await client.refused("session.resume", { session_id })).toEqual(refusal);
      expect(await client.refused("session.activate", { session_id })).toEqual(refusal);
      expect(await client.refused("prompt.submit", { session_id, text: "hey" })).toEqual(refusal);
    }
    expect(turn.delta("untouched")).toBe("written");
  });
});

describe("session.close", () => {
  it("closes once, tells those attached, and keeps what waits for the next resume", async () => {
    const host = await openHost();
    const [a, b] = [await host.connect(), await host.connect()];
    const { session_id, stored_session_id } = await newSession(a);
    await b.call("session.activate", { session_id });
    await a.call("prompt.submit", { session_id, text: "one" });
    const turn = await host.agent.turn();
    turn.delta("half");
    await a.call("prompt.submit", { session_id, text: "two", queued: true });
    expect(await a.call("session.close", { session_id })).toEqual({ closed: true, left: true });
    expect(await a.call("session.close", { session_id })).toEqual({ closed: false });
    for (const client of [a, b]) {
      const { payload } = await client.event("session.reclaimed");
      expect(payload).toEqual({ session_id, stored_session_id, reason: "owner_left" });
      expect(client.events("message.complete").map((event) => event.payload)).toEqual([
        { text: "half", status: "interrupted", usage: null, partial: true },
      ]);
      expect(client.told().indexOf("message.complete")).toBeLessThan(client.told().indexOf("session.reclaimed"));
    }
    expect(host.agent.turns).toHaveLength(1);
    const again = await a.call("session.resume", { session_id: stored_session_id });
    expect(again["last_turn"]).toEqual({ turn_id: turn.turn.turn_id, status: "cancelled", reason_code: "interrupted" });
    expect((await host.agent.turn(1)).text).toBe("two");
    expect(again["session_id"]).not.toBe(session_id);
    expect(b.events().every((event) => event.session_id !== again["session_id"])).toBe(true);
  });
});
