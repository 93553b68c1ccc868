import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openBus } from "../../support/bus.ts";
import { cancelled, openDesk, RequestDesk } from "../../support/request-desk.ts";

const clarify = { question: "Deploy?", choices: ["yes", "no"] };
const rm = { tool_id: "c1", tool_name: "shell", command: "rm x" };

describe("a request of an ordinary session", () => {
  it("W38 is answered by a frame, and the other client learns of it", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const [a, b] = [desk.connect(execution.session), desk.connect(execution.session)];
    const { id, outcome } = desk.ask(execution, "clarify", clarify);
    expect(id).toMatch(/^srq-[0-9a-f]{12}$/);
    const params = { session_id: execution.session.runtimeId, ...clarify };
    expect(a.frames).toEqual([{ jsonrpc: "2.0", id, method: "clarify", params }]);
    expect(a.answer(id, { answer: "yes", more: 1 })).toBe("taken");
    const stands = { outcome: "answered", by: { origin: "A" } };
    expect(await outcome).toEqual({ ...stands, result: { answer: "yes" } });
    expect(b.words).toEqual(["clarify", "request.cancel resolved", "request.resolved answered"]);
    const [, cancel, resolved] = b.frames;
    expect(cancel?.params).toMatchObject({ seq: 1, payload: { id, method: "clarify", reason: "resolved" } });
    expect(resolved?.params).toMatchObject({ seq: 2, payload: { id, method: "clarify", ...stands } });
    expect(a.frames).toEqual(b.frames);
  });

  it("W38 is not withdrawn when only the one who answers was asked", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const [a, silent] = [desk.connect(execution.session), desk.connect(execution.session, { advertises: false })];
    const { id } = desk.ask(execution, "clarify", clarify);
    expect([a.asked, silent.asked]).toEqual([[id], []]);
    a.answer(id, { answer: "yes" });
    expect(a.words).toEqual(["clarify", "request.resolved answered"]);
    expect(silent.words).toEqual(["request.resolved answered"]);
  });

  it("W39 C-032 takes the first answer; the second learns the outcome", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const [a, b] = [desk.connect(execution.session), desk.connect(execution.session)];
    const { id, outcome } = desk.ask(execution, "clarify", clarify);
    a.answer(id, { answer: "yes" });
    desk.bus.clock.advance(1);
    expect(b.answer(id, { answer: "no" })).toBe("late");
    expect(desk.requests.answer(id, { result: { answer: "no" } }, "B")).toEqual({
      status: "already_resolved",
      outcome: { outcome: "answered", by: { origin: "A" } },
    });
    expect([(await outcome).result, desk.delivery.lateAnswers]).toEqual([{ answer: "yes" }, 1]);
  });

  it("W40 is withdrawn once, for the reason it ends by, and leaves other sessions alone", () => {
    const desk = openDesk();
    const [one, two, three, four] = [desk.claim("1"), desk.claim("2"), desk.claim("3"), desk.claim("4")];
    const peers = [one, two, three, four].map(({ session }) => desk.connect(session));
    desk.ask(one, "clarify", clarify, 1_000);
    for (const execution of [two, three, four]) desk.ask(execution, "clarify", clarify);
    desk.bus.clock.advance(1_000);
    desk.bus.tap.seal(two, "interrupted");
    desk.requests.cancelAll(three.session, "session_closed");
    desk.bus.tap.seal(three, "interrupted");
    expect(peers.map(({ words }) => words)).toEqual([
      ["clarify", "request.cancel timeout", "request.resolved timeout"],
      ["clarify", "request.cancel interrupted", "request.resolved interrupted"],
      ["clarify", "request.cancel session_closed", "request.resolved session_closed"],
      ["clarify"],
    ]);
    expect(desk.requests.open()).toHaveLength(1);
  });

  it("W41 C-031 is listed for each who comes, by the same id, until it is answered", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { session } = execution;
    const { id, outcome } = desk.ask(execution, "clarify", clarify);
    const a = desk.connect(session);
    expect([a.asked, a.listed(session)]).toEqual([[], [id]]);
    a.leave();
    const b = desk.connect(null);
    expect(b.listed(session)).toEqual([id]);
    b.attach(session);
    expect([b.listed(session), b.asked]).toEqual([[id], []]);
    expect(b.answer(id, { answer: "" })).toBe("taken");
    expect(await outcome).toEqual({ outcome: "answered", result: { answer: "" }, by: { origin: "B" } });
    expect(desk.connect(session).listed(session)).toEqual([]);
    expect(b.words).toEqual(["request.resolved answered"]);
  });

  it("W44 C-039 goes on without one that declines, and ends with the last one", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const [a, b] = [desk.connect(execution.session), desk.connect(execution.session)];
    const { id, outcome } = desk.ask(execution, "clarify", clarify);
    expect([a.decline(id), desk.requests.open().length]).toEqual(["declined", 1]);
    expect([a.decline(id), desk.requests.open().length]).toEqual(["declined", 1]);
    expect([b.decline(id, -32004), desk.requests.open().length]).toEqual(["declined", 0]);
    expect(await outcome).toEqual(cancelled("no_handler"));
    expect(a.words).toEqual(["clarify", "request.cancel no_handler", "request.resolved no_handler"]);
  });

  it("C-039 C-040 waits when the last one asked leaves, and is decided by who stays", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { session } = execution;
    const [a, b] = [desk.connect(session), desk.connect(session)];
    const first = desk.ask(execution, "clarify", clarify);
    a.leave();
    b.decline(first.id);
    expect(await first.outcome).toEqual(cancelled("no_handler"));
    const second = desk.ask(execution, "clarify", clarify);
    b.leave();
    expect(desk.requests.open()).toHaveLength(1);
    const c = desk.connect(session);
    expect(c.listed(session)).toEqual([second.id]);
    c.decline(second.id);
    expect(await second.outcome).toEqual(cancelled("no_handler"));
  });

  it("C-039 has declined whoever answers what does not fit", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const [a, b] = [desk.connect(execution.session), desk.connect(execution.session)];
    const { id, outcome } = desk.ask(execution, "clarify", clarify);
    expect([a.answer(id, { answer: 7 }), b.answer(id, "yes")]).toEqual(["declined", "declined"]);
    expect(await outcome).toEqual(cancelled("no_handler"));
  });

  it("W45 C-037 ends at once when nobody there takes requests, and is not written", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session, { advertises: false });
    const { outcome } = desk.ask(execution, "clarify", clarify);
    expect(await outcome).toEqual(cancelled("no_handler"));
    expect(a.words).toEqual(["request.cancel no_handler", "request.resolved no_handler"]);
  });

  it("W45 waits when nobody there may answer, and is listed", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const reader = desk.connect(execution.session, { scopes: ["read"] });
    const { id } = desk.ask(execution, "clarify", clarify);
    const { session } = execution;
    expect([reader.words, reader.listed(session), desk.connect(session).listed(session)]).toEqual([[], [], [id]]);
  });

  it("C-033 of an approval reaches and is answered by who has that scope only", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { session } = execution;
    const [u1, u2] = [desk.connect(session), desk.connect(session, { scopes: ["read", "write"] })];
    const { id, outcome } = desk.ask(execution, "approval", rm);
    expect([u1.asked, u2.asked, u2.listed(session)]).toEqual([[id], [], []]);
    expect([u2.answer(id, { choice: "once" }), u2.decline(id)]).toEqual(["refused", "refused"]);
    expect([desk.delivery.refusedAnswers, desk.requests.open().length]).toEqual([2, 1]);
    u1.answer(id, { choice: "once" });
    expect((await outcome).outcome).toBe("answered");
    expect([u1.words, u2.words]).toEqual([["approval", "request.resolved answered"], []]);
  });

  it("C-033 is refused from a client that has lost its scope since", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    const { id } = desk.ask(execution, "approval", rm);
    a.client.scopes = new Set(["read"]);
    expect([a.answer(id, { choice: "once" }), desk.requests.open().length]).toEqual(["refused", 1]);
  });

  it("C-037 is sent to nobody before the reply that lists it", () => {
    const desk = openDesk();
    const [one, two] = [desk.claim("s1"), desk.claim("s2")];
    const { id } = desk.ask(one, "clarify", clarify);
    const a = desk.connect(null);
    desk.delivery.advertised(a.client);
    a.attach(two.session);
    expect([a.listed(two.session), a.asked]).toEqual([[], []]);
    a.attach(one.session);
    expect([a.listed(one.session), a.asked]).toEqual([[id], []]);
    const live = desk.ask(one, "clarify", clarify);
    expect(a.asked).toEqual([live.id]);
  });

  it("is put before who advertises late, once, unless a reply has listed it", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { session } = execution;
    const listed = desk.ask(execution, "clarify", clarify);
    const a = desk.connect(session, { advertises: false });
    a.listed(session);
    desk.connect(session);
    const missed = desk.ask(execution, "clarify", clarify);
    a.client.advertises = true;
    desk.delivery.advertised(a.client);
    desk.delivery.advertised(a.client);
    expect(a.asked).toEqual([missed.id]);
    a.decline(listed.id);
    expect(desk.requests.open().map(({ id }) => id)).toEqual([missed.id]);
  });

  it("is put before who attached without a list", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { id } = desk.ask(execution, "clarify", clarify);
    const a = desk.connect(execution.session);
    desk.delivery.present(a.client, execution.session);
    desk.delivery.present(a.client, execution.session);
    expect(a.asked).toEqual([id]);
  });

  it("C-040 is matched by its exact id: a late, a numeric or another id answers nothing", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    const first = desk.ask(execution, "approval", rm, 1_000);
    const second = desk.ask(execution, "approval", { command: "ls" });
    const requestId = desk.requests.find(second.id)?.request_id;
    desk.bus.clock.advance(1_000);
    const ids = [first.id, 1, null, "", requestId, "srq-000000000000"];
    expect(ids.map((id) => a.answer(id, { choice: "once" }))).toEqual(ids.map(() => "late"));
    expect([desk.delivery.lateAnswers, desk.requests.open().map(({ id }) => id)]).toEqual([6, [second.id]]);
    expect((await first.outcome).outcome).toBe("expired");
  });

  it("waits for the next client when the line of the only one breaks", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { session } = execution;
    const a = desk.connect(session);
    a.client.mailbox.close();
    const { id } = desk.ask(execution, "clarify", clarify);
    expect(desk.connect(session).listed(session)).toEqual([id]);
  });

  it("stands behind the events that were written before it, ahead of those after it", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    const tell = (text: string): unknown => desk.bus.tap.emit(execution, { type: "status.update", payload: { text } });
    tell("before");
    const { id } = desk.ask(execution, "clarify", clarify);
    tell("after");
    expect(a.frames.map((frame) => ("id" in frame ? frame.id : frame.params.payload?.["text"]))).toEqual([
      "before",
      id,
      "after",
    ]);
  });

  it("is named by the id that its session has now", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { session } = execution;
    desk.ask(execution, "clarify", clarify);
    const renewed = desk.bus.tap.sessions.renew(session);
    const [open] = desk.delivery.openRequests(desk.connect(session).client, session);
    expect(open?.params.session_id).toBe(renewed);
  });

  it("has been answered in process before anybody is asked", async () => {
    const desk: RequestDesk = openDesk({
      onRequest: ({ id }) => void desk.requests.answer(id, { choice: "yes" }, null),
    });
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    expect((await desk.ask(execution, "clarify", clarify).outcome).result).toEqual({ answer: "yes" });
    expect(a.words).toEqual(["request.resolved answered"]);
  });

  it("is delivered to nobody once the delivery is closed", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    desk.delivery.close();
    desk.ask(execution, "clarify", clarify);
    expect([a.asked, desk.requests.open().length]).toEqual([[], 1]);
  });
});

