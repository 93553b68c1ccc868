import { describe, expect, it } from "vitest";
import { requestWords, turnOf } from "../../../support/asked-host.ts";
import { DrivenAgent, newSession } from "../../../support/open-host.ts";
import { refusal, roster, sharedHost } from "../../../support/shared-host.ts";

const approval = { tool_name: "rm", command: "rm x" };

describe("a member", () => {
  it("S13 submits under its own id, and all get the same frames", async () => {
    const { o, session_id, observer, agent } = await sharedHost();
    const [m, v] = [await observer("m", "member"), await observer("v")];
    const before = await roster(o, session_id, { o, m, v });
    expect(await m.call("prompt.submit", { session_id, text: "hello" })).toMatchObject({ status: "streaming" });
    (await agent.turn()).say("hi");
    const ends = await Promise.all([o, m, v].map((client) => client.event("message.complete")));
    for (const { origin, turn } of ends) {
      expect([origin, turn?.source]).toEqual([m.origin, { kind: "connection", socket_id: m.origin }]);
    }
    const frames = [o, m, v].map((client) => client.came.filter(({ params }) => params?.turn !== undefined));
    expect(frames[1]).toEqual(frames[0]);
    expect(frames[2]).toEqual(frames[0]);
    expect(frames[0]?.map(({ params }) => params?.type)).toContain("message.complete");
    expect(await roster(o, session_id, { o, m, v })).toEqual(before);
    const { sessions } = await o.call("session.list");
    expect(sessions).toMatchObject([{ role: "owner" }]);
  });

  it("S15 without write sends nothing, and an observer without read gets nothing", async () => {
    const { o, session_id, observer, as, agent } = await sharedHost({ scopes: { m: ["read"], v: ["write"] } });
    const m = await observer("m", "member");
    const v = await as("v");
    // Ids, role and visibility, and no more.
    const { stored_session_id } = (await o.call("session.activate", { session_id })) as { stored_session_id: string };
    expect(await v.call("session.attach", { session_id })).toEqual({
      ...{ session_id, stored_session_id, visibility: "shared", role: "viewer" },
    });
    expect(await refusal(m, "prompt.submit", { session_id, text: "x" })).toEqual({
      ...{ code: 4300, reason: "insufficient_scope", required_scope: "write" },
    });
    const turn = await turnOf({ agent }, o, session_id);
    turn.say("for those who read");
    await m.event("message.complete");
    await v.settled();
    expect(v.events()).toEqual([]);
    expect(await refusal(v, "session.events.since", { session_id })).toMatchObject({
      code: 4300,
      required_scope: "read",
    });
    expect(await refusal(v, "session.history", { session_id })).toMatchObject({ code: 4300, required_scope: "read" });
    // It is told when it is sent away, for whatever it may read.
    await o.call("session.visibility", { session_id, visibility: "private" });
    await v.event("session.detached");
    expect(v.events().map(({ type }) => type)).toEqual(["session.detached"]);
  });

  it("S18 with write alone has its own stream whole, and nothing of others", async () => {
    const { session_id, as, agent } = await sharedHost({ scopes: { w: ["write"] } });
    const own = await as("w");
    const s5 = await newSession(own);
    (await turnOf({ agent }, own, s5.session_id)).say("mine");
    expect((await own.event("message.complete")).payload).toMatchObject({ text: "mine" });
    const types = own.events().map(({ type }) => type);
    expect(types).toEqual(["message.start", "session.info", "message.delta", "message.complete", "session.info"]);
    const other = await as("w.2");
    expect(await other.call("session.attach", { session_id, role: "member" })).toMatchObject({ role: "member" });
    (await turnOf({ agent }, other, session_id)).say("theirs");
    expect(await refusal(other, "session.history", { session_id })).toMatchObject({
      code: 4300,
      required_scope: "read",
    });
    await other.settled();
    expect(other.events()).toEqual([]);
  });

  it("S26 made a viewer keeps what it had sent, and is asked no more", async () => {
    const { o, session_id, observer, agent } = await sharedHost();
    const m = await observer("m", "member", { asks: true });
    const turn = await turnOf({ agent }, o, session_id);
    expect(await m.call("prompt.submit", { session_id, text: "later", queued: true })).toMatchObject({
      status: "queued",
    });
    const answer = turn.ask("clarify", { question: "Which?" });
    const { id } = await m.request("clarify");
    await o.request("clarify");
    await o.call("session.visibility", { session_id, visibility: "read_only" });
    expect(await m.refused("request.answer", { id, result: { answer: "m" } })).toEqual([4308, "viewer_cannot_send"]);
    m.send({ jsonrpc: "2.0", id, result: { answer: "m" } });
    await m.settled();
    expect((await m.call("session.events.since", { session_id }))["open_requests"]).toEqual([]);
    o.send({ jsonrpc: "2.0", id, result: { answer: "o" } });
    expect(await answer).toMatchObject({ outcome: "answered", result: { answer: "o" }, by: { origin: o.origin } });
    turn.end();
    const next = await agent.turn(1);
    expect(next.text).toBe("later");
    next.end();
    expect((await o.event("message.complete", 1)).origin).toBe(m.origin);
    await m.event("message.complete", 1);
  });

  it("S26 made a viewer is none of those who are asked: when the last of them declines, it ends", async () => {
    const { o, session_id, observer, agent } = await sharedHost();
    const m = await observer("m", "member", { asks: true });
    const turn = await turnOf({ agent }, o, session_id);
    const answer = turn.ask("clarify", { question: "Which?" });
    const { id } = await o.request("clarify");
    await m.request("clarify");
    await o.call("session.visibility", { session_id, visibility: "read_only" });
    o.send({ jsonrpc: "2.0", id, error: { code: -32004, message: "not here" } });
    expect(await answer).toMatchObject({ outcome: "cancelled", reason: "no_handler" });
  });

  it.each(["between turns", "in a turn"])(
    "S28 made a viewer before its submit is decided %s is refused",
    async (when) => {
      const agent = new DrivenAgent({ takes: () => true });
      const { tap, o, session_id, observer } = await sharedHost({ agents: { default: agent } });
      const m = await observer("m", "member");
      const isBusy = when === "in a turn";
      if (isBusy) await turnOf({ agent }, o, session_id);
      const live = tap.sessions.byRuntimeId(session_id);
      if (live === undefined) throw new Error("no session");
      // The submit has been let in when the visibility is set, and its step comes behind that.
      const submit = live.submit.bind(live);
      live.submit = async (...given) => {
        await o.call("session.visibility", { session_id, visibility: "read_only" });
        return submit(...given);
      };
      expect(await m.refused("prompt.submit", { session_id, text: "too late" })).toEqual([4308, "viewer_cannot_send"]);
      expect([agent.turns.length, agent.corrections]).toEqual([isBusy ? 1 : 0, []]);
      expect(live.record.queue).toEqual([]);
    },
  );
});

