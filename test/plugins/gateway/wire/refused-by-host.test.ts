import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../../../rooms/sqlite/database.ts";
import { temporaryFolder } from "../../../support/open-log.ts";
import { DrivenAgent, newSession, openHost } from "../../../support/open-host.ts";

describe("a call that cannot be stored", () => {
  it("is refused, and leaves no trace", async () => {
    const db = join(temporaryFolder(), "host.db");
    const host = await openHost({ db, busyTimeoutMs: 50 });
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const other = connect(db);
    onTestFinished(() => void other.close());
    other.exec("BEGIN IMMEDIATE");
    const prompt = { session_id, text: "x", message_id: "k" };
    expect(await a.refused("prompt.submit", prompt)).toEqual([5071, "log_busy"]);
    expect(await a.refused("session.title", { session_id, title: "t" })).toEqual([5071, "log_busy"]);
    expect(await a.refused("session.create")).toEqual([5071, "log_busy"]);
    await a.settled();
    expect([host.agent.turns, a.events(), host.tap.sessions.live.length]).toEqual([[], [], 1]);
    other.exec("ROLLBACK");
    expect(await a.call("session.status", { session_id })).toMatchObject({ status: "idle", queued: 0 });
    expect(await a.call("prompt.submit", prompt)).toMatchObject({ status: "streaming" });
    expect((await host.agent.turn()).text).toBe("x");
  });
});

describe("a host that is closing", () => {
  it("takes no prompts, opens no sessions, and tells how its turns end", async () => {
    const agent = new DrivenAgent({ heedsStop: false });
    const host = await openHost({ agents: { default: agent } });
    const a = await host.connect();
    const { session_id, stored_session_id } = await newSession(a);
    await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await agent.turn();
    turn.delta("half");
    const closing = host.tap.close({ graceMs: 10_000 });
    expect(await a.refused("prompt.submit", { session_id, text: "x" })).toEqual([5035, "shutting_down"]);
    expect(await a.refused("session.resume", { session_id: stored_session_id })).toEqual([5035, "shutting_down"]);
    expect(await a.refused("session.create")).toEqual([5035, "shutting_down"]);
    turn.end({ status: "cancelled" });
    expect((await a.event("message.complete")).payload).toMatchObject({ status: "interrupted", text: "half" });
    expect((await a.event("session.reclaimed")).payload).toEqual({ session_id, stored_session_id, reason: "shutdown" });
    expect(await a.closed).toEqual({ code: 1001, reason: "shutting_down" });
    await closing;
  });
});
