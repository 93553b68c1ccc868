import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, Resync, WireEvent } from "../../../plugins/client/index.ts";
import { SessionTable } from "../../../plugins/client/sessions.ts";
import { refuse, type Answers } from "../../support/fake-gateway.ts";
import { comeBack, connectedClient, redial, settled, type WireClient } from "../../support/wire-client.ts";

/** A snapshot of a session that nobody runs. */
function snapshot(sessionId: string, latestSeq: number, more: Json = {}): Json {
  const stored_session_id = `stored-${sessionId.replace("n", "s")}`;
  return { session_id: sessionId, stored_session_id, running: false, latest_seq: latestSeq, truncated: false, ...more };
}

/** The six keys of a replay. */
function since(sessionId: string, seqs: readonly number[], more: Json = {}): Json {
  const events = seqs.map((seq) => ({
    type: "message.delta",
    session_id: sessionId,
    seq,
    payload: { text: `${seq}` },
  }));
  return {
    events,
    latest_seq: seqs.at(-1) ?? 0,
    truncated: false,
    count: events.length,
    epoch: "e1",
    open_requests: [],
    ...more,
  };
}

interface Attached extends WireClient {
  /** Numbers of the deltas that handlers got, by session. */
  readonly seen: Record<string, number[]>;
  readonly resyncs: Resync[];
}

/** A client that resumed these sessions at these heads. */
async function attached(heads: Readonly<Record<string, number>>, answers: Answers = {}): Promise<Attached> {
  const wire = await connectedClient({
    "session.resume": ({ session_id }) => {
      const id = String(session_id).replace("stored-", "");
      return snapshot(id, heads[id] ?? 0);
    },
    ...answers,
  });
  const seen: Record<string, number[]> = {};
  wire.client.on("message.delta", ({ session_id = "", seq = 0 }) => (seen[session_id] ??= []).push(seq));
  const resyncs: Resync[] = [];
  wire.client.onResync((resync) => resyncs.push(resync));
  for (const id of Object.keys(heads)) await wire.client.call("session.resume", { session_id: `stored-${id}` });
  wire.clock.advance(0);
  return { ...wire, seen, resyncs };
}

/** What the last socket was sent beside the handshake. */
function sent({ gateway }: WireClient): readonly unknown[] {
  return gateway.socket.sent.flatMap(({ method, params }) => (method === undefined ? [] : [[method, params]]));
}

describe("a session that was attached again", () => {
  it("is asked for what is above its last number, and goes on from there", async () => {
    const wire = await attached({ s1: 3 }, { "session.events.since": () => since("s1", [4, 5, 6]) });
    wire.gateway.socket.frame("s1", 4);
    await comeBack(wire, { resumed: true });
    expect(sent(wire)).toEqual([["session.events.since", { session_id: "s1", last_seen: 4 }]]);
    wire.gateway.socket.frame("s1", 7);
    expect(wire.seen).toEqual({ s1: [4, 5, 6, 7] });
    expect(wire.resyncs).toEqual([]);
  });

  it("W29 hands out replayed frames, then those that came meanwhile, each once", async () => {
    const wire = await attached({ s1: 3 });
    await comeBack(wire, { resumed: true });
    const { socket } = wire.gateway;
    socket.frame("s1", 5);
    socket.frame("s1", 6);
    expect(wire.seen).toEqual({});
    socket.reply(socket.lastId("session.events.since"), since("s1", [4, 5]));
    socket.frame("s1", 6);
    socket.frame("s1", 7);
    expect(wire.seen).toEqual({ s1: [4, 5, 6, 7] });
  });

  it("does not hold up other sessions", async () => {
    const wire = await attached(
      { s1: 3, s2: 8 },
      { "session.events.since": ({ session_id }) => (session_id === "s2" ? since("s2", [9]) : undefined) },
    );
    await comeBack(wire, { resumed: true });
    wire.gateway.socket.frame("s1", 4);
    wire.gateway.socket.frame("s2", 10);
    expect(wire.seen).toEqual({ s2: [9, 10] });
  });

  it("starts over with the same number when the connection drops in between", async () => {
    const wire = await attached({ s1: 3 });
    await comeBack(wire, { resumed: true });
    wire.gateway.socket.frame("s1", 5);
    wire.gateway.answers["session.events.since"] = () => since("s1", [4, 5]);
    await comeBack(wire, { resumed: true });
    expect(wire.seen).toEqual({ s1: [4, 5] });
  });

  it("is read anew when the replay is refused, and the connection dropped when it has no answer", async () => {
    const wire = await attached(
      { s1: 3 },
      {
        "session.events.since": () => {
          throw refuse(4013, "result_too_large");
        },
      },
    );
    await comeBack(wire, { resumed: true });
    expect(wire.resyncs.map(({ reason }) => reason)).toEqual(["truncated"]);
    delete wire.gateway.answers["session.events.since"];
    await comeBack(wire, { resumed: true });
    wire.clock.advance(10_000);
    await settled();
    expect(wire.client.state).toBe("waiting");
  });

  it("C-022 is read anew when the replay says that something is missing", async () => {
    const wire = await attached({ s1: 3 }, { "session.events.since": () => since("s1", [8, 9], { truncated: true }) });
    wire.gateway.answers["session.resume"] = () => snapshot("s1", 9);
    await comeBack(wire, { resumed: true });
    wire.gateway.socket.frame("s1", 10);
    expect(wire.resyncs).toEqual([{ session_id: "s1", reason: "truncated", snapshot: snapshot("s1", 9) }]);
    expect(wire.seen).toEqual({ s1: [10] });
  });
});

