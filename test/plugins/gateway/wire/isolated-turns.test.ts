import { describe, expect, it } from "vitest";
import { processDefaults, type ModuleConfig } from "../../../../plugins/index.ts";
import { by, listed, requestWords } from "../../../support/asked-host.ts";
import {
  newSession,
  openHost,
  openPair,
  type CameParams,
  type HostClient,
  type OpenHost,
} from "../../../support/open-host.ts";
import { loopClock } from "../../../support/open-log.ts";
import { told } from "../../../support/told-agent.ts";
import { isThere, toldRunnerPath } from "../../../support/told-runner.ts";
import { originsOf, turnFrames, wordsOf } from "../../../support/turn-frames.ts";

const agent: ModuleConfig = { kind: "module", path: toldRunnerPath, process: true };

/** Nobody answers them while the clock is moved. */
const noPings = { pingIntervalMs: 0 };

/** What a child may write into a frame and into its envelope: nothing of it is the child's to say. */
const foreign = { origin: "x", seq: 4_711, session_id: "s-other", turn: { id: "t-other", source: { kind: "host" } } };

const clarify = { method: "clarify", params: { question: "Deploy?", choices: ["yes", "no"] } };
const batch = {
  questions: [
    { qid: "q1", question: "Deploy?" },
    { qid: "q2", question: "Where?" },
  ],
};

/** A host whose sessions run in a child, or in one of two. */
function isolatedHost(): Promise<OpenHost> {
  return openHost({ agents: { default: agent, other: { ...agent, options: { a: "child of its own" } } } });
}

/** Two clients of one session that take requests, and the turn that plays these steps there. */
async function askingPair(
  host: OpenHost,
  ...steps: object[]
): Promise<{ readonly a: HostClient; readonly b: HostClient; readonly session_id: string }> {
  const [a, b] = [await host.connect({ asks: true }), await host.connect({ asks: true })];
  const { session_id } = await newSession(a);
  await b.call("session.activate", { session_id });
  await a.call("prompt.submit", { session_id, text: told(...steps) });
  return { a, b, session_id };
}

