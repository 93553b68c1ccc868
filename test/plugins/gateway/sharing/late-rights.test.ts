import { describe, expect, it } from "vitest";
import type { LiveSession } from "../../../../core/index.ts";
import { turnOf } from "../../../support/asked-host.ts";
import { watchedGateway } from "../../../support/jammed-client.ts";
import { loopClock } from "../../../support/open-log.ts";
import { DrivenAgent, newSession, openHost, type HostClient } from "../../../support/open-host.ts";
import { principals, tokenOf } from "../../../support/principals.ts";
import { ownersAuth, people, roster, sharedHost, type SharedHost } from "../../../support/shared-host.ts";
import { turnsOfLoop, until } from "../../../support/turns-of-loop.ts";

const withoutRead = ownersAuth({ v: { scopes: ["write"] } });

/** A shared session whose transcript has something in it. */
async function told({ o, tap }: SharedHost): Promise<{ readonly session_id: string; readonly live: LiveSession }> {
  const messages = [{ role: "user", text: "between us" }];
  const { session_id } = await o.call("session.create", { visibility: "shared", title: "ours", messages });
  const live = tap.sessions.byRuntimeId(String(session_id));
  if (live === undefined) throw new Error("no session");
  return { session_id: String(session_id), live };
}

const lacksRead = [4300, "insufficient_scope"];

/** Has a client ask for long replies until its line is full. */
function filler(client: HostClient): (session_id: string, nth: number) => void {
  return (session_id, nth) =>
    client.send({ jsonrpc: "2.0", id: `fill-${nth}`, method: "session.history", params: { session_id } });
}

describe("who loses the scope read", () => {
  it("S22 gets no snapshot that is being read, and has no seat by that call", async () => {
    const host = await sharedHost({ rights: { v: {} } });
    const { session_id, live } = await told(host);
    const v = await host.as("v");
    const snapshot = live.snapshot.bind(live);
    live.snapshot = async (options) => {
      const read = await snapshot(options);
      host.gateway.reload(withoutRead);
      return read;
    };
    expect(await v.refused("session.attach", { session_id })).toEqual(lacksRead);
    expect(await roster(host.o, session_id, { o: host.o })).toEqual(["o owner"]);
  });

  it("S50 gets no history that is being read, and keeps its seat", async () => {
    const host = await sharedHost({ rights: { v: {} } });
    const { session_id, live } = await told(host);
    const v = await host.as("v");
    await v.call("session.attach", { session_id });
    const history = live.history.bind(live);
    live.history = async (page) => {
      const read = await history(page);
      host.gateway.reload(withoutRead);
      return read;
    };
    expect(await v.refused("session.history", { session_id })).toEqual(lacksRead);
    expect(await roster(host.o, session_id, { o: host.o, v })).toEqual(["o owner", "v viewer"]);
  });

  it("S18 is shown its own sessions in lists, and none in which it only has a seat", async () => {
    const host = await sharedHost({ rights: { v: { scopes: ["write"] } } });
    const { session_id } = await told(host);
    const v = await host.as("v");
    await v.call("session.attach", { session_id, role: "member" });
    const own = await newSession(await host.as("v"));
    for (const method of ["session.list", "session.active_list"]) {
      const { sessions } = await v.call(method, {});
      expect((sessions as readonly { readonly id: unknown }[]).map(({ id }) => id)).toEqual([own.stored_session_id]);
    }
  });

  it("and write is not attached again by its resume token", async () => {
    const { gateway, o, as, session_id } = await sharedHost({ rights: { v: {} } });
    const v = await as("v");
    await v.call("session.attach", { session_id });
    gateway.reload(ownersAuth({ v: { scopes: ["approvals"] } }));
    const back = await as("v", { resume: String(v.ready["resume_token"]) });
    expect(back.origin).toBe(v.origin);
    expect(await roster(o, session_id, { o })).toEqual(["o owner"]);
  });
});

describe("what waits for a client", () => {
  it("S26 has no question in it once a tighter visibility has made it a viewer", async () => {
    const host = await sharedHost({ clock: loopClock() });
    const { o, session_id, agent } = host;
    const watched = await watchedGateway(host, { gateway: { authenticate: people({}) }, principal: "m" });
    const m = await watched.connect("m");
    await m.call("client.capabilities", { server_requests: true });
    await m.call("session.attach", { session_id, role: "member" });
    const turn = await turnOf({ agent }, o, session_id);
    await m.settled();
    await watched.jam(m.ws, filler(m));
    void turn.ask("clarify", { question: "whose?" });
    await turnsOfLoop(2);
    await o.call("session.visibility", { session_id, visibility: "read_only" });
    m.ws.resume();
    await m.settled();
    expect(m.came.filter(({ method }) => method === "clarify")).toEqual([]);
    expect(await o.request("clarify")).toMatchObject({ params: { question: "whose?" } });
  });

  it("has no reasoning in it once the grant has gone", async () => {
    const steps = [{ reasoning: "to myself" }, { finish: "done" }];
    const room = {
      room_id: "one",
      members: [{ handle: "a", runner: { kind: "scripted" as const, script: { steps } } }],
    };
    const host = await openHost({ clock: loopClock(), rooms: [room] });
    const auth = principals({ v: { grants: ["reasoning"] } });
    const watched = await watchedGateway(host, { gateway: { auth }, principal: "v" });
    const v = await watched.connect(tokenOf("v"));
    await v.call("rooms.subscribe", { room_id: "one", reasoning: true });
    await watched.jam(v.ws, filler(v));
    await host.tap.room("one").post({ text: "@a go" });
    await host.tap.finish();
    await turnsOfLoop(5);
    watched.gateway.reload(principals({ v: {} }));
    v.ws.resume();
    await v.settled();
    expect(v.events().map(({ type }) => type)).toEqual(["room.unsubscribed"]);
  });
});

describe("a stranger", () => {
  it("C-043 is told at once of a session that is being closed, as of one that does not exist", async () => {
    const agent = new DrivenAgent({ heedsStop: false });
    const { o, as, session_id, stored_session_id } = await sharedHost({ agents: { default: agent } });
    const x = await as("x");
    const turn = await turnOf({ agent }, o, session_id);
    await o.call("session.close", { session_id });
    const ownersResume = o.ask("session.resume", { session_id: stored_session_id });
    // The runner has 30 s, and this test fewer.
    expect(await x.refused("session.resume", { session_id: stored_session_id })).toEqual([4001, "unknown_session"]);
    turn.end();
    await until(() => agent.turns.length === 1);
    expect((await ownersResume).result).toMatchObject({ role: "owner" });
  });
});
