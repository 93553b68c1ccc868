import { describe, expect, it } from "vitest";
import {
  approvalEntries,
  limits,
  normalisedCommand,
  type ApprovalRule,
  type Execution,
  type JsonObject,
} from "../../../core/index.ts";
import { secret } from "../../support/bus.ts";
import { openDesk, type Asked, type RequestDesk } from "../../support/request-desk.ts";

const shell = (command: string, more: JsonObject = {}): JsonObject => ({ tool_name: "shell", command, ...more });

/** Asks for approval of a command. */
function approve(desk: RequestDesk, execution: Execution, command: string, more?: JsonObject): Asked {
  return desk.ask(execution, "approval", shell(command, more));
}

/** The id of an approval among the approvals of its session. */
function requestIdOf(desk: RequestDesk, { id }: Asked): string {
  return desk.requests.find(id)?.request_id ?? "";
}

const rule = (choice: string): object => ({ outcome: "answered", choice, reason: "rule", by: null });

describe("an approval of an ordinary session", () => {
  it.each<[JsonObject, string[]]>([
    [{}, ["once", "session", "always", "deny"]],
    [{ smart_denied: true }, ["once", "always", "deny"]],
    [{ allow_session: false }, ["once", "always", "deny"]],
    [{ allow_permanent: false }, ["once", "session", "deny"]],
    [{ smart_denied: true, allow_permanent: false }, ["once", "deny"]],
    [{ choices: ["always", "once"] }, ["once", "always", "deny"]],
    [{ choices: ["perhaps"] }, ["deny"]],
  ])("offers what its agent allows: %o", (params, choices) => {
    const desk = openDesk();
    const execution = desk.claim();
    const asked = desk.ask(execution, "approval", params);
    expect(desk.requests.find(asked.id)?.params["choices"]).toEqual(choices);
  });

  it("shows people a fixed list of fields, and its own id beside the request's", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    const flags = { allow_session: true, allow_permanent: false, smart_denied: false };
    approve(desk, execution, "rm", { ...flags, description: "d", tool_id: "c1", hidden: 1, expires_at: 5 });
    const own = { session_id: execution.session.runtimeId, request_id: "apr-000000000004" };
    const shown = { tool_id: "c1", tool_name: "shell", command: "rm", description: "d", ...flags };
    const request = a.frames.find((frame) => "id" in frame);
    expect(request?.params).toEqual({ ...own, ...shown, choices: ["once", "session", "deny"] });
  });

  it("is listed with its times", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const now = desk.bus.clock.now();
    desk.ask(execution, "clarify", { question: "q" });
    void desk.requests.ask(execution, { method: "approval", params: { command: "ls", tool_id: "c1" } }, Infinity);
    approve(desk, execution, "rm");
    const session_id = execution.session.runtimeId;
    const choices = ["once", "session", "always", "deny"];
    const both = { session_id, description: "", choices, created_at: now };
    expect(approvalEntries(desk.requests.open(execution.session))).toEqual([
      { ...both, request_id: "apr-000000000005", tool_id: "c1", command: "ls", expires_at: null },
      { ...both, request_id: "apr-000000000007", tool_name: "shell", command: "rm", expires_at: now + 86_400_000 },
    ]);
  });

  it("W43 is answered by its own id; equal ones are one, and others stay open", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { session } = execution;
    const a = desk.connect(session);
    const p = approve(desk, execution, "rm x");
    const q = approve(desk, execution, "rm y");
    const equal = approve(desk, execution, "rm x");
    expect(desk.requests.respond({ session, choice: "once" }, "A")).toEqual({ status: "request_id_required" });
    expect(desk.requests.open()).toHaveLength(2);
    const request_id = requestIdOf(desk, p);
    expect(request_id).toMatch(/^apr-[0-9a-f]{12}$/);
    const outcome = { outcome: "answered", choice: "once", by: { origin: "A" } };
    const response = { session, request_id, choice: "once" };
    expect(desk.requests.respond(response, "A")).toEqual({ status: "ok", resolved: 1, outcome });
    expect([await p.outcome, await equal.outcome]).toEqual([outcome, outcome]);
    expect(desk.requests.open().map(({ id }) => id)).toEqual([q.id]);
    expect(a.words).toEqual(["approval", "approval", "request.cancel resolved", "request.resolved answered"]);
    const again = { status: "already_resolved", resolved: 0, outcome };
    expect(desk.requests.respond({ ...response, choice: "deny" }, "B")).toEqual(again);
  });

  it("is found by its own id when the session's leads nowhere, and never through another session", () => {
    const desk = openDesk();
    const [one, two] = [desk.claim("1"), desk.claim("2")];
    const request_id = requestIdOf(desk, approve(desk, one, "rm"));
    const known = { method: "approval", session: one.session };
    expect(desk.requests.known(request_id)).toMatchObject(known);
    expect(desk.requests.respond({ session: two.session, request_id }, "A")).toEqual({ status: "unknown_request" });
    expect(desk.requests.respond({ session: null, request_id }, "A")).toMatchObject({ status: "ok", resolved: 1 });
    expect(desk.requests.known(request_id)).toMatchObject(known);
    expect(desk.requests.known("apr-none")).toBeUndefined();
  });

  it("is not answered by a choice that it does not offer, and no other request is", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const { session } = execution;
    const request_id = requestIdOf(desk, approve(desk, execution, "rm", { choices: ["once"] }));
    const question = desk.ask(execution, "clarify", { question: "q" });
    const refused = [
      { request_id, choice: "session" },
      { request_id, choice: "perhaps" },
      { request_id: question.id, choice: "once" },
      { request_id: "", choice: "once" },
    ].map((response) => desk.requests.respond({ session, ...response }, "A").status);
    expect(refused).toEqual(["invalid_choice", "invalid_choice", "unknown_request", "unknown_request"]);
    expect(desk.requests.open()).toHaveLength(2);
  });

  it("is answered with all that offer the choice, of its session", async () => {
    const desk = openDesk();
    const [one, two] = [desk.claim("1"), desk.claim("2")];
    const asked = [approve(desk, one, "a"), approve(desk, one, "b", { choices: [] }), approve(desk, one, "c")];
    const other = approve(desk, two, "a");
    const { session } = one;
    desk.ask(one, "clarify", { question: "q" });
    expect(desk.requests.respond({ session, all: true, choice: "once" }, "A")).toEqual({ status: "ok", resolved: 2 });
    const left = [asked[1]?.id, other.id];
    expect(approvalIds(desk)).toEqual(left);
    const nothing = { status: "already_resolved", resolved: 0 };
    expect(desk.requests.respond({ session, all: true, choice: "once" }, "A")).toEqual(nothing);
    expect(desk.requests.respond({ session: null, all: true }, "A")).toEqual({ status: "unknown_request" });
  });

  it("takes the others along by a frame that says so, unless its choice is none", () => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    const asked = ["a", "b", "c", "d"].map((command) => approve(desk, execution, command));
    a.answer(asked[0]?.id, { choice: "perhaps", all: true });
    expect(approvalIds(desk)).toEqual(asked.slice(1).map(({ id }) => id));
    a.answer(asked[1]?.id, { choice: "once" });
    expect(approvalIds(desk)).toEqual(asked.slice(2).map(({ id }) => id));
    a.answer(asked[2]?.id, { choice: "once", all: true });
    expect(approvalIds(desk)).toEqual([]);
  });

  it.each([{}, null, undefined, "once", { choice: "forever" }, { choice: 1 }])("is denied by %o", async (result) => {
    const desk = openDesk();
    const execution = desk.claim();
    const a = desk.connect(execution.session);
    const { id, outcome } = approve(desk, execution, "rm", { tool_id: "c1" });
    expect(a.answer(id, result)).toBe("taken");
    expect(await outcome).toEqual({ outcome: "denied", choice: "deny", by: { origin: "A" } });
    expect([execution.tool("c1"), execution.sealed]).toEqual(["ended", false]);
  });
});

