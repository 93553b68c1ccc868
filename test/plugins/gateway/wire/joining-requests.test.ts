import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { limits, type Answered } from "../../../../core/index.ts";
import { askedHost, listed, requestWords, turnOf } from "../../../support/asked-host.ts";
import { HermesClient, type HermesRequest } from "../../../support/hermes-client.ts";
import { atJoinSteps, joinSteps } from "../../../support/join-steps.ts";
import { newSession, openHost } from "../../../support/open-host.ts";
import { until } from "../../../support/turns-of-loop.ts";

const clarify = { question: "Deploy?", choices: ["yes", "no"] };
const platformSocket = WebSocket as unknown as ConstructorParameters<typeof HermesClient>[0];

describe("a request that is open", () => {
  it("W41 is in the replies of since, resume and activate, by one id", async () => {
    const { a, b, turn, session_id, stored_session_id, connect } = await askedHost();
    const answered = turn.ask("clarify", clarify);
    const { id } = await a.request("clarify");
    await a.drop();
    await b.drop();
    const again = await connect({ resume: String(a.ready["resume_token"]), asks: true });
    const request = { id, method: "clarify", params: { session_id, ...clarify } };
    const { info, ...since } = await again.call("session.events.since", { session_id, last_seen: 0 });
    expect([since["open_requests"], info]).toEqual([[request], undefined]);
    const resumed = await again.call("session.resume", { session_id: stored_session_id });
    const activated = await again.call("session.activate", { session_id });
    expect([resumed["open_requests"], activated["open_requests"]]).toEqual([[request], [request]]);
    await again.settled();
    expect(requestWords(again)).toEqual([]);
    again.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    expect(await answered).toMatchObject({ outcome: "answered", by: { origin: a.origin } });
  });

  it.each(["session.events.since", "session.resume", "session.activate"])(
    "W41 reaches the handler of a client before %s resolves",
    async (method) => {
      const host = await openHost();
      const first = await host.connect({ asks: true });
      const { session_id, stored_session_id } = await newSession(first);
      const turn = await turnOf(host, first, session_id);
      await first.drop();
      const answered = turn.ask("clarify", clarify);
      const client = new HermesClient(platformSocket);
      const asked: HermesRequest[] = [];
      client.onRequest((request) => {
        asked.push(request);
        return { answer: "no" };
      });
      await client.connect(host.url);
      await client.request(method, { session_id: method === "session.resume" ? stored_session_id : session_id });
      expect(asked.map(({ method: word, params, replayed }) => ({ word, params, replayed }))).toEqual([
        { word: "clarify", params: { session_id, ...clarify }, replayed: true },
      ]);
      const { origin } = client.ready;
      expect(await answered).toEqual({ outcome: "answered", result: { answer: "no" }, by: { origin } });
      client.close();
    },
  );

  it("W41 comes back to a client that drops and connects again", async () => {
    const host = await openHost();
    const client = new HermesClient(platformSocket);
    const asked: HermesRequest[] = [];
    let answers = false;
    client.onRequest((request) => {
      asked.push(request);
      return answers ? { answer: "yes" } : new Promise(() => undefined);
    });
    await client.connect(host.url);
    const { session_id } = (await client.request("session.create")) as { readonly session_id: string };
    await client.request("prompt.submit", { session_id, text: "go" });
    const turn = await host.agent.turn();
    const answered = turn.ask("clarify", clarify);
    await until(() => asked.length > 0);
    const { resume_token } = client.ready;
    client.close();
    answers = true;
    await client.connect(`${host.url}&resume=${String(resume_token)}`);
    await client.replayed;
    expect(asked.map(({ id, replayed }) => [id, replayed])).toEqual([
      [asked[0]?.id, false],
      [asked[0]?.id, true],
    ]);
    expect(await answered).toMatchObject({ outcome: "answered", result: { answer: "yes" } });
    client.close();
  });

  it("C-037 is sent with the reply of its own session, never before", async () => {
    const host = await openHost();
    const first = await host.connect({ asks: true });
    const [s1, s2] = [await newSession(first), await newSession(first)];
    const turn = await turnOf(host, first, s1.session_id);
    await first.drop();
    const answered = turn.ask("clarify", clarify);
    const a = await host.connect({ asks: true });
    expect(listed(await a.call("session.resume", { session_id: s2.stored_session_id }))).toEqual([]);
    await a.settled();
    expect(requestWords(a)).toEqual([]);
    const [id] = listed(await a.call("session.resume", { session_id: s1.stored_session_id }));
    turn.delta("on it");
    await a.event("message.delta");
    expect(requestWords(a)).toEqual([]);
    a.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    expect(await answered).toMatchObject({ outcome: "answered" });
  });

  it.each(joinSteps)("C-037 that comes while a client joins is in its reply alone: %s", async (raisedAt) => {
    const host = await openHost();
    const first = await host.connect({ asks: true });
    const { session_id, stored_session_id } = await newSession(first);
    const turn = await turnOf(host, first, session_id);
    const asked: Promise<Answered>[] = [];
    atJoinSteps(host, session_id, (step) => {
      if (step === raisedAt) asked.push(turn.ask("clarify", clarify));
    });
    const b = await host.connect({ asks: true });
    const reply = await b.call("session.resume", { session_id: stored_session_id });
    const { id } = await first.request("clarify");
    await b.settled();
    expect([listed(reply), requestWords(b)]).toEqual([[id], []]);
    // It counts as asked: one that declines leaves it to the other.
    first.send({ jsonrpc: "2.0", id, error: { code: -32601, message: "no handler" } });
    await first.settled();
    b.send({ jsonrpc: "2.0", id, result: { answer: "yes" } });
    expect(await asked[0]).toMatchObject({ outcome: "answered", by: { origin: b.origin } });
  });

  it("is listed for who comes, however large they are together", async () => {
    const host = await openHost();
    const first = await host.connect({ asks: true });
    const { session_id, stored_session_id } = await newSession(first);
    const turn = await turnOf(host, first, session_id);
    for (let nth = 0; nth < limits.maxOpenRequestsPerSession; nth++) {
      const description = `${nth}${"é".repeat(limits.maxApprovalTextUnits - 2)}`;
      void turn.ask("approval", { command: `${description} `, description });
      await first.request("approval", nth);
    }
    const late = await host.connect({ asks: true });
    for (const [method, named] of [
      ["session.resume", stored_session_id],
      ["session.activate", session_id],
      ["session.events.since", session_id],
    ] as const) {
      expect(listed(await late.call(method, { session_id: named }))).toHaveLength(limits.maxOpenRequestsPerSession);
    }
  });

  it("is put before a client that says later that it takes requests", async () => {
    const host = await openHost();
    const first = await host.connect({ asks: true });
    const { session_id, stored_session_id } = await newSession(first);
    const turn = await turnOf(host, first, session_id);
    const asked = turn.ask("clarify", clarify);
    const { id } = await first.request("clarify");
    const late = await host.connect();
    expect(listed(await late.call("session.resume", { session_id: stored_session_id }))).toEqual([id]);
    await late.call("client.capabilities", { server_requests: true });
    const second = turn.ask("clarify", { question: "Sure?" });
    expect((await late.request("clarify")).params).toEqual({ session_id, question: "Sure?" });
    late.send({ jsonrpc: "2.0", id, result: { answer: "no" } });
    expect(await asked).toMatchObject({ by: { origin: late.origin } });
    turn.end();
    expect(await second).toMatchObject({ outcome: "cancelled", reason: "interrupted" });
  });
});
