import { describe, expect, it } from "vitest";
import { personSays, type FakeTurnOptions } from "../../support/fake-turn.ts";
import { ask, openTold, plays, told, tool, toolUpdate } from "../../support/told-agent.ts";
import { runnerContract } from "./runner.contract.ts";

runnerContract("acp", () => openTold().runner, {
  streams: told({ say: "Hello " }, { say: "room" }),
  usesTool: told(
    tool({ toolCallId: "t1", title: "read_file", rawInput: { path: "a.md" } }),
    toolUpdate({ toolCallId: "t1", status: "completed", rawOutput: "text" }),
  ),
  asks: told(ask({ toolCallId: "t1", title: "Clean", rawInput: { command: "rm -rf build" } }), { say: "on" }),
  waits: told({ say: "waiting" }, { hang: true }),
  dies: told({ say: "x" }, { exit: 1 }),
  fails: told({ refuse: { code: -32603, message: "Internal error", data: { details: "boom" } } }),
});

describe("an ACP agent's tools", () => {
  it.each([
    ["once", "yes", "completed", "ok"],
    ["deny", "no", "failed", "error"],
  ])("C-006 a permission opens a call nobody announced: %s", async (choice, optionId, status, outcome) => {
    const { runner } = openTold();
    const call = { toolCallId: "X", title: "Write a.md", kind: "edit", rawInput: { path: "a.md" } };
    const turn = plays([ask(call), toolUpdate({ toolCallId: "X", status })], { choice });
    expect(await runner.run(turn)).toEqual({ status: "completed", usage: null });
    expect(turn.frames).toEqual([
      { type: "tool.start", payload: { tool_id: "X", name: "Write a.md", args: { path: "a.md" } } },
      { type: "message.delta", payload: { text: optionId } },
      { type: "tool.complete", payload: { tool_id: "X", name: "Write a.md", outcome } },
    ]);
    expect(turn.questions).toEqual([
      {
        method: "approval",
        params: { tool_id: "X", tool_name: "Write a.md", command: "Write a.md", choices: ["once", "deny"] },
      },
    ]);
  });

  it("C-006 an update that is the first mention of a call opens it", async () => {
    const { runner } = openTold();
    const turn = plays([toolUpdate({ toolCallId: "X", title: "Late", status: "completed", rawOutput: 1 })]);
    await runner.run(turn);
    expect(turn.frames).toEqual([
      { type: "tool.start", payload: { tool_id: "X", name: "Late" } },
      { type: "tool.complete", payload: { tool_id: "X", name: "Late", outcome: "ok", result: 1 } },
    ]);
  });

  it.each([1, 3, 4, 64])("C-007 pairs %i parallel calls with long ids by the full id", async (count) => {
    const { runner } = openTold();
    const ids = Array.from(
      { length: count },
      (_, at) => `${"call-".repeat(16).slice(0, 78)}${String(at).padStart(2, "0")}`,
    );
    const failed = new Set(count === 64 ? [ids[5], ids[40]] : []);
    // 37 and 64 have no common divisor, so this is an order of its own for each count.
    const shuffled = ids.toSorted((a, b) => ((ids.indexOf(a) * 37) % 64) - ((ids.indexOf(b) * 37) % 64)).toReversed();
    const turn = plays([
      ...ids.map((toolCallId) => tool({ toolCallId, title: `tool ${toolCallId.slice(-2)}` })),
      ...shuffled.map((toolCallId) =>
        toolUpdate({ toolCallId, status: failed.has(toolCallId) ? "failed" : "completed" }),
      ),
    ]);
    await runner.run(turn);
    const ends = turn.frames.filter((frame) => frame.type === "tool.complete").map((frame) => frame.payload);
    expect(
      turn.frames.filter((frame) => frame.type === "tool.start").map((frame) => frame.payload?.["tool_id"]),
    ).toEqual(ids);
    expect(ends).toEqual(
      shuffled.map((id) => ({
        tool_id: id,
        name: `tool ${id.slice(-2)}`,
        outcome: failed.has(id) ? "error" : "ok",
      })),
    );
  });

  it("an update of an unknown type before the first text passes", async () => {
    const { runner } = openTold();
    const turn = plays([{ update: { sessionUpdate: "mood_update", mood: "calm" } }, { say: "hi" }]);
    expect(await runner.run(turn)).toMatchObject({ status: "completed" });
    expect(turn.frames).toEqual([
      { type: "acp.mood_update", payload: { sessionUpdate: "mood_update", mood: "calm" } },
      { type: "message.delta", payload: { text: "hi" } },
    ]);
  });
});

describe("an ACP agent's permissions", () => {
  it("sixteen open at once are answered each by its own", async () => {
    const { runner } = openTold();
    const turns = Array.from({ length: 16 }, (_, at) =>
      plays([ask({ toolCallId: `c${at}`, title: "Do" })], {
        member: `m-${at}`,
        choice: at % 2 === 0 ? "once" : "deny",
      }),
    );
    await Promise.all(turns.map((turn) => runner.run(turn)));
    expect(turns.map((turn) => turn.text)).toEqual(turns.map((_, at) => (at % 2 === 0 ? "yes" : "no")));
  });

  it("one that expired goes back as cancelled", async () => {
    const { runner } = openTold();
    const turn = plays([ask({ toolCallId: "X", title: "Do" })], { outcome: "expired" });
    await runner.run(turn);
    expect(turn.text).toBe("cancelled");
  });

  it("a turn stopped while one is open is cancelled, though the agent reports end_turn", async () => {
    const { runner } = openTold();
    const turn = plays([ask({ toolCallId: "X", title: "Do" }), { stop: "end_turn" }]);
    const running = runner.run(turn);
    await turn.asked();
    turn.stop();
    expect(await running).toEqual({ status: "cancelled" });
    expect(turn.text).toBe("cancelled");
  });
});

