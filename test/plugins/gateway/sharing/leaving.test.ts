import { describe, expect, it } from "vitest";
import type { ManualClock } from "../../../../core/index.ts";
import { turnOf } from "../../../support/asked-host.ts";
import { numbers } from "../../../support/fan-out.ts";
import { watchedGateway } from "../../../support/jammed-client.ts";
import { loopClock } from "../../../support/open-log.ts";
import { DrivenAgent, type HostClient } from "../../../support/open-host.ts";
import {
  ownersAuth,
  people,
  roster,
  sharedHost,
  sharingCauses,
  type SharedHost,
  type SharedHostOptions,
} from "../../../support/shared-host.ts";
import { turnsOfLoop, until } from "../../../support/turns-of-loop.ts";

/** A host on a clock that stands still, and asks nobody whether it lives. */
async function stillHost(options: SharedHostOptions = {}): Promise<StillHost> {
  const clock = loopClock();
  return { ...(await sharedHost({ clock, gateway: { pingIntervalMs: 0 }, ...options })), clock };
}

interface StillHost extends SharedHost {
  readonly clock: ManualClock;
}

function seqs(client: HostClient): readonly (number | undefined)[] {
  return client.events().flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
}

/** Resolves when a host has closed the session. */
function closedBy({ tap, stored_session_id }: SharedHost): Promise<string> {
  return new Promise((resolve) => {
    tap.sessions.on("closed", ({ live, reason }) => {
      if (live.record.session_id === stored_session_id) resolve(reason);
    });
  });
}

function isOpen({ tap, stored_session_id }: SharedHost): boolean {
  return tap.sessions.byStoredId(stored_session_id) !== undefined;
}

