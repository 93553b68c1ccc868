import { describe, expect, it } from "vitest";
import { limits, manualClock, systemClock, type StoredMessage } from "../../core/index.ts";
import { turnsOfLoop } from "../support/open-log.ts";
import { numbered, says, sessionOf } from "../support/session-records.ts";
import { openSessions } from "../support/sessions.ts";

const textsOf = (messages: readonly StoredMessage[]): string => messages.map(({ text }) => text).join(" ");

describe("a transcript", () => {
  it.each([
    [undefined, 3, "7 8 9", 7],
    [7, 3, "4 5 6", 4],
    [2, 3, "0 1", 0],
    [0, 3, "", 0],
    [99, 2, "8 9", 8],
    [undefined, 10, "0 1 2 3 4 5 6 7 8 9", 0],
    [undefined, 0, "", 10],
  ])("before %s, at most %i, is `%s`", async (before, limit, texts, first) => {
    const { store } = await openSessions();
    await store.put(sessionOf("s1"), numbered(4));
    await store.put(sessionOf("s1"), numbered(10).slice(4));
    const page = await store.messages("s1", { before, limit, maxBytes: 9_999 });
    expect([textsOf(page.messages), page.first]).toEqual([texts, first]);
  });

  it.each([
    [-1, "2"],
    [0, "1 2"],
    [1, "1 2"],
  ])("takes the bytes of its page, %i beside those of two messages", async (more, texts) => {
    const { store } = await openSessions();
    await store.put(sessionOf("s1"), numbered(3));
    const maxBytes = Buffer.byteLength(JSON.stringify([says("1"), says("2")])) + more;
    expect(textsOf((await store.messages("s1", { limit: 9, maxBytes })).messages)).toBe(texts);
  });

  it("gives one message however few bytes a page has", async () => {
    const { store } = await openSessions();
    await store.put(sessionOf("s1"), numbered(3));
    expect(await store.messages("s1", { limit: 9, maxBytes: 0 })).toEqual({ messages: [says("2")], first: 2 });
  });

  it("keeps every field of a message", async () => {
    const { store } = await openSessions();
    const common = { role: "tool", text: "out \u0000 \u{1f600}", timestamp: 1.5, display_kind: "hidden" } as const;
    const message = { ...common, name: "ls", context: "x", args: { a: [null] }, reasoning: "r", attachments: [{}] };
    await store.put(sessionOf("s1"), [message]);
    expect((await store.messages("s1", { limit: 1, maxBytes: 0 })).messages).toEqual([message]);
  });

  it("of thousands of messages is read in slices, whole and in order", async () => {
    const { store } = await openSessions({ quota: { maxSessionMessages: 3_000 } });
    const messages = numbered(2_500).map((message) => ({ ...message, reasoning: "r".repeat(300) }));
    await store.put(sessionOf("s1"), messages);
    const { messages: read, first } = await store.messages("s1", { limit: 2_400, maxBytes: 10_000_000 });
    expect(first).toBe(100);
    expect(read).toEqual(messages.slice(100));
  });

  it("is read a slice in each turn of the event loop, whoever else reads", async () => {
    const clock = manualClock();
    const loop = { ...clock, defer: (run: () => void) => (isHeld ? clock : systemClock).defer(run) };
    let isHeld = false;
    const { store } = await openSessions({ clock: loop });
    await store.put(sessionOf("s1"), numbered(300));
    isHeld = true;
    const pages = ["a", "b"].map(async (name) => {
      await store.messages("s1", { limit: 300, maxBytes: 99_999 });
      return name;
    });
    // Of each, where it begins and three slices of at most 128 messages.
    const turns: number[] = [];
    while (turns.length < 9) {
      await turnsOfLoop(1);
      turns.push(clock.tick());
    }
    expect(turns).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 0]);
    expect(await Promise.all(pages)).toEqual(["a", "b"]);
  });

  it.each([
    [2, 0, "0 1"],
    [3, 0, "0 1 2"],
    [4, 1, "1 2 3"],
  ])("of at most 3 messages keeps of %i those from %i on", async (count, first, texts) => {
    const { store } = await openSessions({ quota: { maxSessionMessages: 3 } });
    for (const message of numbered(count)) await store.put(sessionOf("s1"), [message]);
    const page = await store.messages("s1", { limit: 9, maxBytes: 9_999 });
    expect([textsOf(page.messages), page.first]).toEqual([texts, first]);
  });

  it.each([
    [-1, "1 2"],
    [0, "0 1 2"],
    [1, "0 1 2"],
  ])("of three messages, and %i bytes, keeps `%s`", async (more, texts) => {
    const bytes = Buffer.byteLength(JSON.stringify(says("0")));
    const { store } = await openSessions({ quota: { maxTranscriptBytes: 3 * bytes + more } });
    await store.put(sessionOf("s1"), numbered(3));
    expect(textsOf((await store.messages("s1", { limit: 9, maxBytes: 9_999 })).messages)).toBe(texts);
    // What was forgotten is not counted any more: the next one takes the place of one.
    await store.put(sessionOf("s1"), [says("3")]);
    const next = `${texts} 3`.slice(2);
    expect(textsOf((await store.messages("s1", { limit: 9, maxBytes: 9_999 })).messages)).toBe(next);
  });

  it("keeps its last message though that alone is too large", async () => {
    const { store } = await openSessions({ quota: { maxTranscriptBytes: 10 } });
    await store.put(sessionOf("s1"), numbered(3));
    expect(await store.messages("s1", { limit: 9, maxBytes: 9_999 })).toEqual({ messages: [says("2")], first: 2 });
  });

  const largest = limits.maxMessageBytes - Buffer.byteLength(JSON.stringify(says("")));
  it.each([
    [largest - 1, undefined],
    [largest, undefined],
    [largest + 1, [{ field: "text", bytes: largest + 1 }]],
  ])("cuts a message whose text of %i characters passes 2 MiB", async (units, truncated) => {
    const { store } = await openSessions({ quota: { maxTranscriptBytes: 1e9 } });
    await store.put(sessionOf("s1"), [says("x".repeat(units))]);
    const [message] = (await store.messages("s1", { limit: 1, maxBytes: 0 })).messages;
    expect(message?.truncated).toEqual(truncated);
    if (truncated === undefined) expect(message?.text).toHaveLength(units);
    else expect(message?.text.length).toBeLessThan(units);
    expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThanOrEqual(limits.maxMessageBytes);
  });

  it("keeps a message readable however its JSON grows, and leaves out what cannot be cut", async () => {
    const { store } = await openSessions({ quota: { maxTranscriptBytes: 1e9 } });
    const args = Array.from({ length: 400_000 }, () => 12_345);
    await store.put(sessionOf("s1"), [{ role: "tool", text: "\u0001".repeat(2_000_000), name: "t", args }]);
    const [message] = (await store.messages("s1", { limit: 1, maxBytes: 0 })).messages;
    expect(message).toMatchObject({ role: "tool", name: "t" });
    expect(new Set(message?.text)).toEqual(new Set(["\u0001"]));
    expect(message?.truncated?.map(({ field }) => field).sort()).toEqual(["args", "text"]);
    expect(message).not.toHaveProperty("args");
    expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThanOrEqual(limits.maxMessageBytes);
  });
});

