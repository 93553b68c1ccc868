import { describe, expect, it } from "vitest";
import { memberInputs, PlanRoom } from "../support/plan-room.ts";

const rooms = (...handles: readonly string[]): PlanRoom => new PlanRoom(memberInputs(...handles), {});

/** Who may start now, where and why: `m-a main mention`. */
function starting(room: PlanRoom): readonly string[] {
  return room
    .plan()
    .starts.map(({ coordinates, payload }) => `${coordinates.member_id} ${coordinates.thread_id} ${payload.cause}`);
}

describe("a paused member", () => {
  it("R32 stays owed while the others answer, and answers after the resume: `queued`", () => {
    const room = rooms("a", "b");
    room.pause("m-a");
    const post = room.post("hello");
    expect(room.run(() => "")).toEqual(["m-b"]);
    expect(room.inbox.map(({ owed }) => owed)).toEqual([["m-a"]]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "paused", owed: ["m-a"] });
    room.resume("m-a");
    const [start] = room.plan().starts;
    expect(start?.coordinates.member_id).toBe("m-a");
    expect(start?.payload).toMatchObject({ cause: "queued", discussion: { message_id: post, round: 0, slot: 0 } });
    expect(room.run((memberId) => (memberId === "m-a" ? "here" : ""))).toEqual(["m-a", "m-b"]);
    expect(room.inbox).toEqual([]);
  });

  it("goes on with the turn it has", () => {
    const room = rooms("a", "b");
    room.post("hello");
    room.startAll();
    room.pause("m-a");
    expect(room.thread()).toMatchObject({ status: "running", reason: null, owed: ["m-b"] });
    room.settle("m-a");
    expect(starting(room)).toEqual(["m-b main message"]);
  });

  it("is passed over in later rounds, which go on without it", () => {
    const room = rooms("a", "b", "c");
    room.pause("m-a");
    room.post("hello");
    expect(room.run()).toEqual(["m-b", "m-c", "m-b", "m-c", "m-b", "m-c"]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "paused", owed: ["m-a"] });
    room.resume("m-a");
    expect(starting(room)).toEqual(["m-a main queued"]);
    expect(room.run()).toEqual(["m-a"]);
    expect(room.thread()).toMatchObject({ status: "bounded", reason: "max_rounds", owed: [] });
  });

  it("says `queued` also when a whole round went by without it", () => {
    const room = new PlanRoom(memberInputs("a", "b", "c"), { maxRounds: 4 });
    room.pause("m-c");
    room.post("hello");
    expect(room.run()).toHaveLength(8);
    room.resume("m-c");
    expect(starting(room)).toEqual(["m-c main queued"]);
  });

  it("keeps its place in a round that brought no text without it", () => {
    const room = rooms("a", "b", "c");
    room.post("hello");
    for (const memberId of ["m-a", "m-b", "m-c"]) {
      room.startAll();
      room.settle(memberId);
    }
    room.pause("m-a");
    expect(room.run(() => "")).toEqual(["m-b"]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "paused", owed: ["m-a"] });
    room.resume("m-a");
    expect(room.plan().starts[0]?.payload.discussion).toMatchObject({ round: 1, slot: 2 });
  });

  it("keeps its place in a later round as long as no other begins", () => {
    const room = rooms("a", "b");
    room.post("hello");
    room.startAll();
    room.settle("m-a");
    room.startAll();
    room.settle("m-b");
    room.pause("m-a");
    expect(starting(room)).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "paused", owed: ["m-a"] });
    room.resume("m-a");
    expect(starting(room)).toEqual(["m-a main host"]);
  });

  it("keeps its owed passes until it is resumed", () => {
    const room = rooms("a", "b");
    room.pause("m-b");
    room.post("@a hello");
    expect(room.run(() => "ask @b")).toEqual(["m-a"]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "paused", owed: ["m-b"] });
    room.resume("m-b");
    expect(starting(room)).toEqual(["m-b main mention"]);
  });
});

describe("words in a text", () => {
  it.each(["stop @a", "don't stop @a", "@a continue"])("R31 pause and release nobody: %j", (text) => {
    const room = rooms("a", "b");
    room.pause("m-b");
    room.post(text);
    expect(starting(room)).toEqual(["m-a main mention"]);
    expect(room.room.paused).toEqual(["m-b"]);
  });
});

