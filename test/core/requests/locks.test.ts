import { describe, expect, it } from "vitest";
import { limits } from "../../../core/index.ts";
import { secret } from "../../support/bus.ts";
import { openDesk, wordOf, type RequestDesk } from "../../support/request-desk.ts";

const batch = {
  questions: [
    { qid: "q1", question: "One?" },
    { qid: "q2", question: "Two?" },
  ],
};

function openBatch(desk: RequestDesk = openDesk()) {
  const execution = desk.claim();
  const a = desk.connect(execution.session);
  const asked = desk.ask(execution, "clarify", batch, 1_000);
  const lock = (questionId: string, answer: string): object => desk.requests.lock(asked.id, questionId, answer, "A");
  return { desk, execution, a, lock, ...asked };
}

describe("questions that are asked together", () => {
  it("W42 are answered one by one, and an answer may be changed until the last", async () => {
    const { lock, outcome, a, id } = openBatch();
    expect(lock("q1", "first")).toEqual({ status: "ok", remaining: ["q2"] });
    expect(lock("q1", "changed")).toEqual({ status: "ok", remaining: ["q2"] });
    expect(lock("q2", "two")).toEqual({ status: "ok", remaining: [] });
    const stands = { outcome: "answered", by: { origin: "A" } };
    expect(lock("q1", "late")).toEqual({ status: "already_resolved", remaining: [], outcome: stands });
    expect(await outcome).toEqual({ ...stands, result: { answers: { q1: "changed", q2: "two" } } });
    const updates = a.frames.filter((frame) => !("id" in frame) && frame.params.type === "request.update");
    expect(updates.map(({ params }) => params["payload"])).toEqual([
      { id, method: "clarify", answers: { q1: "first" } },
      { id, method: "clarify", answers: { q1: "changed" } },
    ]);
    expect(JSON.stringify(a.frames)).not.toContain("two");
  });

  it("are delivered again with what was answered, secrets masked", async () => {
    const { desk, execution, lock, outcome } = openBatch();
    lock("q2", `it is ${secret}`);
    const b = desk.connect(execution.session);
    const [open] = desk.delivery.openRequests(b.client, execution.session);
    const session_id = execution.session.runtimeId;
    expect(open?.params).toEqual({ session_id, ...batch, answers: { q2: "it is [redacted]" } });
    lock("q1", "one");
    expect((await outcome).result).toEqual({ answers: { q1: "one", q2: `it is ${secret}` } });
  });

  it("are resolved by a whole answer, over what was answered before", async () => {
    const { a, id, lock, outcome } = openBatch();
    lock("q1", "locked");
    lock("q2", "locked");
    const other = openBatch();
    other.lock("q1", "locked");
    other.a.answer(other.id, { answers: { q2: "whole", q9: "unknown" } });
    expect((await other.outcome).result).toEqual({ answers: { q1: "locked", q2: "whole" } });
    expect(a.answer(id, { answers: {} })).toBe("late");
    expect((await outcome).result).toEqual({ answers: { q1: "locked", q2: "locked" } });
  });

  it("are all turned away by an answer that has none", async () => {
    const { a, id, lock, outcome } = openBatch();
    lock("q1", "locked");
    a.answer(id, {});
    expect(await outcome).toEqual({ outcome: "answered", result: { answers: {} }, by: { origin: "A" } });
  });

  it.each<[unknown]>([[{ answer: "one text" }], [{ answers: { q1: 1 } }], [{ answers: "x" }]])(
    "are not answered by %o",
    (result) => {
      const { desk, id } = openBatch();
      expect(desk.requests.answer(id, { result }, null)).toEqual({ status: "invalid_answer" });
      expect(desk.requests.open()).toHaveLength(1);
    },
  );

  it("give what was answered when their time is over", async () => {
    const { desk, lock, outcome } = openBatch();
    lock("q2", "two");
    desk.bus.clock.advance(1_000);
    expect(await outcome).toEqual({
      outcome: "expired",
      reason: "timeout",
      by: null,
      timed_out: true,
      result: { answers: { q2: "two" } },
    });
  });

  it("know no other question, and no other request has one", () => {
    const { desk, lock, execution } = openBatch();
    const single = desk.ask(execution, "clarify", { question: "q" });
    const statuses = [
      lock("q3", "x"),
      lock("__proto__", "x"),
      desk.requests.lock(single.id, "q1", "x", "A"),
      desk.requests.lock("srq-none", "q1", "x", "A"),
      desk.requests.lock("", "q1", "x", "A"),
    ].map((told) => (told as { status: string }).status);
    const unknown = "unknown_question";
    expect(statuses).toEqual([unknown, unknown, unknown, "unknown_request", "unknown_request"]);
  });

  it.each([-1, 0, 1])("I8 take 65,536 characters each: %d more", (more) => {
    const { lock } = openBatch();
    const status = more > 0 ? "invalid_answer" : "ok";
    expect(lock("q1", "x".repeat(limits.maxAnswerUnits + more))).toMatchObject({ status });
  });
});

describe("a turn that is cancelled", () => {
  it("C-035 ends its requests, then its tools, and nothing of other sessions", async () => {
    const desk = openDesk();
    const { execution, a, lock, outcome } = openBatch(desk);
    const { tap } = desk.bus;
    const other = desk.ask(desk.claim("other"), "clarify", { question: "q" });
    tap.emit(execution, { type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    desk.ask(execution, "approval", { command: "rm" });
    desk.ask(execution, "secret", { env_var: "KEY" });
    lock("q1", "one");
    tap.seal(execution, "interrupted");
    tap.complete(execution, { text: "", status: "interrupted", usage: null });
    const types = a.frames.map((frame) =>
      "id" in frame ? frame.method : wordOf(frame.params.type, frame.params.payload),
    );
    const ended = ["request.cancel interrupted", "request.resolved interrupted"];
    expect(types).toEqual([
      ...["clarify", "tool.start", "approval", "secret", "request.update"],
      ...[...ended, ...ended, ...ended],
      ...["tool.complete interrupted", "message.complete"],
    ]);
    expect(await outcome).toEqual({ outcome: "cancelled", reason: "interrupted", by: null });
    expect([a.listed(execution.session), desk.requests.open().map(({ id }) => id)]).toEqual([[], [other.id]]);
  });
});

describe("an attempt that is cancelled", () => {
  it("C-035 tells the end of its requests, of its tools, then its own", async () => {
    const desk = openDesk();
    const { bus } = desk;
    const attempt = bus.begin();
    bus.emit(attempt, "tool.start", { tool_id: "c1", name: "read" });
    for (const params of [batch, { question: "q" }, { question: "r" }]) desk.ask(attempt, "clarify", params);
    const { events } = bus.watch();
    bus.settle(attempt, { status: "cancelled", reason_code: "stopped" });
    await bus.idle();
    const words = events.map(({ kind, payload }) => wordOf(kind, payload));
    const ended = "request.resolved interrupted";
    expect(words).toEqual([ended, ended, ended, "tool.completed interrupted", "turn.settled"]);
  });
});
