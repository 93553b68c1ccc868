import { describe, expect, it } from "vitest";
import type { BusyMode, JsonObject } from "../../../../core/index.ts";
import { DrivenAgent, newSession, openHost, type HostClient, type OpenHost } from "../../../support/open-host.ts";

const inputId: unknown = expect.stringMatching(/^in-[0-9a-f]{16}$/);

interface Busy {
  readonly host: OpenHost;
  readonly agent: DrivenAgent;
  readonly a: HostClient;
  readonly session_id: string;
  readonly turn_id: unknown;
  readonly submit: (prompt: JsonObject) => Promise<JsonObject>;
}

/** A session whose first turn runs. */
async function openBusy(busyMode: BusyMode, takes?: (text: string) => boolean): Promise<Busy> {
  const agent = new DrivenAgent(takes === undefined ? {} : { takes: ({ text }) => takes(text) });
  const host = await openHost({ busyMode, agents: { default: agent }, gateway: { callBurst: 1_000 } });
  const a = await host.connect();
  const { session_id } = await newSession(a);
  const { turn_id } = await a.call("prompt.submit", { session_id, text: "first" });
  await agent.turn();
  const submit = (prompt: JsonObject): Promise<JsonObject> => a.call("prompt.submit", { session_id, ...prompt });
  return { host, agent, a, session_id, turn_id, submit };
}

describe("prompt.submit to an idle session", () => {
  it("claims a turn, and attaches who sent it", async () => {
    const host = await openHost();
    const [a, b] = [await host.connect(), await host.connect()];
    const { session_id } = await newSession(a);
    const result = await b.call("prompt.submit", { session_id, text: "go", submission_ref: "my own #1" });
    expect(result).toEqual({
      status: "streaming",
      turn_id: expect.stringMatching(/^t-[0-9a-f]{16}$/),
      submission: { input_id: inputId, ref: "my own #1", disposition: "starting" },
    });
    const { payload, turn } = await b.event("message.start");
    const { input_id } = result["submission"] as JsonObject;
    expect(payload).toEqual({
      input: { role: "user", text: "go" },
      inputs: [{ id: input_id, ref: "my own #1" }],
      inputs_complete: true,
    });
    expect(turn?.id).toBe(result["turn_id"]);
    expect((await a.call("session.activate", { session_id }))["watching"]).toBe(true);
  });

  it("takes parts and attachments, which the agent and all clients are shown", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const text = [
      { type: "text", text: "look" },
      { type: "image", url: "file:///a.png" },
      { type: "text", text: "here" },
    ];
    const attachments = [{ path: "/srv/notes.txt" }, "second"];
    await a.call("prompt.submit", { session_id, text, attachments, display_kind: "voice" });
    const turn = await host.agent.turn();
    expect(turn.turn.unseen).toEqual([
      {
        author: { kind: "person", id: "user" },
        text: "look\nhere",
        attachments: ["file:///a.png", "/srv/notes.txt", "second"],
      },
    ]);
    expect((await a.event("message.start")).payload?.["input"]).toEqual({
      role: "user",
      text: "look\nhere",
      display_kind: "voice",
      attachments,
    });
    turn.end();
    await a.event("message.complete");
    const { messages } = await a.call("session.history", { session_id });
    expect(messages).toMatchObject([{ role: "user", text: "look\nhere", display_kind: "voice", attachments }]);
  });

  it("shows hidden words to the agent alone", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    await a.call("prompt.submit", { session_id, text: "silent one", display_kind: "hidden" });
    const turn = await host.agent.turn();
    expect(turn.text).toBe("silent one");
    await a.call("prompt.submit", { session_id, text: "silent two", display_kind: "hidden", queued: true });
    const snapshot = await a.call("session.activate", { session_id });
    expect(snapshot).toMatchObject({ inflight: { user: "" }, queued: { user: "" }, queue: [{ text: "" }] });
    turn.say("heard");
    (await host.agent.turn(1)).say("heard");
    await a.event("message.complete", 1);
    const { messages } = await a.call("session.history", { session_id });
    expect(messages).toMatchObject([
      { role: "user", text: "", display_kind: "hidden" },
      { role: "assistant", text: "heard" },
      { role: "user", text: "", display_kind: "hidden" },
      { role: "assistant", text: "heard" },
    ]);
    await a.call("session.list");
    expect(a.events("message.start").map(({ payload }) => payload?.["input"])).toEqual([null, null]);
    expect(JSON.stringify(a.came)).not.toContain("silent");
  });

  it.each([
    ["no text", {}, "text"],
    ["a number", { text: 1 }, "text"],
    ["no parts", { text: [] }, "text"],
    ["a part without a type", { text: [{ text: "x" }] }, "text"],
    ["queued as a word", { text: "x", queued: "yes" }, "queued"],
    ["an empty key", { text: "x", message_id: "" }, "message_id"],
    ["an empty ref", { text: "x", submission_ref: "" }, "submission_ref"],
    ["a ref of 65 characters", { text: "x", submission_ref: "r".repeat(65) }, "submission_ref"],
    ["a ref that is no ASCII", { text: "x", submission_ref: "ü" }, "submission_ref"],
  ])("refuses %s, and nothing has happened", async (_what, given, path) => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const { error } = await a.ask("prompt.submit", { session_id, ...given });
    expect(error).toMatchObject({ code: -32602, data: { reason: "invalid_params" } });
    expect(String(error?.data["path"]).split(".")[0]).toBe(path);
    await a.settled();
    expect([host.agent.turns, a.events()]).toEqual([[], []]);
  });

  it("takes a ref of 64 characters", async () => {
    const { submit } = await openBusy("queue");
    expect(await submit({ text: "x", submission_ref: "r".repeat(64) })).toMatchObject({
      submission: { ref: "r".repeat(64) },
    });
  });

  it("knows no session of another id", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { error } = await a.ask("prompt.submit", { session_id: "s-nobody", text: "x" });
    expect([error?.code, error?.data]).toEqual([4001, { reason: "unknown_session" }]);
  });
});