describe("a stop", () => {
  it("R33 closes what was accepted, begins no later round, and leaves the next post to be answered", () => {
    const room = rooms("a", "b");
    room.post("hello");
    room.startAll();
    room.post("@b waits", { thread_id: "other" });
    room.stop();
    expect(room.plan().starts).toEqual([]);
    expect(room.plan().threads).toMatchObject([
      { thread_id: "main", status: "stopped", reason: null, owed: [] },
      { thread_id: "other", status: "stopped", reason: null, owed: [] },
    ]);
    room.post("@b and now", { thread_id: "other" });
    const [start] = room.plan().starts;
    expect(start?.payload.input).toMatchObject([{ text: "@b waits" }, { text: "@b and now" }]);
    expect(room.run()).toEqual(["m-b"]);
    expect(room.inbox).toEqual([]);
  });

  it("R35 holds for posts that the inbox still shows as owed", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    room.post("@nobody hm", { thread_id: "other" });
    room.room = { ...room.room, stop: { post_number: 2, seq: 0 } };
    expect(room.plan().starts).toEqual([]);
    expect(room.plan().threads.map(({ status }) => status)).toEqual(["stopped", "stopped"]);
    room.post("@b later");
    const [start] = room.plan().starts;
    expect(start?.inbox.map(({ member_id }) => member_id)).toEqual(["m-b", "m-b"]);
    expect(start?.payload.discussion.slot).toBe(0);
  });

  it("ends a discussion that had a round left, and not one that had ended", () => {
    const room = rooms("a", "b");
    room.post("@a over", { thread_id: "over" });
    room.run();
    room.post("hello", { thread_id: "left" });
    room.startAll();
    room.settle("m-a");
    room.startAll();
    room.settle("m-b");
    room.stop();
    expect(room.plan().starts).toEqual([]);
    expect(room.plan().threads).toMatchObject([
      { thread_id: "left", status: "stopped" },
      { thread_id: "over", status: "settled", reason: "answered" },
    ]);
  });

  it("gives an agent's post behind it a discussion of its own", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    room.startAll();
    room.stop();
    const post = room.post("@b from outside", { author: { kind: "agent", id: "bridge" } });
    expect(room.plan().starts[0]?.payload.discussion).toEqual({ message_id: post, round: 0, slot: 0 });
  });
});

describe("a disbanded room", () => {
  it("starts nothing", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    room.startAll();
    room.retry(room.settle("m-a", { status: "failed", reason_code: "runner_error" }));
    room.post("hello");
    room.room = { ...room.room, disbanded_at: 1 };
    expect(room.plan().starts).toEqual([]);
    expect(room.plan().threads).toMatchObject([{ owed: [] }]);
  });
});

describe("a turn that waits for a person", () => {
  it("holds up the others of its discussion, and no other thread", () => {
    const room = rooms("a", "b");
    room.post("hello");
    room.startAll();
    room.park("m-a");
    room.post("hello", { thread_id: "other" });
    expect(starting(room)).toEqual(["m-b other message"]);
    expect(room.thread()).toMatchObject({ status: "running", owed: ["m-b"] });
  });

  it("holds up no newer post: its member stays owed and is passed over, rounds go on", () => {
    const room = rooms("a", "b", "c");
    room.post("@a hello");
    room.startAll();
    room.park("m-a");
    const newer = room.post("hello");
    expect(room.run()).toEqual(["m-b", "m-c", "m-b", "m-c", "m-b", "m-c"]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "member_busy", discussion: newer, owed: ["m-a"] });
    room.settle("m-a", { status: "superseded", reason_code: "newer_message", text: "late" });
    expect(starting(room)).toEqual(["m-a main queued"]);
  });

  it("holds up its thread again once it was answered", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    room.startAll();
    room.park("m-a");
    room.post("@b newer");
    room.parked.clear();
    expect(starting(room)).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "running" });
  });
});

describe("a turn that runs", () => {
  it("R36 is its member's only one; another thread waits for it and says `queued`", () => {
    const room = rooms("a", "b");
    room.post("@a one", { thread_id: "x" });
    room.startAll();
    room.post("@a two", { thread_id: "y" });
    expect(room.thread("y")).toMatchObject({ status: "waiting", reason: "member_busy", owed: ["m-a"] });
    room.settle("m-a");
    expect(starting(room)).toEqual(["m-a y queued"]);
  });

  it("holds up a newer post of its thread until it settles", () => {
    const room = rooms("a", "b");
    room.post("@a hello");
    room.startAll();
    room.post("@b newer");
    expect(starting(room)).toEqual([]);
    room.settle("m-a", { status: "superseded", reason_code: "newer_message", text: "late" });
    expect(starting(room)).toEqual(["m-b main mention"]);
  });

  it("waits for its place while its start is planned", () => {
    const room = rooms("a", "b");
    room.post("hello");
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "slot", owed: ["m-a", "m-b"] });
  });
});

describe("a thread whose members are not driven here", () => {
  it("waits and names them", () => {
    const room = rooms("a", "b");
    room.post("@b hello");
    room.room = { ...room.room, members: room.room.members.slice(0, 1) };
    expect(room.plan().starts).toEqual([]);
    expect(room.thread()).toMatchObject({ status: "waiting", reason: "member_unavailable", owed: ["m-b"] });
  });
});
