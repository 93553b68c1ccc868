import { describe, expect, it } from "vitest";
import type { Scope } from "../../../../core/index.ts";
import type { Authenticate } from "../../../../plugins/gateway/index.ts";
import { askedHost, listed, requestWords, turnOf } from "../../../support/asked-host.ts";
import { loopClock } from "../../../support/open-log.ts";
import { newSession, openHost } from "../../../support/open-host.ts";
import { turnsOfLoop } from "../../../support/turns-of-loop.ts";

const rm = { tool_id: "call-1", tool_name: "shell", command: "rm x" };
const clarify = { question: "Deploy?" };

/** Each token is the scopes that it stands for. */
const byScopes: Authenticate = ({ value }) => ({
  principal: "local",
  generation: value,
  scopes: (value.startsWith("gw-") ? "admin" : value).split(",") as Scope[],
  grants: [],
});

describe("who may answer", () => {
  it("C-033 is told by the scope of the request, on each way", async () => {
    const host = await openHost({ gateway: { authenticate: byScopes } });
    const owner = await host.connect();
    const { session_id } = await newSession(owner);
    const turn = await turnOf(host, owner, session_id);
    await owner.drop();
    const u1 = await host.connect({ token: "approvals", asks: true });
    const u2 = await host.connect({ token: "read,write", asks: true });
    for (const client of [u1, u2]) await client.call("session.activate", { session_id });
    const answered = turn.ask("approval", rm);
    const { id, params } = await u1.request("approval");
    const request_id = String(params?.["request_id"]);
    const snapshot = await u2.call("session.activate", { session_id });
    expect([snapshot["open_requests"], snapshot["pending_approval"], snapshot["status"]]).toEqual([
      [],
      null,
      "waiting",
    ]);
    expect(listed(await u2.call("session.events.since", { session_id }))).toEqual([]);
    const result = { choice: "once" };
    for (const [method, named] of [
      ["request.answer", { id, result }],
      ["request.answer", { id: request_id, result }],
      ["approval.respond", { session_id, request_id, ...result }],
      ["approval.respond", { session_id, all: true, ...result }],
      ["approval.pending", { session_id }],
      ["approval.received", { session_id, request_id }],
    ] as const) {
      expect((await u2.ask(method, named)).error).toEqual({
        code: 4300,
        message: expect.any(String),
        data: { reason: "insufficient_scope", required_scope: "approvals" },
      });
    }
    expect(await u2.refused("clarify.lock", { request_id: id, question_id: "q", answer: "x" })).toEqual([
      4002,
      "unknown_question",
    ]);
    u2.send({ jsonrpc: "2.0", id, result });
    u2.send({ jsonrpc: "2.0", id, error: { code: -32601, message: "no handler" } });
    await u2.settled();
    expect(host.tap.requests.open()).toHaveLength(1);
    expect(await u1.call("request.answer", { id, result })).toMatchObject({ status: "ok" });
    expect(await answered).toEqual({ outcome: "answered", choice: "once", by: { origin: u1.origin } });
    await Promise.all([u1.settled(), u2.settled()]);
    expect([requestWords(u1), requestWords(u2)]).toEqual([
      ["approval", "request.cancel resolved", "request.resolved answered"],
      [],
    ]);
    expect(JSON.stringify(u2.came)).not.toContain("rm x");
  });

  it("C-033 is not who may only answer approvals, where a question is asked", async () => {
    const host = await openHost({ gateway: { authenticate: byScopes } });
    const owner = await host.connect({ token: "write", asks: true });
    const { session_id } = await newSession(owner);
    const turn = await turnOf(host, owner, session_id);
    const [approver, reader] = [
      await host.connect({ token: "approvals", asks: true }),
      await host.connect({ token: "read", asks: true }),
    ];
    for (const client of [approver, reader]) await client.call("session.activate", { session_id });
    const answered = turn.ask("clarify", clarify);
    const { id } = await owner.request("clarify");
    for (const client of [approver, reader]) {
      expect((await client.ask("request.answer", { id, result: { answer: "x" } })).error?.data).toEqual({
        reason: "insufficient_scope",
        required_scope: "write",
      });
      client.send({ jsonrpc: "2.0", id, result: { answer: "x" } });
      await client.settled();
      expect(requestWords(client)).toEqual([]);
    }
    owner.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    expect(await answered).toMatchObject({ by: { origin: owner.origin } });
  });

  it("is waited for while nobody there has the scope", async () => {
    const host = await openHost({ gateway: { authenticate: byScopes } });
    const reader = await host.connect({ token: "read,write", asks: true });
    const { session_id, stored_session_id } = await newSession(reader);
    const turn = await turnOf(host, reader, session_id);
    const answered = turn.ask("approval", rm);
    await turnsOfLoop(3);
    const approver = await host.connect({ token: "approvals", asks: true });
    const [id] = listed(await approver.call("session.resume", { session_id: stored_session_id }));
    approver.send({ jsonrpc: "2.0", id, result: { choice: "deny" } });
    expect(await answered).toMatchObject({ outcome: "denied", by: { origin: approver.origin } });
  });
});

