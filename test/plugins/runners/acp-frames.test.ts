import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunnerFrame } from "../../../core/index.ts";
import { framesOf, mentionFrames, newTurnState, parseToolCall } from "../../../plugins/runners/acp-frames.ts";

const framesOfAll = (...updates: unknown[]): RunnerFrame[] => {
  const state = newTurnState();
  return updates.flatMap((update) => framesOf(update, state));
};
const chunk = (content: unknown): object => ({ sessionUpdate: "agent_message_chunk", content });
const call = (fields: object): object => ({ sessionUpdate: "tool_call", toolCallId: "c", ...fields });
const update = (fields: object): object => ({ sessionUpdate: "tool_call_update", toolCallId: "c", ...fields });
const start = (fields: object = {}): RunnerFrame => ({
  type: "tool.start",
  payload: { tool_id: "c", name: "tool", ...fields },
});
const complete = (fields: object = {}): RunnerFrame => ({
  type: "tool.complete",
  payload: { tool_id: "c", name: "tool", outcome: "ok", ...fields },
});
const textOf = (frames: RunnerFrame[]): unknown => frames[0]?.payload?.["text"];

describe("frames of an ACP agent's text", () => {
  it.each([
    ["text", { type: "text", text: "hi" }, "hi"],
    ["a lone surrogate", { type: "text", text: "a\ud83d" }, "a\ud83d"],
    ["an image", { type: "image", data: "AAAA", mimeType: "image/png" }, "[image image/png]"],
    ["audio", { type: "audio", data: "AAAA", mimeType: "audio/wav" }, "[audio audio/wav]"],
    ["a link", { type: "resource_link", uri: "file:///a.md", name: "a.md" }, "[link file:///a.md]"],
    ["a resource of text", { type: "resource", resource: { uri: "file:///a", text: "body" } }, "body"],
    ["a resource of bytes", { type: "resource", resource: { uri: "file:///a", blob: "AA" } }, "[resource file:///a]"],
    ["a block of a newer agent", { type: "hologram" }, "[hologram]"],
  ])("%s", (_, content, text) => {
    expect(framesOfAll(chunk(content))).toEqual([{ type: "message.delta", payload: { text } }]);
  });

  it("thoughts are reasoning", () => {
    const thought = { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } };
    expect(framesOfAll(thought)).toEqual([{ type: "reasoning.delta", payload: { text: "hm" } }]);
  });

  it.each([
    ["empty text", chunk({ type: "text", text: "" })],
    ["no content", chunk(undefined)],
    ["content that is none", chunk(7)],
    ["an echo of the prompt", { sessionUpdate: "user_message_chunk", content: { type: "text", text: "x" } }],
    ["an update without a type", { content: { type: "text", text: "x" } }],
    ["no update", null],
    ["a tool call without an id", { sessionUpdate: "tool_call", title: "x" }],
    ["a plan without entries", { sessionUpdate: "plan" }],
  ])("gives none for %s", (_, value) => {
    expect(framesOfAll(value)).toEqual([]);
  });
});

