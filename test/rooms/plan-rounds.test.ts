import { describe, expect, it } from "vitest";
import type { TurnStarted } from "../../core/index.ts";
import type { PlannedStart } from "../../rooms/index.ts";
import { memberInputs, PlanRoom } from "../support/plan-room.ts";

const rooms = (...handles: readonly string[]): PlanRoom => new PlanRoom(memberInputs(...handles), {});

/** Plays a discussion to its end; each member says its lines one after the other, then passes. */
function play(room: PlanRoom, lines: Readonly<Record<string, readonly string[]>>): readonly TurnStarted[] {
  const said = new Map(Object.entries(lines).map(([memberId, texts]) => [memberId, [...texts]]));
  const turns: TurnStarted[] = [];
  room.run((memberId, payload) => {
    turns.push(payload);
    return said.get(memberId)?.shift() ?? "";
  });
  return turns;
}

/** Who ran in which round and slot, and why: `m-a 0.0 message`. */
function told(room: PlanRoom): readonly string[] {
  return room.log.rows.flatMap((row) => {
    if (row.kind !== "turn.started") return [];
    const { round, slot } = row.payload.discussion;
    return `${row.member_id} ${round}.${slot} ${row.payload.cause}`;
  });
}

describe("later rounds", () => {
  it("R24 pulls a member named in a reply into round 1, where it sees both", () => {
    const room = rooms("a", "b", "c");
    const post = room.post("@a look", { origin: "c-1" });
    const turns = play(room, { "m-a": ["ask @b"], "m-b": ["fine"] });
    expect(told(room).slice(0, 2)).toEqual(["m-a 0.0 mention", "m-b 1.0 mention"]);
    expect(turns[1]).toMatchObject({
      input: [{ message_id: post, row_seq: 1 }, { row_seq: 2 }],
      origin: "host",
      discussion: { message_id: post, round: 1 },
    });
    expect(room.open).toEqual([]);
  });

  it("R25 ends with `max_rounds` after 6 texts of two that always reply", () => {
    const room = rooms("a", "b");
    room.post("hello");
    expect(room.run()).toEqual(["m-a", "m-b", "m-a", "m-b", "m-a", "m-b"]);
    expect(room.thread()).toMatchObject({ status: "bounded", reason: "max_rounds", owed: [] });
  });

  it("R25 ends with `max_messages` after 10 texts of six that always reply", () => {
    const room = rooms("a", "b", "c", "d", "e", "f");
    room.post("hello");
    expect(room.run()).toHaveLength(10);
    expect(room.thread()).toMatchObject({ status: "bounded", reason: "max_messages" });
  });

  it("R26 ends with `silent_round` when one passes and the other fails", () => {
    const room = rooms("a", "b");
    room.post("hello");
    room.startAll();
    room.settle("m-a", { status: "passed" });
    room.startAll();
    room.settle("m-b", { status: "failed", reason_code: "runner_error" });
    expect(room.plan().starts).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "settled", reason: "silent_round", owed: [] });
  });

  it.each(["failed", "cancelled", "abandoned", "passed"] as const)("counts a %s turn as silence", (status) => {
    const room = rooms("a");
    room.post("hello");
    room.startAll();
    room.settle("m-a", { status, text: "half a text" });
    expect(room.thread()).toMatchObject({ status: "settled", reason: "silent_round" });
  });

  it("ends with `answered` when nobody has anything new to hear", () => {
    const room = rooms("a", "b");
    room.post("@a");
    expect(room.run()).toEqual(["m-a"]);
    expect(room.thread()).toMatchObject({ status: "settled", reason: "answered", owed: [] });
  });

  it("rotates the roster by the round", () => {
    const room = rooms("a", "b", "c");
    room.post("hello");
    const lines = { "m-a": ["1", "2"], "m-b": ["1", "2"], "m-c": ["1", "2"] };
    play(room, lines);
    expect(told(room)).toEqual([
      "m-a 0.0 message",
      "m-b 0.1 message",
      "m-c 0.2 message",
      "m-b 1.0 host",
      "m-c 1.1 host",
      "m-a 1.2 host",
      "m-c 2.0 host",
      "m-b 2.2 host",
    ]);
  });

  it.each([
    ["all when nobody was named", "hello", "done", ["m-a", "m-b", "m-c", "m-b", "m-c", "m-a"]],
    ["all when the post named everybody", "@all hello", "done", ["m-a", "m-b", "m-c", "m-b", "m-c", "m-a"]],
    ["those the post named", "@a @b hello", "done", ["m-a", "m-b", "m-a", "m-b"]],
    ["those a text named, when the post named nobody", "hello", "@C done", ["m-a", "m-b", "m-c"]],
    ["those a text named besides", "@a hello", "@c done", ["m-a", "m-c", "m-a"]],
    ["all when a text named everybody", "@a hello", "@all done", ["m-a", "m-b", "m-c", "m-a"]],
    ["nobody for a word that is no member's", "@a hello", "@zz done", ["m-a"]],
  ])("asks %s in round 1", (_, post, text, ran) => {
    const room = new PlanRoom(memberInputs("a", "b", "c"), { maxRounds: 2, maxOwedPasses: 0 });
    room.post(post);
    expect(room.run(() => text)).toEqual(ran);
  });

  it("pulls a member named during a round into the next one, not into the same", () => {
    const room = rooms("a", "b", "c");
    room.post("@a @b hello");
    play(room, { "m-a": ["one", "ask @c"], "m-b": ["two", "three"], "m-c": ["four"] });
    expect(told(room)).toEqual([
      "m-a 0.0 mention",
      "m-b 0.1 mention",
      "m-a 1.1 mention",
      "m-b 1.0 mention",
      "m-c 2.0 mention",
      "m-a 2.1 mention",
      "m-b 2.2 mention",
    ]);
  });

  it("begins a round when all slots of the one before have settled", () => {
    const room = rooms("a", "b");
    room.post("@b wait", { thread_id: "other" });
    room.startAll();
    room.post("hello");
    room.startAll();
    room.settle("m-a");
    expect(room.plan().starts).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "member_busy", owed: ["m-b"] });
    room.settle("m-b");
    const [start] = room.plan().starts;
    expect(start?.coordinates.member_id).toBe("m-b");
    expect(start?.payload).toMatchObject({ cause: "queued", discussion: { round: 0, slot: 1 } });
  });

  it("waits in a later round for a member that is busy elsewhere, and says `queued`", () => {
    const room = rooms("a", "b");
    room.post("hello");
    room.startAll();
    room.settle("m-a");
    room.startAll();
    room.post("@a elsewhere", { thread_id: "other" });
    expect(room.startAll()).toEqual(["m-a"]);
    room.settle("m-b");
    expect(room.plan().starts).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "member_busy", owed: ["m-a"] });
    room.settle("m-a", { status: "passed" });
    const [start] = room.plan().starts;
    expect(start?.coordinates).toMatchObject({ member_id: "m-a", thread_id: "main" });
    expect(start?.payload).toMatchObject({ cause: "queued", origin: "host", discussion: { round: 1 } });
  });

  it("answers everybody a person addressed, also above `maxMemberMessages`", () => {
    const room = new PlanRoom(memberInputs("a", "b", "c"), { maxMemberMessages: 1 });
    room.post("hello");
    expect(room.run()).toEqual(["m-a", "m-b", "m-c"]);
    expect(room.thread()).toMatchObject({ status: "bounded", reason: "max_messages" });
  });

  it("answers an agent's post within the discussion that goes on", () => {
    const room = rooms("a", "b");
    const opened = room.post("@a hello");
    room.startAll();
    room.post("@b from outside", { author: { kind: "agent", id: "bridge" } });
    room.settle("m-a");
    const start = onlyStart(room);
    expect(start.coordinates.member_id).toBe("m-b");
    expect(start.payload.discussion).toEqual({ message_id: opened, round: 0, slot: 17 });
    expect(start.payload.cause).toBe("mention");
    room.run();
    expect(room.inbox).toEqual([]);
  });

  it("gives an agent's post a discussion in a thread that has none", () => {
    const room = rooms("a", "b");
    const post = room.post("@b from outside", { author: { kind: "agent", id: "bridge" } });
    expect(onlyStart(room).payload.discussion).toEqual({ message_id: post, round: 0, slot: 0 });
  });

  it("gives a second turn at the same place a slot behind all others, and so another id", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    room.startAll();
    room.settle("m-a", { text: "ask @b" });
    room.startAll();
    room.post("@b from outside", { author: { kind: "agent", id: "bridge" } });
    const first = room.settle("m-b", { status: "passed" });
    const second = onlyStart(room);
    expect(first.payload).toMatchObject({ seen_through_seq: 2, discussion: { round: 1, slot: 0 } });
    expect(second.payload).toMatchObject({ seen_through_seq: 2, discussion: { round: 1, slot: 16 } });
    expect(second.coordinates.turn_id).not.toBe(first.turn_id);
  });
});