describe("an observer that leaves", () => {
  type Way = (host: StillHost, v: HostClient, others: readonly HostClient[]) => Promise<unknown>;
  const ways: readonly (readonly [way: string, leave: Way])[] = [
    ["by session.detach", ({ session_id }, v) => v.call("session.detach", { session_id })],
    ["by its socket", (_, v) => v.drop()],
    [
      "by 4408",
      async ({ clock }, v, others) => {
        v.ws.pause();
        for (let beat = 0; beat < 3; beat++) {
          clock.advance(30_000);
          for (const other of others) await other.settled();
        }
        v.ws.resume();
        expect(await v.closed).toEqual({ code: 4408, reason: "liveness_timeout" });
      },
    ],
    [
      "by 4401",
      async ({ gateway }, v) => {
        const auth = ownersAuth({ m: {} });
        expect(gateway.reload({ ...auth, tokens: [...auth.tokens] })).toBe(1);
        expect(await v.closed).toEqual({ code: 4401, reason: "credentials_rotated" });
      },
    ],
    [
      "by 4410",
      async ({ gateway }, v) => {
        expect(gateway.revoke({ principal: "v" })).toBe(1);
        expect(await v.closed).toEqual({ code: 4410, reason: "revoked" });
      },
    ],
    [
      "by 4429",
      async ({ session_id }, v) => {
        for (let call = 0; call < 10; call++)
          v.send({ id: call, jsonrpc: "2.0", method: "session.interrupt", params: { session_id } });
        expect(await v.closed).toEqual({ code: 4429, reason: "denied_flood" });
      },
    ],
  ];
  it.each(ways)("S29 %s leaves all others as they are", async (_, leave) => {
    const host = await stillHost({ rights: { m: {}, v: {} }, gateway: {} });
    const { o, session_id, observer, agent } = host;
    const [m, v] = [await observer("m", "member"), await observer("v")];
    await o.settled();
    const attached = sharingCauses(o).length;
    const turn = await turnOf({ agent }, o, session_id);
    turn.delta("before ");
    await leave(host, v, [o, m]);
    turn.delta("after ");
    turn.say("end");
    await o.event("message.complete");
    await m.event("message.complete");
    expect(await roster(o, session_id, { o, m })).toEqual(["o owner", "m member"]);
    expect([isOpen(host), seqs(o)]).toEqual([true, numbers(Number(seqs(o)[0]), Number(seqs(o).at(-1)))]);
    expect(o.events("message.delta").map(({ payload }) => payload?.["text"])).toEqual(["before ", "after ", "end"]);
    expect(sharingCauses(o).slice(attached)).toEqual(["detach"]);
    expect(agent.turns).toHaveLength(1);
  });

  it("S29 by 1013 leaves all others as they are", async () => {
    const host = await stillHost();
    const { o, session_id, observer, agent } = host;
    const m = await observer("m", "member");
    const watched = await watchedGateway(host, { gateway: { authenticate: people({}) }, principal: "v" });
    const v = await watched.connect("v");
    await v.call("session.attach", { session_id });
    const turn = await turnOf({ agent }, o, session_id);
    await watched.jam(v.ws, (long, nth) =>
      v.send({ jsonrpc: "2.0", id: `fill-${nth}`, method: "session.history", params: { session_id: long } }),
    );
    for (let frame = 0; frame < 300; frame++) {
      turn.emit("status.update", { kind: "status", text: String(frame) });
      await turnsOfLoop(1);
    }
    expect(watched.gateway.count("slow_consumer")).toBe(1);
    turn.say("end");
    await o.event("message.complete");
    expect(await roster(o, session_id, { o, m })).toEqual(["o owner", "m member"]);
    expect([isOpen(host), seqs(o)]).toEqual([true, numbers(Number(seqs(o)[0]), Number(seqs(o).at(-1)))]);
    v.ws.terminate();
  });

  it("comes back by its token as what it was, at the end of the order, if it may", async () => {
    const { o, session_id, observer, as, gateway } = await sharedHost();
    const [m, v] = [await observer("m", "member"), await observer("v")];
    await m.drop();
    await o.eventWhere("session.sharing", ({ payload }) => payload?.["cause"] === "detach");
    expect(await roster(o, session_id, { o, v })).toEqual(["o owner", "v viewer"]);
    const again = await as("m", { resume: String(m.ready["resume_token"]) });
    expect([again.ready["resumed"], again.origin]).toEqual([true, m.origin]);
    expect(await roster(o, session_id, { o, v, m })).toEqual(["o owner", "v viewer", "m member"]);
    await again.drop();
    await until(() => gateway.connections === 2);
    await o.call("session.visibility", { session_id, visibility: "read_only" });
    const late = await as("m", { resume: String(again.ready["resume_token"]) });
    expect(late.ready["resumed"]).toBe(true);
    expect(await roster(o, session_id, { o, v })).toEqual(["o owner", "v viewer"]);
    expect(await late.refused("session.history", { session_id })).toEqual([4311, "not_attached"]);
  });
});

