import { describe, expect, it } from "vitest";
import { limits } from "../../../../core/index.ts";
import { askedHost, listed, requestWords, turnOf } from "../../../support/asked-host.ts";
import { loopClock } from "../../../support/open-log.ts";
import { newSession, openHost } from "../../../support/open-host.ts";
import { turnsOfLoop } from "../../../support/turns-of-loop.ts";

const clarify = { question: "Deploy?", choices: ["yes", "no"] };

describe("a question to two clients", () => {
  it("W38 is answered by a frame, unreplied, and told to both once", async () => {
    const { a, b, turn, session_id } = await askedHost();
    const answered = turn.ask("clarify", clarify);
    const { id, ...request } = await a.request("clarify");
    expect(id).toMatch(/^srq-[0-9a-f]{12}$/);
    expect(request).toEqual({ jsonrpc: "2.0", method: "clarify", params: { session_id, ...clarify } });
    expect(await b.request("clarify")).toEqual({ id, ...request });
    const from = a.came.length;
    a.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    const by = { origin: a.origin };
    expect(await answered).toEqual({ outcome: "answered", result: { answer: "yes" }, by });
    await Promise.all([a.settled(), b.settled()]);
    const after = a.came.slice(from);
    expect(after.filter((came) => came.id === id)).toEqual([]);
    expect(after.flatMap(({ params }) => (params === undefined ? [] : [[params.type, params.payload]]))).toEqual([
      ["request.cancel", { id, method: "clarify", reason: "resolved" }],
      ["request.resolved", { id, method: "clarify", outcome: "answered", by }],
    ]);
    for (const client of [a, b]) {
      expect(requestWords(client)).toEqual(["clarify", "request.cancel resolved", "request.resolved answered"]);
    }
  });

  it("W38 is not withdrawn where only the one who answers was asked", async () => {
    const host = await openHost();
    const a = await host.connect({ asks: true });
    const { session_id } = await newSession(a);
    const turn = await turnOf(host, a, session_id);
    const answered = turn.ask("clarify", clarify);
    const { id } = await a.request("clarify");
    a.send({ jsonrpc: "2.0", id, result: { answer: "" } });
    expect(await answered).toMatchObject({ outcome: "answered", result: { answer: "" } });
    await a.settled();
    expect(requestWords(a)).toEqual(["clarify", "request.resolved answered"]);
  });

  it("W39 C-032 has one outcome, and who comes later learns it", async () => {
    const { a, b, turn } = await askedHost();
    const answered = turn.ask("clarify", clarify);
    const { id } = await b.request("clarify");
    a.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    await a.event("request.resolved");
    b.send({ jsonrpc: "2.0", id, result: { answer: "no" } });
    const outcome = { outcome: "answered", by: { origin: a.origin } };
    const stands = { status: "already_resolved", outcome };
    expect(await b.call("request.answer", { id, result: { answer: "no" } })).toEqual(stands);
    expect(await a.call("request.answer", { id, result: { answer: "no" } })).toEqual(stands);
    expect((await answered).result).toEqual({ answer: "yes" });
    await b.settled();
    expect(requestWords(b)).toEqual(["clarify", "request.cancel resolved", "request.resolved answered"]);
  });

  it("C-032 is decided by the first of two answers that race", async () => {
    const { a, b, turn, agent } = await askedHost();
    for (let race = 0; race < 10; race++) {
      const answered = turn.ask("clarify", { question: `${race}?` });
      const { id } = await a.request("clarify", race);
      await b.request("clarify", race);
      const [first, second] = await Promise.all([
        a.call("request.answer", { id, result: { answer: "from a" } }),
        b.call("request.answer", { id, result: { answer: "from b" } }),
      ]);
      expect(new Set([first["status"], second["status"]])).toEqual(new Set(["already_resolved", "ok"]));
      expect(first["outcome"]).toEqual(second["outcome"]);
      const winner = first["status"] === "ok" ? a : b;
      expect(await answered).toEqual({
        outcome: "answered",
        by: { origin: winner.origin },
        result: { answer: winner === a ? "from a" : "from b" },
      });
    }
    expect([a.events("request.resolved").length, agent.turns.length]).toEqual([10, 1]);
  });

  it("W44 C-039 goes on when one declines, and ends when the last one does", async () => {
    const { a, b, turn, session_id } = await askedHost();
    const answered = turn.ask("clarify", clarify);
    const { id } = await a.request("clarify");
    await b.request("clarify");
    const declines = { jsonrpc: "2.0", id, error: { code: -32601, message: "no handler" } };
    a.send(declines);
    await a.settled();
    expect(listed(await b.call("session.events.since", { session_id }))).toEqual([id]);
    b.send(declines);
    expect(await answered).toEqual({ outcome: "cancelled", reason: "no_handler", by: null });
    await b.settled();
    expect(requestWords(b)).toEqual(["clarify", "request.cancel no_handler", "request.resolved no_handler"]);
  });

  it("C-039 is decided by the other one alone when one has gone", async () => {
    const { a, b, turn } = await askedHost();
    const answered = turn.ask("clarify", clarify);
    const { id } = await b.request("clarify");
    await a.drop();
    await b.settled();
    b.send({ jsonrpc: "2.0", id, error: { code: -32004, message: "not shown here" } });
    expect(await answered).toMatchObject({ outcome: "cancelled", reason: "no_handler" });
  });

  it("C-039 waits for one that comes back with its token", async () => {
    const { a, b, turn, session_id, connect } = await askedHost();
    const answered = turn.ask("clarify", clarify);
    const { id } = await b.request("clarify");
    await a.drop();
    const again = await connect({ resume: String(a.ready["resume_token"]) });
    expect(again.ready["resumed"]).toBe(true);
    b.send({ jsonrpc: "2.0", id, error: { code: -32601, message: "no handler" } });
    await b.settled();
    expect(listed(await again.call("session.events.since", { session_id }))).toEqual([id]);
    again.send({ jsonrpc: "2.0", id, result: { answer: "no" } });
    expect(await answered).toEqual({ outcome: "answered", result: { answer: "no" }, by: { origin: a.origin } });
  });
});