describe("frames of an ACP agent's tools", () => {
  it("a call with an id over 512 characters is told by its digest, from its start to its end", () => {
    const [one, two] = [`${"x".repeat(512)}1`, `${"x".repeat(512)}2`];
    const frames = framesOfAll(
      call({ toolCallId: one }),
      call({ toolCallId: two }),
      update({ toolCallId: one, status: "completed" }),
      call({ toolCallId: "x".repeat(512) }),
    );
    const [first, second, end, kept] = frames.map(({ payload }) => payload?.["tool_id"]);
    expect(first).toMatch(/^sha256-[0-9a-f]{64}$/);
    expect([end, kept]).toEqual([first, "x".repeat(512)]);
    expect(second).not.toBe(first);
  });

  it.each<[string, object[], RunnerFrame[]]>([
    ["a call that is pending", [call({ title: "tool", status: "pending" })], [start()]],
    ["its name before its title", [call({ name: "tool", title: "Reads" })], [start({ context: "Reads" })]],
    ["its kind without both", [call({ title: "", kind: "read" })], [start({ name: "read" })]],
    ["nothing known of it", [call({})], [start()]],
    ["arguments", [call({ rawInput: { path: "a" } })], [start({ args: { path: "a" } })]],
    ["progress", [call({}), update({ status: "in_progress" }), update({})], [start()]],
    [
      "success",
      [call({}), update({ status: "completed", rawOutput: { a: 1 } })],
      [start(), complete({ result: { a: 1 } })],
    ],
    [
      "failure",
      [call({}), update({ status: "failed", rawOutput: "no" })],
      [start(), complete({ outcome: "error", error: "no" })],
    ],
    ["cancelled", [call({}), update({ status: "cancelled" })], [start(), complete({ outcome: "cancelled" })]],
    ["a status of a newer agent", [call({}), update({ status: "paused" })], [start()]],
    ["an end that is the first mention", [update({ status: "completed" })], [start(), complete()]],
    ["a call that comes finished", [call({ status: "completed", rawOutput: 0 })], [start(), complete({ result: 0 })]],
    ["a second end", [call({ status: "completed" }), update({ status: "failed" })], [start(), complete()]],
    ["a second start", [call({}), call({ title: "other" })], [start()]],
    ["fields of odd types", [call({ title: 7, kind: [], status: {}, content: "x" })], [start()]],
    [
      "shown content in place of a result",
      [
        update({
          status: "completed",
          content: [
            { type: "content", content: { type: "text", text: "body" } },
            { type: "diff", path: "a.md", newText: "x" },
            { type: "terminal", terminalId: "t7" },
          ],
        }),
      ],
      [start(), complete({ result: "body\n[diff of a.md]\n[terminal t7]" })],
    ],
  ])("%s", (_, updates, frames) => {
    expect(framesOfAll(...updates)).toEqual(frames);
  });

  it("C-006 a call that a permission request opened is not opened again", () => {
    const state = newTurnState();
    const asked = parseToolCall({ toolCallId: "c", title: "tool", rawInput: { a: 1 } });
    if (asked === undefined) throw new Error("has an id");
    expect(mentionFrames(asked, state)).toEqual([start({ args: { a: 1 } })]);
    expect(mentionFrames(asked, state)).toEqual([]);
    expect(framesOf(call({ title: "tool" }), state)).toEqual([]);
    expect(framesOf(update({ status: "completed" }), state)).toEqual([complete()]);
  });

  it("C-007 pairs by the full id, in any order", () => {
    const id = fc.string({ minLength: 1, maxLength: 3 }).map((tail) => "x".repeat(509) + tail);
    const ids = fc.uniqueArray(id, { minLength: 1, maxLength: 64 });
    const orders = ids.chain((starts) =>
      fc.record({ starts: fc.constant(starts), ends: fc.shuffledSubarray(starts, { minLength: starts.length }) }),
    );
    fc.assert(
      fc.property(orders, ({ starts, ends }) => {
        const frames = framesOfAll(
          ...starts.map((toolCallId, at) => call({ toolCallId, title: `t${at}` })),
          ...ends.map((toolCallId) => update({ toolCallId, status: "completed" })),
        );
        const told = frames.map(({ type, payload }) => [type, payload?.["tool_id"], payload?.["name"]]);
        expect(told).toEqual([
          ...starts.map((each, at) => ["tool.start", each, `t${at}`]),
          ...ends.map((each) => ["tool.complete", each, `t${starts.indexOf(each)}`]),
        ]);
      }),
    );
  });

  it("C-080 knows no id or type from the prototype", () => {
    expect(framesOfAll({ sessionUpdate: "constructor" })).toEqual([
      { type: "acp.constructor", payload: { sessionUpdate: "constructor" } },
    ]);
    expect(
      framesOfAll(call({ toolCallId: "__proto__" }), update({ toolCallId: "__proto__", status: "failed" })),
    ).toEqual([start({ tool_id: "__proto__" }), complete({ tool_id: "__proto__", outcome: "error" })]);
  });

  it("remembers 4,096 calls of a turn", () => {
    const state = newTurnState();
    for (let at = 0; at <= 4_096; at++) framesOf(call({ toolCallId: `c${at}` }), state);
    expect(state.calls.size).toBe(4_096);
    expect(state.calls.has("c0")).toBe(false);
    expect(state.calls.has("c1")).toBe(true);
  });
});

describe("other updates of an ACP agent", () => {
  it("plans are todos, numbered", () => {
    const entries = [{ content: "look", priority: "high", status: "pending" }];
    const plan = { sessionUpdate: "plan", entries };
    expect(framesOfAll(plan, plan)).toEqual([
      { type: "todo.updated", payload: { todos: entries, revision: 1 } },
      { type: "todo.updated", payload: { todos: entries, revision: 2 } },
    ]);
  });

  it.each([
    ["usage_update", "acp.usage_update"],
    ["message.complete", "acp.update"],
    ["x".repeat(65), "acp.update"],
  ])("%s passes as %s", (sessionUpdate, type) => {
    expect(framesOfAll({ sessionUpdate, used: 1 })).toEqual([{ type, payload: { sessionUpdate, used: 1 } }]);
  });

  it("a chunk's text is what it holds, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), (text) => {
        expect(textOf(framesOfAll(chunk({ type: "text", text })))).toBe(text);
      }),
    );
  });
});
