import { describe, expect, it } from "vitest";
import {
  estimateBytes,
  limits,
  requestEntry,
  requestMethods,
  requestScope,
  requestTable,
  type JsonObject,
} from "../../../core/index.ts";
import { eventsOf } from "../../support/bus.ts";
import { cancelled, openDesk } from "../../support/request-desk.ts";

const hour = 3_600_000;
const minute = 60_000;

describe("the table of requests", () => {
  it("names each method with its scope and its lifetime", () => {
    expect(
      requestMethods.map((method) => [method, requestTable[method].scope, requestTable[method].lifetimeMs]),
    ).toEqual([
      ["approval", "approvals", 24 * hour],
      ["clarify", "write", hour],
      ["secret", "write", hour],
      ["sudo", "write", hour],
      ["ask", "write", hour],
      ["vault.*", "write", hour],
      ["terminal.read", "write", minute],
      ["window.read", "write", minute],
      ["preview.read", "write", minute],
      ["preview.act", "write", minute],
      ["tour", "write", minute],
    ]);
    expect(["approval", "vault.read", "toString", "guess"].map(requestScope)).toEqual([
      "approvals",
      "write",
      "admin",
      "admin",
    ]);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["clarify", { question: "q", choices: null, multi_select: true, more: 1 }, { question: "q", multi_select: true }],
    [
      "clarify",
      { question: "q", questions: [{ qid: "a", question: "A", choices: ["x"], more: 1 }] },
      { questions: [{ qid: "a", question: "A", choices: ["x"] }] },
    ],
    ["secret", { env_var: "KEY", prompt: "p", more: 1 }, { env_var: "KEY", prompt: "p" }],
    ["secret", { env_var: "KEY" }, { env_var: "KEY", prompt: "" }],
    ["sudo", { command: "mount", more: 1 }, { command: "mount" }],
    ["ask", { prompt: "p", schema: { type: "number" }, more: 1 }, { prompt: "p", schema: { type: "number" } }],
    [
      "vault.read",
      { path: "a", session_id: "x", request_id: "y", more: { deep: 1 } },
      { path: "a", more: { deep: 1 } },
    ],
    ["tour", {}, {}],
  ])("shows of a %s what it knows: %o", (method, params, shown) => {
    const desk = openDesk();
    const execution = desk.claim();
    const { id } = desk.ask(execution, method, params);
    expect(desk.requests.find(id)?.params).toEqual({ session_id: execution.session.runtimeId, ...shown });
  });

  it.each<[string, unknown]>([
    ["guess", { question: "q" }],
    ["toString", {}],
    ["", {}],
    ["clarify", {}],
    ["clarify", { question: "" }],
    ["clarify", { question: "q", choices: "yes" }],
    ["clarify", { questions: [] }],
    [
      "clarify",
      {
        questions: [
          { qid: "a", question: "A" },
          { qid: "a", question: "B" },
        ],
      },
    ],
    ["secret", { prompt: "p" }],
    ["sudo", {}],
    ["ask", { schema: {} }],
    ["clarify", 1n],
  ])("asks nobody by %j with %o", async (method, params) => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    const { outcome } = desk.ask(execution, method, params as JsonObject);
    expect(await outcome).toEqual(cancelled("no_handler"));
    expect([a.frames, desk.requests.open(), desk.requests.refusedQuestions]).toEqual([[], [], 1]);
  });

  it.each([-1, 0, 1])("I8 asks nobody more than 262,144 bytes: %d more", (more) => {
    const desk = openDesk();
    const execution = desk.claim();
    const question = "x".repeat(limits.maxQuestionBytes + more - estimateBytes({ question: "" }));
    desk.ask(execution, "clarify", { question });
    expect([desk.requests.open().length, desk.requests.refusedQuestions]).toEqual(more > 0 ? [0, 1] : [1, 0]);
  });

  it.each([-1, 0, 1])("I8 asks 64 questions together: %d more", (more) => {
    const desk = openDesk();
    const execution = desk.claim();
    const questions = Array.from({ length: limits.maxQuestions + more }, (_, k) => ({ qid: `q${k}`, question: "?" }));
    desk.ask(execution, "clarify", { questions });
    expect(desk.requests.open()).toHaveLength(more > 0 ? 0 : 1);
  });

  it.each<[string, number]>([
    ["clarify", hour],
    ["tour", minute],
  ])("lets a %s wait for %d ms", (method, lifetimeMs) => {
    const desk = openDesk();
    const execution = desk.claim();
    desk.ask(execution, method, { question: "q" });
    desk.bus.clock.advance(lifetimeMs - 1);
    expect(desk.requests.open()).toHaveLength(1);
    desk.bus.clock.advance(1);
    expect(desk.requests.open()).toHaveLength(0);
  });
});

