import { describe, expect, it } from "vitest";
import { limits } from "../../../../core/index.ts";
import { newSession } from "../../../support/open-host.ts";
import { roster, sharedHost, sharingCauses } from "../../../support/shared-host.ts";

describe("session.attach", () => {
  it("S1 finds a session without a visibility private, with its owner alone", async () => {
    const host = await sharedHost({ visibility: "private" });
    const { o, session_id } = host;
    expect(await o.call("session.activate", { session_id })).toMatchObject({ visibility: "private", role: "owner" });
    expect(await roster(o, session_id, { o })).toEqual(["o owner"]);
  });

  it("S2 is refused for a private session", async () => {
    const { o, session_id, as } = await sharedHost({ visibility: "private" });
    const v = await as("v");
    expect(await v.refused("session.attach", { session_id })).toEqual([4301, "session_private"]);
    expect(await roster(o, session_id, { o })).toEqual(["o owner"]);
  });

  it("S3 lets viewers alone into a read-only session", async () => {
    const { o, session_id, as } = await sharedHost({ visibility: "read_only" });
    const [v, m] = [await as("v"), await as("m")];
    expect(await v.call("session.attach", { session_id, role: "viewer" })).toMatchObject({ role: "viewer" });
    expect(await m.refused("session.attach", { session_id, role: "member" })).toEqual([4302, "session_read_only"]);
    expect(await roster(o, session_id, { o, v })).toEqual(["o owner", "v viewer"]);
  });

  it("S4 lets members and viewers into a shared one, in the order in which they come", async () => {
    const { o, session_id, observer } = await sharedHost();
    const m = await observer("m", "member");
    const v = await observer("v");
    expect(await roster(v, session_id, { o, m, v })).toEqual(["o owner", "m member", "v viewer"]);
    const { observers } = await o.call("session.observers", { session_id });
    expect(observers).toEqual(
      [o, m, v].map(({ origin }, index) => ({
        client_id: origin,
        role: ["owner", "member", "viewer"][index],
        connections: 1,
        since: expect.any(Number),
      })),
    );
    await o.settled();
    expect(sharingCauses(o)).toEqual(["visibility", "attach", "attach"]);
    expect(o.events("session.sharing").at(-1)?.payload).toEqual({
      visibility: "shared",
      observers: [
        { client_id: o.origin, role: "owner" },
        { client_id: m.origin, role: "member" },
        { client_id: v.origin, role: "viewer" },
      ],
      cause: "attach",
    });
  });

  it("S5 C-048 without a role makes a viewer, whom the reply shows the session", async () => {
    const { session_id, stored_session_id, as, agent, o } = await sharedHost();
    await o.call("prompt.submit", { session_id, text: "go" });
    const turn = await agent.turn();
    turn.delta("half");
    const v = await as("v");
    expect(await v.call("session.attach", { session_id })).toMatchObject({
      ...{ session_id, stored_session_id, role: "viewer", visibility: "shared", watching: true, running: true },
      inflight: { user: "go", assistant: "half" },
    });
    turn.delta(" and half");
    expect((await v.event("message.delta")).payload).toEqual({ text: " and half" });
  });

  it("S6 W36 of an unknown session is refused, as all that is asked of one", async () => {
    const { o } = await sharedHost();
    const nope = { session_id: "nope" };
    expect(await o.refused("session.attach", nope)).toEqual([4001, "unknown_session"]);
    expect(await o.refused("session.observers", nope)).toEqual([4001, "unknown_session"]);
    expect(await o.refused("session.visibility", { ...nope, visibility: "shared" })).toEqual([4001, "unknown_session"]);
  });

  it("S7 is refused to the owner, to its mirrors, and as owner", async () => {
    const { o, session_id, as } = await sharedHost();
    const [mirror, v] = [await as("o.2"), await as("v")];
    await mirror.call("session.activate", { session_id });
    expect(await v.refused("session.attach", { session_id, role: "owner" })).toEqual([4303, "owner_role"]);
    expect(await o.refused("session.attach", { session_id })).toEqual([4303, "is_owner"]);
    expect(await mirror.refused("session.attach", { session_id, role: "member" })).toEqual([4303, "is_owner"]);
  });

  it("S8 is refused to a client that owns another session, whatever the role", async () => {
    const { session_id, as } = await sharedHost();
    const [m, p] = [await as("m"), await as("p")];
    await newSession(m);
    const s3 = await newSession(p);
    await p.call("session.visibility", { session_id: s3.session_id, visibility: "shared" });
    const v = await as("v");
    await v.call("session.attach", { session_id: s3.session_id });
    expect(await m.refused("session.attach", { session_id, role: "member" })).toEqual([4304, "already_bound"]);
    expect(await m.refused("session.attach", { session_id, role: "viewer" })).toEqual([4304, "already_bound"]);
    expect(await v.call("session.attach", { session_id, role: "member" })).toMatchObject({ role: "member" });
    // A member is bound, too.
    expect(await v.refused("session.attach", { session_id: s3.session_id, role: "member" })).toEqual([
      4304,
      "already_bound",
    ]);
  });

  it("S9 knows no other role and no other visibility, and makes nothing of them", async () => {
    const { tap, o, session_id, as } = await sharedHost();
    const v = await as("v");
    const before = await o.call("session.list");
    expect(await v.refused("session.attach", { session_id, role: "guest" })).toEqual([4307, "invalid_role"]);
    expect(await v.refused("session.attach", { session_id, role: 7 })).toEqual([-32602, "invalid_params"]);
    expect(await o.refused("session.create", { visibility: "bogus" })).toEqual([4306, "invalid_visibility"]);
    expect(await o.refused("session.visibility", { session_id, visibility: "bogus" })).toEqual([
      4306,
      "invalid_visibility",
    ]);
    expect(await o.refused("session.visibility", { session_id, visibility: 7 })).toEqual([-32602, "invalid_params"]);
    expect([await o.call("session.list"), tap.sessions.live.length]).toEqual([before, 1]);
    expect(tap.sessions.byRuntimeId(session_id)?.record.visibility).toBe("shared");
  });

  it("S10 is refused by the first rule that holds", async () => {
    const { session_id, as } = await sharedHost({ visibility: "private" });
    const m = await as("m");
    await newSession(m);
    expect(await m.refused("session.attach", { session_id, role: "owner" })).toEqual([4303, "owner_role"]);
    expect(await m.refused("session.attach", { session_id, role: "member" })).toEqual([4301, "session_private"]);
    expect(await m.refused("session.attach", { session_id: "nope", role: "owner" })).toEqual([4001, "unknown_session"]);
  });

  it("S10 says nothing of a private session where the host conceals", async () => {
    const { session_id, as } = await sharedHost({ visibility: "private", concealPrivate: true });
    const v = await as("v");
    const asked = [
      { session_id },
      { session_id, role: "owner" },
      { session_id, role: "guest" },
      { session_id: "nope" },
    ];
    for (const params of asked) expect(await v.refused("session.attach", params)).toEqual([4001, "unknown_session"]);
  });

  it("S11 again as the same changes nothing, as another keeps the place", async () => {
    const { o, session_id, observer } = await sharedHost();
    const m = await observer("m", "member");
    const v = await observer("v");
    await o.settled();
    const told = sharingCauses(o).length;
    expect(await m.call("session.attach", { session_id, role: "member" })).toMatchObject({ role: "member" });
    await o.settled();
    expect(sharingCauses(o)).toHaveLength(told);
    expect(await m.call("session.attach", { session_id, role: "viewer" })).toMatchObject({ role: "viewer" });
    expect(await roster(o, session_id, { o, m, v })).toEqual(["o owner", "m viewer", "v viewer"]);
    await o.settled();
    expect(sharingCauses(o)).toHaveLength(told + 1);
    expect(await m.refused("prompt.submit", { session_id, text: "x" })).toEqual([4308, "viewer_cannot_send"]);
  });

  it("S12 is undone by session.detach, once and of nobody else", async () => {
    const { o, session_id, as, observer } = await sharedHost();
    const [m, v] = [await observer("m", "member"), await observer("v")];
    const x = await as("x");
    expect(await v.call("session.detach", { session_id })).toEqual({ detached: true });
    expect(await v.call("session.detach", { session_id })).toEqual({ detached: false });
    expect(await x.call("session.detach", { session_id })).toEqual({ detached: false });
    expect(await o.call("session.detach", { session_id })).toEqual({ detached: false });
    for (const client_id of [v.origin, x.origin, o.origin, "c-0"]) {
      expect(await o.call("session.detach", { session_id, client_id })).toEqual({ detached: false });
    }
    expect(await v.call("session.detach", { session_id: "nope" })).toEqual({ detached: false });
    expect(await roster(o, session_id, { o, m })).toEqual(["o owner", "m member"]);
    expect(v.events("session.detached")).toEqual([]);
  });

  it("S59 takes 32 observers, and not one more", async () => {
    const { o, session_id, observer, as } = await sharedHost();
    const all = await Promise.all(Array.from({ length: limits.maxObservers - 1 }, (_, index) => observer(`v${index}`)));
    const last = await observer("last", "member");
    const { observers } = await o.call("session.observers", { session_id });
    expect(observers).toHaveLength(1 + limits.maxObservers);
    const more = await as("more");
    expect(await more.refused("session.attach", { session_id })).toEqual([4310, "observers_full"]);
    // Who is there may change its role, and makes room when it goes.
    expect(await last.call("session.attach", { session_id })).toMatchObject({ role: "viewer" });
    await all[0]?.call("session.detach", { session_id });
    expect(await more.call("session.attach", { session_id })).toMatchObject({ role: "viewer" });
  });

  it("S59 takes 64 sessions of one connection, and gives no seat in one more", async () => {
    const { tap, o, session_id, as } = await sharedHost({ gateway: { callBurst: 1_000 } });
    const v = await as("v");
    const attached = [session_id];
    for (let made = 1; made <= limits.maxAttachedSessions; made++) {
      const live = await tap.sharing.createSession("default", { clientId: `p${made}`, visibility: "shared" });
      attached.push(live.session.runtimeId);
    }
    for (const each of attached.slice(0, -1)) await v.call("session.attach", { session_id: each });
    const extra = attached.at(-1) ?? "";
    expect(await v.refused("session.attach", { session_id: extra })).toEqual([4310, "too_many_sessions"]);
    const live = tap.sessions.byRuntimeId(extra);
    expect(tap.sharing.observers(live?.record.session_id ?? "")).toHaveLength(1);
    await v.call("session.detach", { session_id });
    expect(await v.call("session.attach", { session_id: extra })).toMatchObject({ role: "viewer" });
    await o.settled();
  });
});