describe("rules of approvals", () => {
  const ruleOf = (command: string, agent_id = "default") => ({ agent_id, tool_name: "bash", command });

  it("are kept by agent, the one put last behind all others", async () => {
    const { store } = await openSessions();
    for (const command of ["a", "b", "a"]) await store.putRule(ruleOf(command));
    await store.putRule(ruleOf("x", "other"));
    expect(await store.rules("default")).toEqual([ruleOf("b"), ruleOf("a")]);
    expect(await store.rules("other")).toEqual([ruleOf("x", "other")]);
    expect(await store.rules("nobody")).toEqual([]);
  });

  it.each([
    [limits.maxRulesPerAgent - 1, 0],
    [limits.maxRulesPerAgent, 0],
    [limits.maxRulesPerAgent + 1, 1],
  ])("of %i those from %i on are kept", async (count, first) => {
    const { store } = await openSessions();
    // Long ones, so that it takes several slices to read them.
    const rules = Array.from({ length: count }, (_, at) => ruleOf(`${at}`.padEnd(400, ".")));
    await Promise.all([store.putRule(ruleOf("x", "other")), ...rules.map((rule) => store.putRule(rule))]);
    expect(await store.rules("default")).toEqual(rules.slice(first));
    expect(await store.rules("other")).toHaveLength(1);
  });
});
