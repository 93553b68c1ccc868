import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RoomtapError, type MemberEntry } from "../../../core/index.ts";
import { openSqliteLog, type Room, type RoomChange, type RoomLog } from "../../../rooms/index.ts";
import { interposed } from "../../support/interposed.ts";
import { loopClock, openLog, postOf, temporaryFolder } from "../../support/open-log.ts";
import { HeldRunner, member, roomOf, says, secret, TestHost, until } from "../../support/open-room.ts";

/** All that a watcher was told, in order. */
class Told {
  readonly changes: RoomChange[] = [];

  static async of(room: Room): Promise<Told> {
    const told = new Told();
    await room.watch((change) => void told.changes.push(change));
    return told;
  }

  /** Of each post what was told, as `text state`. */
  get messages(): readonly string[] {
    return this.changes.flatMap((change) =>
      change.type === "room.message" ? `${change.message.text} ${change.message.state}` : [],
    );
  }

  get rows(): readonly number[] {
    return this.changes.flatMap((change) => (change.type === "room.log" ? change.row.seq : []));
  }

  /** The states of a member, one after the other. */
  statesOf(memberId: string): readonly string[] {
    return this.membersTold.flatMap(({ member_id, state }) => (member_id === memberId ? state : []));
  }

  get membersTold(): readonly MemberEntry[] {
    return this.changes.flatMap((change) => (change.type === "room.member" ? change.member : []));
  }
}