describe("a question that nobody answers", () => {
  it("W40 ends by its lifetime, an interrupt, a close, each told once", async () => {
    const clock = loopClock();
    const host = await openHost({ clock, gateway: { pingIntervalMs: 0 } });
    const a = await host.connect({ asks: true });
    const sessions = [await newSession(a), await newSession(a), await newSession(a)];
    const [one = "", two = "", three = ""] = sessions.map(({ session_id }) => session_id);
    const ask = async (session_id: string) => {
      const answered = (await turnOf(host, a, session_id)).ask("clarify", clarify);
      const { id } = await a.message(({ params, method }) => method === "clarify" && params?.session_id === session_id);
      return { id, answered };
    };
    const first = await ask(one);
    clock.advance(limits.questionLifetimeMs - 1);
    await a.settled();
    expect(requestWords(a)).toEqual(["clarify"]);
    clock.advance(1);
    expect(await first.answered).toEqual({ outcome: "expired", reason: "timeout", by: null });
    const [second, third] = [await ask(two), await ask(three)];
    expect(await a.call("session.interrupt", { session_id: two })).toEqual({ status: "interrupted" });
    expect(await second.answered).toEqual({ outcome: "cancelled", reason: "interrupted", by: null });
    expect(listed(await a.call("session.events.since", { session_id: three }))).toEqual([third.id]);
    expect(await a.call("session.close", { session_id: three })).toMatchObject({ closed: true });
    expect(await third.answered).toEqual({ outcome: "cancelled", reason: "session_closed", by: null });
    await a.event("session.reclaimed");
    expect(a.events("request.cancel").map(({ session_id, payload }) => [session_id, payload])).toEqual([
      [one, { id: first.id, method: "clarify", reason: "timeout" }],
      [two, { id: second.id, method: "clarify", reason: "interrupted" }],
      [three, { id: third.id, method: "clarify", reason: "session_closed" }],
    ]);
    expect(a.events("request.resolved").map(({ payload }) => payload)).toEqual([
      { id: first.id, method: "clarify", outcome: "expired", reason: "timeout", by: null },
      { id: second.id, method: "clarify", outcome: "cancelled", reason: "interrupted", by: null },
      { id: third.id, method: "clarify", outcome: "cancelled", reason: "session_closed", by: null },
    ]);
  });

  it("C-032 expires for whoever reads it first, and not again by its timer", async () => {
    const clock = loopClock();
    // A host whose timers are late.
    const late: (() => void)[] = [];
    const { a, b, turn, session_id } = await askedHost({
      clock: { ...clock, after: (delayMs, run) => clock.after(delayMs, () => void late.push(run)) },
    });
    const answered = turn.ask("tour", { step: 1 });
    const [{ id }] = await Promise.all([b.request("tour"), a.request("tour")]);
    clock.advance(limits.relayedLifetimeMs);
    expect(requestWords(a)).toEqual(["tour"]);
    expect(listed(await a.call("session.events.since", { session_id }))).toEqual([]);
    expect(await answered).toEqual({ outcome: "expired", reason: "timeout", by: null });
    for (const run of late.splice(0)) run();
    expect(await b.call("request.answer", { id, result: { value: 1 } })).toEqual({
      status: "already_resolved",
      outcome: { outcome: "expired", reason: "timeout", by: null },
    });
    await Promise.all([a.settled(), b.settled()]);
    for (const client of [a, b]) {
      expect(requestWords(client)).toEqual(["tour", "request.cancel timeout", "request.resolved timeout"]);
    }
  });

  it("W45 C-037 ends at once when the one client never took requests", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const turn = await turnOf(host, a, session_id);
    expect(await turn.ask("clarify", clarify)).toEqual({ outcome: "cancelled", reason: "no_handler", by: null });
    await a.settled();
    expect(requestWords(a)).toEqual(["request.cancel no_handler", "request.resolved no_handler"]);
  });

  it("W45 C-031 waits while nobody is there, for whoever comes", async () => {
    const host = await openHost();
    const first = await host.connect({ asks: true });
    const { session_id, stored_session_id } = await newSession(first);
    const turn = await turnOf(host, first, session_id);
    await first.drop();
    const answered = turn.ask("clarify", clarify);
    await turnsOfLoop(5);
    const a = await host.connect({ asks: true });
    const resumed = await a.call("session.resume", { session_id: stored_session_id });
    const [id] = listed(resumed);
    expect(resumed["open_requests"]).toEqual([{ id, method: "clarify", params: { session_id, ...clarify } }]);
    expect(resumed["status"]).toBe("waiting");
    await a.drop();
    const b = await host.connect({ asks: true });
    expect(listed(await b.call("session.resume", { session_id: stored_session_id }))).toEqual([id]);
    expect(listed(await b.call("session.events.since", { session_id }))).toEqual([id]);
    b.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    expect(await answered).toEqual({ outcome: "answered", result: { answer: "yes" }, by: { origin: b.origin } });
    const c = await host.connect({ asks: true });
    expect(listed(await c.call("session.resume", { session_id: stored_session_id }))).toEqual([]);
    await b.settled();
    expect([requestWords(a), requestWords(b)]).toEqual([[], ["request.resolved answered"]]);
    expect(host.agent.turns).toHaveLength(1);
  });
});
