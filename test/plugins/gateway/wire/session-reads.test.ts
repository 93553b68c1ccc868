import { describe, expect, it } from "vitest";
import { newSession, openHost, type CameParams } from "../../../support/open-host.ts";

const secret = "tok_EXAMPLE_0123456789abcdef";

describe("session.history", () => {
  it("pages backwards from any position", async () => {
    const host = await openHost();
    const a = await host.connect();
    const messages = Array.from({ length: 10 }, (_, index) => ({ role: "user", text: String(index) }));
    const { session_id } = await a.call("session.create", { messages });
    const page = async (params: object): Promise<unknown> => {
      const { count, messages_omitted, messages: shown } = await a.call("session.history", { session_id, ...params });
      return [count, messages_omitted, (shown as CameParams[]).map(({ text }) => text).join("")];
    };
    expect(await page({})).toEqual([10, 0, "0123456789"]);
    expect(await page({ limit: 4 })).toEqual([4, 6, "6789"]);
    expect(await page({ limit: 4, before: 6 })).toEqual([4, 2, "2345"]);
    expect(await page({ limit: 4, before: 2 })).toEqual([2, 0, "01"]);
    expect(await page({ before: 0 })).toEqual([0, 0, ""]);
    expect(await page({ before: 99, limit: 1 })).toEqual([1, 9, "9"]);
    for (const wrong of [{ limit: 0 }, { limit: 501 }, { before: -1 }, { limit: "4" }]) {
      expect(await a.refused("session.history", { session_id, ...wrong })).toEqual([-32602, "invalid_params"]);
    }
    expect(await a.refused("session.history", { session_id: "s-nobody" })).toEqual([4001, "unknown_session"]);
  });
});

describe("session.status and session.usage", () => {
  it("say what a session does and what it used", async () => {
    const host = await openHost();
    const a = await host.connect({ asks: true });
    const { session_id } = await newSession(a);
    const status = (): Promise<unknown> => a.call("session.status", { session_id });
    expect(await status()).toEqual({ status: "idle", running: false, turn_started_at: null, queued: 0 });
    expect(await a.call("session.usage", { session_id })).toEqual({ usage: null });
    await a.call("prompt.submit", { session_id, text: "go" });
    const turn = await host.agent.turn();
    const began = { running: true, turn_started_at: expect.any(Number), queued: 0 };
    expect(await status()).toEqual({ status: "starting", ...began });
    turn.delta("…");
    expect(await status()).toEqual({ status: "streaming", ...began });
    turn.emit("tool.start", { tool_id: "t1", name: "read" });
    expect(await status()).toEqual({ status: "working", ...began });
    void turn.ask("clarify", { question: "Which?" });
    await a.call("prompt.submit", { session_id, text: "next", queued: true });
    expect(await status()).toEqual({ status: "waiting", ...began, queued: 1 });
    turn.end({ status: "completed", text: "ok", usage: { input_tokens: 3, output_tokens: 4 } });
    (await host.agent.turn(1)).end({ status: "completed", text: "ok", usage: { input_tokens: 10 } });
    await a.event("message.complete", 1);
    await a.settled();
    expect(await a.call("session.usage", { session_id })).toEqual({ usage: { input_tokens: 13, output_tokens: 4 } });
    expect(a.events("session.usage").map(({ payload }) => payload)).toEqual([
      { usage: { input_tokens: 3, output_tokens: 4 } },
      { usage: { input_tokens: 13, output_tokens: 4 } },
    ]);
    for (const method of ["session.status", "session.usage"]) {
      expect(await a.refused(method, { session_id: "s-nobody" })).toEqual([4001, "unknown_session"]);
    }
  });
});

describe("session.title", () => {
  it("reads, sets and takes away a title, and tells everybody", async () => {
    const host = await openHost({ secrets: [secret] });
    const [a, b] = [await host.connect(), await host.connect()];
    const { session_id, stored_session_id } = await newSession(a);
    await b.call("session.activate", { session_id });
    expect(await a.call("session.title", { session_id })).toEqual({ title: null });
    expect(await a.call("session.title", { session_id, title: "x".repeat(201) })).toEqual({ title: "x".repeat(200) });
    const masked = await a.call("session.title", { session_id, title: `of ${secret}` });
    expect(masked["title"]).not.toContain(secret);
    expect(await a.call("session.title", { session_id })).toEqual(masked);
    expect(await a.call("session.title", { session_id, title: "" })).toEqual({ title: null });
    await b.event("session.title", 2);
    expect(b.events("session.title").map(({ payload }) => payload)).toEqual([
      { session_id: stored_session_id, title: "x".repeat(200) },
      { session_id: stored_session_id, ...masked },
      { session_id: stored_session_id, title: null },
    ]);
    expect(await a.refused("session.title", { session_id: "s-nobody" })).toEqual([4001, "unknown_session"]);
    expect(await a.refused("session.title", { session_id, title: 3 })).toEqual([-32602, "invalid_params"]);
  });
});

describe("session.list and session.active_list", () => {
  it("page through what is stored, and through what is open", async () => {
    const host = await openHost();
    const a = await host.connect();
    const made = [];
    for (const title of ["one", "two", "three"]) made.push(await newSession(a, { title }));
    const [one, two] = made;
    await a.call("session.close", { session_id: two?.session_id });
    await a.event("session.reclaimed");
    await a.call("prompt.submit", { session_id: one?.session_id, text: "hello there" });
    (await host.agent.turn()).say("hi");
    await a.event("message.complete");
    await a.settled();
    const { sessions, next_offset } = await a.call("session.list");
    expect(next_offset).toBeNull();
    const list = sessions as CameParams[];
    expect(list[0]).toEqual({
      id: one?.stored_session_id,
      title: "one",
      preview: "hello there",
      message_count: 2,
      started_at: expect.any(Number),
      resolved_id: one?.session_id,
      visibility: "private",
      role: "owner",
    });
    expect(new Set(list.map(({ title }) => title))).toEqual(new Set(["one", "two", "three"]));
    expect(list.find(({ title }) => title === "two")).not.toHaveProperty("resolved_id");
    const first = await a.call("session.list", { limit: 2 });
    const rest = await a.call("session.list", { limit: 2, offset: 2 });
    expect([first["next_offset"], rest["next_offset"]]).toEqual([2, null]);
    expect([...(first["sessions"] as object[]), ...(rest["sessions"] as object[])]).toEqual(list);
    const active = await a.call("session.active_list", { limit: 1 });
    expect(active).toMatchObject({ sessions: [{ title: "one" }], next_offset: 1 });
    expect(await a.call("session.active_list", { limit: 1, offset: 1 })).toMatchObject({
      sessions: [{ title: "three" }],
      next_offset: null,
    });
    for (const wrong of [{ limit: 0 }, { limit: 1_001 }, { offset: -1 }]) {
      expect(await a.refused("session.list", wrong)).toEqual([-32602, "invalid_params"]);
    }
  });
});