describe("a viewer", () => {
  it("S14 sends nothing, whatever its scopes", async () => {
    const agent = new DrivenAgent({ takes: () => true });
    const all = ["read", "write", "approvals", "admin"] as const;
    const { o, session_id, observer } = await sharedHost({ agents: { default: agent }, scopes: { v: all } });
    const v = await observer("v", "viewer", { asks: true });
    const turn = await turnOf({ agent }, o, session_id);
    void turn.ask("clarify", { questions: [{ qid: "q1", question: "Which?" }] });
    void turn.ask("approval", approval);
    const clarify = await o.request("clarify");
    const asked = await o.request("approval");
    const { request_id } = asked.params as { readonly request_id?: unknown };
    const calls: readonly [string, object][] = [
      ["prompt.submit", { session_id, text: "x" }],
      ["session.steer", { session_id, text: "x" }],
      ["session.redirect", { session_id, text: "x" }],
      ["session.interrupt", { session_id }],
      ["clarify.lock", { request_id: clarify.id, question_id: "q1", answer: "x" }],
      ["request.answer", { id: asked.id, result: { choice: "once" } }],
      ["approval.respond", { session_id, request_id, choice: "once" }],
    ];
    for (const [method, params] of calls) {
      expect([method, await v.refused(method, { ...params })]).toEqual([method, [4308, "viewer_cannot_send"]]);
    }
    v.send({ jsonrpc: "2.0", id: asked.id, result: { choice: "once" } });
    await v.settled();
    expect(v.requests()).toEqual([]);
    expect((await v.call("session.activate", { session_id }).catch(String)) as string).toContain("observer_rebind");
    expect(await v.call("approval.pending", { session_id })).toEqual({ approvals: [] });
    expect(await v.call("approval.received", { session_id, request_id })).toEqual({ acknowledged: false });
    const shown = await v.call("session.attach", { session_id });
    expect([shown["open_requests"], shown["pending_approval"]]).toEqual([[], null]);
    expect([agent.corrections, agent.turns.length, requestWords(o)]).toEqual([[], 1, ["clarify", "approval"]]);
    expect(turn.delta("it goes on")).toBe("written");
  });

  it("S14 is not told what was answered so far, and is told how it ended", async () => {
    const { o, session_id, observer, agent } = await sharedHost();
    const v = await observer("v");
    const turn = await turnOf({ agent }, o, session_id);
    const questions = [
      { qid: "q1", question: "Which?" },
      { qid: "q2", question: "When?" },
    ];
    void turn.ask("clarify", { questions });
    const { id } = await o.request("clarify");
    await o.call("clarify.lock", { request_id: id, question_id: "q1", answer: "this" });
    await o.call("clarify.lock", { request_id: id, question_id: "q2", answer: "now" });
    await v.event("request.resolved");
    const end = ["request.cancel resolved", "request.resolved answered"];
    expect(requestWords(o)).toEqual(["clarify", "request.update", ...end]);
    expect(requestWords(v)).toEqual(end);
  });
});

