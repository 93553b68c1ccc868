import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../core/index.ts";
import { DrivenAgent, newSession, openHost, type DrivenTurn, type HostClient } from "../../../support/open-host.ts";

/** One attached client that is asked, and the turn that runs for it. */
interface Scene {
  readonly agent: DrivenAgent;
  readonly a: HostClient;
  readonly session_id: string;
  readonly turn: DrivenTurn;
}

async function openScene(takes: boolean, busyMode: "interrupt" | "steer" = "interrupt"): Promise<Scene> {
  const agent = new DrivenAgent({ takes: () => takes });
  const host = await openHost({ busyMode, agents: { default: agent } });
  const a = await host.connect({ asks: true });
  const { session_id } = await newSession(a);
  await a.call("prompt.submit", { session_id, text: "first" });
  return { agent, a, session_id, turn: await agent.turn() };
}

/** What came from the call on, up to the event `last`; its reply is `reply`. */
async function behindCall(
  a: HostClient,
  call: readonly [method: string, params: JsonObject],
  last: string,
): Promise<string[]> {
  await a.settled();
  const from = a.came.length;
  const [method, params] = call;
  const reply = await a.ask(method, params);
  expect(reply.error).toBeUndefined();
  const end = await a.message(({ params: told }) => told?.type === last, from);
  return a.came
    .slice(from, a.came.indexOf(end) + 1)
    .map((came) => (came === reply ? "reply" : String(came.params?.type ?? came.method)));
}

const batch = {
  questions: [
    { qid: "q1", question: "Where?" },
    { qid: "q2", question: "When?" },
  ],
};

describe("what a call caused comes behind its reply", () => {
  it("of prompt.submit, idle", async () => {
    const { a, session_id, turn } = await openScene(true);
    turn.say("ok");
    await a.event("message.complete");
    const call = ["prompt.submit", { session_id, text: "x" }] as const;
    expect(await behindCall(a, call, "session.info")).toEqual(["reply", "message.start", "session.info"]);
  });

  it.each([
    ["redirected", true, "interrupt", {}, ["reply", "message.input"]],
    ["steered", true, "steer", {}, ["reply", "message.input"]],
    ["queued", true, "interrupt", { queued: true }, ["reply", "session.info"]],
  ] as const)("of prompt.submit, %s", async (_word, takes, mode, more, expected) => {
    const { a, session_id } = await openScene(takes, mode);
    const call = ["prompt.submit", { session_id, text: "x", ...more }] as const;
    expect(await behindCall(a, call, expected[1])).toEqual(expected);
  });

  it("of prompt.submit that stops the turn, and follows it", async () => {
    const { a, session_id, turn } = await openScene(false);
    turn.emit("tool.start", { tool_id: "t1", name: "read" });
    const call = ["prompt.submit", { session_id, text: "x" }] as const;
    expect(await behindCall(a, call, "message.start")).toEqual([
      "reply",
      "session.info",
      "tool.complete",
      "message.complete",
      "message.start",
    ]);
  });

  it.each(["steer", "redirect"])("of session.%s", async (kind) => {
    const { a, session_id } = await openScene(true);
    const call = [`session.${kind}`, { session_id, text: "x" }] as const;
    expect(await behindCall(a, call, "message.input")).toEqual(["reply", "message.input"]);
  });

  it("of session.interrupt", async () => {
    const { a, session_id, turn } = await openScene(true);
    turn.emit("tool.start", { tool_id: "t1", name: "read" });
    void turn.ask("clarify", { question: "Which?" });
    await a.request("clarify");
    expect(await behindCall(a, ["session.interrupt", { session_id }], "session.info")).toEqual([
      "reply",
      "request.cancel",
      "request.resolved",
      "tool.complete",
      "message.complete",
      "session.info",
    ]);
  });

  it("of session.title", async () => {
    const { a, session_id } = await openScene(true);
    const call = ["session.title", { session_id, title: "x" }] as const;
    expect(await behindCall(a, call, "session.info")).toEqual(["reply", "session.title", "session.info"]);
  });

  it("of session.close", async () => {
    const { a, session_id, turn } = await openScene(true);
    void turn.ask("clarify", { question: "Which?" });
    await a.request("clarify");
    expect(await behindCall(a, ["session.close", { session_id }], "session.reclaimed")).toEqual([
      "reply",
      "request.cancel",
      "request.resolved",
      "message.complete",
      "session.info",
      "session.reclaimed",
    ]);
  });

  it("of clarify.lock, the last one too", async () => {
    const { a, turn } = await openScene(true);
    void turn.ask("clarify", batch).then(() => turn.say("thanks"));
    const { id: request_id } = await a.request("clarify");
    const lock = (question_id: string): [string, JsonObject] => [
      "clarify.lock",
      { request_id, question_id, answer: "x" },
    ];
    expect(await behindCall(a, lock("q1"), "request.update")).toEqual(["reply", "request.update"]);
    expect(await behindCall(a, lock("q2"), "message.complete")).toEqual([
      "reply",
      "request.cancel",
      "request.resolved",
      "message.delta",
      "message.complete",
    ]);
  });

  it("of request.answer", async () => {
    const { a, turn } = await openScene(true);
    void turn.ask("clarify", { question: "Which?" }).then(() => turn.say("thanks"));
    const { id } = await a.request("clarify");
    const told = await behindCall(a, ["request.answer", { id, result: { answer: "x" } }], "message.complete");
    expect(told).toEqual(["reply", "request.cancel", "request.resolved", "message.delta", "message.complete"]);
  });

  it("of approval.respond", async () => {
    const { a, session_id, turn } = await openScene(true);
    void turn.ask("approval", { tool_name: "rm", command: "rm x" }).then(() => turn.say("done"));
    const { params } = await a.request("approval");
    const call = ["approval.respond", { session_id, request_id: params?.["request_id"], choice: "once" }] as const;
    const told = await behindCall(a, call, "message.complete");
    expect(told).toEqual(["reply", "request.cancel", "request.resolved", "message.delta", "message.complete"]);
  });
});