describe("a session whose connection got a new id", () => {
  it("is joined again with its last number, and the missed frames follow the reply", async () => {
    const wire = await attached({ s1: 3 });
    wire.gateway.answers["session.resume"] = () => snapshot("s1", 5);
    await comeBack(wire);
    expect(sent(wire)).toEqual([["session.resume", { session_id: "stored-s1", last_seen: 3 }]]);
    for (const seq of [4, 5, 6]) wire.gateway.socket.frame("s1", seq);
    expect([wire.seen, wire.resyncs]).toEqual([{ s1: [4, 5, 6] }, []]);
  });

  it("is joined in the role that it had", async () => {
    const wire = await connectedClient({ "session.attach": () => snapshot("s1", 2, { role: "member" }) });
    await wire.client.call("session.attach", { session_id: "s1", role: "member" });
    await comeBack(wire);
    expect(sent(wire)).toEqual([["session.attach", { session_id: "stored-s1", role: "member", last_seen: 2 }]]);
  });

  it("is lost, and said to be, when the server refuses it", async () => {
    const wire = await attached({ s1: 3 });
    wire.gateway.answers["session.resume"] = () => {
      throw refuse(4001, "unknown_session");
    };
    await comeBack(wire);
    expect(wire.problems.map(({ code }) => code)).toEqual(["session_lost"]);
    await comeBack(wire);
    expect(sent(wire)).toEqual([]);
  });

  it.each([
    ["session.detach", { detached: true }],
    ["session.close", { closed: true }],
  ])("is left alone after %s", async (method, result) => {
    const wire = await attached({ s1: 3 }, { [method]: () => result });
    await wire.client.call(method, { session_id: "s1" });
    await comeBack(wire);
    expect(sent(wire)).toEqual([]);
  });

  it.each([
    ["session.detached", "visibility", 0],
    ["session.reclaimed", "idle_timeout", 0],
    ["session.reclaimed", "shutdown", 1],
  ])("after %s (%s) is joined %i times", async (type, reason, times) => {
    const wire = await attached({ s1: 3 });
    wire.gateway.socket.event(type, { payload: { session_id: "s1", reason } });
    await comeBack(wire);
    expect(wire.gateway.socket.calls("session.resume").length).toBe(times);
  });
});

