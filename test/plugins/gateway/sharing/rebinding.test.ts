import { describe, expect, it } from "vitest";
import { turnOf } from "../../../support/asked-host.ts";
import { DrivenAgent, newSession, type HostClient } from "../../../support/open-host.ts";
import { refusal, roster, sharedHost } from "../../../support/shared-host.ts";
import { until } from "../../../support/turns-of-loop.ts";

const rebind = {
  ...{ code: 4305, reason: "observer_rebind" },
  ...{ next_step: "do_not_retry", next_action: "start_new_session" },
};
const stranger = { code: 4311, reason: "not_attached", next_action: "session.attach" };
const unknown = { code: 4001, reason: "unknown_session" };

/** What the client is told by each way of coming to a session as its owner. */
async function comings(
  client: HostClient,
  names: { readonly session_id: string; readonly stored_session_id: string; readonly title: string },
): Promise<readonly unknown[]> {
  const { session_id, stored_session_id, title } = names;
  return [
    await refusal(client, "session.resume", { session_id: stored_session_id }),
    await refusal(client, "session.resume", { session_id: title }),
    await refusal(client, "session.resume", { session_id }),
    await refusal(client, "session.activate", { session_id }),
  ];
}

describe("a session of somebody else", () => {
  it("S39 is not taken over by a viewer, by whatever name", async () => {
    const { o, session_id, stored_session_id, observer, agent } = await sharedHost();
    await o.call("session.title", { session_id, title: "ours" });
    const v = await observer("v");
    const names = { session_id, stored_session_id, title: "ours" };
    expect(await comings(v, names)).toEqual([rebind, rebind, rebind, rebind]);
    expect(await roster(o, session_id, { o, v })).toEqual(["o owner", "v viewer"]);
    (await turnOf({ agent }, o, session_id)).say("hi");
    await v.event("message.complete");
    await o.event("message.complete");
    expect(v.events("message.delta")).toHaveLength(1);
  });

  it("S40 is not taken over by a member, whose turns are its own", async () => {
    const { o, session_id, stored_session_id, observer, agent } = await sharedHost();
    await o.call("session.title", { session_id, title: "ours" });
    const m = await observer("m", "member");
    const names = { session_id, stored_session_id, title: "ours" };
    expect(await comings(m, names)).toEqual([rebind, rebind, rebind, rebind]);
    (await turnOf({ agent }, m, session_id)).say("hi");
    expect((await o.event("message.complete")).origin).toBe(m.origin);
    expect(await roster(o, session_id, { o, m })).toEqual(["o owner", "m member"]);
  });

  it.each([
    ["shared", stranger],
    ["private", unknown],
  ])("S41 that is %s is not used by a stranger", async (visibility, answer) => {
    const host = await sharedHost({ visibility });
    const { tap, o, session_id, stored_session_id, as, agent } = host;
    await o.call("session.title", { session_id, title: "ours" });
    const x = await as("x");
    expect(await comings(x, { session_id, stored_session_id, title: "ours" })).toEqual([
      answer,
      answer,
      answer,
      answer,
    ]);
    for (const [method, params] of [
      ["prompt.submit", { text: "x" }],
      ["session.history", {}],
      ["session.steer", { text: "x" }],
      ["session.interrupt", {}],
      ["session.status", {}],
      ["session.usage", {}],
      ["session.observers", {}],
      ["session.title", {}],
    ] as const) {
      expect([method, await refusal(x, method, { session_id, ...params })]).toEqual([method, answer]);
    }
    expect([agent.turns.length, tap.sharing.observers(stored_session_id).length]).toEqual([0, 1]);
    expect(await x.call("session.events.since", { session_id, last_seen: 0 })).toMatchObject({
      events: [],
      latest_seq: 0,
    });
  });

  it("S42 is not entered by its owner's resume token", async () => {
    const { o, session_id, observer, as } = await sharedHost();
    const v = await observer("v");
    const found = await as("v.2", { resume: String(o.ready["resume_token"]) });
    expect([found.ready["resumed"], found.origin === o.origin]).toEqual([false, false]);
    expect(await roster(o, session_id, { o, v })).toEqual(["o owner", "v viewer"]);
    expect(await found.refused("session.history", { session_id })).toEqual([4311, "not_attached"]);
  });

  it("S43 is not taken over while its owner is away", async () => {
    const { o, session_id, stored_session_id, observer, as, gateway, agent } = await sharedHost();
    await o.call("session.title", { session_id, title: "ours" });
    const [m, v, x] = [await observer("m", "member"), await observer("v"), await as("x")];
    await o.drop();
    await until(() => gateway.connections === 3);
    const names = { session_id, stored_session_id, title: "ours" };
    expect(await comings(v, names)).toEqual([rebind, rebind, rebind, rebind]);
    expect(await comings(x, names)).toEqual([stranger, stranger, stranger, stranger]);
    (await turnOf({ agent }, m, session_id)).say("meanwhile");
    await m.event("message.complete");
    expect(await roster(m, session_id, { o, m, v })).toEqual(["o owner", "m member", "v viewer"]);
    const again = await as("o.2");
    expect(await again.call("session.resume", { session_id: "ours" })).toMatchObject({ role: "owner" });
  });
});