describe("whoever watches a room", () => {
  it("R59 is told each state of a member as it comes, from idle to failed", async () => {
    const held = new HeldRunner();
    const rooms = [roomOf(held), roomOf(held, ["a"], "r2")];
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 1 });
    expect((await test.room.state()).members[0]?.state).toBe("idle");
    const told = await Told.of(test.room);
    const states = (): string => told.statesOf("m-a").join(" ");
    await test.host.room("r2").post({ text: "go" });
    const elsewhere = await held.turn(0);
    await test.room.post({ text: "go" });
    await until(() => states() === "queued");
    elsewhere.say("done");
    const { turn, end } = await held.turn(1);
    await until(() => states() === "queued running");
    const outcome = turn.ask({ method: "approval", params: { command: "rm", tool_id: "c1", tool_name: "run" } });
    await until(() => states().endsWith("needs_input"));
    expect(told.membersTold.at(-1)).toMatchObject({
      turn_id: turn.turn_id,
      tool: { tool_id: "c1", name: "run" },
      open_requests: [test.tap.requests.open()[0]?.id],
    });
    test.tap.requests.answer(test.tap.requests.open()[0]?.id ?? "", { choice: "once" }, "c-1");
    await outcome;
    await until(() => states().endsWith("needs_input running"));
    await test.room.stop();
    await until(() => states().endsWith("stopping"));
    end({ status: "cancelled" });
    await until(() => states().endsWith("idle"));
    await test.room.post({ text: "again" });
    (await held.turn(2)).fail(new Error("broken"));
    await until(() => states().endsWith("failed"));
    // Whether a look falls between a post and its turn is chance.
    expect(states().replace(/(\w+)( \1)+/g, "$1")).toMatch(
      /^queued running needs_input running stopping idle( queued)? running failed$/,
    );
  });

  it("is told where a turn stands in line when another room leaves it", async () => {
    const held = new HeldRunner();
    const rooms = ["r1", "r2", "r3"].map((id) => roomOf(held, ["a"], id));
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 1 });
    const told = await Told.of(test.host.room("r3"));
    for (const { record } of test.host.rooms) await test.host.room(record.room_id).post({ text: "go" });
    const places = (): readonly unknown[] => told.membersTold.map(({ state, position }) => position ?? state);
    await until(() => places().at(-1) === 2);
    (await held.turn(0)).say("done");
    await until(() => places().at(-1) === 1);
    (await held.turn(1)).say("done");
    await until(() => places().at(-1) === "running");
    (await held.turn(2)).say("done");
    await test.quiet();
    await until(() => places().at(-1) === "idle");
    expect(places()).toEqual([2, 1, "running", "idle"]);
  });

  it("C-082 is told of each row once, in order, with secrets masked", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"), ["a", "b"])] });
    await test.room.post({ text: "before" });
    await test.quiet();
    const told = await Told.of(test.room);
    await test.room.post({ text: `the key is ${secret}` });
    await test.quiet();
    await until(() => told.rows.length === 4);
    expect(told.rows).toEqual([5, 6, 7, 8]);
    expect(JSON.stringify(told.changes)).not.toContain(secret);
    expect(told.messages).toEqual([
      expect.stringMatching(/^the key is \S+ queued$/),
      expect.stringMatching(/started$/),
    ]);
    const stored = (await test.rows()).slice(4).map(({ hash }) => hash);
    const shown = told.changes.flatMap((change) => (change.type === "room.log" ? change.row.hash : []));
    expect(shown).toEqual(stored);
  });

  it("is told that a post is queued, then started; or closed, and then no more", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.pause();
    const told = await Told.of(test.room);
    await test.room.post({ text: "first" });
    await until(() => told.messages.length === 1);
    await test.room.post({ text: "@nobody hm" });
    await until(() => told.messages.length === 2);
    const { message_id } = await test.room.post({ text: "withdrawn" });
    await until(() => told.messages.length === 3);
    await test.room.cancel({ messageId: message_id });
    await until(() => told.messages.length === 4);
    await test.room.resume();
    (await held.turn(0)).say("done");
    await test.quiet();
    await until(() => told.rows.length === 2);
    await test.pass(50);
    expect(told.messages).toEqual([
      "first queued",
      "@nobody hm closed",
      "withdrawn queued",
      "withdrawn closed",
      "first started",
    ]);
    expect((await test.log.inbox("r1")).length).toBe(0);
  });

  it("is told of a post that came and left between two looks", async () => {
    const file = join(temporaryFolder(), "test.db");
    const [clock, held] = [loopClock(), new HeldRunner()];
    const test = await TestHost.open({ rooms: [roomOf(held)], file, clock });
    const other = await TestHost.open({ rooms: [roomOf(held)], file, clock });
    const told = await Told.of(other.room);
    const { message_id } = await test.room.post({ text: "hello" });
    (await held.turn(0)).say("hi");
    await test.quiet();
    expect(told.changes).toEqual([]);
    await other.pass(500);
    await until(() => told.rows.length === 2);
    await until(() => told.messages.length === 1);
    expect(told.changes.find((change) => change.type === "room.message")).toMatchObject({
      message: { message_id, thread_id: "main", author: { id: "local" }, text: "hello", state: "started" },
    });
  });

  it("is told of posts that other processes made, within an interval", async () => {
    const file = join(temporaryFolder(), "test.db");
    const [clock, held] = [loopClock(), new HeldRunner()];
    const test = await TestHost.open({ rooms: [roomOf(held)], file, clock });
    await test.room.pause();
    const told = await Told.of(test.room);
    const other = await openLog(file, clock);
    await other.accept(postOf("from afar", { owed: ["m-a"] }));
    await test.pass(500);
    await until(() => told.messages.length === 1);
    expect(told.messages).toEqual(["from afar queued"]);
    expect(told.statesOf("m-a")).toEqual([]);
  });

  it("sees what another host runs by its rows", async () => {
    const file = join(temporaryFolder(), "test.db");
    const [clock, held] = [loopClock(), new HeldRunner()];
    const test = await TestHost.open({ rooms: [roomOf(held)], file, clock });
    const other = await TestHost.open({ rooms: [roomOf(held)], file, clock });
    expect(other.room.isDriven).toBe(false);
    const told = await Told.of(other.room);
    await test.room.post({ text: "hello" });
    const first = await held.turn(0);
    await other.pass(500);
    await until(() => told.statesOf("m-a").at(-1) === "running");
    const state = await other.room.state();
    expect(state.lease).toEqual({ generation: 1, held: true });
    expect(state.members).toMatchObject([{ state: "running", turn_id: first.turn.turn_id, open_requests: [] }]);
    expect((await other.room.snapshot()).attempts).toEqual([]);
    first.say("hi");
    await test.quiet();
    await other.pass(500);
    await until(() => told.statesOf("m-a").at(-1) === "idle");
  });

  it("is told no change of before, and nothing more once it left", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    const before: RoomChange[] = [];
    const undo = await test.room.watch((change) => void before.push(change));
    await test.room.post({ text: "one" });
    (await held.turn(0)).say("done");
    await test.quiet();
    await until(() => before.some((change) => change.type === "room.log" && change.row.seq === 2));
    undo();
    undo();
    const count = before.length;
    await test.room.post({ text: "two" });
    await held.turn(1);
    const told = await Told.of(test.room);
    held.turns[1]?.say("done");
    await test.quiet();
    await until(() => told.statesOf("m-a").at(-1) === "idle" && told.rows.length > 0);
    expect([before.length, told.rows, told.messages]).toEqual([count, [4], []]);
  });

  it("is told although another one throws, which is reported", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    await test.room.watch(() => {
      throw new Error("not mine");
    });
    const told = await Told.of(test.room);
    await test.room.post({ text: "go" });
    await until(() => told.rows.length === 2);
    expect(test.notices.map(({ code }) => code)).toContain("handler_threw");
  });

  it("is refused when the room is closed", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    const { room } = test;
    await test.host.close();
    await expect(room.watch(() => undefined)).rejects.toMatchObject({ code: "closed" });
  });
});