describe("another life of the server", () => {
  it("W37 C-023 drops every number: no replay is asked for, and snapshots are read", async () => {
    const wire = await attached({ s1: 40, s2: 7 });
    wire.gateway.answers["session.resume"] = ({ session_id }) => snapshot(session_id === "stored-s1" ? "n1" : "n2", 3);
    await comeBack(wire, { replay_epoch: "e2" });
    expect(sent(wire)).toEqual([
      ["session.resume", { session_id: "stored-s1" }],
      ["session.resume", { session_id: "stored-s2" }],
    ]);
    expect(wire.resyncs.map(({ session_id, reason }) => [session_id, reason])).toEqual([
      ["n1", "epoch"],
      ["n2", "epoch"],
    ]);
    wire.gateway.socket.frame("n1", 4);
    expect(wire.seen).toEqual({ n1: [4] });
  });

  it("C-025 seen in one answer drops the numbers of all sessions together", async () => {
    const wire = await attached({ s1: 40, s2: 7 });
    await comeBack(wire, { resumed: true });
    const { socket } = wire.gateway;
    const [first] = socket.calls("session.events.since");
    socket.reply(first?.id ?? "", since("s1", [41, 42], { epoch: "e2" }));
    socket.reply(socket.lastId("session.events.since"), since("s2", [8], { epoch: "e2" }));
    await settled();
    expect(wire.seen).toEqual({});
    expect(new Set(wire.resyncs.map(({ session_id }) => session_id))).toEqual(new Set(["s1", "s2"]));
    const later = socket.sent.slice(socket.sent.findIndex(({ method }) => method === "session.resume"));
    expect(later.every(({ params }) => params?.["last_seen"] === undefined)).toBe(true);
  });

  it("C-028 shows how the last turn ended without any further frame", async () => {
    const wire = await attached({ s1: 5 });
    const last_turn = { turn_id: "T1", status: "completed", reason_code: null };
    wire.gateway.answers["session.resume"] = () => snapshot("s1", 0, { running: false, last_turn, open_requests: [] });
    await comeBack(wire, { replay_epoch: "e2" });
    expect(wire.resyncs[0]?.snapshot).toMatchObject({ running: false, last_turn, open_requests: [] });
  });
});

describe("the number of a session", () => {
  it("C-024 W31 is read from its own field alone", async () => {
    const wire = await attached({ s1: 5 }, { "session.events.since": () => since("s1", [6]) });
    wire.gateway.socket.event("notice", { payload: { text: "7", seq: 99 } });
    await comeBack(wire, { resumed: true });
    expect(sent(wire)).toEqual([["session.events.since", { session_id: "s1", last_seen: 5 }]]);
    expect(wire.seen).toEqual({ s1: [6] });
  });

  it("W30 goes on behind the snapshot, and with last_seen behind that", async () => {
    const wire = await connectedClient({
      "session.resume": ({ last_seen }, socket) => {
        const id = socket.lastId("session.resume");
        socket.reply(id, snapshot("s1", 5));
        for (const seq of last_seen === undefined ? [6, 7] : [4, 5, 6]) socket.frame("s1", seq);
        return undefined;
      },
    });
    const seen: (number | undefined)[] = [];
    wire.client.on("message.delta", ({ seq }) => seen.push(seq));
    await wire.client.call("session.resume", { session_id: "stored-s1" });
    // Frames wait until the caller has seen the snapshot.
    expect(seen).toEqual([]);
    wire.clock.advance(0);
    expect(seen).toEqual([6, 7]);
  });

  it("of a session that a reply attached twice never goes back", async () => {
    const wire = await attached({ s1: 3 });
    wire.gateway.socket.frame("s1", 4);
    wire.gateway.socket.frame("s1", 5);
    wire.gateway.answers["session.resume"] = () => snapshot("s1", 4);
    await wire.client.call("session.resume", { session_id: "stored-s1" });
    wire.clock.advance(0);
    wire.gateway.socket.frame("s1", 5);
    expect(wire.seen).toEqual({ s1: [4, 5] });
  });
});