describe("prompt.submit to a busy session", () => {
  it("redirects in mode interrupt", async () => {
    const { agent, a, submit, turn_id } = await openBusy("interrupt", () => true);
    expect(await submit({ text: "instead", submission_ref: "r" })).toEqual({
      status: "redirected",
      turn_id,
      submission: { input_id: inputId, ref: "r", disposition: "redirected" },
    });
    expect(agent.corrections).toEqual([{ kind: "redirect", text: "instead" }]);
    expect((await a.event("message.input")).payload).toMatchObject({
      kind: "redirect",
      input: { text: "instead" },
      offset: 0,
    });
  });

  it("steers in mode steer", async () => {
    const { agent, a, submit, turn_id } = await openBusy("steer", () => true);
    expect(await submit({ text: "also" })).toEqual({
      status: "steered",
      turn_id,
      submission: { input_id: inputId, disposition: "steered" },
    });
    expect(agent.corrections).toEqual([{ kind: "steer", text: "also" }]);
    expect((await a.event("message.input")).payload).toMatchObject({ kind: "steer", input: { text: "also" } });
  });

  const queues: readonly (readonly [
    why: string,
    BusyMode,
    ((text: string) => boolean) | undefined,
    JsonObject,
    boolean,
  ])[] = [
    ["an agent that takes none", "interrupt", undefined, { text: "x" }, true],
    ["a correction that is refused", "interrupt", () => false, { text: "x" }, true],
    ["parts", "interrupt", () => true, { text: [{ type: "text", text: "x" }] }, true],
    ["attachments", "interrupt", () => true, { text: "x", attachments: ["a"] }, false],
    ["a sender who waits", "interrupt", () => true, { text: "x", queued: true }, false],
    ["a steer that is refused", "steer", () => false, { text: "x" }, false],
    ["a sender who waits, in mode steer", "steer", () => true, { text: "x", queued: true }, false],
    ["mode queue", "queue", () => true, { text: "x" }, false],
  ];

  it.each(queues)("queues: %s", async (_why, mode, takes, prompt, stops) => {
    const { agent, a, submit } = await openBusy(mode, takes);
    expect(await submit(prompt)).toEqual({
      status: "queued",
      submission: { input_id: inputId, disposition: "queued" },
    });
    const turn = await agent.turn();
    expect(turn.turn.signal.aborted).toBe(stops);
    turn.say("done");
    const next = await agent.turn(1);
    expect(next.text).toBe("x");
    expect((await a.event("message.complete")).payload?.["status"]).toBe(stops ? "interrupted" : "complete");
    const queued = a.events("session.info").map(({ payload }) => payload?.["queued"]);
    expect(queued.slice(0, 2)).toEqual([0, 1]);
  });

  it("merges what one client has waiting, and runs all of it in order", async () => {
    const { agent, a, host, session_id, submit } = await openBusy("queue");
    const b = await host.connect();
    const first = await submit({ text: "a1" });
    expect(await submit({ text: "a2", submission_ref: "second" })).toEqual({
      status: "queued",
      submission: { input_id: inputId, ref: "second", disposition: "merged" },
    });
    await b.call("prompt.submit", { session_id, text: "b1" });
    (await agent.turn()).say("ok");
    (await agent.turn(1)).say("ok");
    (await agent.turn(2)).say("ok");
    await a.event("message.complete", 2);
    expect(agent.turns.map(({ text }) => text)).toEqual(["first", "a1\n\na2", "b1"]);
    const { payload } = await a.event("message.start", 1);
    expect(payload?.["inputs"]).toEqual([
      { id: (first["submission"] as JsonObject)["input_id"] },
      { id: inputId, ref: "second" },
    ]);
  });

  it("is refused at 32 entries, and at 1 MiB", async () => {
    const { a, submit, session_id } = await openBusy("queue");
    const part = (text: string): JsonObject => ({ text: [{ type: "text", text }] });
    for (let entry = 0; entry < 31; entry++) await submit(part(String(entry)));
    expect(await submit(part("32nd"))).toMatchObject({ status: "queued" });
    expect(await a.refused("prompt.submit", { session_id, ...part("33rd") })).toEqual([4090, "queue_full"]);
    expect((await a.call("session.status", { session_id }))["queued"]).toBe(32);

    const other = await openBusy("queue");
    const half = "x".repeat(524_287);
    await other.submit({ text: half });
    expect(await other.submit({ text: half })).toMatchObject({ submission: { disposition: "merged" } });
    const refused = await other.a.refused("prompt.submit", { session_id: other.session_id, text: "" });
    expect(refused).toEqual([4090, "queue_full"]);
    await other.a.settled();
    expect((await other.a.call("session.status", { session_id: other.session_id }))["queued"]).toBe(1);
  });
});