describe("a turn in a child, on the wire", () => {
  it("W18 is A's in every frame, whatever the child writes there, also when it is killed", async () => {
    const host = await isolatedHost();
    const { a, b, session_id } = await openPair(host);
    const raw = { type: "frame", key: 1, frame: { type: "message.delta", payload: { text: "two" }, ...foreign } };
    const { turn_id } = await a.call("prompt.submit", {
      session_id,
      text: told(
        { emit: { type: "tool.start", payload: { tool_id: "c1", name: "read" }, ...foreign } },
        { raw: `${JSON.stringify(raw)}\n` },
        { pid: true },
        { deaf: true },
      ),
    });
    const { payload } = await a.eventWhere("message.delta", (event) => event.payload?.["text"] !== "two");
    const pid = Number(payload?.["text"]);
    process.kill(pid, "SIGKILL");
    const error = `${toldRunnerPath} was killed by SIGKILL`;
    for (const client of [a, b]) {
      await client.event("message.complete");
      const frames = turnFrames(client);
      expect(frames.map(wordsOf)).toEqual([
        "message.start",
        "session.info",
        "tool.start",
        "message.delta two",
        `message.delta ${pid}`,
        "tool.complete",
        `message.complete two${pid}`,
      ]);
      expect(originsOf(frames)).toEqual([a.origin]);
      const first = Number(frames[0]?.seq);
      expect(frames.map(({ seq }) => seq)).toEqual(frames.map((_frame, at) => first + at));
      for (const frame of frames) {
        expect(frame.session_id).toBe(session_id);
        expect(frame.turn).toEqual({ id: turn_id, source: { kind: "connection", socket_id: a.origin } });
      }
      expect(frames.at(-2)?.payload).toMatchObject({ tool_id: "c1", outcome: "interrupted" });
      expect(frames.at(-1)?.payload).toMatchObject({ status: "error", failure_reason: "runner_lost", error });
    }
    expect(isThere(pid)).toBe(false);
    await b.call("prompt.submit", { session_id, text: told({ say: "next" }) });
    await a.event("message.complete", 1);
    expect(originsOf(turnFrames(a, 1))).toEqual([b.origin]);
  });

  it("W46 asks under an id of the host, and is told what B answered", async () => {
    const host = await isolatedHost();
    const { a, b, session_id } = await askingPair(host, { ask: clarify, shows: true });
    const { id, params } = await b.request("clarify");
    expect(id).toMatch(/^srq-[0-9a-f]{12}$/);
    expect(params).toEqual({ session_id, ...clarify.params });
    expect(listed(await a.call("session.activate", { session_id }))).toEqual([id]);
    b.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    const { payload } = await a.event("message.complete");
    const answered = { outcome: "answered", ...by(b), result: { answer: "yes" } };
    expect(JSON.parse(String(payload?.["text"]))).toEqual(answered);
    expect(requestWords(a)).toEqual(["clarify", "request.cancel resolved", "request.resolved answered"]);
  });

  it("W46 has its questions locked one by one, and is told them all", async () => {
    const host = await isolatedHost();
    const { a, b } = await askingPair(host, { ask: { method: "clarify", params: batch }, shows: true });
    const { id: request_id } = await a.request("clarify");
    await b.request("clarify");
    await a.call("clarify.lock", { request_id, question_id: "q1", answer: "no" });
    await b.call("clarify.lock", { request_id, question_id: "q2", answer: "here" });
    const { payload } = await a.event("message.complete");
    const answered = { outcome: "answered", ...by(b), result: { answers: { q1: "no", q2: "here" } } };
    expect(JSON.parse(String(payload?.["text"]))).toEqual(answered);
  });

  it("W46 has its open question withdrawn when its child dies, and no other child's", async () => {
    const host = await isolatedHost();
    const { a, session_id } = await askingPair(host, { pid: true }, { ask: clarify, shows: true });
    const { session_id: elsewhere } = await newSession(a, { agent_id: "other" });
    await a.call("prompt.submit", { session_id: elsewhere, text: told({ ask: clarify, shows: true }) });
    const [dying, living] = await Promise.all(
      [session_id, elsewhere].map((id) =>
        a.message(({ method, params }) => method === "clarify" && params?.session_id === id),
      ),
    );
    const { payload } = await a.event("message.delta");
    process.kill(Number(payload?.["text"]), "SIGKILL");
    await a.event("message.complete");
    const withdrawn = a.events("request.cancel").map((event) => [event.session_id, event.payload]);
    expect(withdrawn).toEqual([[session_id, { id: dying?.id, method: "clarify", reason: "runner_lost" }]]);
    expect(turnFrames(a).at(-1)?.payload).toMatchObject({ failure_reason: "runner_lost" });
    a.send({ jsonrpc: "2.0", id: living?.id, result: { answer: "no" } });
    await a.eventWhere("message.complete", (event) => event.session_id === elsewhere);
  });

  it("is stopped at its deadline in the middle of an endless loop, and takes its child with it", async () => {
    const clock = loopClock();
    const host = await openHost({ agents: { default: agent }, clock, turnDeadlineMs: 60_000, gateway: noPings });
    const a = await host.connect();
    const [stuck, beside] = [(await newSession(a)).session_id, (await newSession(a)).session_id];
    const pidOf = async (session_id: string, ...steps: object[]): Promise<unknown> => {
      await a.call("prompt.submit", { session_id, text: told({ pid: true }, ...steps) });
      const { payload } = await a.eventWhere("message.delta", (event) => event.session_id === session_id);
      return payload?.["text"];
    };
    const endOf = async (session_id: string, nth = 0): Promise<unknown> => {
      const ends = (): readonly CameParams[] =>
        a.events("message.complete").filter((event) => event.session_id === session_id);
      await a.eventWhere("message.complete", () => ends().length > nth);
      return ends()[nth]?.payload?.["failure_reason"];
    };
    const pid = await pidOf(stuck, { loop: true });
    clock.advance(30_000);
    await a.call("prompt.submit", { session_id: beside, text: told({ say: "never" }) });
    clock.advance(30_000);
    clock.advance(processDefaults.stopGraceMs);
    expect([await endOf(stuck), await endOf(beside)]).toEqual(["turn_deadline", "runner_lost"]);
    expect(isThere(String(pid))).toBe(false);
    await a.call("prompt.submit", { session_id: stuck, text: told({ say: "again" }) });
    expect(await endOf(stuck, 1)).toBeUndefined();
  });
});