describe("an approval", () => {
  it("S17 C-033 is put before those who may answer it, and nobody else answers it", async () => {
    const scopes = { m: ["read", "write", "approvals"], v: ["read", "write", "approvals"] } as const;
    const { o, session_id, observer, agent } = await sharedHost({ scopes });
    const m = await observer("m", "member", { asks: true });
    const n = await observer("n", "member", { asks: true });
    const v = await observer("v", "viewer", { asks: true });
    const turn = await turnOf({ agent }, o, session_id);
    const answer = turn.ask("approval", approval);
    const { id } = await o.request("approval");
    expect((await m.request("approval")).id).toBe(id);
    for (const client of [n, v]) {
      expect((await client.call("session.events.since", { session_id }))["open_requests"]).toEqual([]);
      expect(client.requests()).toEqual([]);
      client.send({ jsonrpc: "2.0", id, result: { choice: "once" } });
      await client.settled();
    }
    expect(await refusal(n, "request.answer", { id, result: { choice: "once" } })).toEqual({
      ...{ code: 4300, reason: "insufficient_scope", required_scope: "approvals" },
    });
    expect(await v.refused("request.answer", { id, result: { choice: "once" } })).toEqual([4308, "viewer_cannot_send"]);
    expect(await refusal(n, "approval.respond", { session_id, all: true, choice: "once" })).toMatchObject({
      code: 4300,
    });
    expect(await n.call("session.status", { session_id })).toMatchObject({ status: "waiting" });
    expect(await o.call("approval.pending", { session_id })).toMatchObject({ approvals: [{ command: "rm x" }] });
    m.send({ jsonrpc: "2.0", id, result: { choice: "once" } });
    expect(await answer).toMatchObject({ outcome: "answered", choice: "once", by: { origin: m.origin } });
  });
});

describe("the owner", () => {
  it("S16 without read has all of its own turn and of a member's", async () => {
    const { o, session_id, observer, agent } = await sharedHost({ scopes: { o: ["write"] } });
    const m = await observer("m", "member");
    (await turnOf({ agent }, o, session_id)).say("one");
    await o.event("message.complete");
    (await turnOf({ agent }, m, session_id)).say("two");
    await o.event("message.complete", 1);
    expect(o.events("message.delta").map(({ payload }) => payload?.["text"])).toEqual(["one", "two"]);
    const { events } = await o.call("session.events.since", { session_id });
    expect((events as { seq: number }[]).map(({ seq }) => seq)).toEqual(o.events().map(({ seq }) => seq));
    expect(await o.call("session.history", { session_id })).toMatchObject({ count: 4 });
  });

  it("alone retitles, and says who else may come", async () => {
    const { o, session_id, observer, as } = await sharedHost();
    const [m, v, x] = [await observer("m", "member"), await observer("v"), await as("x")];
    for (const client of [m, v, x]) {
      expect(await client.refused("session.title", { session_id, title: "x" })).toEqual([4309, "not_owner"]);
      expect(await client.refused("session.detach", { session_id, client_id: o.origin })).toEqual([4309, "not_owner"]);
    }
    expect(await o.call("session.title", { session_id, title: "ours" })).toEqual({ title: "ours" });
    expect(await m.call("session.title", { session_id })).toEqual({ title: "ours" });
    expect(await v.call("session.title", { session_id })).toEqual({ title: "ours" });
    expect(await x.refused("session.title", { session_id })).toEqual([4311, "not_attached"]);
  });
});
