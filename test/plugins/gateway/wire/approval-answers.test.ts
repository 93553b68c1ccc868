import { describe, expect, it } from "vitest";
import type { Answered } from "../../../../core/index.ts";
import { approvalOf, askedHost, by, requestWords, turnOf } from "../../../support/asked-host.ts";
import { newSession } from "../../../support/open-host.ts";
import { temporaryFolder } from "../../../support/open-log.ts";

const rm = { tool_id: "call-1", tool_name: "shell", command: "rm x" };

describe("the answer to an approval", () => {
  it("once is for this call, and the next equal one is asked", async () => {
    const { a, turn } = await askedHost();
    for (const nth of [0, 1]) {
      const answered = turn.ask("approval", rm);
      const { id } = await approvalOf(a, nth);
      a.send({ jsonrpc: "2.0", id, result: { choice: "once" } });
      expect(await answered).toEqual({ outcome: "answered", choice: "once", ...by(a) });
    }
  });

  it("session is for equal calls of its session, those that wait included", async () => {
    const host = await askedHost();
    const { a, b, turn } = host;
    const answered = turn.ask("approval", rm);
    const { id } = await approvalOf(a);
    b.send({ jsonrpc: "2.0", id, result: { choice: "session" } });
    expect(await answered).toMatchObject({ choice: "session", ...by(b) });
    const rule = { outcome: "answered", choice: "session", reason: "rule", by: null };
    expect(await turn.ask("approval", { ...rm, tool_id: "call-2", command: "rm  x" })).toEqual(rule);
    const elsewhere = await turnOf(host, a, (await newSession(a)).session_id);
    void elsewhere.ask("approval", rm);
    await approvalOf(a, 1);
    await a.settled();
    expect(a.requests()).toHaveLength(2);
  });

  it("always is for the agent, in any session and after a restart", async () => {
    const db = `${temporaryFolder()}/host.db`;
    const host = await askedHost({ db });
    const { a, turn } = host;
    const elsewhere = await turnOf(host, a, (await newSession(a)).session_id);
    const waits = elsewhere.ask("approval", rm);
    const answered = turn.ask("approval", rm);
    const asked = [await a.request("approval", 0), await a.request("approval", 1)];
    const own = asked.find(({ params }) => params?.session_id === host.session_id);
    a.send({ jsonrpc: "2.0", id: own?.id, result: { choice: "always" } });
    expect(await answered).toMatchObject({ choice: "always", ...by(a) });
    const rule = { outcome: "answered", choice: "always", reason: "rule", by: null };
    expect(await waits).toEqual(rule);
    await host.close();
    const later = await askedHost({ db });
    expect(await later.turn.ask("approval", rm)).toEqual(rule);
    void later.turn.ask("approval", { ...rm, tool_name: "other" });
    await later.a.request("approval");
  });

  it.each([{ choice: "deny" }, { choice: "session" }, {}, "once", null, { all: true }])(
    "%j denies what offers once and deny, by frame",
    async (result) => {
      const { a, turn } = await askedHost();
      const answered = turn.ask("approval", { ...rm, choices: ["once"] });
      const { id } = await approvalOf(a);
      a.send({ jsonrpc: "2.0", id, result });
      expect(await answered).toEqual({ outcome: "denied", choice: "deny", ...by(a) });
      expect((await a.event("tool.complete")).payload).toMatchObject({ tool_id: "call-1", outcome: "denied" });
    },
  );

  it("all is for each of the session that offers the choice", async () => {
    const host = await askedHost();
    const { a, turn, session_id } = host;
    const elsewhere = await turnOf(host, a, (await newSession(a)).session_id);
    const ask = (choices: readonly string[], tool: string, of = turn): Promise<Answered> =>
      of.ask("approval", { tool_id: tool, tool_name: "shell", command: tool, choices });
    const [one, two, three] = [ask(["once"], "1"), ask([], "2"), ask(["once"], "3")];
    void ask(["once"], "4", elsewhere);
    const question = turn.ask("clarify", { question: "Sure?" });
    for (const nth of [0, 1, 2, 3]) await a.request("approval", nth);
    expect(await a.call("approval.respond", { session_id, choice: "once", all: true })).toEqual({
      resolved: 2,
      status: "ok",
    });
    const outcome = { outcome: "answered", choice: "once", ...by(a) };
    expect([await one, await three]).toEqual([outcome, outcome]);
    expect(await a.call("approval.respond", { session_id, choice: "session", all: true })).toEqual({
      resolved: 0,
      status: "already_resolved",
    });
    expect(
      host.tap.requests
        .open()
        .map(({ method }) => method)
        .toSorted(),
    ).toEqual(["approval", "approval", "clarify"]);
    expect(await a.call("approval.respond", { session_id, all: true })).toEqual({ resolved: 1, status: "ok" });
    expect(await two).toMatchObject({ outcome: "denied" });
    turn.end();
    expect(await question).toMatchObject({ outcome: "cancelled" });
  });

  it("all stands in a frame as well, beside its choice", async () => {
    const { a, turn } = await askedHost();
    const [one, two] = [turn.ask("approval", rm), turn.ask("approval", { ...rm, tool_id: "call-2", command: "rm y" })];
    const { id } = await approvalOf(a, 1);
    a.send({ jsonrpc: "2.0", id, result: { choice: "once", all: true } });
    expect([await one, await two]).toMatchObject([{ choice: "once" }, { choice: "once" }]);
  });

  it("C-036 deny ends its own call, and leaves the others and the turn", async () => {
    const { a, turn, session_id } = await askedHost();
    const ask = (tool: string): Promise<Answered> =>
      turn.ask("approval", { tool_id: tool, tool_name: "shell", command: `rm ${tool}` });
    const [one, two, three] = [ask("a"), ask("b"), ask("c")];
    const ids = [await approvalOf(a, 0), await approvalOf(a, 1), await approvalOf(a, 2)];
    a.send({ jsonrpc: "2.0", id: ids[1]?.id, result: { choice: "deny" } });
    expect(await two).toMatchObject({ outcome: "denied" });
    const { approvals } = await a.call("approval.pending", { session_id });
    expect(approvals).toMatchObject([{ tool_id: "a" }, { tool_id: "c" }]);
    expect(a.events("tool.complete").map(({ payload }) => payload)).toMatchObject([
      { tool_id: "b", outcome: "denied" },
    ]);
    expect([turn.turn.signal.aborted, a.events("message.complete")]).toEqual([false, []]);
    a.send({ jsonrpc: "2.0", id: ids[0]?.id, result: { choice: "once" } });
    expect(await one).toMatchObject({ outcome: "answered", choice: "once" });
    turn.emit("tool.complete", { tool_id: "a", outcome: "ok" });
    await a.call("session.interrupt", { session_id });
    expect(await three).toMatchObject({ outcome: "cancelled", reason: "interrupted" });
    await a.event("message.complete");
    expect(a.events("tool.complete").map(({ payload }) => [payload?.["tool_id"], payload?.["outcome"]])).toEqual([
      ["b", "denied"],
      ["a", "ok"],
      ["c", "interrupted"],
    ]);
  });

  it("C-032 of two that race, a frame and a call, is one", async () => {
    const { a, b, turn, session_id } = await askedHost();
    for (let race = 0; race < 10; race++) {
      const answered = turn.ask("approval", { tool_name: "shell", command: `rm ${race}` });
      const { id } = await approvalOf(a, race);
      const { request_id } = await approvalOf(b, race);
      const frame = (): void => a.send({ jsonrpc: "2.0", id, result: { choice: "once" } });
      if (race % 2 === 0) frame();
      const responding = b.call("approval.respond", { session_id, request_id, choice: "deny" });
      if (race % 2 === 1) frame();
      const { status, resolved, outcome } = await responding;
      const isOurs = status === "ok";
      const stands = isOurs
        ? { outcome: "denied", choice: "deny", ...by(b) }
        : { outcome: "answered", choice: "once", ...by(a) };
      expect([await answered, outcome, resolved]).toEqual([stands, stands, isOurs ? 1 : 0]);
    }
    await a.settled();
    expect(requestWords(a).filter((word) => word.startsWith("request.resolved"))).toHaveLength(10);
  });
});