describe("a look at a room", () => {
  /** A host of one room that is held, and how often the database was looked at. */
  const counted = async (): Promise<{ test: TestHost; held: HeldRunner; looks: () => number }> => {
    const [clock, held] = [loopClock(), new HeldRunner()];
    const log = await openSqliteLog({ file: ":memory:", clock });
    let looks = 0;
    const planInput: RoomLog["planInput"] = (roomId) => {
      looks++;
      return log.planInput(roomId);
    };
    const test = await TestHost.open({ rooms: [roomOf(held)], clock, log: interposed(log, { planInput }) });
    return { test, held, looks: () => looks };
  };

  it("is caused by tools and questions, once for all who watch, and by no delta", async () => {
    const { test, held, looks } = await counted();
    const [told, other] = [await Told.of(test.room), await Told.of(test.room)];
    await test.room.post({ text: "go" });
    const { turn, say } = await held.turn(0);
    await until(() => told.statesOf("m-a").at(-1) === "running");
    await test.pass(100);
    const before = looks();
    for (let count = 0; count < 100; count++) turn.emit({ type: "message.delta", payload: { text: "word " } });
    turn.emit({ type: "reasoning.delta", payload: { text: "hm" } });
    await test.pass(100);
    expect(looks()).toBe(before);
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    turn.emit({ type: "tool.start", payload: { tool_id: "c2", name: "write" } });
    await until(() => told.membersTold.at(-1)?.tool?.tool_id === "c2");
    await test.pass(100);
    expect(looks()).toBe(before + 1);
    turn.emit({ type: "tool.complete", payload: { tool_id: "c2", outcome: "ok" } });
    await until(() => told.membersTold.at(-1)?.tool?.tool_id === "c1");
    expect(other.changes).toEqual(told.changes);
    say("done");
    await test.quiet();
  });

  it("is made for nobody while nobody watches", async () => {
    const { test, held, looks } = await counted();
    await test.room.post({ text: "go" });
    const { turn, say } = await held.turn(0);
    await test.pass(100);
    const before = looks();
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    await test.pass(100);
    expect(looks()).toBe(before);
    say("done");
    await test.quiet();
  });

  it("that fails is made again, and nothing is left out", async () => {
    const [clock, held] = [loopClock(), new HeldRunner()];
    const log = await openSqliteLog({ file: ":memory:", clock });
    let isBusy = false;
    const read: RoomLog["read"] = (roomId, page) =>
      isBusy ? Promise.reject(new RoomtapError("log_busy", "busy")) : log.read(roomId, page);
    const test = await TestHost.open({ rooms: [roomOf(held)], clock, log: interposed(log, { read }) });
    const told = await Told.of(test.room);
    isBusy = true;
    await test.room.post({ text: "go" });
    await held.turn(0);
    await until(() => test.notices.some(({ code }) => code === "log_busy"));
    expect(told.changes).toEqual([]);
    isBusy = false;
    await test.pass(5_500, 500);
    await until(() => told.statesOf("m-a").at(-1) === "running");
    expect([told.rows, told.messages]).toEqual([[1], ["go started"]]);
    held.turns[0]?.say("done");
    await test.quiet();
  });
});

describe("a snapshot and what is told afterwards", () => {
  it("join without a hole, whenever it is taken", async () => {
    const held = new HeldRunner();
    const handles = ["a", "b", "c"];
    const test = await TestHost.open({
      rooms: [{ room_id: "r1", members: handles.map((name) => member(name, held)) }],
    });
    /** What a client knows: a snapshot, then what it is told. */
    const clients: { members: Map<string, MemberEntry>; seq: number }[] = [];
    const join_ = async (): Promise<void> => {
      const early: RoomChange[] = [];
      let client: (typeof clients)[number] | null = null;
      const take = (change: RoomChange): void => {
        if (client === null) return void early.push(change);
        if (change.type === "room.member") client.members.set(change.member.member_id, change.member);
        if (change.type !== "room.log" || change.row.seq <= client.seq) return;
        expect(change.row.seq).toBe(client.seq + 1);
        client.seq = change.row.seq;
      };
      await test.room.watch(take);
      const { members, log } = await test.room.snapshot();
      client = { members: new Map(members.map((entry) => [entry.member_id, entry])), seq: log.latest_seq };
      clients.push(client);
      early.forEach(take);
    };
    const joining: Promise<void>[] = [];
    for (let index = 0; index < 6; index++) {
      joining.push(join_());
      const posted = test.room.post({ text: `@${handles[index % 3] ?? "a"} ${index}`, thread_id: `t${index % 3}` });
      joining.push(join_());
      await posted;
      const { turn, say, fail } = await held.turn(index);
      joining.push(join_());
      turn.emit({ type: "tool.start", payload: { tool_id: `c${index}`, name: "read" } });
      joining.push(join_());
      if (index === 4) fail(new Error("broken"));
      else say("done");
      joining.push(join_());
    }
    await test.quiet();
    await Promise.all(joining);
    const { members, log } = await test.room.state();
    await until(() => clients.every(({ seq }) => seq === log.latest_seq));
    await test.pass(50);
    expect(clients.length).toBe(30);
    for (const client of clients) expect([...client.members.values()]).toEqual(members);
  });
});
