import { describe, expect, it } from "vitest";
import { DrivenAgent, newSession, openHost } from "../../../support/open-host.ts";

describe("session.steer and session.redirect", () => {
  it("offer a text to the turn that runs", async () => {
    const agent = new DrivenAgent({ takes: ({ text }) => text !== "no" });
    const host = await openHost({ agents: { default: agent } });
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const correct = (kind: string, text: string): Promise<object> => a.call(`session.${kind}`, { session_id, text });
    expect(await correct("steer", "early")).toEqual({ status: "rejected", text: "early" });
    expect(await correct("redirect", "early")).toEqual({ status: "rejected", text: "early" });
    await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await agent.turn();
    expect(await correct("steer", "left")).toEqual({ status: "queued", text: "left" });
    turn.delta("ab");
    expect(await correct("redirect", "right")).toEqual({ status: "redirected", text: "right" });
    expect(await correct("steer", "no")).toEqual({ status: "rejected", text: "no" });
    expect(await correct("redirect", "no")).toEqual({ status: "rejected", text: "no" });
    turn.say("c");
    await a.event("message.complete");
    expect(
      a.events("message.input").map(({ payload }) => [payload?.["kind"], payload?.["input"], payload?.["offset"]]),
    ).toEqual([
      ["steer", { role: "user", text: "left" }, 0],
      ["redirect", { role: "user", text: "right" }, 2],
    ]);
    const { messages } = await a.call("session.history", { session_id });
    expect((messages as { text: string }[]).map(({ text }) => text)).toEqual(["go", "left", "right", "abc"]);
  });

  it.each(["steer", "redirect"])("refuse an empty %s before the session is looked up", async (kind) => {
    const host = await openHost();
    const a = await host.connect();
    for (const text of ["", " \n"]) {
      expect(await a.refused(`session.${kind}`, { session_id: "s-nobody", text })).toEqual([4002, "empty_text"]);
    }
    expect(await a.refused(`session.${kind}`, { session_id: "s-nobody", text: "x" })).toEqual([
      4001,
      "unknown_session",
    ]);
    const { session_id } = await newSession(a);
    expect(await a.refused(`session.${kind}`, { session_id, text: "x" })).toEqual([4010, "not_supported"]);
    expect(await a.refused(`session.${kind}`, { session_id })).toEqual([-32602, "invalid_params"]);
  });

  it.each(["steer", "redirect"])("tell of an agent that fails at a %s", async (kind) => {
    const agent = new DrivenAgent({ takes: () => Promise.reject(new Error("the secret reason")) });
    const host = await openHost({ agents: { default: agent } });
    const a = await host.connect();
    const { session_id } = await newSession(a);
    await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await agent.turn();
    const { error } = await a.ask(`session.${kind}`, { session_id, text: "x" });
    expect([error?.code, error?.data]).toEqual([5000, { reason: "runner_failed" }]);
    expect(error?.message).not.toContain("secret reason");
    turn.say("unharmed");
    expect((await a.event("message.complete")).payload).toMatchObject({ status: "complete", text: "unharmed" });
  });
});

describe("session.interrupt", () => {
  it("stops the turn it names, and no other", async () => {
    const host = await openHost();
    const a = await host.connect({ asks: true });
    const { session_id } = await newSession(a);
    const interrupt = (expected?: unknown): Promise<object> =>
      a.call("session.interrupt", {
        session_id,
        ...(expected === undefined ? {} : { expected_hosted_task_id: expected }),
      });
    expect(await interrupt()).toEqual({ status: "not_interrupted" });
    const { turn_id } = await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await host.agent.turn();
    void turn.ask("clarify", { question: "Which?" });
    await a.request("clarify");
    expect(await interrupt("t-another")).toEqual({ status: "not_interrupted" });
    await a.settled();
    expect([turn.turn.signal.aborted, a.events("request.cancel")]).toEqual([false, []]);
    expect((await a.call("session.activate", { session_id }))["open_requests"]).toHaveLength(1);
    expect(await interrupt(turn_id)).toEqual({ status: "interrupted" });
    expect((await a.event("message.complete")).payload?.["status"]).toBe("interrupted");
    expect(turn.turn.signal.reason).toBe("interrupted");
    expect(await interrupt(turn_id)).toEqual({ status: "not_interrupted" });
    expect(await a.refused("session.interrupt", { session_id: "s-nobody" })).toEqual([4001, "unknown_session"]);
  });

  it("lets what waits run next", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    await a.call("prompt.submit", { session_id, text: "one" });
    await host.agent.turn();
    await a.call("prompt.submit", { session_id, text: "two", queued: true });
    expect(await a.call("session.interrupt", { session_id })).toEqual({ status: "interrupted" });
    (await host.agent.turn(1)).say("done");
    expect((await a.event("message.complete", 1)).payload).toMatchObject({ status: "complete", text: "done" });
    expect(host.agent.turns.map(({ text }) => text)).toEqual(["one", "two"]);
  });
});
