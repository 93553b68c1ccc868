import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../support/open-log.ts";
import { DrivenAgent, newSession, openHost, type CameParams } from "../../../support/open-host.ts";
import { originsOf, wordsOf } from "../../../support/turn-frames.ts";

describe("a turn that a dead host left", () => {
  it("W16 runs again when that is safe, as auto_continue in every frame", async () => {
    const db = join(temporaryFolder(), "host.db");
    const { stored, turn_id } = await leaveTurn(db, new DrivenAgent({ rerun: "safe" }));
    const agent = new DrivenAgent({ rerun: "safe" });
    const host = await openHost({ db, agents: { default: agent } });
    const a = await host.connect();
    const snapshot = await a.call("session.resume", { session_id: stored });
    expect(snapshot).toMatchObject({
      running: true,
      status: "resuming",
      turn_started_at: expect.any(Number),
      last_turn: { turn_id, status: "abandoned", reason_code: "host_lost" },
      inflight: { user: "", assistant: "" },
    });
    const turn = await agent.turn();
    expect(turn.text).toBe("hello");
    turn.say("done");
    await a.event("session.info");
    const { events } = await a.call("session.events.since", { session_id: snapshot["session_id"] });
    const frames = events as readonly CameParams[];
    expect(frames.map(wordsOf)).toEqual([
      "message.start",
      "session.info",
      "message.delta done",
      "message.complete done",
      "session.info",
    ]);
    const turnOnly = frames.slice(0, 4);
    expect(originsOf(turnOnly)).toEqual(["auto_continue"]);
    for (const { turn: told } of turnOnly) expect(told?.source).toEqual({ kind: "auto_continue" });
    expect(turnOnly[0]?.payload).toMatchObject({ input: null });
    expect(turnOnly[0]?.turn?.id).not.toBe(turn_id);
    const { messages } = await a.call("session.history", { session_id: snapshot["session_id"] });
    expect((messages as { role: string; text: string }[]).map(({ role, text }) => [role, text])).toEqual([
      ["user", "hello"],
      ["assistant", "done"],
    ]);
  });

  it("W16 is abandoned when nobody knows that it is safe", async () => {
    const db = join(temporaryFolder(), "host.db");
    const { stored, turn_id } = await leaveTurn(db, new DrivenAgent());
    const host = await openHost({ db });
    const a = await host.connect();
    expect(await a.call("session.resume", { session_id: stored })).toMatchObject({
      running: false,
      status: "idle",
      inflight: null,
      last_turn: { turn_id, status: "abandoned", reason_code: "host_lost" },
      message_count: 1,
    });
    await a.settled();
    expect([host.agent.turns, a.events()]).toEqual([[], []]);
  });

  it("leaves what waited to run next, under its sender's id and key", async () => {
    const db = join(temporaryFolder(), "host.db");
    const { stored, origin } = await leaveTurn(db, new DrivenAgent(), { text: "next", message_id: "k" });
    const host = await openHost({ db });
    const a = await host.connect();
    const { session_id } = await a.call("session.resume", { session_id: stored });
    const turn = await host.agent.turn();
    const again = { session_id, text: "next", message_id: "k" };
    expect(await a.call("prompt.submit", again)).toMatchObject({ status: "duplicate" });
    turn.say("done");
    const last = await a.event("message.complete");
    expect([last.origin, turn.text, host.agent.turns.length]).toEqual([origin, "next", 1]);
    expect(last.turn?.source).toEqual({ kind: "connection", socket_id: origin });
  });
});

describe("a session whose agent the host does not have", () => {
  it("is listed and not opened", async () => {
    const db = join(temporaryFolder(), "host.db");
    const { stored } = await leaveTurn(db, new DrivenAgent());
    const host = await openHost({ db, agents: { another: new DrivenAgent() } });
    const a = await host.connect();
    expect(await a.refused("session.resume", { session_id: stored })).toEqual([5032, "agent_unavailable"]);
    expect(await a.call("session.list")).toMatchObject({ sessions: [{ id: stored }] });
    expect(host.tap.sessions.live).toEqual([]);
  });
});

/**
 * What a host that is killed in the middle of a turn leaves on the disk: the files as they are in that moment.
 * @param waiting a prompt that is queued then
 */
async function leaveTurn(
  db: string,
  agent: DrivenAgent,
  waiting?: object,
): Promise<{ stored: string; turn_id: unknown; origin: string }> {
  const lost = temporaryFolder();
  const host = await openHost({ db: join(lost, "host.db"), agents: { default: agent } });
  const a = await host.connect();
  const { session_id, stored_session_id } = await newSession(a);
  const { turn_id } = await a.call("prompt.submit", { session_id, text: "hello" });
  (await agent.turn()).delta("half");
  await a.event("message.delta");
  if (waiting !== undefined) await a.call("prompt.submit", { session_id, queued: true, ...waiting });
  cpSync(lost, dirname(db), { recursive: true });
  await host.close();
  return { stored: stored_session_id, turn_id, origin: a.origin };
}