describe("an answer", () => {
  it("C-034 to what was cancelled in the same tick says so, never ok", async () => {
    const { a, turn, session_id } = await askedHost();
    const answered = turn.ask("approval", rm);
    const { id, params } = await a.request("approval");
    const request_id = params?.["request_id"];
    // One write, so that both are read in one go.
    a.ws.pause();
    const replies = Promise.all([
      a.ask("session.interrupt", { session_id }),
      a.ask("request.answer", { id, result: { choice: "once" } }),
      a.ask("approval.respond", { session_id, request_id, choice: "once" }),
    ]);
    a.ws.resume();
    const outcome = { outcome: "cancelled", reason: "interrupted", by: null };
    expect((await replies).map(({ result }) => result)).toEqual([
      { status: "interrupted" },
      { status: "already_resolved", outcome },
      { status: "already_resolved", resolved: 0, outcome },
    ]);
    expect(await answered).toEqual(outcome);
    expect(await a.refused("request.answer", { id: "", result: {} })).toEqual([-32602, "invalid_params"]);
    expect(await a.refused("request.answer", { id: "srq-000000000000", result: {} })).toEqual([
      4014,
      "unknown_request",
    ]);
  });

  it("C-040 that is late, or names another id, touches nothing that is open", async () => {
    const clock = loopClock();
    const { a, b, turn, tap } = await askedHost({ clock });
    const first = turn.ask("tour", { step: 1 });
    const [q1] = await Promise.all([a.request("tour"), b.request("tour")]);
    clock.advance(60_000);
    expect(await first).toMatchObject({ outcome: "expired" });
    const second = turn.ask("clarify", clarify);
    const q2 = await a.request("clarify");
    for (const id of [q1.id, "srq-000000000000", "constructor", 7, null, { id: q2.id }, [q2.id]]) {
      a.send({ jsonrpc: "2.0", id, result: { answer: "misrouted", value: "misrouted" } });
    }
    a.send({ jsonrpc: "2.0", result: { answer: "no id at all" } });
    await a.settled();
    expect(tap.requests.open().map(({ id }) => id)).toEqual([q2.id]);
    a.send({ jsonrpc: "2.0", id: q2.id, result: { answer: "yes" } });
    expect((await second).result).toEqual({ answer: "yes" });
  });

  it("C-040 C-031 comes once, whatever becomes of the socket that is asked", async () => {
    const host = await openHost();
    const a = await host.connect({ asks: true });
    const { session_id, stored_session_id } = await newSession(a);
    const turn = await turnOf(host, a, session_id);
    // It breaks while the request is on its way.
    const third = turn.ask("clarify", clarify);
    a.ws.terminate();
    await a.closed;
    await turnsOfLoop(3);
    const b = await host.connect({ asks: true });
    const [id] = listed(await b.call("session.resume", { session_id: stored_session_id }));
    expect(host.tap.requests.open().map((request) => request.id)).toEqual([id]);
    b.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    expect(await third).toMatchObject({ outcome: "answered", by: { origin: b.origin } });
    expect(host.notices).toEqual([]);
  });
});