describe("an ACP agent's sessions", () => {
  it("keeps one session for a member and thread over its turns", async () => {
    const { runner } = openTold();
    const texts: string[] = [];
    for (const [member, thread] of [
      ["m1", "main"],
      ["m2", "main"],
      ["m1", "side"],
      ["m1", "main"],
    ]) {
      const turn = plays([{ session: true }], { member, thread } as FakeTurnOptions);
      await runner.run(turn);
      texts.push(turn.text);
    }
    expect(texts).toEqual(["s1", "s2", "s3", "s1"]);
  });

  it("gives a new session the earlier entries, once", async () => {
    const { runner } = openTold();
    const options = { earlier: [personSays("before")] };
    const first = plays([{ prompt: true }], options);
    await runner.run(first);
    const second = plays([{ prompt: true }], options);
    await runner.run(second);
    const news = `Ada: ${told({ prompt: true })}`;
    expect(first.text).toBe(`[Earlier in this conversation]\n\nAda: before\n\n[New messages]\n\n${news}`);
    expect(second.text).toBe(news);
  });

  it("gives the earlier entries again to a new process", async () => {
    const { runner } = openTold();
    await runner.run(plays([{ exit: 0 }]));
    const turn = plays([{ prompt: true }], { earlier: [personSays("before")] });
    await runner.run(turn);
    expect(turn.text).toContain("Ada: before");
  });

  it("gives no two members one session", async () => {
    const { runner } = openTold({ mode: "same" });
    expect(await runner.run(plays([{ say: "x" }], { member: "m1" }))).toMatchObject({ status: "completed" });
    expect(await runner.run(plays([{ say: "x" }], { member: "m2" }))).toEqual({
      status: "failed",
      reason_code: "member_unavailable",
      error: `${process.execPath} gave the id of another session to a new one`,
    });
  });

  it("closes the session unused for longest at the bound", async () => {
    const { runner } = openTold({ limits: { maxSessions: 2 } });
    const texts: string[] = [];
    for (const member of ["m1", "m2", "m1", "m3", "m1", "m2"]) {
      const turn = plays([{ session: true }], { member });
      await runner.run(turn);
      texts.push(turn.text);
    }
    expect(texts).toEqual(["s1", "s2", "s1", "s3", "s1", "s4"]);
  });
});

describe("the end of an ACP agent's turn", () => {
  it.each([
    ["end_turn", { status: "completed", usage: { totalTokens: 12 } }],
    ["max_tokens", { status: "failed", reason_code: "context_overflow" }],
    ["max_turn_requests", { status: "failed", reason_code: "runner_error" }],
    ["refusal", { status: "failed", reason_code: "runner_error" }],
    ["cancelled", { status: "failed", reason_code: "runner_error" }],
    ["bored", { status: "failed", reason_code: "unknown" }],
  ])("stop reason %s", async (stop, end) => {
    const { runner } = openTold();
    const turn = plays([{ stop, usage: { totalTokens: 12, model: "m" } }]);
    expect(await runner.run(turn)).toMatchObject(end);
  });

  it("tells an agent's error with its detail", async () => {
    const { runner } = openTold();
    const end = await runner.run(
      plays([{ refuse: { code: -32603, message: "Internal error", data: { details: "boom" } } }]),
    );
    expect(end).toEqual({
      status: "failed",
      reason_code: "runner_error",
      error: `${process.execPath}: Internal error: boom`,
    });
  });

  it("tells a missing login apart", async () => {
    const { runner } = openTold();
    const end = await runner.run(plays([{ refuse: { code: -32000, message: "Authentication required" } }]));
    expect(end).toMatchObject({ status: "failed", reason_code: "provider_auth" });
  });

  it("delivers every update that came before the end", async () => {
    const { runner } = openTold();
    const turn = plays([...Array.from({ length: 200 }, (_, at) => ({ say: `${at} ` })), { stop: "end_turn" }]);
    await runner.run(turn);
    expect(turn.text).toBe(Array.from({ length: 200 }, (_, at) => `${at} `).join(""));
  });

  it("C-077 C-078 hands text and arguments on as they came", async () => {
    const { runner } = openTold();
    const deep = `${"[".repeat(3_000)}${"]".repeat(3_000)}`;
    const raw = (update: string): object => ({
      raw: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":${update}}}\n`,
    });
    const turn = plays([
      raw('{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\\ud83d"}}'),
      raw(`{"sessionUpdate":"tool_call","toolCallId":"d","title":"deep","rawInput":${deep}}`),
      { say: "x".repeat(10_000_000) },
    ]);
    expect(await runner.run(turn)).toMatchObject({ status: "completed" });
    expect(turn.frames.map((frame) => frame.type)).toEqual(["message.delta", "tool.start", "message.delta"]);
    expect(turn.frames[0]?.payload?.["text"]).toBe("a\ud83d");
    expect(turn.text.length).toBe(10_000_002);
  });
});
