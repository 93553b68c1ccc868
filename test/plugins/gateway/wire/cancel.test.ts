import { describe, expect, it } from "vitest";
import { newSession, openHost, type HostClient } from "../../../support/open-host.ts";
import { wordsOf } from "../../../support/turn-frames.ts";

const batch = {
  questions: [
    { qid: "q1", question: "Where?" },
    { qid: "q2", question: "When?" },
  ],
};

describe("the end of a turn that is cancelled", () => {
  it("C-035 withdraws what is open, ends its tools, and comes last", async () => {
    const host = await openHost();
    const a = await host.connect({ asks: true });
    const { session_id } = await newSession(a);
    const other = await newSession(a);
    await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await host.agent.turn();
    await a.call("prompt.submit", { session_id: other.session_id, text: "go too" });
    const kept = (await host.agent.turn(1)).ask("sudo", { command: "ls" });
    turn.emit("tool.start", { tool_id: "t1", name: "read" });
    const asked = [
      turn.ask("secret", { env_var: "KEY" }),
      turn.ask("clarify", batch),
      turn.ask("clarify", { question: "Really?" }),
    ];
    const ids = [(await a.request("secret")).id, (await a.request("clarify")).id, (await a.request("clarify", 1)).id];
    await a.request("sudo");
    const locked = await a.call("clarify.lock", { request_id: ids[1], question_id: "q1", answer: "here" });
    expect(locked).toEqual({ status: "ok", remaining: ["q2"] });
    const from = a.came.length;
    expect(await a.call("session.interrupt", { session_id })).toEqual({ status: "interrupted" });
    await a.event("message.complete");
    const behind = eventsFrom(a, from, session_id);
    expect(behind.map(wordsOf)).toEqual([
      ...[
        "request.cancel",
        "request.resolved",
        "request.cancel",
        "request.resolved",
        "request.cancel",
        "request.resolved",
      ],
      "tool.complete",
      "message.complete ",
    ]);
    const cancels = behind.filter(({ type }) => type === "request.cancel");
    expect(cancels.map(({ payload }) => [payload?.["id"], payload?.["reason"]])).toEqual(
      ids.map((id) => [id, "interrupted"]),
    );
    for (const { payload } of behind.filter(({ type }) => type === "request.resolved")) {
      expect(payload).toMatchObject({ outcome: "cancelled", reason: "interrupted", by: null });
    }
    expect(behind.at(-2)?.payload).toEqual({ tool_id: "t1", name: "read", outcome: "interrupted" });
    expect(behind.at(-1)?.payload).toEqual({ text: "", status: "interrupted", usage: null });
    const withdrawn = { outcome: "cancelled", reason: "interrupted", by: null };
    expect(await Promise.all(asked)).toEqual([withdrawn, withdrawn, withdrawn]);
    const { open_requests } = await a.call("session.activate", { session_id });
    expect(open_requests).toEqual([]);
    const elsewhere = await a.call("session.activate", { session_id: other.session_id });
    expect(elsewhere["open_requests"]).toMatchObject([{ method: "sudo" }]);
    a.send({ jsonrpc: "2.0", id: (await a.request("sudo")).id, result: { value: "pw" } });
    expect((await kept).outcome).toBe("answered");
  });

  it("C-035 is not brought about by a denial, which ends its own tool alone", async () => {
    const host = await openHost();
    const a = await host.connect({ asks: true });
    const { session_id } = await newSession(a);
    await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await host.agent.turn();
    for (const tool_id of ["t1", "t2"]) turn.emit("tool.start", { tool_id, name: "rm" });
    const denied = turn.ask("approval", { tool_id: "t1", tool_name: "rm", command: "rm x" });
    const { id } = await a.request("approval");
    const from = a.came.length;
    a.send({ jsonrpc: "2.0", id, result: { choice: "deny" } });
    expect(await denied).toMatchObject({ outcome: "denied", choice: "deny", by: { origin: a.origin } });
    await a.event("tool.complete");
    expect(turn.emit("tool.complete", { tool_id: "t2", name: "rm", outcome: "ok" })).toBe("written");
    turn.say("one of two");
    await a.event("message.complete");
    expect(eventsFrom(a, from, session_id).map(wordsOf)).toEqual([
      "request.resolved",
      "tool.complete",
      "tool.complete",
      "message.delta one of two",
      "message.complete one of two",
    ]);
    expect(a.events("tool.complete").map(({ payload }) => [payload?.["tool_id"], payload?.["outcome"]])).toEqual([
      ["t1", "denied"],
      ["t2", "ok"],
    ]);
  });
});

/** Events of a session from a place in what came, up to `message.complete`. */
function eventsFrom(client: HostClient, from: number, session_id: string): ReturnType<HostClient["events"]> {
  const events = client.came
    .slice(from)
    .flatMap(({ method, params }) => (method === "event" && params ? [params] : []));
  const own = events.filter((event) => event.session_id === session_id);
  return own.slice(0, own.findIndex(({ type }) => type === "message.complete") + 1);
}