describe("a message_id", () => {
  it("is carried out once: a second call repeats what the first was told", async () => {
    const { agent, a, submit } = await openBusy("queue");
    const first = await submit({ text: "x", message_id: "k", submission_ref: "r1" });
    const again = await submit({ text: "x", message_id: "k", submission_ref: "r2" });
    expect(again).toEqual({ ...first, status: "duplicate" });
    (await agent.turn()).say("ok");
    (await agent.turn(1)).say("ok");
    await a.event("message.complete", 1);
    expect(await submit({ text: "x", message_id: "k" })).toEqual({ ...first, status: "duplicate" });
    await a.settled();
    expect(agent.turns).toHaveLength(2);
  });

  it("is told of the turn that it began", async () => {
    const host = await openHost();
    const a = await host.connect();
    const { session_id } = await newSession(a);
    const prompt = { session_id, text: "x", message_id: "k" };
    const [first, second] = await Promise.all([a.call("prompt.submit", prompt), a.call("prompt.submit", prompt)]);
    expect(second).toEqual({ ...first, status: "duplicate" });
    expect(first).toMatchObject({ status: "streaming", submission: { disposition: "starting" } });
    await host.agent.turn();
    await a.settled();
    expect(host.agent.turns).toHaveLength(1);
  });

  it.each([
    ["text", { text: "y" }],
    ["parts", { text: [{ type: "text", text: "x" }] }],
    ["attachments", { text: "x", attachments: ["a"] }],
    ["display kind", { text: "x", display_kind: "hidden" }],
  ])("is refused with other %s, and leaves no trace", async (_what, other) => {
    const { a, submit, session_id } = await openBusy("queue");
    await submit({ text: "x", message_id: "k" });
    const refused = await a.refused("prompt.submit", { session_id, message_id: "k", ...other });
    expect(refused).toEqual([4091, "idempotency_conflict"]);
    expect(await a.call("session.activate", { session_id })).toMatchObject({ queue: [{ text: "x" }] });
  });

  it("is known while it is one of the last 256", async () => {
    const { submit } = await openBusy("steer", () => true);
    for (let key = 0; key < 257; key++) await submit({ text: "x", message_id: `k${key}` });
    expect(await submit({ text: "x", message_id: "k1" })).toMatchObject({ status: "duplicate" });
    expect(await submit({ text: "y", message_id: "k0" })).toMatchObject({ status: "steered" });
    expect(await submit({ text: "y", message_id: "k1" })).toMatchObject({ status: "steered" });
  });
});
