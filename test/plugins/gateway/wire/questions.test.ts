import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { limits, type Answered, type JsonObject } from "../../../../core/index.ts";
import { askedHost, requestWords, type AskedHost } from "../../../support/asked-host.ts";
import { openHost, type Came } from "../../../support/open-host.ts";
import { loopClock, temporaryFolder } from "../../../support/open-log.ts";

const batch = {
  questions: [
    { qid: "q1", question: "Deploy?", choices: ["yes", "no"] },
    { qid: "q2", question: "Where?" },
  ],
};
const secret = "tok_EXAMPLE_0123456789abcdef";

/** Asks, and gives the id of the request once both clients have it. */
async function asked(
  { a, b, turn }: AskedHost,
  method: string,
  params: JsonObject,
): Promise<{ readonly id: string; readonly params: JsonObject; readonly answered: Promise<Answered> }> {
  const answered = turn.ask(method, params);
  const [request] = await Promise.all([a.request(method), b.request(method)]);
  return { id: request.id, params: { ...request.params }, answered };
}

describe("a clarify of several questions", () => {
  it("W42 is answered one by one, each changed until the last", async () => {
    const host = await askedHost();
    const { a, b, session_id } = host;
    const { id, params, answered } = await asked(host, "clarify", batch);
    expect(params).toEqual({ session_id, ...batch });
    const lock = (client: typeof a, question_id: string, answer: string): Promise<JsonObject> =>
      client.call("clarify.lock", { request_id: id, question_id, answer });
    expect(await lock(a, "q1", "no")).toEqual({ status: "ok", remaining: ["q2"] });
    expect(await lock(b, "q1", "yes")).toEqual({ status: "ok", remaining: ["q2"] });
    const { open_requests } = await b.call("session.activate", { session_id });
    expect(open_requests).toEqual([
      { id, method: "clarify", params: { session_id, ...batch, answers: { q1: "yes" } } },
    ]);
    expect(await lock(a, "q2", "here")).toEqual({ status: "ok", remaining: [] });
    const outcome = { outcome: "answered", by: { origin: a.origin } };
    expect(await answered).toEqual({ ...outcome, result: { answers: { q1: "yes", q2: "here" } } });
    expect(await lock(b, "q1", "late")).toEqual({ status: "already_resolved", remaining: [], outcome });
    await b.settled();
    expect(b.events("request.update").map(({ payload }) => payload)).toEqual([
      { id, method: "clarify", answers: { q1: "no" } },
      { id, method: "clarify", answers: { q1: "yes" } },
    ]);
    expect(requestWords(b).slice(-2)).toEqual(["request.cancel resolved", "request.resolved answered"]);
  });

  it("is resolved by a frame, whose answers stand over the locks", async () => {
    const host = await askedHost();
    const { a, b } = host;
    const { id, answered } = await asked(host, "clarify", batch);
    await a.call("clarify.lock", { request_id: id, question_id: "q1", answer: "no" });
    await a.call("clarify.lock", { request_id: id, question_id: "q2", answer: "here" }).then(() => undefined);
    expect((await answered).result).toEqual({ answers: { q1: "no", q2: "here" } });
    const again = host.turn.ask("clarify", batch);
    const { id: next } = await a.request("clarify", 1);
    await a.call("clarify.lock", { request_id: next, question_id: "q1", answer: "no" });
    b.send({ jsonrpc: "2.0", id: next, result: { answers: { q2: "there", q9: "what?" } } });
    expect((await again).result).toEqual({ answers: { q1: "no", q2: "there" } });
  });

  it("is turned away as a whole by a frame without answers", async () => {
    const host = await askedHost();
    const { id, answered } = await asked(host, "clarify", batch);
    await host.a.call("clarify.lock", { request_id: id, question_id: "q1", answer: "no" });
    host.a.send({ jsonrpc: "2.0", id, result: {} });
    expect(await answered).toMatchObject({ outcome: "answered", result: { answers: {} } });
  });

  it("gives its agent what was locked when its time is over", async () => {
    const clock = loopClock();
    const host = await askedHost({ clock, gateway: { pingIntervalMs: 0 } });
    const { id, answered } = await asked(host, "clarify", batch);
    await host.b.call("clarify.lock", { request_id: id, question_id: "q2", answer: "here" });
    clock.advance(limits.questionLifetimeMs);
    expect(await answered).toEqual({
      outcome: "expired",
      reason: "timeout",
      by: null,
      result: { answers: { q2: "here" } },
      timed_out: true,
    });
  });

  it("is locked by nothing that does not name it", async () => {
    const host = await askedHost();
    const { a } = host;
    const { id: request_id } = await asked(host, "clarify", batch);
    const refused = (params: object): Promise<readonly [number, string]> =>
      a.refused("clarify.lock", { request_id, question_id: "q1", answer: "no", ...params });
    void host.turn.ask("approval", { command: "rm x" });
    const { id: approval } = await a.request("approval");
    expect([
      await refused({ question_id: "q3" }),
      await refused({ question_id: "__proto__" }),
      await refused({ request_id: approval }),
      await refused({ request_id: "srq-000000000000" }),
      await refused({ request_id: "" }),
      await refused({ answer: 7 }),
      await refused({ answer: "x".repeat(limits.maxAnswerUnits + 1) }),
    ]).toEqual([
      [4002, "unknown_question"],
      [4002, "unknown_question"],
      [4002, "unknown_question"],
      [4014, "unknown_request"],
      [-32602, "invalid_params"],
      [-32602, "invalid_params"],
      [-32602, "invalid_params"],
    ]);
    expect(a.events("request.update")).toEqual([]);
  });
});

