import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../../../rooms/sqlite/database.ts";
import { turnOf } from "../../../support/asked-host.ts";
import { watchedGateway } from "../../../support/jammed-client.ts";
import { loopClock, temporaryFolder } from "../../../support/open-log.ts";
import { newSession, type HostClient } from "../../../support/open-host.ts";
import { people, refusal, roster, sharedHost, sharingCauses } from "../../../support/shared-host.ts";
import { turnsOfLoop } from "../../../support/turns-of-loop.ts";

/** Of a client, what it is told of a session that it may not see, and of one that does not exist: equal. */
async function expectUnknown(client: HostClient, session_id: string): Promise<void> {
  const prompt = { text: "x" };
  for (const [method, params] of [
    ["session.history", {}],
    ["session.activate", {}],
    ["session.resume", {}],
    ["session.observers", {}],
    ["prompt.submit", prompt],
    ["session.interrupt", {}],
    ["session.close", {}],
    ["session.detach", {}],
    ["session.events.since", { last_seen: 4 }],
  ] as const) {
    const [real, nope] = [
      await client.ask(method, { ...params, session_id }, "same"),
      await client.ask(method, { ...params, session_id: "nope" }, "same"),
    ];
    expect(real).toEqual(nope);
  }
}

describe("session.visibility", () => {
  it("S19 to read-only makes members viewers, who still receive", async () => {
    const { o, session_id, observer, agent } = await sharedHost();
    const [m, v] = [await observer("m", "member"), await observer("v")];
    const turn = await turnOf({ agent }, o, session_id);
    expect(await o.call("session.visibility", { session_id, visibility: "read_only" })).toEqual({
      visibility: "read_only",
      revoked: [{ client_id: m.origin, from: "member", to: "viewer" }],
    });
    expect(await roster(o, session_id, { o, m, v })).toEqual(["o owner", "m viewer", "v viewer"]);
    expect(await m.refused("prompt.submit", { session_id, text: "x" })).toEqual([4308, "viewer_cannot_send"]);
    turn.say("still");
    expect((await m.event("message.complete")).payload).toMatchObject({ text: "still" });
    expect(m.events("session.detached")).toEqual([]);
    for (const client of [o, m, v]) {
      const causes = sharingCauses(client).slice(client === o ? -1 : undefined);
      expect(causes.filter((cause) => cause === "visibility")).toHaveLength(1);
    }
  });

  it("S20 to private sends observers away, each told once", async () => {
    const { o, session_id, observer, agent } = await sharedHost();
    const [m, v] = [await observer("m", "member"), await observer("v")];
    const turn = await turnOf({ agent }, o, session_id);
    await o.call("session.visibility", { session_id, visibility: "private" });
    expect(await roster(o, session_id, { o })).toEqual(["o owner"]);
    turn.say("between us");
    await o.event("message.complete");
    for (const client of [m, v]) {
      await client.settled();
      const from = client.told().indexOf("session.detached");
      expect(client.events("session.detached").map(({ payload }) => payload)).toEqual([
        { session_id, reason: "visibility" },
      ]);
      expect(client.told().slice(from + 1)).toEqual([expect.stringMatching(/^<- p/)]);
      await expectUnknown(client, session_id);
      expect(await client.refused("session.attach", { session_id })).toEqual([4301, "session_private"]);
    }
  });

  it("S21 to private takes out what waits for who is sent away, and nothing else", async () => {
    const host = await sharedHost({ clock: loopClock() });
    const { o, session_id, agent } = host;
    const p = await host.as("p");
    const s3 = await newSession(p);
    await p.call("session.visibility", { session_id: s3.session_id, visibility: "shared" });
    const gateway = { authenticate: people({}), maxDeniedCalls: 100 };
    const watched = await watchedGateway(host, { gateway, principal: "v" });
    const v = await watched.connect("v");
    await v.call("session.attach", { session_id });
    await v.call("session.attach", { session_id: s3.session_id });
    const [one, three] = [await turnOf({ agent }, o, session_id), await turnOf({ agent }, p, s3.session_id)];
    await v.event("message.start", 1);
    await v.settled();
    const before = v.events().length;
    await watched.jam(v.ws, (long, nth) =>
      v.send({ jsonrpc: "2.0", id: `fill-${nth}`, method: "session.history", params: { session_id: long } }),
    );
    for (let frame = 1; frame <= 5; frame++) one.emit("status.update", { kind: "status", text: `s1 ${frame}` });
    for (let frame = 1; frame <= 2; frame++) three.emit("status.update", { kind: "status", text: `s3 ${frame}` });
    await turnsOfLoop(2);
    await o.call("session.visibility", { session_id, visibility: "private" });
    v.ws.resume();
    await v.event("session.detached");
    await v.settled();
    const after = v.events().slice(before);
    expect(after.map(({ type, payload }) => payload?.["text"] ?? type)).toEqual(["s3 1", "s3 2", "session.detached"]);
    expect(watched.gateway.count("slow_consumer")).toBe(0);
  });

  it("S22 to private lets no snapshot out that is being read", async () => {
    const { tap, o, session_id, as, agent } = await sharedHost();
    const v = await as("v");
    const live = tap.sessions.byRuntimeId(session_id);
    if (live === undefined) throw new Error("no session");
    const turn = await turnOf({ agent }, o, session_id);
    const snapshot = live.snapshot.bind(live);
    live.snapshot = async (options) => {
      const read = await snapshot(options);
      await o.call("session.visibility", { session_id, visibility: "private" });
      return read;
    };
    expect(await v.refused("session.attach", { session_id })).toEqual([4001, "unknown_session"]);
    turn.say("between us");
    await o.event("message.complete");
    await v.settled();
    expect(v.events().map(({ type }) => type)).toEqual(["session.detached"]);
    expect(await roster(o, session_id, { o })).toEqual(["o owner"]);
  });

  it("S22 to private lets no history out that is being read", async () => {
    const { tap, o, session_id, observer } = await sharedHost();
    const v = await observer("v");
    const live = tap.sessions.byRuntimeId(session_id);
    if (live === undefined) throw new Error("no session");
    const history = live.history.bind(live);
    live.history = async (page) => {
      const read = await history(page);
      await o.call("session.visibility", { session_id, visibility: "private" });
      return read;
    };
    expect(await v.refused("session.history", { session_id })).toEqual([4001, "unknown_session"]);
  });

  it("S23 back to shared promotes nobody", async () => {
    const { o, session_id, observer } = await sharedHost();
    const [m, v] = [await observer("m", "member"), await observer("v")];
    await o.call("session.visibility", { session_id, visibility: "read_only" });
    const { revoked } = await o.call("session.visibility", { session_id, visibility: "shared" });
    expect(revoked).toEqual([]);
    expect(await roster(o, session_id, { o, m, v })).toEqual(["o owner", "m viewer", "v viewer"]);
    expect(await m.refused("prompt.submit", { session_id, text: "x" })).toEqual([4308, "viewer_cannot_send"]);
    await m.call("session.attach", { session_id, role: "member" });
    expect(await m.call("prompt.submit", { session_id, text: "x" })).toMatchObject({ status: "streaming" });
  });

  it("S24 is the owner's, and an admin's that is not attached", async () => {
    const { o, session_id, observer, as } = await sharedHost({ scopes: { root: ["admin"] } });
    const [m, x, root] = [await observer("m", "member"), await as("x"), await as("root")];
    expect(await m.refused("session.visibility", { session_id, visibility: "private" })).toEqual([4309, "not_owner"]);
    await o.call("session.visibility", { session_id, visibility: "private" });
    expect(await x.refused("session.visibility", { session_id, visibility: "shared" })).toEqual([
      4001,
      "unknown_session",
    ]);
    const causes = sharingCauses(o).length;
    expect(await root.call("session.visibility", { session_id, visibility: "shared" })).toMatchObject({
      visibility: "shared",
    });
    await o.settled();
    expect(o.events("session.sharing").slice(causes).at(-1)?.payload).toMatchObject({
      ...{ visibility: "shared", cause: "visibility" },
    });
    // It got nothing by that, and what is not its office stays the owner's.
    expect(root.events()).toEqual([]);
    expect(await root.refused("session.title", { session_id, title: "x" })).toEqual([4309, "not_owner"]);
    expect(await root.refused("session.history", { session_id })).toEqual([4311, "not_attached"]);
    expect(await root.call("session.close", { session_id })).toEqual({ closed: true, left: true });
  });

  it("S25 to what it is tells and writes nothing", async () => {
    const { tap, o, session_id, observer } = await sharedHost();
    await observer("v");
    await o.settled();
    const live = tap.sessions.byRuntimeId(session_id);
    const before = [live?.record, live?.session.seq, o.events().length];
    expect(await o.call("session.visibility", { session_id, visibility: "shared" })).toEqual({
      ...{ visibility: "shared", revoked: [] },
    });
    await o.settled();
    expect([live?.record, live?.session.seq, o.events().length]).toEqual(before);
  });

  it("S27 that cannot be stored changes nothing", async () => {
    const db = join(temporaryFolder(), "host.db");
    const { o, session_id, observer, agent } = await sharedHost({ db, busyTimeoutMs: 50 });
    const [m, v] = [await observer("m", "member"), await observer("v")];
    const other = connect(db);
    onTestFinished(() => void other.close());
    other.exec("BEGIN IMMEDIATE");
    expect(await o.refused("session.visibility", { session_id, visibility: "private" })).toEqual([5071, "log_busy"]);
    other.exec("ROLLBACK");
    expect(await roster(o, session_id, { o, m, v })).toEqual(["o owner", "m member", "v viewer"]);
    expect(await o.call("session.activate", { session_id })).toMatchObject({ visibility: "shared" });
    (await turnOf({ agent }, m, session_id)).say("as before");
    await v.event("message.complete");
    expect(v.events("session.detached")).toEqual([]);
  });

  it("hands over not one frame after the call has returned, in the middle of a stream", async () => {
    const { tap, o, session_id, stored_session_id, observer, agent } = await sharedHost();
    const v = await observer("v");
    const turn = await turnOf({ agent }, o, session_id);
    let isRevoked = false;
    let sent = 0;
    const streaming = (async () => {
      for (; sent < 400; sent++) {
        turn.delta(`${isRevoked ? "after" : "before"} ${sent} `);
        if (sent === 200) {
          // In process it returns in a turn of the loop of its own, with frames before and behind it.
          await tap.sharing.setVisibility(stored_session_id, "private");
          isRevoked = true;
        }
        if (sent % 5 === 0) await turnsOfLoop(1);
      }
    })();
    await streaming;
    turn.say("end");
    await o.event("message.complete");
    await v.settled();
    const texts = v.events("message.delta").map(({ payload }) => String(payload?.["text"]));
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.filter((text) => text.startsWith("after"))).toEqual([]);
    expect(o.events("message.delta")).toHaveLength(401);
    expect(v.events().at(-1)?.type).toBe("session.detached");
    expect(v.events("session.detached")).toHaveLength(1);
  });
});

