import { describe, expect, it } from "vitest";
import { newSession } from "../../../support/open-host.ts";
import { turnsOfLoop, until } from "../../../support/turns-of-loop.ts";
import { holders, wiredRoom, type WiredRoom } from "../../../support/wired-room.ts";

const approval = { command: "rm", tool_id: "c1", tool_name: "run" };
const byPolicy = { outcome: "answered", choice: "once", reason: "policy", by: null };

/** A turn of the room that has asked. */
async function asked(host: WiredRoom, index = 0) {
  await host.tap.room("r1").post({ text: "go", thread_id: `t${index}` });
  const agent = await host.agent.turn(index);
  return { agent, answer: agent.ask("approval", approval) };
}

const open = (host: WiredRoom): number => host.tap.requests.open().length;

describe("the approve policy", () => {
  it("answers a room's approval while nobody is connected", async () => {
    const host = await wiredRoom(["a"], { approve: "once" });
    const { answer } = await asked(host);
    expect(await answer).toMatchObject({ outcome: "answered", choice: "once" });
    const denying = await wiredRoom(["a"], { approve: "deny" });
    expect(await (await asked(denying)).answer).toMatchObject({ outcome: "denied" });
  });

  it("answers while those who are connected may not", async () => {
    const authenticate = holders({ plain: { scopes: ["read", "write"] } });
    const host = await wiredRoom(["a"], { approve: "once", gateway: { authenticate } });
    await host.connect({ token: "plain" });
    expect(await (await asked(host)).answer).toMatchObject({ choice: "once" });
  });

  it("waits for somebody who may answer, until the last of them leaves", async () => {
    const host = await wiredRoom(["a"], { approve: "once" });
    const [one, other] = [await host.connect(), await host.connect()];
    const { answer } = await asked(host);
    await turnsOfLoop(20);
    expect(open(host)).toBe(1);
    await one.drop();
    await other.settled();
    await turnsOfLoop(20);
    expect(open(host)).toBe(1);
    await other.drop();
    expect(await answer).toMatchObject({ choice: "once" });
    await until(() => open(host) === 0);
  });

  it("is no answer any more where a person was first", async () => {
    const host = await wiredRoom(["a"], { approve: "once" });
    const client = await host.connect();
    const { answer } = await asked(host);
    const id = host.tap.requests.open()[0]?.id;
    await client.call("request.answer", { id, result: { choice: "deny" } });
    expect(await answer).toMatchObject({ outcome: "denied" });
    await client.drop();
    expect(host.tap.requests.answer(String(id), "once")).toMatchObject({ status: "already_resolved" });
  });

  it("says that it was the policy, and nobody", async () => {
    const host = await wiredRoom(["a"], { approve: "once" });
    await asked(host);
    const events: unknown[] = [];
    host.tap.observe({
      id: "test",
      kinds: ["request.resolved"],
      grants: ["approvals"],
      handler: ({ payload }) => void events.push(payload),
    });
    await asked(await settled(host), 1);
    await until(() => events.length > 0);
    expect(events[0]).toMatchObject(byPolicy);
  });

  it("never answers approvals of ordinary sessions, and no other question", async () => {
    const host = await wiredRoom(["a"], { approve: "once" });
    const client = await host.connect({ asks: true });
    const { session_id } = await newSession(client);
    await client.call("prompt.submit", { session_id, text: "go" });
    const own = await host.agent.turn();
    void own.ask("approval", approval);
    await client.drop();
    await host.tap.room("r1").post({ text: "go" });
    const agent = await host.agent.turn(1);
    void agent.ask("clarify", { question: "Which?" });
    await turnsOfLoop(20);
    expect(host.tap.requests.open().map(({ method, coordinates }) => [method, coordinates === null])).toEqual([
      ["approval", true],
      ["clarify", false],
    ]);
  });

  it("is told to nobody else: onRequest hears of what it does not answer", async () => {
    const heard: string[] = [];
    const host = await wiredRoom(["a"], { approve: "once", onRequest: ({ method }) => void heard.push(method) });
    const { agent, answer } = await asked(host);
    await answer;
    void agent.ask("clarify", { question: "Which?" });
    await until(() => open(host) === 1);
    expect(heard).toEqual(["clarify"]);
  });
});

/** The room, when its first turn is over. */
async function settled(host: WiredRoom): Promise<WiredRoom> {
  host.agent.turns[0]?.say("done");
  await host.tap.quiet();
  return host;
}
