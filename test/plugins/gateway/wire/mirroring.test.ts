import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { HermesClient } from "../../../support/hermes-client.ts";
import { DrivenAgent, newSession, openHost } from "../../../support/open-host.ts";
import { loopClock } from "../../../support/open-log.ts";
import { turnFrames, wordsOf } from "../../../support/turn-frames.ts";
import { turnsOfLoop, until } from "../../../support/turns-of-loop.ts";

describe("the client of others", () => {
  it("W3 connects, says what it takes, and is kept alive", async () => {
    const clock = loopClock();
    const host = await openHost({ clock });
    const sent: string[] = [];
    const got: string[] = [];
    class Watched extends WebSocket {
      constructor(url: string) {
        super(url);
        this.on("message", (data: Buffer) => void got.push(data.toString()));
      }

      override send(text: string): void {
        sent.push(text);
        super.send(text);
      }
    }
    const client = new HermesClient(Watched, clock);
    await client.connect(host.url);
    expect(client.state).toBe("open");
    await until(() => got.length === 2);
    expect(JSON.parse(sent[0] ?? "")).toMatchObject({ id: "r1", method: "client.capabilities" });
    const { id, result } = JSON.parse(got[1] ?? "");
    expect([id, result.server_requests.slice(0, 4)]).toEqual(["r1", ["approval", "clarify", "secret", "sudo"]]);
    clock.advance(15_000);
    await until(() => got.length === 3);
    expect(JSON.parse(got[2] ?? "")).toEqual({ jsonrpc: "2.0", id: "heartbeat-1", result: { ok: true } });
    client.close();
    await turnsOfLoop(1);
  });
});

describe("those who are attached to one session", () => {
  it("W24 see what was typed and what steered it; hidden words nobody sees", async () => {
    const agent = new DrivenAgent({ takes: () => true });
    const host = await openHost({ agents: { default: agent } });
    const [a, b] = [await host.connect(), await host.connect()];
    const { session_id } = await newSession(a);
    await b.call("session.activate", { session_id });
    await a.call("prompt.submit", { session_id, text: "x", submission_ref: "ref-1" });
    const turn = await agent.turn();
    turn.delta("so 😀");
    expect(await b.call("session.steer", { session_id, text: "y" })).toEqual({ status: "queued", text: "y" });
    turn.end();
    await a.event("message.complete");
    await a.call("prompt.submit", { session_id, text: "do not tell", display_kind: "hidden" });
    (await agent.turn(1)).say("told");
    for (const client of [a, b]) {
      await client.event("message.complete", 1);
      const [first, second] = [turnFrames(client, 0), turnFrames(client, 1)];
      expect(first[0]?.payload).toEqual({
        input: { role: "user", text: "x" },
        inputs: [{ id: expect.stringMatching(/^in-[0-9a-f]{16}$/), ref: "ref-1" }],
        inputs_complete: true,
      });
      expect(first.map(wordsOf).slice(2)).toEqual(["message.delta so 😀", "message.input", "message.complete so 😀"]);
      expect(first[3]?.payload).toEqual({
        kind: "steer",
        input: { role: "user", text: "y" },
        inputs: [{ id: expect.stringMatching(/^in-[0-9a-f]{16}$/) }],
        inputs_complete: true,
        offset: 4,
      });
      expect(second[0]?.payload).toMatchObject({ input: null, inputs: [{ id: expect.any(String) }] });
      expect(JSON.stringify(client.came)).not.toContain("do not tell");
    }
    expect(agent.turns[1]?.text).toBe("do not tell");
  });

  it("W25 are told by watching whether another is there", async () => {
    const host = await openHost();
    const [a, b, c] = [await host.connect(), await host.connect(), await host.connect()];
    const stored = await newSession(a);
    const resumed = { session_id: stored.stored_session_id };
    expect((await b.call("session.resume", resumed))["watching"]).toBe(true);
    await b.drop();
    await until(() => host.gateway.connections === 2);
    expect((await a.call("session.resume", resumed))["watching"]).toBe(false);
    expect(await a.call("session.close", { session_id: stored.session_id })).toEqual({ closed: true, left: true });
    await a.event("session.reclaimed");
    expect((await c.call("session.resume", { ...resumed, lazy: true }))["watching"]).toBe(false);
  });

  it("W26 are found again by the runtime id, also when its maker has gone", async () => {
    const host = await openHost();
    const [a, b] = [await host.connect(), await host.connect()];
    const { session_id } = await newSession(a);
    expect((await b.call("session.activate", { session_id }))["watching"]).toBe(true);
    a.ws.close();
    await a.closed;
    await until(() => host.gateway.connections === 1);
    expect((await b.call("session.activate", { session_id }))["watching"]).toBe(false);
  });

  it("C-021 each have the frames of their own time", async () => {
    const host = await openHost();
    const owner = { client_id: null, principal: "local" };
    const live = await host.tap.sessions.create({ owner });
    if ("refused" in live) throw new Error(live.refused);
    const { durableId: stored } = live.session;
    const [a, b] = [await host.connect(), await host.connect()];
    expect((await a.call("session.resume", { session_id: stored }))["watching"]).toBe(false);
    const joined = await b.call("session.resume", { session_id: stored });
    expect(joined["watching"]).toBe(true);
    await b.call("prompt.submit", { session_id: joined["session_id"], text: "go" });
    const turn = await host.agent.turn();
    for (const text of ["1", "2", "3"]) turn.delta(text);
    await b.event("message.delta", 2);
    b.ws.close();
    await b.closed;
    await until(() => host.gateway.connections === 1);
    turn.say("4");
    await a.event("session.info", 1);
    expect(a.events().map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(b.events().map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(a.told().filter((word) => word.startsWith("<-"))).toEqual(["<- c1"]);
    expect(live.isBusy).toBe(false);
    expect((await a.call("session.activate", { session_id: joined["session_id"] }))["watching"]).toBe(false);
  });
});
