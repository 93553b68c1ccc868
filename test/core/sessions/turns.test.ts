import { describe, expect, it } from "vitest";
import type { LiveSession, TurnEnd } from "../../../core/index.ts";
import { runnerOf } from "../../support/held-runner.ts";
import { openSessions, type OpenSessions } from "../../support/open-sessions.ts";

/** Origin and source of each event, in order. */
const marksOf = (sessions: OpenSessions) =>
  sessions.events().map(({ type, origin, turn }) => [type, origin, turn?.source] as const);

describe("a turn of a session", () => {
  it("is told by one start, its output and one end", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    const result = await sessions.submit(live, { text: "hello", submission_ref: "r-1" });
    await sessions.say(0, "hi");
    expect(sessions.events().map(({ type }) => type)).toEqual([
      "message.start",
      "session.info",
      "message.delta",
      "message.complete",
      "session.info",
    ]);
    expect(sessions.payloads("message.start")).toEqual([
      {
        input: { role: "user", text: "hello" },
        inputs: [{ id: result.submission.input_id, ref: "r-1" }],
        inputs_complete: true,
      },
    ]);
    expect(sessions.payloads("message.complete")).toEqual([{ text: "hi", status: "complete", usage: null }]);
  });

  it("is stored with its prompt at the claim and with its answer at the end", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    const { turn_id } = await sessions.submit(live, "hello");
    expect(sessions.store.row(live.record.session_id)).toMatchObject({
      unfinished: { turn_id, prompt: { text: "hello", origin: "c-a" } },
      message_count: 1,
      preview: "hello",
    });
    await sessions.say(0, "hi");
    expect(sessions.store.transcript(live.record.session_id)).toEqual(["user: hello", "assistant: hi"]);
    expect(sessions.store.row(live.record.session_id)).toMatchObject({
      unfinished: null,
      last_turn: { turn_id, status: "completed", reason_code: null },
      message_count: 2,
    });
  });

  it("W11 names its connection in every event from its start to its end", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    await sessions.say(0, "hi");
    const source = { kind: "connection", socket_id: "c-a" };
    expect(marksOf(sessions)).toEqual([
      ["message.start", "c-a", source],
      ["session.info", "c-a", source],
      ["message.delta", "c-a", source],
      ["message.complete", "c-a", source],
      ["session.info", undefined, undefined],
    ]);
  });

  it("W10 names no origin when it was claimed without a connection", async () => {
    const sessions = openSessions();
    await sessions.submit(await sessions.create(), "hello", null);
    await sessions.say(0, "hi");
    const [start] = sessions.events("message.start");
    expect([start !== undefined && "origin" in start, start?.turn?.source]).toEqual([false, { kind: "unknown" }]);
  });

  it.each(["tick", "notification", "delegation", "goal"] as const)("W17 made by the host says so: %s", async (sub) => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    await sessions.say(0, "hi");
    const before = sessions.events().length;
    await live.startHostTurn(sub, "wake up");
    await sessions.say(1, "awake");
    const marks = marksOf(sessions).slice(before);
    expect(marks.slice(0, -1).map(([, origin, source]) => [origin, source])).toEqual(
      Array.from({ length: 4 }, () => ["host", { kind: "host", sub }]),
    );
    expect(sessions.payloads("message.start")[1]).toEqual({ input: null, inputs: [], inputs_complete: true });
    expect((await sessions.turn(1)).turn.unseen[0]?.text).toBe("wake up");
  });

  it("by the host is refused while another runs", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    expect(await live.startHostTurn("tick", "wake up")).toMatchObject({ refused: "session_busy" });
  });

  it("W24 tells no words of a hidden prompt", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, { text: "psst", display_kind: "hidden" });
    await sessions.say(0, "hi");
    expect(sessions.payloads("message.start")[0]?.["input"]).toBeNull();
    expect((await live.snapshot()).messages[0]).toMatchObject({ role: "user", text: "", display_kind: "hidden" });
    expect(live.record.preview).toBe("");
    expect((await sessions.turn(0)).turn.unseen[0]?.text).toBe("psst");
  });

  it("hands the runner its prompt and up to 24 messages before it", async () => {
    const sessions = openSessions();
    const messages = Array.from({ length: 30 }, (_, index) => ({ role: "user", text: `old ${index}` }) as const);
    const live = await sessions.create({ messages });
    await sessions.submit(live, { text: "see this", attachments: ["a.md", { path: "b.md" }, { k: 1 }] });
    await sessions.say(0, "seen");
    await sessions.submit(live, "next");
    const { turn } = await sessions.turn(0);
    expect([turn.coordinates, turn.session, turn.member]).toEqual([
      null,
      live.record.session_id,
      { member_id: "default", handle: "default", display_name: "Default" },
    ]);
    expect(turn.unseen).toEqual([
      { author: { kind: "person", id: "user" }, text: "see this", attachments: ["a.md", "b.md", '{"k":1}'] },
    ]);
    expect(turn.earlier.map(({ text }) => text)).toEqual(messages.slice(6).map(({ text }) => text));
    const next = (await sessions.turn(1)).turn;
    expect(next.earlier.slice(-2).map(({ author, text }) => [author.id, text])).toEqual([
      ["user", "see this"],
      ["default", "seen"],
    ]);
  });

  it("begins by itself when its caller has gone", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await live.submit({ text: "hello" }, "c-a");
    expect(sessions.events()).toEqual([]);
    sessions.bus.clock.tick();
    expect(sessions.events("message.start")).toHaveLength(1);
  });
});

