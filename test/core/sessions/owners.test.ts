import { describe, expect, it } from "vitest";
import { refuse } from "../../../core/index.ts";
import { openSessions, SteeredRunner, taken } from "../../support/open-sessions.ts";

const unknown = { refused: "unknown_session" };

describe("a session that is closed", () => {
  it("is opened by its owner's principal alone, and by the host", async () => {
    const sessions = openSessions();
    const live = await sessions.create({ title: "Release" });
    const { session_id } = live.record;
    await sessions.host.close(live, "owner_left");
    expect(await sessions.host.resume(session_id, "eve")).toMatchObject(unknown);
    expect(await sessions.host.resume("Release", "eve")).toMatchObject(unknown);
    expect(await sessions.host.resume("Release", null)).toMatchObject(unknown);
    expect(sessions.host.live).toEqual([]);
    const opened = await sessions.host.resume(session_id, null);
    expect(opened).toBe(sessions.host.byStoredId(session_id));
    // Open, it is still nobody else's.
    expect(await sessions.host.resume(session_id, "eve")).toMatchObject(unknown);
    expect(await sessions.host.resume(session_id, "local")).toBe(opened);
  });

  it("is opened once for its owner, while others ask for it as well", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    const { session_id } = live.record;
    await sessions.host.close(live, "owner_left");
    const asked = ["eve", "local", "eve", "local", "max", null].map((who) => sessions.host.resume(session_id, who));
    const [eve, first, again, second, max, own] = await Promise.all(asked);
    expect([eve, again, max]).toMatchObject([unknown, unknown, unknown]);
    expect([first, second, own]).toEqual([first, first, sessions.host.byStoredId(session_id)]);
    expect(sessions.host.live).toHaveLength(1);
  });

  it("has a row that can be read, open or not", async () => {
    const sessions = openSessions();
    const live = await sessions.create({ session_id: "mine" });
    expect(await sessions.host.record("mine")).toBe(live.record);
    await sessions.host.close(live, "owner_left");
    expect(await sessions.host.record("mine")).toMatchObject({ session_id: "mine" });
    expect(await sessions.host.record("nope")).toBeUndefined();
  });
});

describe("a list", () => {
  it("is of one principal, and of what is named besides", async () => {
    const sessions = openSessions();
    const owner = (principal: string) => ({ owner: { client_id: null, principal } });
    await sessions.create({ session_id: "a1", ...owner("ada") });
    await sessions.create({ session_id: "b1", ...owner("bob") });
    await sessions.create({ session_id: "b2", ...owner("bob") });
    const ids = async (principal: string, others: readonly string[]): Promise<readonly string[]> => {
      const page = await sessions.host.list({ limit: 9, offset: 0, of: { principal, others } });
      return page.sessions.map(({ record }) => record.session_id).toSorted();
    };
    expect(await ids("ada", ["b2", "nope"])).toEqual(["a1", "b2"]);
    expect(await ids("bob", [])).toEqual(["b1", "b2"]);
    expect(await ids("eve", [])).toEqual([]);
  });
});

describe("a session that is held", () => {
  it("leaves what waits where it is until it is let go", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    await sessions.submit(live, "one");
    await sessions.submit(live, { text: "two", queued: true });
    live.hold(true);
    await sessions.say(0, "1");
    expect([sessions.held.turns.length, live.turnId, live.record.queue.length]).toEqual([1, null, 1]);
    live.hold(false);
    await sessions.submit(live, "three");
    expect((await sessions.turn(1)).turn.unseen).toMatchObject([{ text: "two\n\nthree" }]);
  });
});

describe("who may not send any more", () => {
  const gone = refuse("viewer_cannot_send", "a viewer changes nothing");

  it("is refused in the step that decides, and leaves no trace", async () => {
    const sessions = openSessions();
    const live = await sessions.create();
    const { puts } = sessions.store;
    expect(await live.submit({ text: "x" }, "c-m", () => gone)).toBe(gone);
    expect([sessions.store.puts, live.turnId, live.record.queue]).toEqual([puts, null, []]);
  });

  it("is refused before its correction reaches the agent", async () => {
    const runner = new SteeredRunner();
    const sessions = openSessions({ runner });
    const live = await sessions.create();
    await sessions.submit(live, "one");
    await runner.turn(0);
    let refused: typeof gone | null = null;
    // Another correction is being decided when this one is let in.
    let decide: (isTaken: boolean) => void = () => undefined;
    runner.says = () => new Promise((resolve) => (decide = resolve));
    const first = live.correct({ kind: "steer", text: "a" }, "c-o");
    const second = live.correct({ kind: "steer", text: "b" }, "c-m", () => refused);
    const third = live.submit({ text: "c" }, "c-m", () => refused);
    await sessions.settle();
    refused = gone;
    runner.says = () => true;
    decide(true);
    expect(taken(await first).result).toMatchObject({ status: "queued" });
    expect([await second, await third]).toEqual([gone, gone]);
    expect(runner.corrections.map(({ text }) => text)).toEqual(["a"]);
    expect(live.record.queue).toEqual([]);
  });
});