describe("what the caller may not see", () => {
  it("W36 C-043 is answered as what does not exist, and nothing of it changes", async () => {
    const agent = new DrivenAgent({ takes: () => true });
    const scopes = { x: ["read", "write", "approvals"] } as const;
    const host = await sharedHost({ visibility: "private", agents: { default: agent }, scopes });
    const { tap, o, session_id, stored_session_id, as } = host;
    await o.call("session.title", { session_id, title: "secret plans" });
    const x = await as("x", { asks: true });
    const turn = await turnOf({ agent }, o, session_id);
    for (let delta = 0; delta < 4; delta++) turn.delta(`${delta}`);
    const answer = turn.ask("approval", { tool_name: "rm", command: "rm x" });
    void turn.ask("clarify", { questions: [{ qid: "q1", question: "Which?" }] });
    const approval = await o.request("approval");
    const clarify = await o.request("clarify");
    const { request_id } = approval.params as { readonly request_id?: string };
    const ids: Readonly<Record<string, string | undefined>> = {
      ...{ session: session_id, stored: stored_session_id, title: "secret plans" },
      ...{ srq: approval.id, apr: request_id, lock: clarify.id },
    };
    const nothing: Readonly<Record<string, string>> = {
      ...{ session: "s-0123456789abcdef", stored: "ses-0123456789abcdef01234567", title: "no such plans" },
      ...{ srq: "srq-0123456789ab", apr: "apr-0123456789ab", lock: "srq-ba9876543210" },
    };
    const calls: readonly [method: string, params: (of: Readonly<Record<string, string | undefined>>) => object][] = [
      ["session.history", (of) => ({ session_id: of["session"] })],
      ["session.events.since", (of) => ({ session_id: of["session"], last_seen: 0 })],
      ["session.events.since", (of) => ({ session_id: of["session"], last_seen: 4 })],
      ["session.resume", (of) => ({ session_id: of["stored"] })],
      ["session.resume", (of) => ({ session_id: of["title"] })],
      ["session.resume", (of) => ({ session_id: of["session"] })],
      ["session.activate", (of) => ({ session_id: of["session"] })],
      ["session.status", (of) => ({ session_id: of["session"] })],
      ["session.usage", (of) => ({ session_id: of["session"] })],
      ["session.title", (of) => ({ session_id: of["session"] })],
      ["session.title", (of) => ({ session_id: of["session"], title: "mine" })],
      ["session.close", (of) => ({ session_id: of["session"] })],
      ["session.detach", (of) => ({ session_id: of["session"] })],
      ["session.detach", (of) => ({ session_id: of["session"], client_id: o.origin })],
      ["session.observers", (of) => ({ session_id: of["session"] })],
      ["session.visibility", (of) => ({ session_id: of["session"], visibility: "shared" })],
      ["prompt.submit", (of) => ({ session_id: of["session"], text: "x" })],
      ["session.steer", (of) => ({ session_id: of["session"], text: "x" })],
      ["session.redirect", (of) => ({ session_id: of["session"], text: "x" })],
      ["session.interrupt", (of) => ({ session_id: of["session"] })],
      ["approval.pending", (of) => ({ session_id: of["session"] })],
      ["approval.received", (of) => ({ session_id: of["session"], request_id: of["apr"] })],
      ["approval.respond", (of) => ({ session_id: of["session"], request_id: of["apr"], choice: "once" })],
      ["approval.respond", (of) => ({ session_id: of["session"], all: true, choice: "once" })],
      ["approval.respond", (of) => ({ session_id: "s-00", request_id: of["apr"], choice: "once" })],
      ["request.answer", (of) => ({ id: of["srq"], result: { choice: "once" } })],
      ["request.answer", (of) => ({ id: of["apr"], result: { choice: "once" } })],
      ["clarify.lock", (of) => ({ request_id: of["lock"], question_id: "q1", answer: "x" })],
      ["clarify.lock", (of) => ({ request_id: of["srq"], question_id: "q1", answer: "x" })],
    ];
    const row = tap.sessions.byRuntimeId(session_id)?.record;
    for (const [method, params] of calls) {
      const pair = [
        await x.ask(method, { ...params(ids) }, "same"),
        await x.ask(method, { ...params(nothing) }, "same"),
      ];
      expect([method, pair[0]]).toEqual([method, pair[1]]);
    }
    x.send({ jsonrpc: "2.0", id: approval.id, result: { choice: "once" } });
    await x.settled();
    expect(await x.call("session.list")).toEqual({ sessions: [], next_offset: null });
    expect(await x.call("session.active_list")).toEqual({ sessions: [], next_offset: null });
    expect([x.events(), x.requests(), tap.sessions.byRuntimeId(session_id)?.record]).toEqual([[], [], row]);
    await o.call("request.answer", { id: approval.id, result: { choice: "deny" } });
    expect(await answer).toMatchObject({ outcome: "denied", by: { origin: o.origin } });
  });

  it("W36 without approvals an unseen approval is one that does not exist", async () => {
    const { o, session_id, as, agent } = await sharedHost({ visibility: "private" });
    const x = await as("x");
    const turn = await turnOf({ agent }, o, session_id);
    void turn.ask("approval", { tool_name: "rm", command: "rm x" });
    const { id } = await o.request("approval");
    const result = { choice: "once" };
    const [real, nope] = [
      await x.ask("request.answer", { id, result }, "same"),
      await x.ask("request.answer", { id: "srq-0123456789ab", result }, "same"),
    ];
    expect(real).toEqual(nope);
  });

  it("W48 is a room's own session, which only an admin is told", async () => {
    const agent = new DrivenAgent();
    const rooms = [{ room_id: "r1", members: [{ handle: "x", runner: agent }] }];
    const scopes = { root: ["admin"] } as const;
    const { tap, as } = await sharedHost({ rooms, scopes });
    const [w, root] = [await as("w"), await as("root")];
    await tap.room("r1").post({ text: "go" });
    const turn = await agent.turn();
    const session_id = turn.turn.session;
    for (const [client, refused] of [
      [w, [4001, "unknown_session"]],
      [root, [4122, "room_session"]],
    ] as const) {
      expect(await client.refused("session.attach", { session_id })).toEqual(refused);
      expect(await client.refused("session.resume", { session_id })).toEqual(refused);
      expect(await client.refused("prompt.submit", { session_id, text: "x" })).toEqual(refused);
    }
    expect(turn.delta("untouched")).toBe("written");
  });
});