/** How a turn can end, and what its last frame says. */
const ends: readonly (readonly [string, (sessions: OpenSessions, live: LiveSession) => Promise<void>, object])[] = [
  [
    "complete",
    (sessions) => sessions.say(0, " and more"),
    { status: "complete", text: "so far and more", usage: null },
  ],
  [
    "error",
    (sessions) => endWith(sessions, { status: "failed", reason_code: "provider_rate_limit", error: "slow down" }),
    failure("provider_rate_limit", "provider", true, "slow down"),
  ],
  [
    "throw",
    async (sessions) => (await sessions.turn(0)).fail(new Error("boom")),
    failure("runner_error", "runner", false, "boom"),
  ],
  [
    "runner loss",
    (sessions) => endWith(sessions, { status: "failed", reason_code: "runner_lost" }),
    failure("runner_lost", "runner", true, "the turn failed: runner_lost"),
  ],
  [
    "interrupt",
    async (sessions, live) => {
      live.interrupt().begin();
      await endWith(sessions, { status: "cancelled" });
    },
    { status: "interrupted", text: "so far", usage: null, partial: true },
  ],
  [
    "interrupt of a runner that hangs",
    async (sessions, live) => {
      live.interrupt().begin();
      await sessions.pass(50);
    },
    { status: "interrupted", text: "so far", usage: null, partial: true },
  ],
  [
    "deadline",
    async (sessions) => {
      await sessions.pass(1_000);
      await sessions.pass(50);
    },
    failure("turn_deadline", "host", true, "the turn failed: turn_deadline"),
  ],
];

function failure(code: string, layer: string, retryable: boolean, error: string): object {
  return {
    status: "error",
    text: "so far",
    usage: null,
    partial: true,
    error,
    failure_reason: code,
    recoverable: retryable,
    error_surface: { layer, code, retryable },
  };
}

async function endWith(sessions: OpenSessions, end: TurnEnd): Promise<void> {
  (await sessions.turn(0)).end(end);
}

describe("the end of a turn", () => {
  it.each(ends)("W19 is told once and leaves the session without a mark: %s", async (_, end, payload) => {
    const sessions = openSessions({ stopGraceMs: 50, turnDeadlineMs: 1_000 });
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    (await sessions.turn(0)).turn.emit({ type: "message.delta", payload: { text: "so far" } });
    await end(sessions, live);
    await sessions.settle();
    expect(sessions.payloads("message.complete")).toEqual([payload]);
    expect(sessions.events("message.complete")[0]?.origin).toBe("c-a");
    const [last] = sessions.events("session.info").slice(-1);
    expect(last).not.toHaveProperty("origin");
    expect(last).not.toHaveProperty("turn");
    expect(last?.payload).toMatchObject({ running: false });
    expect(sessions.store.transcript(live.record.session_id).at(-1)).toMatch(/^assistant: so far/);
  });

  it.each(ends)("is followed by what waits: %s", async (_, end) => {
    const sessions = openSessions({ stopGraceMs: 50, turnDeadlineMs: 1_000 });
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    await sessions.submit(live, { text: "next", queued: true }, "c-b");
    await end(sessions, live);
    await sessions.say(1, "answer");
    expect(sessions.events("message.start", "message.complete").map(({ type, origin }) => [type, origin])).toEqual([
      ["message.start", "c-a"],
      ["message.complete", "c-a"],
      ["message.start", "c-b"],
      ["message.complete", "c-b"],
    ]);
  });

  it("W20 makes what its runner says later a late frame", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "one");
    await sessions.say(0, "one.");
    await sessions.submit(live, "two", "c-b");
    const before = sessions.bus.tap.seam.refused("late_frame");
    const { turn } = await sessions.turn(0);
    expect(turn.emit({ type: "message.delta", payload: { text: "ghost" } })).toBe("late_frame");
    expect(sessions.bus.tap.seam.refused("late_frame")).toBe(before + 1);
    await sessions.say(1, "two.");
    expect(sessions.events("message.delta").map(({ origin, payload }) => [origin, payload])).toEqual([
      ["c-a", { text: "one." }],
      ["c-b", { text: "two." }],
    ]);
  });

  it("keeps a pass as the text that it is", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "say pass");
    await sessions.say(0, "pass");
    expect(sessions.payloads("message.complete")).toEqual([{ text: "pass", status: "complete", usage: null }]);
  });

  it("adds its usage to that of the session", async () => {
    const sessions = openSessions({
      runner: runnerOf(() => ({ status: "completed", text: "done", usage: { input_tokens: 3 } })),
    });
    const live = await sessions.create();
    for (const text of ["one", "two"]) {
      await sessions.submit(live, text);
      await sessions.settle();
    }
    expect(live.usage).toEqual({ input_tokens: 6 });
    expect(sessions.payloads("session.usage")).toEqual([
      { usage: { input_tokens: 3 } },
      { usage: { input_tokens: 6 } },
    ]);
  });

  it("keeps the reasoning beside the answer, and secrets nowhere", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "my key is tok_EXAMPLE_0123456789abcdef");
    const { turn } = await sessions.turn(0);
    turn.emit({ type: "reasoning.delta", payload: { text: "hm" } });
    await sessions.say(0, "ok");
    const { messages } = await live.snapshot();
    expect(messages[1]).toMatchObject({ role: "assistant", text: "ok", reasoning: "hm" });
    expect(turn.unseen[0]?.text).toContain("tok_EXAMPLE");
    expect(JSON.stringify([sessions.frames, messages])).not.toContain("tok_EXAMPLE");
  });
});
