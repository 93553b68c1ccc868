import { describe, expect, it } from "vitest";
import { RoomtapError } from "../../../core/index.ts";
import { fromSnapshot, toSnapshot } from "../../../rooms/index.ts";
import { createS1, seatedSessions, wordOf } from "../../support/seated.ts";

describe("createSession", () => {
  it("S1 makes a private session, its client the owner", async () => {
    const test = seatedSessions();
    const live = await createS1(test);
    expect(live.record).toMatchObject({
      session_id: "s1",
      visibility: "private",
      owner: { client_id: "O", principal: "O" },
    });
    expect(test.roster("s1")).toEqual(["O owner"]);
  });

  it("S9 of an invalid visibility makes and stores nothing", async () => {
    const test = seatedSessions();
    expect(await wordOf(() => createS1(test, "bogus"))).toBe("invalid_visibility");
    expect([test.sessions.host.live, test.sessions.store.puts]).toEqual([[], 0]);
    await createS1(test, "shared");
    const { puts } = test.sessions.store;
    expect(await wordOf(() => createS1(test, "bogus"))).toBe("invalid_visibility");
    expect(await wordOf(() => test.sharing.setVisibility("s1", "bogus"))).toBe("invalid_visibility");
    expect([test.sessions.store.row("s1").visibility, test.sessions.store.puts]).toEqual(["shared", puts]);
  });

  it("gives the live or stored one of that id, and changes its visibility only if one is named", async () => {
    const test = seatedSessions();
    const live = await createS1(test, "shared");
    expect(await createS1(test)).toBe(live);
    expect(live.record.visibility).toBe("shared");
    expect((await createS1(test, "read_only")).record.visibility).toBe("read_only");
    await test.sharing.leave("s1", "O");
    expect(test.sessions.host.live).toEqual([]);
    const again = await createS1(test);
    expect([again === live, again.record.visibility, test.roster("s1")]).toEqual([false, "read_only", ["O owner"]]);
  });

  it("makes one session of one id that two name at once", async () => {
    const test = seatedSessions();
    const [one, other] = await Promise.all([createS1(test), createS1(test)]);
    expect([one === other, test.sessions.host.live.length]).toEqual([true, 1]);
  });

  it("is refused to others, and with another agent", async () => {
    const runner = seatedSessions().sessions.held;
    const agents = ["default", "other"].map((agent_id) => ({ agent_id, runner }));
    const test = seatedSessions({ agents });
    const { sharing } = test;
    await createS1(test, "shared");
    sharing.attach("s1", "V");
    const create = (agentId: string, clientId?: string): Promise<string> =>
      wordOf(() => sharing.createSession(agentId, { sessionId: "s1", clientId }));
    expect(await create("default", "X")).toBe("not_owner");
    expect(await create("default", "V")).toBe("observer_rebind");
    expect(await create("other", "O")).toBe("agent_mismatch");
    // The host itself is trusted.
    expect(await create("other")).toBe("agent_mismatch");
    expect(await create("default")).toBe("ok");
    expect(test.roster("s1")).toEqual(["O owner", "V viewer"]);
    await sharing.leave("s1", "O");
    expect(await create("default", "V")).toBe("not_owner");
    expect(test.sessions.host.live).toEqual([]);
  });
});

describe("attach", () => {
  it("S2 S3 S4 S5 is open as the visibility has it", async () => {
    const test = seatedSessions();
    const { sharing } = test;
    await createS1(test);
    const attach = (client: string, role?: string): Promise<string> => wordOf(() => sharing.attach("s1", client, role));
    expect(await attach("V")).toBe("session_private");
    expect(test.roster("s1")).toEqual(["O owner"]);
    await sharing.setVisibility("s1", "read_only");
    expect([await attach("V", "viewer"), await attach("M", "member")]).toEqual(["ok", "session_read_only"]);
    expect(test.roster("s1")).toEqual(["O owner", "V viewer"]);
    await sharing.setVisibility("s1", "shared");
    expect([await attach("M", "member"), await attach("W")]).toEqual(["ok", "ok"]);
    expect(test.roster("s1")).toEqual(["O owner", "V viewer", "M member", "W viewer"]);
  });

  it("S6 S7 S8 S9 S10 is refused by the first rule that holds", async () => {
    const test = seatedSessions();
    const { sharing } = test;
    await createS1(test, "shared");
    await sharing.createSession("default", { clientId: "M", sessionId: "s2" });
    await sharing.createSession("default", { clientId: "P", sessionId: "s3", visibility: "shared" });
    sharing.attach("s3", "V");
    const attach = (id: string, client: string, role?: string): Promise<string> =>
      wordOf(() => sharing.attach(id, client, role));
    expect(await attach("nope", "V")).toBe("unknown_session");
    expect(await wordOf(() => sharing.observers("nope"))).toBe("unknown_session");
    expect(await wordOf(() => sharing.setVisibility("nope", "shared"))).toBe("unknown_session");
    expect(await attach("s1", "O", "owner")).toBe("owner_role");
    expect(await attach("s1", "O")).toBe("is_owner");
    expect(await wordOf(() => sharing.attach("s1", "mirror", "viewer", "O"))).toBe("is_owner");
    expect(await attach("s1", "V", "guest")).toBe("invalid_role");
    expect([await attach("s1", "M", "member"), await attach("s1", "M")]).toEqual(["already_bound", "already_bound"]);
    expect(await attach("s1", "V", "member")).toBe("ok");
    expect(await attach("s2", "V", "owner")).toBe("owner_role");
    expect(await attach("s2", "V", "viewer")).toBe("session_private");
    expect(await attach("nope", "V", "owner")).toBe("unknown_session");
    expect(await attach("s1", "")).toBe("invalid_params");
    expect(test.roster("s1")).toEqual(["O owner", "V member"]);
  });

  it("names the session in its message, and has the code as word", async () => {
    const test = seatedSessions();
    await createS1(test);
    expect(() => test.sharing.attach("s1", "V")).toThrow(
      new RoomtapError("session_private", "session s1: the session is private"),
    );
  });

  it("says of a private session that there is none, where the host conceals", async () => {
    const test = seatedSessions({ concealPrivate: true });
    await createS1(test);
    expect(await wordOf(() => test.sharing.attach("s1", "V"))).toBe("unknown_session");
  });

  it("S11 again as the same changes nothing, as another keeps the place", async () => {
    const test = seatedSessions();
    const { sharing } = test;
    await createS1(test, "shared");
    sharing.attach("s1", "M", "member");
    sharing.attach("s1", "V");
    const { length } = test.told();
    sharing.attach("s1", "M", "member");
    expect(test.told()).toHaveLength(length);
    sharing.attach("s1", "M", "viewer");
    expect(test.roster("s1")).toEqual(["O owner", "M viewer", "V viewer"]);
    expect(test.told()).toHaveLength(length + 1);
    // It is bound no more.
    await sharing.createSession("default", { clientId: "P", sessionId: "s2", visibility: "shared" });
    sharing.attach("s2", "M", "member");
    expect(await wordOf(() => sharing.attach("s1", "M", "member"))).toBe("already_bound");
  });
});

