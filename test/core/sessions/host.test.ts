import { describe, expect, it } from "vitest";
import { limits, type Session } from "../../../core/index.ts";
import { openSessions } from "../../support/open-sessions.ts";

const local = { client_id: null, principal: "local" } as const;

describe("a host of sessions", () => {
  it("creates a session that is durable before it is answered", async () => {
    const sessions = openSessions();
    const live = await sessions.create({
      title: "Release",
      cwd: "/work",
      visibility: "shared",
      messages: [{ role: "user", text: "before" }],
    });
    expect(sessions.store.row(live.record.session_id)).toEqual({
      v: 1,
      session_id: live.record.session_id,
      agent_id: "default",
      title: "Release",
      owner: local,
      visibility: "shared",
      close_on_disconnect: false,
      cwd: "/work",
      created_at: sessions.bus.clock.now(),
      last_activity: sessions.bus.clock.now(),
      queue: [],
      message_keys: [],
      unfinished: null,
      last_turn: null,
      message_count: 1,
      preview: "",
    });
    expect(sessions.store.transcript(live.record.session_id)).toEqual(["user: before"]);
  });

  it("creates nothing when the store refuses", async () => {
    const sessions = openSessions();
    sessions.store.refuses = "log_full";
    await expect(sessions.create()).rejects.toMatchObject({ code: "log_full" });
    expect(sessions.host.live).toEqual([]);
  });

  it("takes the agent that is named, else the default, else the first", async () => {
    const { held } = openSessions();
    const agentOf = (id: string) => ({ agent_id: id, runner: held });
    const both = openSessions({ agents: [agentOf("other"), agentOf("default")] });
    expect((await both.create()).record.agent_id).toBe("default");
    expect((await both.create({ agent_id: "other" })).record.agent_id).toBe("other");
    expect((await openSessions({ agents: [agentOf("a"), agentOf("b")] }).create()).record.agent_id).toBe("a");
    expect(await both.host.create({ owner: local, agent_id: "none" })).toMatchObject({ refused: "agent_unavailable" });
    expect(await openSessions({ agents: [] }).host.create({ owner: local })).toMatchObject({
      refused: "agent_unavailable",
      message: "no agents are configured, and a session needs one",
    });
  });

  it("does not open a session whose agent it has not got", async () => {
    const first = openSessions();
    const id = (await first.create()).record.session_id;
    const other = openSessions({ store: first.store, agents: [] });
    expect(await other.host.resume(id, "local")).toMatchObject({ refused: "agent_unavailable" });
  });

  it("C-029 opens a stored session once, however many ask", async () => {
    const first = openSessions();
    const { session_id } = (await first.create({ title: "Release" })).record;
    const sessions = openSessions({ store: first.store });
    const opened: unknown[] = [];
    sessions.host.on("opened", ({ live }) => opened.push(live));
    const asks = Array.from({ length: 10 }, (_, index) => sessions.resume(index % 2 === 0 ? session_id : "Release"));
    const ten = await Promise.all(asks);
    const eleventh = await sessions.resume(session_id);
    expect(new Set([...ten, eleventh]).size).toBe(1);
    expect(opened).toEqual([eleventh]);
    expect(eleventh.session.runtimeIds).toHaveLength(1);
  });

  it("finds a session by its exact title, of the same principal", async () => {
    const sessions = openSessions();
    const live = await sessions.create({ title: "Release" });
    expect(await sessions.resume("Release")).toBe(live);
    for (const [title, principal] of [
      ["release", "local"],
      ["Release", "other"],
    ] as const) {
      expect(await sessions.host.resume(title, principal)).toMatchObject({ refused: "unknown_session" });
    }
  });

  it("finds an open session by its runtime id and the aliases of it", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    const first = live.session.runtimeId;
    const second = sessions.bus.tap.sessions.renew(live.session);
    expect([first, second, "s-none"].map((id) => sessions.host.byRuntimeId(id))).toEqual([live, live, undefined]);
  });

  it("C-030 knows no runtime id of a session that was closed", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    const old = live.session.runtimeId;
    const closed: unknown[] = [];
    sessions.host.on("closed", ({ runtimeId, reason }) => closed.push([runtimeId, reason]));
    await sessions.host.close(live, "idle_timeout");
    expect(closed).toEqual([[old, "idle_timeout"]]);
    expect(sessions.host.byRuntimeId(old)).toBeUndefined();
    expect(await live.submit({ text: "lost" }, "c-a")).toMatchObject({ refused: "unknown_session" });
    expect(await live.correct({ kind: "steer", text: "lost" }, "c-a")).toMatchObject({ refused: "unknown_session" });
    expect(live.interrupt().result).toEqual({ status: "not_interrupted" });
    const again = await sessions.resume(live.record.session_id);
    expect(sessions.host.byRuntimeId(old)).toBeUndefined();
    expect(sessions.host.byRuntimeId(again.session.runtimeId)).toBe(again);
    await sessions.submit(again, "hello");
    expect(sessions.events("message.start")).toHaveLength(1);
  });

  it("W35 goes on numbering when a session is closed and resumed", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    await sessions.say(0, "ok");
    const last = sessions.events().at(-1)?.seq ?? 0;
    await sessions.host.close(live, "closed");
    await sessions.submit(await sessions.resume(live.record.session_id), "again");
    expect(sessions.events("message.start")[1]?.seq).toBe(last + 1);
  });

  it("opens a session that is being closed when that is over", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    const closing = sessions.host.close(live, "closed");
    const resuming = sessions.resume(live.record.session_id);
    (await sessions.turn(0)).end({ status: "cancelled" });
    await closing;
    const again = await resuming;
    expect([again === live, again.record.last_turn?.status]).toEqual([false, "cancelled"]);
  });

  it("lists stored sessions, the last active first, open or not", async () => {
    const sessions = openSessions();
    const [one, two] = [await sessions.create({ title: "one" }), await sessions.create({ title: "two" })];
    await sessions.pass(5);
    await one.setTitle("first");
    await sessions.host.close(two, "closed");
    const { sessions: listed, next_offset } = await sessions.host.list({ limit: 10, offset: 0 });
    expect(listed.map(({ record, live }) => [record.title, live])).toEqual([
      ["first", one],
      ["two", undefined],
    ]);
    expect(next_offset).toBeNull();
  });

  it("tells that a session is closing, and when it is closed", async () => {
    const sessions = openSessions();
    const told: string[] = [];
    for (const name of ["opened", "closing", "closed", "idle"] as const) {
      sessions.host.on(name, () => void told.push(name));
    }
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    await sessions.say(0, "ok");
    const twice = [sessions.host.close(live, "closed"), sessions.host.close(live, "closed")];
    expect(told).toEqual(["opened", "idle", "closing"]);
    await Promise.all(twice);
    expect(told).toEqual(["opened", "idle", "closing", "closed"]);
  });

  it("closes everything and opens nothing more", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "hello");
    const over = sessions.host.shutdown();
    (await sessions.turn(0)).end({ status: "cancelled" });
    await over;
    expect(live.record.last_turn).toMatchObject({ status: "cancelled", reason_code: "shutdown" });
    expect(await live.submit({ text: "late" }, "c-a")).toMatchObject({ refused: "shutting_down" });
    expect(await sessions.host.create({ owner: local })).toMatchObject({ refused: "shutting_down" });
  });
});

