import { describe, expect, it } from "vitest";
import { limits } from "../../../core/index.ts";
import { openSessions } from "../../support/open-sessions.ts";

describe("a snapshot", () => {
  it("of an idle session has its transcript and how its last turn ended", async () => {
    const sessions = openSessions();
    const live = await sessions.create({ title: "Release" });
    const { turn_id } = await sessions.submit(live, "hello");
    await sessions.say(0, "ok");
    const { session_id } = live.record;
    const at = sessions.bus.clock.now();
    expect(await live.snapshot()).toEqual({
      session_id: live.session.runtimeId,
      stored_session_id: session_id,
      session_key: session_id,
      resumed: session_id,
      message_count: 2,
      messages: [
        { role: "user", text: "hello", timestamp: at },
        { role: "assistant", text: "ok", timestamp: at },
      ],
      messages_omitted: 0,
      info: {
        running: false,
        title: "Release",
        stored_session_id: session_id,
        visibility: "private",
        queued: 0,
        agent_id: "default",
      },
      running: false,
      turn_started_at: null,
      started_at: at,
      status: "idle",
      inflight: null,
      queued: null,
      queue: [],
      last_turn: { turn_id, status: "completed", reason_code: null },
      visibility: "private",
      epoch: sessions.bus.tap.sessions.epoch,
      latest_seq: sessions.events().at(-1)?.seq,
    });
  });

  it("C-028 of a running session has what runs and what waits, each once", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    const { turn } = await sessions.turn(0);
    await sessions.submit(live, { text: "next", queued: true }, "c-b");
    expect(live.status).toBe("starting");
    turn.emit({ type: "message.delta", payload: { text: "so far" } });
    await sessions.submit(live, "rather this", "c-b");
    turn.emit({ type: "message.delta", payload: { text: ", on" } });
    const snapshot = await live.snapshot();
    expect(snapshot).toMatchObject({
      message_count: 0,
      messages: [],
      running: true,
      turn_started_at: sessions.bus.clock.now(),
      status: "streaming",
      inflight: {
        user: "hello",
        assistant: "so far, on",
        streaming: true,
        corrections: ["rather this"],
        correction_offsets: [6],
      },
      queued: { user: "next" },
      queue: [{ input_id: expect.any(String), origin: "c-b", text: "next" }],
      latest_seq: sessions.events().at(-1)?.seq,
    });
    turn.emit({ type: "tool.start", payload: { tool_id: "t", name: "shell" } });
    expect(live.status).toBe("working");
  });

  it("tells no secret and no hidden words of what waits", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "tok_EXAMPLE_0123456789abcdef");
    await sessions.submit(live, { text: "tok_EXAMPLE_0123456789abcdef", queued: true }, "c-b");
    await sessions.submit(live, { text: "psst", queued: true, display_kind: "hidden" }, "c-b");
    const { inflight, queue } = await live.snapshot();
    expect(JSON.stringify([inflight, queue, live.record.preview])).not.toContain("tok_EXAMPLE");
    expect(queue[1]?.text).toBe("");
  });

  it("I8 has the last 500 messages, and says how many stand before them", async () => {
    const count = limits.maxSnapshotMessages + 1;
    const messages = Array.from({ length: count }, (_, index) => ({ role: "user", text: `${index}` }) as const);
    const sessions = openSessions();
    const whole = await (await sessions.create({ messages: messages.slice(1) })).snapshot();
    expect([whole.messages.length, whole.messages_omitted, whole.message_count]).toEqual([500, 0, 500]);
    const live = await sessions.create({ messages });
    const cut = await live.snapshot();
    expect([cut.messages.length, cut.messages_omitted, cut.message_count]).toEqual([500, 1, 501]);
    expect(cut.messages[0]?.["text"]).toBe("1");
    const none = await live.snapshot({ omitMessages: true });
    expect([none.messages, none.messages_omitted]).toEqual([[], 501]);
  });

  it("tells of its instant, behind which nothing of it has left", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    let seq = 0;
    const { latest_seq } = await live.snapshot({ onInstant: () => (seq = live.session.seq) });
    expect([seq, latest_seq]).toEqual([2, 2]);
  });

  it("is taken between two steps of the session", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    const submitted = live.submit({ text: "hello" }, "c-a");
    const { running, inflight } = await live.snapshot();
    expect([running, inflight?.user]).toEqual([true, "hello"]);
    await submitted;
  });
});

describe("a session", () => {
  it("gives its history, that of the running turn included", async () => {
    const sessions = openSessions();
    const live = await sessions.create({ messages: [{ role: "user", text: "before" }] });
    await sessions.submit(live, "hello");
    const page = await live.history({ limit: 1, maxBytes: 1_000 });
    expect([page.messages.map(({ text }) => text), page.first]).toEqual([["hello"], 1]);
    const older = await live.history({ limit: 1, maxBytes: 1_000, before: page.first });
    expect([older.messages.map(({ text }) => text), older.first]).toEqual([["before"], 0]);
  });

  it("takes a title of 200 characters, and tells it behind the answer", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    for (const length of [199, 200, 201]) {
      const { result } = await live.setTitle("x".repeat(length));
      expect(result.title).toHaveLength(Math.min(length, 200));
    }
    const { begin } = await live.setTitle("Release");
    const before = sessions.events().length;
    begin();
    expect(sessions.events().slice(before)).toMatchObject([
      { type: "session.title", payload: { session_id: live.record.session_id, title: "Release" } },
      { type: "session.info", payload: { title: "Release" } },
    ]);
    expect((await live.setTitle("")).result).toEqual({ title: null });
  });

  it("saves its visibility", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await live.setVisibility("read_only");
    expect(sessions.store.row(live.record.session_id).visibility).toBe("read_only");
  });

  it("is quiet when its turns are over and stored", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "one");
    await sessions.submit(live, { text: "two", queued: true });
    let quiet = false;
    void live.quiet().then(() => (quiet = true));
    await sessions.say(0, "ok");
    expect(quiet).toBe(false);
    await sessions.say(1, "ok");
    expect(quiet).toBe(true);
  });
});
