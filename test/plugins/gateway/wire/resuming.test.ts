import { describe, expect, it } from "vitest";
import { limits, type LiveSession } from "../../../../core/index.ts";
import {
  DrivenAgent,
  newSession,
  openHost,
  type Came,
  type HostClient,
  type OpenHost,
} from "../../../support/open-host.ts";
import { until } from "../../../support/turns-of-loop.ts";

describe("session.resume", () => {
  it("W9 ignores what it does not know", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { stored_session_id } = await newSession(a, { title: "notes" });
    const [plain, mirrored] = [
      await a.call("session.resume", { session_id: stored_session_id }),
      await a.call("session.resume", { session_id: stored_session_id, mirror: true }),
    ];
    expect(mirrored).toEqual(plain);
    expect(plain["stored_session_id"]).toBe(stored_session_id);
  });

  it("C-028 says by itself that nothing runs, and how the last turn ended", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id, stored_session_id } = await newSession(a);
    const { turn_id } = await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await host.agent.turn();
    for (const text of ["1", "2", "3"]) turn.delta(text);
    await a.event("message.delta", 2);
    expect(a.events().at(-1)?.seq).toBe(5);
    const running = await (await host.connect()).call("session.resume", { session_id: stored_session_id });
    expect(running).toMatchObject({
      running: true,
      status: "streaming",
      turn_started_at: expect.any(Number),
      last_turn: null,
      inflight: { user: "go", assistant: "123", streaming: true, corrections: [], correction_offsets: [] },
    });
    await a.drop();
    turn.delta("4");
    turn.delta("5");
    turn.end();
    await until(() => liveOf(host, session_id).turnId === null);
    expect(liveOf(host, session_id).session.seq).toBe(9);
    await fillRing(liveOf(host, session_id));
    const again = await host.connect();
    const resumed = await again.call("session.resume", { session_id: stored_session_id, last_seen: 5 });
    expect(resumed).toMatchObject({
      running: false,
      status: "idle",
      turn_started_at: null,
      inflight: null,
      last_turn: { turn_id, status: "completed", reason_code: null },
      open_requests: [],
      truncated: true,
      latest_seq: liveOf(host, session_id).session.seq,
    });
    expect((resumed["messages"] as { text: string }[]).map(({ text }) => text)).toEqual(["go", "12345"]);
  });

  it("C-029 of many in one tick opens one runtime", async () => {
    const agent = new DrivenAgent();
    const host = await openHost({ agents: { default: agent } });
    const maker = await host.connect();
    const { session_id, stored_session_id } = await newSession(maker);
    await maker.call("session.close", { session_id });
    await maker.event("session.reclaimed");
    let opened = 0;
    host.tap.sessions.on("opened", () => opened++);
    const clients = await Promise.all(Array.from({ length: 11 }, () => host.connect()));
    const ids = (replies: readonly { session_id?: unknown }[]): Set<unknown> =>
      new Set(replies.map((each) => each.session_id));
    const resume = (client: HostClient): Promise<object> =>
      client.call("session.resume", { session_id: stored_session_id });
    const first = ids(await Promise.all(clients.slice(0, 10).map(resume)));
    expect([first.size, first.has(session_id), opened]).toEqual([1, false, 1]);
    for (const client of clients.slice(0, 5)) client.ws.close();
    const last = clients[10] as HostClient;
    const late = ids([await resume(last)]);
    expect([[...late], opened, host.tap.sessions.live.length]).toEqual([[...first], 1, 1]);
    await until(() => host.gateway.connections === 7);
    await last.call("prompt.submit", { session_id: [...first][0], text: "go" });
    (await agent.turn()).say("done");
    await last.event("message.complete");
    expect([agent.turns.length, last.events("message.complete").length]).toEqual([1, 1]);
    const other = clients[6] as HostClient;
    await other.event("message.complete");
    expect(other.events("message.start")).toHaveLength(1);
  });

  it("C-030 is what an old runtime id asks for, whatever is called by it", async () => {
    const agent = new DrivenAgent({ takes: () => true });
    const host = await openHost({ agents: { default: agent } });
    const a = await host.connect({ asks: true });
    const { session_id, stored_session_id } = await newSession(a);
    await a.call("prompt.submit", { session_id, text: "first" });
    const turn = await agent.turn();
    void turn.ask("approval", { tool_name: "rm", command: "rm x" });
    void turn.ask("clarify", { questions: [{ qid: "q1", question: "Which?" }] });
    const asked = [await a.request("approval"), await a.request("clarify")] as const;
    await host.tap.sessions.close(liveOf(host, session_id), "idle_timeout");
    const reclaimed = await a.event("session.reclaimed");
    expect(reclaimed.payload).toEqual({ session_id, stored_session_id, reason: "idle_timeout" });

    const gone = (came: Came): unknown => [came.error?.code, came.error?.data];
    const known = [4001, { reason: "unknown_session", stored_session_id }];
    expect(gone(await a.ask("prompt.submit", { session_id, text: "again" }))).toEqual(known);
    for (const kind of ["steer", "redirect"]) {
      expect(gone(await a.ask(`session.${kind}`, { session_id, text: "left" }))).toEqual(known);
    }
    for (const method of ["interrupt", "activate", "history", "status", "usage", "title"]) {
      expect([method, gone(await a.ask(`session.${method}`, { session_id }))]).toEqual([method, known]);
    }
    expect(await a.call("session.close", { session_id })).toEqual({ closed: false });
    const outcome = { outcome: "cancelled", reason: "session_closed", by: null };
    const { request_id } = asked[0].params as { request_id?: unknown };
    expect(await a.call("approval.respond", { session_id, request_id, choice: "once" })).toEqual({
      resolved: 0,
      status: "already_resolved",
      outcome,
    });
    expect(await a.call("request.answer", { id: asked[0].id, result: { choice: "once" } })).toEqual({
      status: "already_resolved",
      outcome,
    });
    const lock = { request_id: asked[1].id, question_id: "q1", answer: "this" };
    expect(await a.call("clarify.lock", lock)).toEqual({ status: "already_resolved", remaining: [], outcome });

    const resumed = await a.call("session.resume", { session_id: stored_session_id });
    expect(resumed["session_id"]).not.toBe(session_id);
    expect(resumed).toMatchObject({ queue: [], last_turn: { status: "cancelled" } });
    await a.call("prompt.submit", { session_id: resumed["session_id"], text: "again" });
    (await agent.turn(1)).say("done");
    await a.event("message.complete", 1);
    await a.settled();
    expect(agent.turns.map(({ text }) => text)).toEqual(["first", "again"]);
  });
});

/** Frames without a turn until nothing older is kept. */
async function fillRing(live: LiveSession): Promise<void> {
  for (let title = 0; title <= limits.maxReplayEvents / 2; title++) (await live.setTitle(`title ${title}`)).begin();
}

function liveOf(host: OpenHost, session_id: string): LiveSession {
  const live = host.tap.sessions.byRuntimeId(session_id);
  if (live === undefined) throw new Error(`no session ${session_id}`);
  return live;
}
