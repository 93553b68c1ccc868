import { describe, expect, it } from "vitest";
import { hostTurns, type LiveSession, type Refused } from "../../../../core/index.ts";
import { runnerOf, says } from "../../../support/held-runner.ts";
import { DrivenAgent, openHost, openPair, type CameParams, type OpenHost } from "../../../support/open-host.ts";
import { originsOf, turnFrames, wordsOf } from "../../../support/turn-frames.ts";
import { until } from "../../../support/turns-of-loop.ts";

describe("the origin of a turn", () => {
  it("W11 is the connection that submitted, in all streams", async () => {
    const host = await openHost();
    const { a, b, session_id } = await openPair(host);
    const { status, turn_id } = await a.call("prompt.submit", { session_id, text: "hello" });
    expect(status).toBe("streaming");
    const { turn } = await host.agent.turn();
    turn.emit({ type: "tool.start", payload: { tool_id: "t1", name: "read" } });
    turn.emit({ type: "subagent.start", payload: {} });
    host.agent.turns[0]?.say("hi");
    for (const client of [a, b]) {
      await client.event("message.complete");
      const frames = turnFrames(client);
      expect(frames.map(wordsOf)).toEqual([
        "message.start",
        "session.info",
        "tool.start",
        "subagent.start",
        "message.delta hi",
        "tool.complete",
        "message.complete hi",
      ]);
      expect(originsOf(frames)).toEqual([a.origin]);
      for (const frame of frames) {
        expect(frame.turn).toEqual({ id: turn_id, source: { kind: "connection", socket_id: a.origin } });
      }
    }
    await b.settled();
    expect(b.came.filter(({ method }) => method === undefined).map(({ id }) => id)).toEqual(["c1", "p2"]);
  });

  it("W12 stays the claimant's when another client redirects it", async () => {
    const agent = new DrivenAgent({ takes: () => true });
    const host = await openHost({ agents: { default: agent } });
    const { a, b, session_id } = await openPair(host);
    const { turn_id } = await a.call("prompt.submit", { session_id, text: "one way" });
    const turn = await agent.turn();
    turn.delta("so");
    const redirected = await b.call("prompt.submit", { session_id, text: "the other way" });
    expect(redirected).toEqual({
      status: "redirected",
      turn_id,
      submission: { input_id: expect.stringMatching(/^in-[0-9a-f]{16}$/), disposition: "redirected" },
    });
    expect(agent.corrections).toEqual([{ kind: "redirect", text: "the other way" }]);
    turn.say(" or so");
    for (const client of [a, b]) {
      await client.event("message.complete");
      const frames = turnFrames(client);
      expect(frames.map(wordsOf).slice(2)).toEqual([
        "message.delta so",
        "message.input",
        "message.delta  or so",
        "message.complete so or so",
      ]);
      expect(originsOf(frames)).toEqual([a.origin]);
    }
    expect(agent.turns).toHaveLength(1);
  });

  it("W13 changes with the next turn only, whatever is queued or refused", async () => {
    const host = await openHost();
    const { a, b, session_id } = await openPair(host);
    await a.call("prompt.submit", { session_id, text: "first" });
    const turn = await host.agent.turn();
    const queued = await b.call("prompt.submit", { session_id, text: "second", queued: true });
    expect(queued).toMatchObject({ status: "queued", submission: { disposition: "queued" } });
    for (let entry = 1; entry < 32; entry++) {
      await b.call("prompt.submit", { session_id, text: [{ type: "text", text: `more ${entry}` }], queued: true });
    }
    const refused = await b.refused("prompt.submit", {
      session_id,
      text: [{ type: "text", text: "33" }],
      queued: true,
    });
    expect(refused).toEqual([4090, "queue_full"]);
    turn.say("done");
    (await host.agent.turn(1)).say("done too");
    await a.event("message.complete", 1);
    expect(originsOf(turnFrames(a, 0))).toEqual([a.origin]);
    expect(originsOf(turnFrames(a, 1))).toEqual([b.origin]);
    expect(turnFrames(a, 1)[0]?.payload?.["input"]).toEqual({ role: "user", text: "second" });
    expect(host.agent.turns[1]?.text).toBe("second");
  });

  it("W14 is that of the queued prompt's sender, who has gone", async () => {
    const host = await openHost();
    const { a, b, session_id } = await openPair(host);
    await a.call("prompt.submit", { session_id, text: "first" });
    const turn = await host.agent.turn();
    await b.call("prompt.submit", { session_id, text: "second", queued: true });
    const { origin } = b;
    b.ws.close();
    await b.closed;
    await until(() => host.gateway.connections === 1);
    turn.say("done");
    (await host.agent.turn(1)).say("done too");
    await a.event("message.complete", 1);
    expect(originsOf(turnFrames(a, 1))).toEqual([origin]);
    expect(turnFrames(a, 1)[0]?.turn?.source).toEqual({ kind: "connection", socket_id: origin });
  });

  it("W15 is one client's: texts of two are never merged", async () => {
    const host = await openHost();
    const { a, b, session_id } = await openPair(host);
    await a.call("prompt.submit", { session_id, text: "first" });
    const turn = await host.agent.turn();
    const dispositions: unknown[] = [];
    for (const [client, text] of [
      [a, "a1"],
      [b, "b1"],
      [a, "a2"],
      [b, "b2"],
    ] as const) {
      const { submission } = await client.call("prompt.submit", { session_id, text, queued: true });
      dispositions.push((submission as { disposition: string }).disposition);
    }
    expect(dispositions).toEqual(["queued", "queued", "merged", "merged"]);
    turn.say("done");
    (await host.agent.turn(1)).say("for a");
    (await host.agent.turn(2)).say("for b");
    await a.event("message.complete", 2);
    expect(host.agent.turns.map(({ text }) => text)).toEqual(["first", "a1\n\na2", "b1\n\nb2"]);
    expect(originsOf(turnFrames(a, 1))).toEqual([a.origin]);
    expect(originsOf(turnFrames(a, 2))).toEqual([b.origin]);
    expect(turnFrames(a, 2)[0]?.payload).toEqual({
      input: { role: "user", text: "b1\n\nb2" },
      inputs: [{ id: expect.any(String) }, { id: expect.any(String) }],
      inputs_complete: true,
    });
    await a.settled();
    expect(host.agent.turns).toHaveLength(3);
  });

  it.each(hostTurns)('W17 is "host" when the host starts one: %s', async (sub) => {
    const host = await openHost();
    const { a, session_id } = await openPair(host);
    await a.call("prompt.submit", { session_id, text: "by a" });
    (await host.agent.turn()).say("done");
    await a.event("message.complete");
    const started = await live(host, session_id).startHostTurn(sub, "wake up");
    (await host.agent.turn(1)).say("awake");
    await a.event("message.complete", 1);
    const frames = turnFrames(a, 1);
    expect(frames.map(wordsOf)).toEqual([
      "message.start",
      "session.info",
      "message.delta awake",
      "message.complete awake",
    ]);
    expect(originsOf(frames)).toEqual(["host"]);
    for (const { turn } of frames) expect(turn).toEqual({ id: turnIdOf(started), source: { kind: "host", sub } });
    expect(frames[0]?.payload).toEqual({ input: null, inputs: [], inputs_complete: true });
  });

  it('W17 is "host" in a later round of a room that A posted to', async () => {
    const members = [
      { handle: "x", runner: says("ask @y") },
      { handle: "y", runner: runnerOf(() => ({ status: "passed" })) },
    ];
    const host = await openHost({ rooms: [{ room_id: "r1", members }] });
    const a = await host.connect();
    await a.call("rooms.subscribe", { room_id: "r1" });
    await a.call("groups.send", { room_id: "r1", payload: { text: "@x well?" } });
    await a.message(({ params }) => startOf(params)?.member_id === "m-y");
    const starts = a.events("room.log").flatMap((event) => startOf(event) ?? []);
    expect(starts.map(({ member_id, payload }) => [member_id, payload.origin]).slice(0, 2)).toEqual([
      ["m-x", a.origin],
      ["m-y", "host"],
    ]);
  });
});

/** The row that a `room.log` event tells, when it is the start of a turn. */
function startOf(event: CameParams | undefined): { member_id: string; payload: { origin: unknown } } | undefined {
  const row = event?.type === "room.log" ? event.payload : undefined;
  return row?.["kind"] === "turn.started" ? (row as ReturnType<typeof startOf>) : undefined;
}

function live(host: OpenHost, session_id: string): LiveSession {
  const found = host.tap.sessions.byRuntimeId(session_id);
  if (found === undefined) throw new Error(`no session ${session_id}`);
  return found;
}

function turnIdOf(started: { readonly turn_id: string } | Refused): string {
  if ("refused" in started) throw new Error(started.refused);
  return started.turn_id;
}