describe("the owner's call of session.close", () => {
  it("S30 S31 closes the session for all, until the owner opens it again", async () => {
    const host = await sharedHost();
    const { o, tap, session_id, stored_session_id, observer } = host;
    const [m, v] = [await observer("m", "member"), await observer("v")];
    expect(await o.call("session.close", { session_id })).toEqual({ closed: true, left: true });
    for (const client of [m, v]) {
      await client.event("session.reclaimed");
      expect(client.events("session.detached").map(({ payload }) => payload)).toEqual([
        { session_id, reason: "owner_left" },
      ]);
    }
    await o.event("session.reclaimed");
    expect(o.events("session.detached")).toEqual([]);
    expect(await tap.sessions.record(stored_session_id)).toMatchObject({ visibility: "shared" });
    expect(await o.refused("session.observers", { session_id })).toEqual([4001, "unknown_session"]);
    // Nobody else opens it, or finds it.
    expect(await v.refused("session.resume", { session_id: stored_session_id })).toEqual([4001, "unknown_session"]);
    expect(await v.refused("session.attach", { session_id: stored_session_id })).toEqual([4001, "unknown_session"]);
    expect(await v.call("session.list")).toMatchObject({ sessions: [] });
    expect(isOpen(host)).toBe(false);
    const again = await o.call("session.resume", { session_id: stored_session_id });
    expect(again).toMatchObject({ visibility: "shared", role: "owner" });
    const renewed = String(again["session_id"]);
    expect(await roster(o, renewed, { o })).toEqual(["o owner"]);
    expect(await v.call("session.attach", { session_id: renewed })).toMatchObject({ role: "viewer" });
  });

  it("S36 is the owner's alone", async () => {
    const host = await sharedHost();
    const { o, session_id, observer } = host;
    const [m, v] = [await observer("m", "member"), await observer("v")];
    for (const client of [m, v])
      expect(await client.refused("session.close", { session_id })).toEqual([4309, "not_owner"]);
    for (const client of [m, v])
      expect(await client.call("session.detach", { session_id })).toEqual({ detached: true });
    expect([isOpen(host), await roster(o, session_id, { o })]).toEqual([true, ["o owner"]]);
  });

  it("S37 keeps what was said and what waits", async () => {
    const { o, session_id, stored_session_id, agent, observer } = await sharedHost();
    const v = await observer("v");
    const turn = await turnOf({ agent }, o, session_id);
    turn.delta("ab");
    await o.call("prompt.submit", { session_id, text: "next", queued: true });
    await o.call("session.close", { session_id });
    const { payload } = await v.event("message.complete");
    expect(payload).toMatchObject({ status: "interrupted", text: "ab", partial: true });
    await v.event("session.reclaimed");
    expect(v.told().slice(-4)).toEqual(["message.complete", "session.info", "session.detached", "session.reclaimed"]);
    await o.event("session.reclaimed");
    const again = await o.call("session.resume", { session_id: stored_session_id });
    const { messages } = await o.call("session.history", { session_id: again["session_id"] });
    expect((messages as { text: string }[]).slice(0, 2).map(({ text }) => text)).toEqual(["go", "ab"]);
    expect((await agent.turn(1)).text).toBe("next");
  });
});

