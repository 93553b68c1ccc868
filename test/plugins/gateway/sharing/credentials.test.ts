import { describe, expect, it } from "vitest";
import { turnOf } from "../../../support/asked-host.ts";
import { watchedGateway } from "../../../support/jammed-client.ts";
import { loopClock } from "../../../support/open-log.ts";
import { newSession, openHost, type HostClient, type OpenHost } from "../../../support/open-host.ts";
import { principals, tokenOf, type Rights } from "../../../support/principals.ts";
import { roster } from "../../../support/shared-host.ts";
import { turnsOfLoop, until } from "../../../support/turns-of-loop.ts";

const all = { scopes: ["read", "write", "approvals", "admin"] } as const;
const people: Readonly<Record<string, Rights>> = { o: all, m: {}, v: {} };

interface Shared extends OpenHost {
  readonly o: HostClient;
  readonly session_id: string;
  readonly stored_session_id: string;
  readonly as: (name: string, resume?: string) => Promise<HostClient>;
}

/** A host whose people come by tokens of a config, and a session of `o` that is shared. */
async function shared(byName = people): Promise<Shared> {
  const host = await openHost({ gateway: { auth: principals(byName) } });
  const as = (name: string, resume?: string): Promise<HostClient> =>
    host.connect({ token: tokenOf(name), ...(resume === undefined ? {} : { resume }) });
  const o = await as("o");
  const made = await newSession(o);
  await o.call("session.visibility", { session_id: made.session_id, visibility: "shared" });
  return { ...host, ...made, o, as };
}

const resumeToken = ({ ready }: HostClient): string => String(ready["resume_token"]);

describe("credentials that change", () => {
  it("S38 end the owner's connection, its session, and its way back", async () => {
    const { gateway, o, as, session_id, stored_session_id } = await shared();
    const [m, v] = [await as("m"), await as("v")];
    await m.call("session.attach", { session_id, role: "member" });
    await v.call("session.attach", { session_id });
    const { o: _, ...others } = people;
    const { tokens } = principals(others);
    const next = { token: "gw-next-0123456789abcdef", principal: "o", ...all };
    expect(gateway.reload({ tokens: [...tokens, next] })).toBe(1);
    expect(await o.closed).toEqual({ code: 4401, reason: "credentials_rotated" });
    for (const observer of [m, v]) {
      expect((await observer.event("session.detached")).payload).toEqual({ session_id, reason: "owner_left" });
      expect((await observer.event("session.reclaimed")).payload).toMatchObject({ stored_session_id });
      expect(await observer.refused("session.history", { session_id })).toEqual([4001, "unknown_session"]);
    }
    const stale = as("o", resumeToken(o));
    await expect(stale).rejects.toThrow(/closed before it came/);
    gateway.reload(principals(people));
    const back = await as("o", resumeToken(o));
    expect([back.ready["resumed"], back.origin === o.origin]).toEqual([false, false]);
    expect(await back.call("session.resume", { session_id: stored_session_id })).toMatchObject({ role: "owner" });
  });

  it("S50 take what waits from who may not read it any more, and nothing that is its own", async () => {
    const clock = loopClock();
    const host = await openHost({ clock, gateway: { auth: principals(people) } });
    const o = await host.connect({ token: tokenOf("o") });
    const s1 = await newSession(o);
    await o.call("session.visibility", { session_id: s1.session_id, visibility: "shared" });
    const watched = await watchedGateway(host, { gateway: { auth: principals(people) }, principal: "v" });
    const owner = await watched.connect(tokenOf("v"));
    const s3 = await newSession(owner);
    const viewer = await watched.connect(tokenOf("v"));
    await viewer.call("session.attach", { session_id: s1.session_id });
    const one = await turnOf(host, o, s1.session_id);
    await viewer.event("message.start");
    await viewer.settled();
    const before = viewer.events().length;
    await watched.jam(viewer.ws, (long, nth) =>
      viewer.send({ jsonrpc: "2.0", id: `fill-${nth}`, method: "session.history", params: { session_id: long } }),
    );
    for (let frame = 1; frame <= 5; frame++) one.emit("status.update", { kind: "status", text: `s1 ${frame}` });
    await turnsOfLoop(2);
    const narrowed = principals({ ...people, v: { scopes: ["write"] } });
    expect(watched.gateway.reload(narrowed)).toBe(0);
    one.emit("status.update", { kind: "status", text: "s1 6" });
    await turnsOfLoop(2);
    viewer.ws.resume();
    await viewer.settled();
    expect(viewer.events().slice(before)).toEqual([]);
    const missed = viewer.refused("session.events.since", { session_id: s1.session_id });
    expect(await missed).toEqual([4300, "insufficient_scope"]);
    expect(await roster(o, s1.session_id, { o, viewer })).toEqual(["o owner", "viewer viewer"]);
    const three = await turnOf(host, owner, s3.session_id);
    three.say("still mine");
    expect((await owner.event("message.complete")).payload).toMatchObject({ text: "still mine" });
    // What comes back comes from then on.
    watched.gateway.reload(principals(people));
    one.emit("status.update", { kind: "status", text: "s1 7" });
    expect((await viewer.event("status.update")).payload).toMatchObject({ text: "s1 7" });
  });

  it("put a question before who may answer it from now on, and before nobody else", async () => {
    const { gateway, o, as, session_id, agent } = await shared({ ...people, m: { scopes: ["read", "write"] } });
    const m = await as("m");
    for (const client of [o, m]) await client.call("client.capabilities", { server_requests: true });
    await m.call("session.attach", { session_id, role: "member" });
    const turn = await turnOf({ agent }, o, session_id);
    void turn.ask("approval", { command: "rm x", choices: ["once", "deny"] });
    const { id } = await o.request("approval");
    await m.settled();
    expect(m.requests()).toEqual([]);
    gateway.reload(principals({ ...people, m: { scopes: ["read", "write", "approvals"] } }));
    expect((await m.request("approval")).id).toBe(id);
    gateway.reload(principals(people));
    expect(await m.refused("request.answer", { id, result: { choice: "once" } })).toEqual([4300, "insufficient_scope"]);
    expect(await o.call("request.answer", { id, result: { choice: "once" } })).toMatchObject({ status: "ok" });
  });
});

describe("a resume token", () => {
  it("S42 of the owner brings somebody else nothing", async () => {
    const { o, as, session_id } = await shared();
    const token = resumeToken(o);
    await o.drop();
    const v = await as("v", token);
    expect([v.ready["resumed"], v.origin === o.origin]).toEqual([false, false]);
    expect(await v.refused("session.history", { session_id })).toEqual([4311, "not_attached"]);
    // It is the owner's still.
    const back = await as("o", token);
    expect([back.ready["resumed"], back.origin]).toEqual([true, o.origin]);
  });

  it("W22 of another principal gives a new id, and a connection that works", async () => {
    const { gateway, o, as } = await shared();
    const v = await as("v", resumeToken(o));
    expect([v.ready["resumed"], v.origin === o.origin]).toEqual([false, false]);
    expect(await v.call("session.create")).toMatchObject({ role: "owner" });
    await until(() => gateway.connections === 2);
    expect(await o.call("gateway.ping")).toEqual({ ok: true });
  });
});