describe("laws of a session's frames", () => {
  const frame = (seq: number): WireEvent => ({ type: "message.delta", session_id: "s1", seq, payload: {} });

  it("each number is handed out once and in order, however replay and stream overlap", () => {
    // A life of `total` frames; drops at random places; a replay that reaches up to a random head.
    const runs = fc.record({
      total: fc.integer({ min: 1, max: 60 }),
      drops: fc.array(fc.record({ after: fc.nat(60), head: fc.nat(60), parked: fc.nat(10) }), { maxLength: 6 }),
    });
    fc.assert(
      fc.property(runs, ({ total, drops }) => {
        const table = new SessionTable();
        table.enterEpoch("e1");
        table.join("session.create", {}, { session_id: "s1" });
        const seen: number[] = [];
        const hand = (events: readonly WireEvent[]): void => void seen.push(...events.map(({ seq = 0 }) => seq));
        let live = 0;
        const stream = (until: number): void => {
          while (live < until) if (table.take(frame(++live)) === "now") seen.push(live);
        };
        for (const { after, head, parked } of drops) {
          stream(Math.min(total, after));
          // What was in flight is lost: the client has seen less than was sent.
          const known = table.find("s1")?.seq ?? 0;
          const at = Math.min(total, Math.max(live, head));
          table.park("s1");
          // The stream of the new connection begins somewhere at or before the replay's head.
          live = Math.max(known, at - parked);
          stream(Math.min(total, at + parked));
          hand(
            table.replay(
              "s1",
              Array.from({ length: at - known }, (_, index) => frame(known + 1 + index)),
            ),
          );
          hand(table.release("s1"));
        }
        stream(total);
        expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
      }),
    );
  });

  it.each([
    [4, false, [1, 2, 3, 4]],
    [5, true, []],
  ])("%i frames that wait at a bound of 4: let go is %s", (count, overflowed, released) => {
    const table = new SessionTable(4);
    table.join("session.create", {}, { session_id: "s1" });
    table.park("s1");
    for (let seq = 1; seq <= count; seq++) expect(table.take(frame(seq))).toBe("later");
    expect(table.hasOverflowed("s1")).toBe(overflowed);
    expect(table.release("s1").map(({ seq }) => seq)).toEqual(released);
  });
});

describe("questions over a reconnect", () => {
  const question = { id: "srq-00000000000a", method: "clarify", params: { session_id: "s1", question: "Deploy?" } };

  it("W41 are handed to the handler, as replayed, before the call resolves", async () => {
    const order: string[] = [];
    const wire = await connectedClient({
      "session.resume": () => snapshot("s1", 0, { open_requests: [question] }),
    });
    wire.client.onRequest("clarify", ({ id, replayed }) => {
      order.push(`${id} ${replayed}`);
      return { answer: "yes" };
    });
    await wire.client.call("session.resume", { session_id: "stored-s1" }).then(() => order.push("resolved"));
    expect(order).toEqual(["srq-00000000000a true", "resolved"]);
    expect(wire.gateway.socket.sent.at(-1)).toEqual({
      jsonrpc: "2.0",
      id: "srq-00000000000a",
      result: { answer: "yes" },
    });
  });

  it("that a handler is busy with are not asked twice, and answered over the new connection", async () => {
    const wire = await attached(
      { s1: 0 },
      { "session.events.since": () => since("s1", [], { open_requests: [question] }) },
    );
    let answer: (reply: Json) => void = () => undefined;
    let calls = 0;
    wire.client.onRequest("clarify", () => {
      calls++;
      return new Promise<Json>((resolve) => (answer = resolve));
    });
    wire.gateway.socket.ask(question.id, question.method, question.params);
    await comeBack(wire, { resumed: true });
    answer({ answer: "no" });
    await settled();
    expect(calls).toBe(1);
    expect(wire.gateway.socket.sent.at(-1)).toMatchObject({ id: question.id, result: { answer: "no" } });
  });

  it("that the server no longer lists are over for the handler", async () => {
    const wire = await attached({ s1: 0 }, { "session.events.since": () => since("s1", []) });
    let signal: AbortSignal | undefined;
    wire.client.onRequest("clarify", (call) => {
      signal = call.signal;
      return new Promise(() => undefined);
    });
    wire.gateway.socket.ask(question.id, question.method, question.params);
    wire.gateway.socket.end();
    redial(wire);
    expect(signal?.aborted).toBe(false);
    wire.gateway.socket.ready({ resumed: true });
    await settled();
    expect(signal?.aborted).toBe(true);
  });
});