describe("an approval rule", () => {
  it("of a session answers equal calls of that session, and those that wait", async () => {
    const desk = openDesk();
    const [one, two] = [desk.claim("1"), desk.claim("2")];
    const a = desk.connect(one.session);
    const first = approve(desk, one, "npm  test ");
    const waiting = approve(desk, one, "npm test", { allow_permanent: false });
    const narrow = approve(desk, one, "npm test", { choices: ["once"] });
    a.answer(first.id, { choice: "session" });
    expect(await waiting.outcome).toEqual(rule("session"));
    expect(a.words.slice(-2)).toEqual(["request.cancel resolved", "request.resolved rule"]);
    expect(await approve(desk, one, " npm test", { tool_id: "c9" }).outcome).toEqual(rule("session"));
    expect(one.tool("c9")).toBe("open");
    const [elsewhere, otherTool] = [approve(desk, two, "npm test"), approve(desk, one, "npm test", { tool_name: "x" })];
    expect(approvalIds(desk)).toEqual([narrow.id, elsewhere.id, otherTool.id]);
  });

  it("for good answers in all sessions of its agent, and is kept", async () => {
    const desk = openDesk();
    const kept: ApprovalRule[] = [];
    const putRule = (each: ApprovalRule): Promise<void> => Promise.resolve(void kept.push(each));
    const agent = { agent_id: "coder", rules: [{ agent_id: "coder", tool_name: "shell", command: "ls" }], putRule };
    const [one, two, other] = [desk.claim("1"), desk.claim("2"), desk.claim("3")];
    for (const { session } of [one, two]) desk.requests.rules.bind(session, agent);
    desk.requests.rules.bind(other.session, { ...agent, agent_id: "writer", rules: [] });
    expect(await approve(desk, one, "ls").outcome).toEqual(rule("always"));
    const waiting = approve(desk, two, "npm test");
    desk.requests.answer(approve(desk, one, "npm test").id, { choice: "always" }, "A");
    expect(await waiting.outcome).toEqual(rule("always"));
    expect(kept).toEqual([{ agent_id: "coder", tool_name: "shell", command: "npm test" }]);
    for (const command of ["ls", "npm test"]) approve(desk, other, command);
    expect(approvalIds(desk)).toHaveLength(2);
  });

  it("for good holds in a session that has no agent, and nowhere else", async () => {
    const desk = openDesk();
    const [one, two] = [desk.claim("1"), desk.claim("2")];
    desk.requests.answer(approve(desk, one, "ls").id, { choice: "always" }, "A");
    expect(await approve(desk, one, "ls").outcome).toEqual(rule("session"));
    approve(desk, two, "ls");
    expect(approvalIds(desk)).toHaveLength(1);
  });

  it("that cannot be kept holds all the same, and is reported", async () => {
    const desk = openDesk();
    const execution = desk.claim();
    const putRule = (): Promise<void> => Promise.reject(new Error("disk full"));
    desk.requests.rules.bind(execution.session, { agent_id: "coder", rules: [], putRule });
    desk.requests.answer(approve(desk, execution, "ls").id, { choice: "always" }, "A");
    await desk.bus.idle();
    expect(desk.bus.notices.map(({ code, subject }) => [code, subject])).toEqual([["approval_rule_not_kept", "coder"]]);
    expect(await approve(desk, execution, "ls").outcome).toEqual(rule("always"));
  });

  it("is never left by, or meant for, a command that is masked or absent", () => {
    const desk = openDesk();
    const execution = desk.claim();
    for (const params of [shell(`login ${secret}`), { tool_name: "shell" }]) {
      desk.requests.answer(desk.ask(execution, "approval", params).id, { choice: "session" }, "A");
      desk.ask(execution, "approval", params);
    }
    expect(approvalIds(desk)).toHaveLength(2);
  });

  it.each([-1, 0, 1])("I8 is kept for 1,024 calls: %d more", async (more) => {
    const desk = openDesk();
    const { session } = desk.claim();
    const count = limits.maxRulesPerAgent + more;
    const call = (index: number) => ({ tool_name: "shell", command: `c${index}` });
    for (let index = 0; index < count; index++) desk.requests.rules.add("session", session, call(index));
    const { rules } = desk.requests;
    expect(rules.covers("session", session, call(0))).toBe(more < 1);
    expect(rules.covers("session", session, call(count - 1))).toBe(true);
  });

  it("is not made by once, nor by a refusal", () => {
    const desk = openDesk();
    const execution = desk.claim();
    for (const choice of ["once", "deny"]) {
      desk.requests.answer(approve(desk, execution, "ls").id, { choice }, "A");
    }
    approve(desk, execution, "ls");
    expect(approvalIds(desk)).toHaveLength(1);
  });
});

describe("a command", () => {
  it.each([
    ["  npm   test\t", "npm test"],
    ['rm \'a  b\'  "c  \\"  d"', 'rm \'a  b\' "c  \\"  d"'],
    ["rm a\\  b", "rm a\\  b"],
    ["rm a\\   b ", "rm a\\  b"],
    ["rm a\\ ", "rm a\\ "],
    ["echo 'it  is  ", "echo 'it  is  "],
    ["cat <<E  x", "cat <<E  x"],
    ["a  b\n c", "a  b\n c"],
    ["a `b  c`", "a `b  c`"],
    ["", ""],
    [" ", ""],
  ])("is compared without blanks that change nothing: %j", (command, normalised) => {
    expect(normalisedCommand(command)).toBe(normalised);
    expect(normalisedCommand(normalised)).toBe(normalised);
  });
});

function approvalIds(desk: RequestDesk): readonly string[] {
  return desk.requests.open().flatMap(({ id, method }) => (method === "approval" ? [id] : []));
}