describe("lists", () => {
  it("show what the caller may see, and what it is there", async () => {
    const { o, session_id, stored_session_id, as, observer } = await sharedHost({
      scopes: { w: ["write"], root: ["admin"] },
    });
    const own = await newSession(o, { title: "own" });
    const [m, x, w, root] = [await observer("m", "member"), await as("x"), await as("w"), await as("root")];
    const listedTo = async (client: HostClient, method: string): Promise<readonly string[]> => {
      const { sessions } = await client.call(method);
      return (sessions as { id: string; role?: string }[]).map(({ id, role }) => {
        return `${id === stored_session_id ? "s1" : id === own.stored_session_id ? "own" : id} ${role ?? "-"}`;
      });
    };
    for (const method of ["session.list", "session.active_list"]) {
      expect((await listedTo(o, method)).toSorted()).toEqual(["own owner", "s1 owner"]);
      expect(await listedTo(m, method)).toEqual(["s1 member"]);
      expect(await listedTo(x, method)).toEqual(["s1 -"]);
      expect(await listedTo(w, method)).toEqual([]);
      expect((await listedTo(root, method)).toSorted()).toEqual(["own -", "s1 -"]);
    }
    expect(await x.call("session.list", { limit: 1 })).toMatchObject({ next_offset: null });
    await o.call("session.close", { session_id });
    await o.event("session.reclaimed");
    expect(await listedTo(x, "session.list")).toEqual([]);
    expect((await listedTo(o, "session.list")).toSorted()).toEqual(["own owner", "s1 owner"]);
    expect((await listedTo(root, "session.list")).toSorted()).toEqual(["own -", "s1 -"]);
  });
});