describe("a question", () => {
  it.each([
    ["clarify", { question: "Deploy?", multi_select: true }, { answer: "yes" }],
    ["sudo", { command: "apt update" }, { value: "hunter2-hunter2" }],
    ["ask", { prompt: "How many?", schema: { type: "number" } }, { value: 7 }],
    ["ask", { prompt: "What?" }, { value: { deep: [null, "x"] } }],
    ["vault.unlock", { name: "work", more: [1] }, { value: true }],
    ["terminal.read", { lines: 5 }, { value: "$ ls" }],
  ] as const)("%s %j is answered with %j, by frame and by call", async (method, params, result) => {
    const host = await askedHost();
    const { a, b, turn, session_id } = host;
    const first = await asked(host, method, params);
    expect(first.params).toEqual({ session_id, ...params });
    a.send({ jsonrpc: "2.0", id: first.id, result });
    expect(await first.answered).toEqual({ outcome: "answered", result, by: { origin: a.origin } });
    const again = turn.ask(method, params);
    const { id } = await b.request(method, 1);
    const outcome = { outcome: "answered", by: { origin: b.origin } };
    expect(await b.call("request.answer", { id, result })).toEqual({ status: "ok", outcome });
    expect(await again).toEqual({ ...outcome, result });
  });

  it.each([
    ["clarify", { question: "Deploy?" }, { answer: 7 }],
    ["clarify", { question: "Deploy?" }, { answers: { q1: "x" } }],
    ["sudo", { command: "apt update" }, { value: 7 }],
    ["secret", { env_var: "TOKEN", prompt: "Token?" }, {}],
    ["ask", { prompt: "What?" }, "x"],
  ] as const)("%s %j is not answered by %j; a frame of it declines", async (method, params, result) => {
    const host = await askedHost();
    const { a, b, tap } = host;
    const { id, answered } = await asked(host, method, params);
    expect(await a.refused("request.answer", { id, result })).toEqual([-32602, "invalid_params"]);
    a.send({ jsonrpc: "2.0", id, result });
    await a.settled();
    expect(tap.requests.open()).toHaveLength(1);
    b.send({ jsonrpc: "2.0", id, result });
    expect(await answered).toEqual({ outcome: "cancelled", reason: "no_handler", by: null });
  });

  it("of no known method, or without a text, is put to nobody", async () => {
    const { a, turn } = await askedHost();
    const nobody = { outcome: "cancelled", reason: "no_handler", by: null };
    expect(await turn.ask("constructor", { question: "?" })).toEqual(nobody);
    expect(await turn.ask("clarify", { choices: ["yes"] })).toEqual(nobody);
    expect(await turn.ask("secret", {})).toEqual(nobody);
    await a.settled();
    expect(requestWords(a)).toEqual([]);
  });

  it("is one of 32 in a session; one more ends at once", async () => {
    const { a, turn } = await askedHost();
    for (let nth = 0; nth < limits.maxOpenRequestsPerSession; nth++) void turn.ask("clarify", { question: `${nth}?` });
    expect(await turn.ask("clarify", { question: "One more?" })).toEqual({
      outcome: "cancelled",
      reason: "too_many_requests",
      by: null,
    });
    await a.request("clarify", limits.maxOpenRequestsPerSession - 1);
    await a.settled();
    expect(requestWords(a)).toHaveLength(limits.maxOpenRequestsPerSession);
  });
});