describe("leaving", () => {
  it("S12 by detach is done once, and of nobody else", async () => {
    const test = seatedSessions();
    const { sharing } = test;
    await createS1(test, "shared");
    sharing.attach("s1", "M", "member");
    sharing.attach("s1", "V");
    for (const client of ["V", "V", "X", "O"]) sharing.detach("s1", client);
    sharing.detach("nope", "V");
    expect(test.roster("s1")).toEqual(["O owner", "M member"]);
    expect(test.told()).toHaveLength(3);
    // Nobody is barred by that.
    sharing.attach("s1", "V");
    expect(test.roster("s1")).toEqual(["O owner", "M member", "V viewer"]);
  });

  it("by leave closes the owner's session, and detaches an observer", async () => {
    const test = seatedSessions();
    const { sharing } = test;
    await createS1(test, "shared");
    sharing.attach("s1", "V");
    await sharing.leave("s1", "V");
    await sharing.leave("s1", "X");
    await sharing.leave("nope", "O");
    expect(test.roster("s1")).toEqual(["O owner"]);
    await sharing.leave("s1", "O");
    expect(await wordOf(() => sharing.observers("s1"))).toBe("unknown_session");
    // The owner of a closed session is bound no more.
    await sharing.createSession("default", { clientId: "P", sessionId: "s2", visibility: "shared" });
    sharing.attach("s2", "O");
    expect(test.roster("s2")).toEqual(["P owner", "O viewer"]);
  });
});

describe("setVisibility", () => {
  it("S19 S20 S23 revokes at once, and gives nothing back", async () => {
    const test = seatedSessions();
    const { sharing, seated } = test;
    await createS1(test, "shared");
    const dropped: unknown[] = [];
    seated.on("dropped", ({ client_id, reason }) => dropped.push([client_id, reason]));
    sharing.attach("s1", "M", "member");
    sharing.attach("s1", "V");
    expect(await sharing.setVisibility("s1", "read_only")).toEqual([{ client_id: "M", from: "member", to: "viewer" }]);
    expect(test.roster("s1")).toEqual(["O owner", "M viewer", "V viewer"]);
    expect(await sharing.setVisibility("s1", "shared")).toEqual([]);
    expect(test.roster("s1")).toEqual(["O owner", "M viewer", "V viewer"]);
    sharing.attach("s1", "M", "member");
    expect(await sharing.setVisibility("s1", "private")).toEqual([
      { client_id: "M", from: "member", to: null },
      { client_id: "V", from: "viewer", to: null },
    ]);
    expect([test.roster("s1"), dropped]).toEqual([
      ["O owner"],
      [
        ["M", "visibility"],
        ["V", "visibility"],
      ],
    ]);
    expect(test.told().at(-1)).toEqual({
      visibility: "private",
      observers: [{ client_id: "O", role: "owner" }],
      cause: "visibility",
    });
  });

  it("S25 to what it is writes and tells nothing", async () => {
    const test = seatedSessions();
    await createS1(test, "shared");
    await test.sessions.settle();
    const before = [test.sessions.store.puts, test.sessions.frames.length];
    await test.sharing.setVisibility("s1", "shared");
    await test.sessions.settle();
    expect([test.sessions.store.puts, test.sessions.frames.length]).toEqual(before);
  });

  it("S27 that cannot be saved changes nothing", async () => {
    const test = seatedSessions();
    await createS1(test, "shared");
    test.sharing.attach("s1", "V");
    test.sessions.store.refuses = "log_unavailable";
    expect(await wordOf(() => test.sharing.setVisibility("s1", "private"))).toBe("log_unavailable");
    expect(test.roster("s1")).toEqual(["O owner", "V viewer"]);
    expect(test.sessions.host.byStoredId("s1")?.record.visibility).toBe("shared");
  });
});

describe("a snapshot", () => {
  it.each(["private", "shared", "read_only"])(
    "S46 of a %s session of somebody gives an equal one",
    async (visibility) => {
      const test = seatedSessions();
      const { record } = await createS1(test, visibility);
      const { record: read, problem } = fromSnapshot(JSON.parse(JSON.stringify(toSnapshot(record))));
      expect([read, problem]).toEqual([record, null]);
    },
  );
});
