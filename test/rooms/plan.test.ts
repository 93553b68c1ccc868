import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limits, turnStatuses, utf8Length } from "../../core/index.ts";
import { planNext } from "../../rooms/index.ts";
import { memberInputs, PlanRoom } from "../support/plan-room.ts";

/** The one start that is planned. */
function onlyStart(room: PlanRoom) {
  const { starts } = room.plan();
  const [start] = starts;
  if (start === undefined || starts.length > 1) throw new TypeError(`expected one start, got ${starts.length}`);
  return start;
}

describe("planNext", () => {
  it("R1 gives equal plans and ids for equal posts on two machines", () => {
    const play = (): PlanRoom => {
      const room = new PlanRoom();
      room.post("hello");
      room.post("@b and @c", { thread_id: "side" });
      room.run((memberId) => `answer of ${memberId}`);
      room.post("again");
      return room;
    };
    const [one, other] = [play(), play()];
    expect(one.plan()).toEqual(other.plan());
    expect(one.log.rows).toEqual(other.log.rows);
  });

  it("R1 depends on nothing but its source", () => {
    const posts = fc.array(fc.tuple(fc.constantFrom("@a", "@b @c", "all", "@zz"), fc.constantFrom("x", "y")), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(posts, (said) => {
        const room = new PlanRoom();
        for (const [text, thread_id] of said) room.post(text, { thread_id });
        room.startAll();
        const { parked, startedOf, ...plain } = room.source();
        const copy = JSON.parse(JSON.stringify(plain)) as typeof plain;
        expect(planNext({ ...copy, parked, startedOf })).toEqual(room.plan());
      }),
    );
  });

  it("starts the members addressed one after the other, in roster order, each with the answers before", () => {
    const room = new PlanRoom();
    const message_id = room.post("@c @b look", { origin: "c-1" });
    const first = onlyStart(room);
    expect(first.coordinates).toMatchObject({ thread_id: "main", member_id: "m-b", execution_generation: 1 });
    expect(first.payload).toEqual({
      input: [{ message_id, author: { kind: "person", id: "local" }, text: "@c @b look" }],
      cause: "mention",
      origin: "c-1",
      seen_through_seq: 0,
      roster_digest: room.room.roster_digest,
      discussion: { message_id, round: 0, slot: 0 },
    });
    expect(first.inbox).toEqual([{ message_id, member_id: "m-b" }]);
    room.start(first);
    expect(room.plan().starts).toEqual([]);
    room.settle("m-b", { status: "completed", text: "b says" });
    const second = onlyStart(room);
    expect(second.coordinates.member_id).toBe("m-c");
    expect(second.payload).toMatchObject({
      input: [{ message_id, row_seq: 1 }, { row_seq: 2 }],
      seen_through_seq: 2,
      discussion: { message_id, round: 0, slot: 1 },
    });
  });

  it("R20 takes one member after the other off a post until it leaves", () => {
    const room = new PlanRoom();
    room.post("all of you");
    const owed: number[] = [];
    for (const memberId of ["m-a", "m-b", "m-c"]) {
      owed.push(room.inbox[0]?.owed.length ?? 0);
      expect(room.startAll()).toEqual([memberId]);
      room.settle(memberId);
    }
    expect(owed).toEqual([3, 2, 1]);
    expect(room.inbox).toEqual([]);
  });

  it("R22 starts nothing for a post that names nobody known; the next turn holds both", () => {
    const room = new PlanRoom();
    const closed = room.post("@nobody hello");
    const thread = { thread_id: "main", discussion: closed, status: "unresolved_mention", reason: null, owed: [] };
    expect(room.plan()).toEqual({ starts: [], threads: [thread], diagnostics: [] });
    const answered = room.post("hi @a");
    const start = onlyStart(room);
    expect(start.payload.input.map((item) => "message_id" in item && item.message_id)).toEqual([closed, answered]);
    expect(start.payload.discussion.message_id).toBe(answered);
    room.start(start);
    expect(room.inbox).toEqual([]);
  });

  it("R36 gives a member one open turn; the second thread waits for it and says `queued`", () => {
    const room = new PlanRoom();
    room.post("@a one", { thread_id: "x" });
    room.post("@a two", { thread_id: "y" });
    expect(room.startAll()).toEqual(["m-a"]);
    expect(room.plan().starts).toEqual([]);
    room.settle("m-a");
    const waited = onlyStart(room);
    expect(waited.coordinates).toMatchObject({ thread_id: "y", member_id: "m-a" });
    expect(waited.payload.cause).toBe("queued");
    // What it was shown of the other thread does not count here.
    expect(waited.payload).toMatchObject({ seen_through_seq: 0, input: [{ text: "@a two" }] });
  });

  it("starts threads side by side, the longest waiting first, and goes past a member that is busy", () => {
    const room = new PlanRoom();
    room.post("all", { thread_id: "x" });
    room.post("all", { thread_id: "y" });
    expect(room.plan().starts.map(({ coordinates }) => [coordinates.thread_id, coordinates.member_id])).toEqual([
      ["x", "m-a"],
      ["y", "m-b"],
    ]);
  });

  it.each([
    ["hello", "message"],
    ["@all", "message"],
    ["@a", "mention"],
    ["@all and @A above all", "mention"],
  ])("tells the cause of %j: %s", (text, cause) => {
    const room = new PlanRoom();
    room.post(text);
    expect(onlyStart(room).payload.cause).toBe(cause);
  });

  it("shows a member neither its own answers nor superseded ones", () => {
    const room = new PlanRoom();
    const first = room.post("@a @b @c");
    room.startAll();
    room.settle("m-a", { status: "completed", text: "mine" });
    room.startAll();
    room.settle("m-b", { status: "superseded", reason_code: "newer_message", text: "too late" });
    const second = room.post("@a @c more");
    const [again] = room.plan().starts;
    expect(again?.coordinates.member_id).toBe("m-a");
    expect(again?.payload.input).toEqual([
      { message_id: second, author: { kind: "person", id: "local" }, text: "@a @c more" },
    ]);
    expect(again?.payload.seen_through_seq).toBe(2);
    if (again !== undefined) room.start(again);
    room.settle("m-a", { status: "passed", text: "" });
    const last = onlyStart(room);
    expect(last.payload.input).toEqual([
      { message_id: first, row_seq: 1 },
      { row_seq: 2 },
      { message_id: second, row_seq: 5 },
    ]);
    expect(last.inbox.map((change) => change.message_id)).toEqual([first, second]);
    expect(last.payload.discussion).toEqual({ message_id: second, round: 0, slot: 1 });
  });

  it("shows a member posts that left the inbox before it was addressed", () => {
    const room = new PlanRoom();
    const first = room.post("@a hi");
    room.run();
    const second = room.post("@b and you?");
    expect(onlyStart(room).payload.input).toEqual([
      { message_id: first, row_seq: 1 },
      { row_seq: 2 },
      { message_id: second, author: { kind: "person", id: "local" }, text: "@b and you?" },
    ]);
  });

  it("keeps the newer discussion when a member still answers an older post", () => {
    const room = new PlanRoom();
    room.post("@a wait", { thread_id: "elsewhere" });
    room.startAll();
    const older = room.post("@a @b first");
    const newer = room.post("@c second");
    expect(room.startAll()).toEqual(["m-b"]);
    room.settle("m-b");
    expect(room.startAll()).toEqual(["m-c"]);
    room.settle("m-c");
    room.settle("m-a");
    const late = onlyStart(room);
    expect(late.payload.discussion).toEqual({ message_id: newer, round: 0, slot: limits.maxMembers });
    expect(late.payload.input[0]).toEqual({ message_id: older, row_seq: 2 });
    expect(late.payload.cause).toBe("queued");
  });

  it("takes the oldest posts that fit in a row; the rest stays owed and is answered next", () => {
    const room = new PlanRoom(memberInputs("a"));
    const text = "é".repeat(limits.maxPostBytes / 2);
    const posts = Array.from({ length: 5 }, () => room.post(text));
    const first = onlyStart(room);
    expect(first.inbox.map((change) => change.message_id)).toEqual(posts.slice(0, 3));
    expect(first.payload.discussion.message_id).toBe(posts[2]);
    expect(utf8Length(JSON.stringify(first.payload))).toBeLessThan(limits.maxRowBytes - 8_192);
    room.start(first);
    room.settle("m-a");
    const second = onlyStart(room);
    expect(second.inbox.map((change) => change.message_id)).toEqual(posts.slice(3));
    expect(second.payload.discussion.message_id).toBe(posts[4]);
  });

  it("takes a post that fills a row by itself", () => {
    const room = new PlanRoom(memberInputs("a"));
    room.post("\u0001".repeat(limits.maxPostBytes));
    expect(onlyStart(room).payload.input).toHaveLength(1);
  });

  it("R16 plans three members of four when one entry of the roster does not parse", () => {
    const room = new PlanRoom();
    room.post("hello");
    const bad = { member_id: "m-x", handle: "no good", display_name: "x", runner_kind: "scripted" };
    const members = [...room.room.members.slice(0, 2), bad, ...room.room.members.slice(2)];
    const plan = planNext({ ...room.source(), room: { ...room.room, members } });
    expect(plan.starts[0]?.coordinates.member_id).toBe("m-a");
    expect(plan.diagnostics).toEqual([
      { code: "invalid_roster", subject: "r1", message: expect.stringContaining("member 3 (@no good)") as string },
    ]);
  });

  it("C-059 names an owed member that the roster no longer has, and plans the others", () => {
    const room = new PlanRoom();
    room.post("hello");
    const members = room.room.members.slice(1);
    const plan = planNext({ ...room.source(), room: { ...room.room, members } });
    expect(plan.starts[0]?.coordinates.member_id).toBe("m-b");
    expect(plan.diagnostics.map((notice) => notice.code)).toEqual(["member_unavailable"]);
  });

  it("never drives a person of the roster", () => {
    const room = new PlanRoom([...memberInputs("a"), { handle: "pat", runner_kind: null }]);
    room.post("hello @pat");
    room.post("hello");
    expect(room.run()).toEqual(["m-a"]);
  });

  it("C-080 drives members whose ids are names of the prototype", () => {
    const odd = ["constructor", "toString"].map((name) => ({ handle: name, member_id: name, runner_kind: "scripted" }));
    const room = new PlanRoom(odd);
    room.post("hello", { thread_id: "valueOf" });
    expect(room.run()).toEqual(["constructor", "toString"]);
  });

  it("C-049 answers the next post whatever became of the attempts before", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("@a", "@b", "all"), fc.constantFrom(...turnStatuses)), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(steps, (taken) => {
        const room = new PlanRoom();
        for (const [text, status] of taken) {
          room.post(text);
          for (const memberId of room.startAll()) room.settle(memberId, { status });
        }
        room.run();
        room.post("@a and now");
        expect(room.run()).toEqual(["m-a"]);
      }),
    );
  });

  it("I3 plans at most one open turn a member and room, and answers every post it addressed", () => {
    const step = fc.record({
      text: fc.constantFrom("@a", "@b @c", "all", "@zz", "@user", "@c @a"),
      thread_id: fc.constantFrom("x", "y", "z"),
      settle: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
        const room = new PlanRoom();
        const open = new Set<string>();
        for (const { text, thread_id, settle } of steps) {
          room.post(text, { thread_id });
          for (const memberId of room.startAll()) {
            expect(open.has(memberId)).toBe(false);
            open.add(memberId);
          }
          if (settle) for (const memberId of open) room.settle(memberId);
          if (settle) open.clear();
        }
        for (const memberId of open) room.settle(memberId);
        room.run();
        expect(room.inbox.every((post) => post.owed.length === 0)).toBe(true);
        // What nobody was to answer waits as context, and nothing else.
        expect(room.inbox.every((post) => ["@zz", "@user"].includes(post.text))).toBe(true);
      }),
    );
  });
});