describe("the bounds of a host", () => {
  it("I8 are 64 sessions of a principal; then the one unused for longest is closed", async () => {
    const attached = new Set<Session>();
    const sessions = openSessions({ isAttached: (session) => attached.has(session) });
    const all = [];
    for (let index = 0; index < limits.maxLiveSessionsPerPrincipal; index++) all.push(await sessions.create());
    expect(sessions.host.live).toHaveLength(64);
    const [watched, running, used, unused] = all;
    if (watched === undefined || running === undefined || used === undefined) throw new RangeError("too few");
    attached.add(watched.session);
    await sessions.submit(running, "hello");
    sessions.host.use(used);
    const closed: unknown[] = [];
    sessions.host.on("closed", ({ live, reason }) => closed.push([live, reason]));
    await sessions.create();
    await sessions.settle();
    expect(closed).toEqual([[unused, "lru_evict"]]);
    expect(sessions.host.live).toHaveLength(64);
    for (const { session } of sessions.host.live) attached.add(session);
    expect(await sessions.host.create({ owner: local })).toMatchObject({ refused: "too_many_sessions" });
    expect(await sessions.host.create({ owner: { client_id: null, principal: "other" } })).toHaveProperty("session");
  });

  it("I8 are 1,000 sessions of a process", async () => {
    const sessions = openSessions({ isAttached: () => true });
    const create = (index: number) =>
      sessions.host.create({ owner: { client_id: null, principal: `p-${index >> 5}` } });
    for (let index = 0; index < limits.maxLiveSessions; index++) expect(await create(index)).toHaveProperty("session");
    expect(await create(limits.maxLiveSessions + 64)).toMatchObject({ refused: "too_many_sessions" });
  });

  it("are 30 minutes for one that was made in process and is not used", async () => {
    const attached = new Set<Session>();
    const sessions = openSessions({ isAttached: (session) => attached.has(session) });
    const unused = await sessions.create({ inProcess: true });
    const watched = await sessions.create({ inProcess: true });
    const clients = await sessions.create();
    attached.add(watched.session);
    const closed: unknown[] = [];
    sessions.host.on("closed", ({ live, reason }) => closed.push([live, reason]));
    await sessions.pass(limits.idleSessionMs - 1);
    expect(closed).toEqual([]);
    await sessions.pass(1);
    expect(closed).toEqual([[unused, "idle_timeout"]]);
    expect(sessions.host.live).toEqual([watched, clients]);
    attached.clear();
    sessions.host.use(watched);
    await sessions.pass(limits.idleSessionMs);
    expect(closed).toHaveLength(2);
  });

  it("begin anew with each turn of a session that was made in process", async () => {
    const sessions = openSessions();
    const live = await sessions.create({ inProcess: true });
    await sessions.pass(limits.idleSessionMs - 1);
    await sessions.submit(live, "hello");
    await sessions.pass(2);
    await sessions.say(0, "ok");
    await sessions.pass(limits.idleSessionMs - 1);
    expect(live.isClosed).toBe(false);
    await sessions.pass(1);
    expect(live.isClosed).toBe(true);
  });
});