describe("a question over stdio", () => {
  it("is put as a line, and its answer names no connection", async () => {
    const { tap, agent } = await openHost();
    const [input, output] = [new PassThrough(), new PassThrough()];
    tap.openStdio({ input, output });
    const lines = createInterface({ input: output })[Symbol.asyncIterator]();
    const next = async (isIt: (came: Came) => boolean): Promise<Came> => {
      for (;;) {
        const came = JSON.parse(String((await lines.next()).value)) as Came;
        if (isIt(came)) return came;
      }
    };
    const call = async (id: string, method: string, params: JsonObject): Promise<JsonObject> => {
      input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      return (await next((came) => came.id === id)).result ?? {};
    };
    await call("r1", "client.capabilities", { server_requests: true });
    const { session_id } = await call("r2", "session.create", {});
    await call("r3", "prompt.submit", { session_id, text: "go" });
    const answered = (await agent.turn()).ask("clarify", { question: "Deploy?" });
    const { id, params } = await next(({ method }) => method === "clarify");
    expect(params).toEqual({ session_id, question: "Deploy?" });
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: { answer: "yes" } })}\n`);
    expect(await answered).toEqual({ outcome: "answered", result: { answer: "yes" }, by: null });
    const resolved = await next(({ params: event }) => event?.type === "request.resolved");
    expect(resolved.params?.payload).toEqual({ id, method: "clarify", outcome: "answered", by: null });
  });
});

describe("a secret that is answered", () => {
  it("reaches its agent, and no frame, reply, row or notice", async () => {
    const folder = temporaryFolder();
    const host = await askedHost({ db: join(folder, "host.db") });
    const { a, b, turn, session_id, stored_session_id, notices, connect } = host;
    const byFrame = await asked(host, "secret", { env_var: "DEPLOY_TOKEN", prompt: "Token?" });
    a.send({ jsonrpc: "2.0", id: byFrame.id, result: { value: secret } });
    expect((await byFrame.answered).result).toEqual({ value: secret });
    const other = `${secret}-two`;
    const byCall = turn.ask("secret", { env_var: "OTHER_TOKEN" });
    const { id } = await b.request("secret", 1);
    expect(await a.refused("request.answer", { id, result: { value: [other] } })).toEqual([-32602, "invalid_params"]);
    await b.call("request.answer", { id, result: { value: other } });
    expect((await byCall).result).toEqual({ value: other });
    turn.delta(`It is ${secret.slice(0, 9)}`);
    turn.delta(`${secret.slice(9)}, and ${other}.`);
    turn.emit("tool.start", { tool_id: "c1", name: "curl", args: { header: `x ${secret}` } });
    turn.emit("tool.complete", { tool_id: "c1", result: other });
    turn.end({ status: "completed", text: `Done with ${secret} and ${other}.` });
    expect((await a.event("message.complete")).payload?.["text"]).not.toContain("tok_");
    const late = await connect({ asks: true });
    await late.call("session.resume", { session_id: stored_session_id });
    await late.call("session.history", { session_id });
    await late.call("session.events.since", { session_id });
    await late.call("session.list");
    await Promise.all([a.settled(), b.settled()]);
    expect(a.events("message.delta").length).toBeGreaterThan(0);
    await host.close();
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
    const told = JSON.stringify([a.came, b.came, late.came, notices, files]);
    expect([told.includes(secret), told.includes("0123456789abcdef"), told.includes("DEPLOY_TOKEN")]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