describe("an answer", () => {
  it.each<[string, JsonObject, unknown, JsonObject | null]>([
    ["clarify", { question: "q" }, { answer: "yes", more: 1 }, { answer: "yes" }],
    ["clarify", { question: "q" }, { answer: "" }, { answer: "" }],
    ["clarify", { question: "q" }, {}, { answer: "" }],
    ["clarify", { question: "q" }, { answers: { a: "x" } }, null],
    ["clarify", { question: "q" }, { answer: ["x"] }, null],
    ["clarify", { question: "q" }, undefined, null],
    ["sudo", { command: "mount" }, { value: "pw", more: 1 }, { value: "pw" }],
    ["sudo", { command: "mount" }, { value: 1 }, null],
    ["ask", { prompt: "p" }, { value: { deep: [1, null] } }, { value: { deep: [1, null] } }],
    ["ask", { prompt: "p" }, { value: null }, { value: null }],
    ["ask", { prompt: "p" }, {}, null],
    ["terminal.read", {}, { value: "line" }, { value: "line" }],
  ])("of a %s with %o fits or does not: %o", async (method, params, result, given) => {
    const desk = openDesk();
    const execution = desk.claim();
    const { id, outcome } = desk.ask(execution, method, params);
    const told = desk.requests.answer(id, { result }, "A");
    if (given === null) {
      expect([told, desk.requests.open().length]).toEqual([{ status: "invalid_answer" }, 1]);
      expect(desk.requests.refusedAnswers).toBe(1);
      return;
    }
    const stands = { outcome: "answered", by: { origin: "A" } };
    expect(told).toEqual({ status: "ok", outcome: stands });
    expect(await outcome).toEqual({ ...stands, result: given });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["clarify", { question: "q" }, { answer: "text" }],
    ["secret", { env_var: "K" }, { value: "text" }],
    ["vault.read", {}, { value: "text" }],
  ])("of a %s may be one text", async (method, params, result) => {
    const desk = openDesk();
    const execution = desk.claim();
    const { id, outcome } = desk.ask(execution, method, params);
    desk.requests.answer(id, { choice: "text" }, null);
    expect((await outcome).result).toEqual(result);
  });

  it.each([-1, 0, 1])("I8 has 65,536 characters: %d more", (more) => {
    const desk = openDesk();
    const execution = desk.claim();
    const { id } = desk.ask(execution, "clarify", { question: "q" });
    const answer = "x".repeat(limits.maxAnswerUnits + more);
    expect(desk.requests.answer(id, { result: { answer } }, null).status).toBe(more > 0 ? "invalid_answer" : "ok");
  });

  it("I13 that is a secret is told to its agent, and masked in all that leaves", async () => {
    const desk = openDesk();
    const attempt = desk.bus.start();
    const { events } = desk.bus.watch();
    const frames: string[] = [];
    desk.bus.tap.seam.addFrameSink((frame) => void frames.push(JSON.stringify(frame)));
    const { id, outcome } = desk.ask(attempt, "secret", { env_var: "KEY" });
    desk.requests.answer(id, { result: { value: "correct horse" } }, "A");
    expect((await outcome).result).toEqual({ value: "correct horse" });
    desk.bus.delta(attempt, "it is correct horse.");
    desk.bus.settle(attempt);
    await desk.bus.idle();
    expect(
      eventsOf(events, "message.delta")
        .map(({ payload }) => payload.text)
        .join(""),
    ).toBe("it is [redacted].");
    expect(JSON.stringify([frames, events])).not.toContain("correct horse");
  });

  it("that is too short a secret to be found in texts is taken all the same", async () => {
    const desk = openDesk();
    const { id, outcome } = desk.ask(desk.claim(), "sudo", { command: "mount" });
    desk.requests.answer(id, { result: { value: "pw" } }, "A");
    expect((await outcome).result).toEqual({ value: "pw" });
  });
});

describe("a question of a room", () => {
  it("is told as activity and listed with what is asked; its answer is not", async () => {
    const desk = openDesk();
    const attempt = desk.bus.begin();
    const { events } = desk.bus.watch();
    const questions = [{ qid: "a", question: "A?" }];
    const { id } = desk.ask(attempt, "clarify", { questions });
    const { coordinates } = attempt;
    const expires_at = desk.bus.clock.now() + hour;
    const opened = { id, method: "clarify", questions, expires_at };
    expect(desk.requests.open(attempt).map(requestEntry)).toEqual([{ ...opened, coordinates }]);
    desk.requests.answer(id, { result: { answers: { a: "hush hush" } } }, "A");
    await desk.bus.idle();
    expect(events.map(({ kind, payload }) => [kind, payload])).toEqual([
      ["request.opened", opened],
      ["request.resolved", { id, method: "clarify", outcome: "answered", by: { origin: "A" } }],
    ]);
  });
});

describe("what is no question at all", () => {
  it.each([null, undefined, 7, "ask"])("is refused without a word to anybody: %s", async (question) => {
    const desk = openDesk();
    await expect(desk.requests.ask(desk.claim(), question as never)).resolves.toEqual(cancelled("no_handler"));
    expect(desk.requests.open()).toEqual([]);
  });
});