describe("a newer post of a person", () => {
  it("ends the older discussion of its thread and leaves those of others", () => {
    const room = rooms("a", "b");
    room.post("@a older", { thread_id: "x" });
    room.run(() => "ask @b");
    room.post("@a older", { thread_id: "y" });
    room.startAll();
    const newer = room.post("@a newer", { thread_id: "y" });
    room.settle("m-a", { status: "superseded", reason_code: "newer_message", text: "ask @b" });
    const start = onlyStart(room);
    expect(start.coordinates).toMatchObject({ thread_id: "y", member_id: "m-a" });
    expect(start.payload.discussion).toEqual({ message_id: newer, round: 0, slot: 0 });
    room.run(() => "done");
    expect(room.thread("y")).toMatchObject({ discussion: newer, status: "settled", reason: "answered" });
    expect(room.thread("x")).toMatchObject({ status: "bounded", reason: "max_rounds" });
  });

  it("R30 pulls nobody in whom a superseded text names, and shows it to nobody", () => {
    const room = rooms("a", "b", "c");
    const first = room.post("@a hello");
    room.startAll();
    const newer = room.post("@b newer");
    room.settle("m-a", { status: "superseded", reason_code: "newer_message", text: "ask @c" });
    expect(onlyStart(room).payload.input).toEqual([
      { message_id: first, row_seq: 1 },
      { message_id: newer, author: { kind: "person", id: "local" }, text: "@b newer" },
    ]);
    expect(room.run()).toEqual(["m-b"]);
    expect(room.thread()).toMatchObject({ status: "settled", reason: "answered", owed: [] });
  });

  it("that addresses nobody ends the older discussion as well", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    room.startAll();
    const post = room.post("@nobody hm");
    room.settle("m-a", { text: "ask @b" });
    expect(room.plan().starts).toEqual([]);
    expect(room.thread()).toMatchObject({ discussion: post, status: "unresolved_mention", owed: [] });
  });

  it("that was withdrawn ends nothing, asks nobody, and is shown as context", () => {
    const room = rooms("a", "b", "c");
    const first = room.post("@a hello");
    room.startAll();
    const second = room.post("@c newer");
    room.withdraw(second);
    room.settle("m-a", { text: "ask @b" });
    const start = onlyStart(room);
    expect(start.coordinates.member_id).toBe("m-b");
    expect(start.payload.discussion).toMatchObject({ message_id: first, round: 1 });
    expect(start.payload.input).toContainEqual(expect.objectContaining({ message_id: second, text: "@c newer" }));
    expect(room.run((memberId) => (memberId === "m-b" ? "fine" : ""))).not.toContain("m-c");
    expect(room.inbox).toEqual([]);
  });

  it("C-059 answers the members the older post still waits for, with all of both", () => {
    const room = rooms("a", "b");
    const older = room.post("@a first");
    const newer = room.post("@b second");
    const first = onlyStart(room);
    expect(first.coordinates.member_id).toBe("m-a");
    expect(first.inbox.map((change) => change.message_id)).toEqual([older, newer]);
    expect(first.payload.discussion).toEqual({ message_id: newer, round: 0, slot: 16 });
    expect(room.run(() => "")).toEqual(["m-a", "m-b"]);
    expect(room.inbox).toEqual([]);
  });
});