describe("session.detach of somebody else", () => {
  it("S60 C-048 sends it away until the visibility is set anew", async () => {
    const { o, session_id, observer, as, agent } = await sharedHost();
    const [m, v] = [await observer("m", "member"), await observer("v")];
    const second = await observer("m.2");
    expect(await o.call("session.detach", { session_id, client_id: m.origin })).toEqual({ detached: true });
    expect(await roster(o, session_id, { o, v })).toEqual(["o owner", "v viewer"]);
    const turn = await turnOf({ agent }, o, session_id);
    turn.say("without them");
    await v.event("message.complete");
    // The whole principal is meant, by whatever connection it is there.
    for (const client of [m, second, await as("m.3")]) {
      await client.settled();
      const told = client.events("session.detached").map(({ payload }) => payload);
      const isAttached = client === m || client === second;
      expect(told).toEqual(isAttached ? [{ session_id, reason: "detached_by_owner" }] : []);
      expect(client.events("message.delta")).toEqual([]);
      expect(await refusal(client, "session.attach", { session_id })).toEqual({
        code: 4001,
        reason: "unknown_session",
      });
      await expectUnknown(client, session_id);
      expect(await client.call("session.active_list")).toMatchObject({ sessions: [] });
    }
    // The same visibility once more is none that is set anew.
    await o.call("session.visibility", { session_id, visibility: "shared" });
    expect(await m.refused("session.attach", { session_id })).toEqual([4001, "unknown_session"]);
    await o.call("session.visibility", { session_id, visibility: "read_only" });
    expect(await m.call("session.attach", { session_id })).toMatchObject({ role: "viewer" });
  });

  it("is refused to a connection without write", async () => {
    const { o, session_id, observer } = await sharedHost({ scopes: { o: ["read", "write"], v: ["read"] } });
    const v = await observer("v");
    expect(await refusal(v, "session.detach", { session_id, client_id: o.origin })).toMatchObject({
      ...{ code: 4300, required_scope: "write" },
    });
    expect(await v.call("session.detach", { session_id, client_id: v.origin })).toEqual({ detached: true });
  });
});