describe("an owner whose connection is lost", () => {
  it("S32 is the owner again within the grace, and has missed nothing", async () => {
    const host = await stillHost();
    const { o, session_id, observer, as, agent, clock } = host;
    const m = await observer("m", "member");
    const turn = await turnOf({ agent }, m, session_id);
    turn.delta("one ");
    await o.event("message.delta");
    await o.drop();
    await until(() => host.gateway.connections === 1);
    const { observers } = await m.call("session.observers", { session_id });
    expect(observers).toMatchObject([{ client_id: o.origin, role: "owner", connections: 0 }, { client_id: m.origin }]);
    clock.advance(30_000);
    turn.delta("two ");
    await m.event("message.delta", 1);
    expect(isOpen(host)).toBe(true);
    const again = await as("o", { resume: String(o.ready["resume_token"]) });
    expect([again.ready["resumed"], again.origin]).toEqual([true, o.origin]);
    expect(
      (await m.eventWhere("session.sharing", ({ payload }) => payload?.["cause"] === "owner_returned")).payload,
    ).toEqual({
      visibility: "shared",
      observers: [
        { client_id: o.origin, role: "owner" },
        { client_id: m.origin, role: "member" },
      ],
      cause: "owner_returned",
    });
    const last_seen = Number(seqs(o).at(-1));
    const { events, truncated } = await again.call("session.events.since", { session_id, last_seen });
    turn.say("three");
    await again.event("message.complete");
    const replayed = (events as { seq: number }[]).map(({ seq }) => seq);
    const all = new Set([...seqs(o), ...replayed, ...seqs(again)]);
    expect([truncated, [...all]]).toEqual([false, numbers(1, Number(seqs(again).at(-1)))]);
    clock.advance(600_000);
    await again.settled();
    expect(isOpen(host)).toBe(true);
  });

  it("S32 is the owner again by resume and by submit, told once", async () => {
    const host = await stillHost();
    const { o, session_id, stored_session_id, observer, as, clock } = host;
    const m = await observer("m", "member");
    await o.drop();
    await until(() => host.gateway.connections === 1);
    const second = await as("o.2");
    expect(await roster(m, session_id, { o, m })).toEqual(["o owner", "m member"]);
    const from = second.came.length;
    await second.call("session.resume", { session_id: stored_session_id });
    await second.event("session.sharing");
    // What the call has caused comes behind its reply.
    expect(second.told().slice(from - 1)).toEqual([expect.stringMatching(/^<- /), "session.sharing"]);
    expect(await roster(m, session_id, { second, m })).toEqual(["second owner", "m member"]);
    await second.drop();
    await until(() => host.gateway.connections === 1);
    const third = await as("o.3");
    await third.call("prompt.submit", { session_id, text: "go" });
    await m.event("message.start");
    await m.settled();
    expect(sharingCauses(m).filter((cause) => cause === "owner_returned")).toHaveLength(2);
    clock.advance(120_000);
    await m.settled();
    expect(isOpen(host)).toBe(true);
  });

  it.each([
    ["no turn runs", 60_000, false],
    ["no turn runs, a moment before", 59_999, true],
  ])("S33 loses the session when the grace is over and %s", async (_, afterMs, staysOpen) => {
    const host = await stillHost();
    const { o, observer, clock } = host;
    const m = await observer("m", "member");
    await o.drop();
    await until(() => host.gateway.connections === 1);
    clock.advance(afterMs);
    await m.settled();
    expect(isOpen(host)).toBe(staysOpen);
    if (staysOpen) return;
    const { payload } = await m.event("session.reclaimed");
    expect(payload).toMatchObject({ reason: "ws_orphan_reap" });
    expect(m.events("session.detached").map(({ payload: told }) => told?.["reason"])).toEqual(["owner_left"]);
  });

  it("S33 loses it when the turn has settled, and what waits runs when it is opened again", async () => {
    const host = await stillHost();
    const { o, session_id, stored_session_id, observer, as, agent, clock } = host;
    const m = await observer("m", "member");
    const closed = closedBy(host);
    const turn = await turnOf({ agent }, m, session_id);
    await m.call("prompt.submit", { session_id, text: "next", queued: true });
    await o.drop();
    await until(() => host.gateway.connections === 1);
    clock.advance(60_000);
    await m.settled();
    clock.advance(30_000);
    turn.delta("still here, ");
    await m.event("message.delta");
    expect(isOpen(host)).toBe(true);
    turn.say("done");
    expect(await closed).toBe("ws_orphan_reap");
    expect((await m.event("message.complete")).payload).toMatchObject({ status: "complete", text: "still here, done" });
    expect((await m.event("session.detached")).payload).toEqual({ session_id, reason: "owner_left" });
    expect((await m.event("session.reclaimed")).payload).toMatchObject({ reason: "ws_orphan_reap" });
    expect(m.events("session.detached")).toHaveLength(1);
    expect(agent.turns).toHaveLength(1);
    const again = await as("o.2");
    await again.call("session.resume", { session_id: stored_session_id });
    expect((await agent.turn(1)).text).toBe("next");
  });

  it("S33 that comes back while that turn runs has what waits run behind it", async () => {
    const host = await stillHost();
    const { o, session_id, observer, as, agent, clock } = host;
    const m = await observer("m", "member");
    const turn = await turnOf({ agent }, m, session_id);
    await m.call("prompt.submit", { session_id, text: "next", queued: true });
    await o.drop();
    await until(() => host.gateway.connections === 1);
    clock.advance(90_000);
    await m.settled();
    const again = await as("o.2");
    await again.call("session.activate", { session_id });
    turn.say("done");
    expect((await agent.turn(1)).text).toBe("next");
    expect(isOpen(host)).toBe(true);
  });

  it.each([
    ["close_on_disconnect", {}, { close_on_disconnect: true }],
    ["an ownerGraceMs of 0", { ownerGraceMs: 0 }, {}],
  ])("S34 loses it at once with %s", async (_, options, given) => {
    const host = await stillHost(options);
    const second = await host.as("o.2");
    const made = await second.call("session.create", given);
    expect(made["role"]).toBe("owner");
    const id = String(made["stored_session_id"]);
    await second.drop();
    await until(() => host.tap.sessions.byStoredId(id) === undefined);
    expect(await host.tap.sessions.record(id)).toMatchObject({ session_id: id });
    // One that a connection of the same id takes over is no loss.
    const third = await host.as("o.3");
    const taken = await third.call("session.create", given);
    const fourth = await host.as("o.3", { resume: String(third.ready["resume_token"]) });
    expect(await third.closed).toMatchObject({ code: 4409 });
    host.clock.advance(1_000);
    await fourth.settled();
    expect(host.tap.sessions.byStoredId(String(taken["stored_session_id"]))).toBeDefined();
    expect(await fourth.call("session.status", { session_id: taken["session_id"] })).toMatchObject({ status: "idle" });
  });

  it("S35 leaves it to its other connection, and nothing else changes", async () => {
    const host = await stillHost();
    const { o, session_id, observer, as, clock } = host;
    const [second, m] = [await as("o.2"), await observer("m", "member")];
    await second.call("session.activate", { session_id });
    const owner = async (): Promise<unknown> => {
      const { observers } = await m.call("session.observers", { session_id });
      return (observers as readonly unknown[])[0];
    };
    expect(await owner()).toMatchObject({ client_id: o.origin, connections: 2 });
    const before = m.events().length;
    await o.drop();
    await until(() => host.gateway.connections === 2);
    expect(await owner()).toMatchObject({ client_id: second.origin, role: "owner", connections: 1 });
    clock.advance(50_000);
    await second.settled();
    await m.settled();
    clock.advance(50_000);
    await m.settled();
    expect([isOpen(host), m.events().length]).toEqual([true, before]);
  });

  it("S35 that is replaced by its own next one was not away", async () => {
    const { o, session_id, observer, as } = await stillHost();
    const m = await observer("m", "member");
    const again = await as("o", { resume: String(o.ready["resume_token"]) });
    expect(await o.closed).toEqual({ code: 4409, reason: "replaced" });
    expect(await roster(m, session_id, { again, m })).toEqual(["again owner", "m member"]);
    await m.settled();
    expect(sharingCauses(m)).toEqual(["attach"]);
  });

  it("S38 loses it at once when its credential is changed", async () => {
    const agent = new DrivenAgent();
    const host = await stillHost({ rights: { m: {}, v: {} }, agents: { default: agent } });
    const { o, session_id, observer, gateway, as } = host;
    const [m, v] = [await observer("m", "member"), await observer("v")];
    const auth = ownersAuth({ m: {}, v: {} });
    const tokens = auth.tokens.map((each) =>
      each.principal === "o" ? { ...each, token: "gw-new-0123456789abcdef" } : each,
    );
    expect(gateway.reload({ ...auth, tokens })).toBe(1);
    expect(isOpen(host)).toBe(false);
    expect(await o.closed).toEqual({ code: 4401, reason: "credentials_rotated" });
    for (const client of [m, v]) {
      expect((await client.event("session.detached")).payload).toEqual({ session_id, reason: "owner_left" });
      expect((await client.event("session.reclaimed")).payload).toMatchObject({ reason: "owner_left" });
    }
    const resume = String(o.ready["resume_token"]);
    const again = await host.connect({ token: "gw-new-0123456789abcdef", resume });
    expect([again.ready["resumed"], again.origin === o.origin]).toEqual([false, false]);
    expect(await as("m")).toBeDefined();
  });
});