describe("owed passes", () => {
  it("R28 asks a member that was named twice more, then names it as owed", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    play(room, { "m-a": ["ask @b"] });
    expect(told(room)).toEqual(["m-a 0.0 mention", "m-b 1.0 mention", "m-b 3.1 mention", "m-b 4.1 mention"]);
    expect(room.thread()).toMatchObject({ status: "bounded", reason: "max_owed_passes", owed: ["m-b"] });
    // What it has seen already is shown again: the text that named it.
    expect(room.log.rows[4]?.payload).toMatchObject({ input: [{ row_seq: 2 }], seen_through_seq: 2, origin: "host" });
  });

  it("asks them in roster order and stops when they were heard", () => {
    const room = new PlanRoom(memberInputs("a", "b", "c"), { maxRounds: 1 });
    room.post("@a hello");
    play(room, { "m-a": ["ask @c and @b"], "m-b": ["here"], "m-c": ["", "here too"] });
    expect(told(room).slice(1)).toEqual(["m-b 1.1 mention", "m-c 1.2 mention", "m-c 2.2 mention"]);
    expect(room.thread()).toMatchObject({ status: "bounded", reason: "max_rounds", owed: [] });
  });

  it("are none with `maxOwedPasses` 0: one round and nothing more", () => {
    const room = new PlanRoom(memberInputs("a", "b"), { maxRounds: 1, maxOwedPasses: 0 });
    room.post("@a hello");
    expect(room.run(() => "ask @b")).toEqual(["m-a"]);
    expect(room.thread()).toMatchObject({ status: "bounded", reason: "max_owed_passes", owed: ["m-b"] });
  });

  it("end between two that go on naming each other", () => {
    const room = new PlanRoom(memberInputs("a", "b"), { maxMemberMessages: 100 });
    room.post("@a hello");
    const ran = room.run((memberId) => (memberId === "m-a" ? "@b?" : "@a?"));
    expect(ran).toHaveLength(3 + 2 + 4);
    expect(room.thread()).toMatchObject({ status: "bounded", reason: "max_owed_passes" });
  });

  it("leave out a member that named itself, and one whose turn was cancelled since", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    room.startAll();
    room.settle("m-a", { text: "I, @a, ask @b" });
    room.startAll();
    room.settle("m-b", { status: "cancelled", reason_code: "turn_cancelled" });
    expect(room.plan().starts).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "settled", reason: "silent_round", owed: [] });
  });
});

function onlyStart(room: PlanRoom): PlannedStart {
  const { starts } = room.plan();
  const [start] = starts;
  if (start === undefined || starts.length > 1) throw new TypeError(`expected one start, got ${starts.length}`);
  return start;
}