describe("a request of a hidden session", () => {
  it("R50 is no frame and no list of a client; it waits and a frame does not answer it", () => {
    const desk = openDesk();
    const attempt = desk.bus.begin();
    const a = desk.connect(null);
    const { id } = desk.ask(attempt, "clarify", clarify);
    expect([a.asked, a.listed(attempt.session), a.answer(id, { answer: "x" })]).toEqual([[], [], "refused"]);
    expect(desk.requests.answer(id, { result: { answer: "x" } }, "A").status).toBe("ok");
  });
});

const act = fc.record({
  peer: fc.nat({ max: 2 }),
  what: fc.constantFrom("answer", "wrong", "decline", "leave", "list", "expire", "seal", "call"),
});

describe("I9 delivered requests", () => {
  it("I9 have one outcome, told once, whatever clients do", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 12 }), async (acts) => {
        const desk = new RequestDesk();
        const execution = desk.claim();
        const { session } = execution;
        const peers = [0, 1, 2].map(() => desk.connect(session));
        const watcher = desk.connect(session);
        watcher.client.advertises = false;
        const { id, outcome } = desk.ask(execution, "clarify", clarify, 1_000);
        let ended = 0;
        void outcome.then(() => ended++);
        let taken = 0;
        for (const { peer, what } of acts) {
          const by = peers[peer];
          if (by === undefined) throw new Error("no such peer");
          if (what === "answer") taken += by.answer(id, { answer: "yes" }) === "taken" ? 1 : 0;
          else if (what === "wrong") by.answer(id, { answer: 1 });
          else if (what === "decline") by.decline(id);
          else if (what === "leave") by.leave();
          else if (what === "list") by.listed(session);
          else if (what === "expire") desk.bus.clock.advance(1_000);
          else if (what === "seal") desk.bus.tap.seal(execution, "interrupted");
          else taken += desk.requests.answer(id, { choice: "yes" }, "x").status === "ok" ? 1 : 0;
        }
        desk.bus.tap.seal(execution, "interrupted");
        const stands = await outcome;
        expect([ended, taken]).toEqual([1, stands.outcome === "answered" ? 1 : 0]);
        const told = watcher.words;
        expect(told.filter((word) => word.startsWith("request.resolved"))).toHaveLength(1);
        expect(told.filter((word) => word.startsWith("request.cancel")).length).toBeLessThanOrEqual(1);
        desk.bus.close();
      }),
      { numRuns: 200 },
    );
  });
});

describe("requests without a delivery", () => {
  it("are not withdrawn by their answer", () => {
    const bus = openBus();
    const attempt = bus.begin();
    void bus.tap.requests.ask(attempt, { method: "clarify", params: clarify });
    const undo = bus.tap.requests.presentBy(() => true);
    undo();
    undo();
    const words: string[] = [];
    bus.tap.seam.addFrameSink((frame) => void words.push("id" in frame ? "" : frame.params.type));
    bus.tap.requests.answer(bus.tap.requests.open()[0]?.id ?? "", { choice: "yes" }, null);
    expect(words).toEqual(["request.resolved"]);
  });
});
