import { describe, expect, it } from "vitest";
import type { ActivityEvent, Turn } from "../../../core/index.ts";
import { checkpointOf, fold, emptyState } from "../../../rooms/index.ts";
import { loopClock } from "../../support/open-log.ts";
import { HeldRunner, member, roomOf, runnerOf, says, TestHost, until } from "../../support/open-room.ts";

const approval = { method: "approval", params: { command: "rm -rf build", tool_id: "c9" } } as const;

describe("a turn", () => {
  it("C-001 tells each frame of the attempt and adds exactly two rows", async () => {
    const runner = runnerOf((turn) => {
      for (const text of ["one ", "two"]) turn.emit({ type: "message.delta", payload: { text } });
      turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
      turn.emit({ type: "tool.complete", payload: { tool_id: "c1", outcome: "ok" } });
      void turn.ask({ method: "approval", params: { command: "rm" } });
      turn.emit({ type: "reasoning.delta", payload: { text: "hm" } });
      return { status: "completed" };
    });
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    const plain = test.tap.sessions.open("plain", { roomPlumbing: false });
    const write = (type: string, payload: object): unknown => {
      const params = { type, session_id: plain.runtimeId, payload: { ...payload } };
      return test.tap.seam.writeJson({ jsonrpc: "2.0", method: "event", params });
    };
    await test.room.post({ text: "hello" });
    const written = [
      write("message.delta", { text: "one " }),
      write("message.delta", { text: "two" }),
      write("tool.start", { tool_id: "c1", name: "read" }),
      write("tool.complete", { tool_id: "c1" }),
      write("reasoning.delta", { text: "hm" }),
    ];
    await test.quiet();
    expect(written).toEqual(Array(5).fill("written"));
    expect(test.kinds()).toEqual([
      "turn.started",
      "message.delta",
      "message.delta",
      "tool.started",
      "tool.completed",
      "request.opened",
      "reasoning.delta",
      "request.resolved",
      "turn.settled",
    ]);
    expect(test.events.map((event) => event.n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Set(test.events.map((event) => event.coordinates)).size).toBe(1);
    expect(Object.keys(test.events[0]?.coordinates ?? {})).toEqual([
      "room_id",
      "thread_id",
      "member_id",
      "turn_id",
      "task_id",
      "execution_generation",
    ]);
    expect(test.of("request.resolved")[0]?.payload).toMatchObject({ outcome: "cancelled", by: null });
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
  });

  it("R3 is two rows whatever it emits, and its start is durable before the runner is called", async () => {
    let rowsAtCall = -1;
    const runner = runnerOf(async (turn) => {
      rowsAtCall = (await test.log.head("r1")).seq;
      for (let count = 0; count < 1_000; count++) turn.emit({ type: "message.delta", payload: { text: "z" } });
      for (const tool_id of ["c1", "c2", "c3"]) {
        turn.emit({ type: "tool.start", payload: { tool_id, name: "read" } });
        turn.emit({ type: "tool.complete", payload: { tool_id, outcome: "ok" } });
      }
      await turn.ask(approval);
      return { status: "completed" };
    });
    const test: TestHost = await TestHost.open({
      rooms: [roomOf(runner)],
      onRequest: ({ id }, tap) => void tap.requests.answer(id, { choice: "once" }, "c-1"),
    });
    await test.room.post({ text: "go" });
    await test.quiet();
    expect(rowsAtCall).toBe(1);
    const [started, settled, ...more] = await test.rows();
    expect([started?.kind, settled?.kind, more]).toEqual(["turn.started", "turn.settled", []]);
    // 1,000 deltas, 3 tools and the one that the approval names, with their ends, 2 of the request, 2 of the turn.
    expect(settled?.payload).toMatchObject({ status: "completed", text: "z".repeat(1_000), activity_count: 1_012 });
    expect(test.of("turn.settled")[0]).toMatchObject({ n: 1_012, payload: { row: { seq: 2, hash: settled?.hash } } });
    expect(test.of("turn.started")[0]).toMatchObject({ n: 1, payload: { row: { seq: 1, hash: started?.hash } } });
  });

  it("R8 settles with at most 64 KiB of whole characters and says so", async () => {
    const whole = "x".repeat(65_536) + "é".repeat(100);
    const test = await TestHost.open({ rooms: [roomOf(runnerOf(() => ({ status: "completed", text: whole })))] });
    await test.room.post({ text: "go" });
    await test.quiet();
    const { payload } = (await test.rows())[1] ?? {};
    expect(payload).toMatchObject({ text: "x".repeat(65_536), truncated: true });
  });

  it("R8 cuts no character in two", async () => {
    const runner = runnerOf((turn) => {
      turn.emit({ type: "message.delta", payload: { text: "x" + "é".repeat(32_768) } });
      return { status: "completed" };
    });
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    await test.room.post({ text: "go" });
    await test.quiet();
    const { payload } = (await test.rows())[1] ?? {};
    expect(payload).toMatchObject({ text: "x" + "é".repeat(32_767), truncated: true });
  });

  it("R27 passes with a text that says so, and publishes none of it", async () => {
    const answers = ["", " PASS ", "(pass).", "pass on this"];
    let next = 0;
    const test = await TestHost.open({
      rooms: [roomOf(runnerOf(() => ({ status: "completed", text: answers[next++] })))],
    });
    for (const _ of answers) {
      await test.room.post({ text: "well?" });
      await test.quiet();
    }
    const ends = (await test.rows()).flatMap((row) => (row.kind === "turn.settled" ? [row.payload] : []));
    expect(ends.map(({ status, text }) => [status, text])).toEqual([
      ["passed", ""],
      ["passed", ""],
      ["passed", ""],
      ["completed", "pass on this"],
    ]);
  });

  it("C-058 is ordered and timed alike when the clock is set back in the middle", async () => {
    const run = async (stepMs: number): Promise<readonly unknown[]> => {
      const held = new HeldRunner();
      const clock = loopClock();
      const test = await TestHost.open({ rooms: [roomOf(held)], clock });
      await test.room.post({ text: "one", event_id: "k1" });
      const first = await held.turn(0);
      await test.pass(1_000);
      clock.setNow(clock.now() - stepMs);
      first.say("done");
      await test.quiet();
      await test.room.post({ text: "two", event_id: "k2" });
      (await held.turn(1)).say("done");
      await test.quiet();
      const rows = await test.rows();
      const settled = rows[1]?.kind === "turn.settled" ? rows[1].payload.duration_ms : null;
      const { digest } = checkpointOf(fold(emptyState("r1"), rows), "");
      return [
        rows.map(({ kind }) => kind),
        settled,
        digest,
        Math.sign((rows[1]?.created_at ?? 0) - (rows[0]?.created_at ?? 0)),
      ];
    };
    const kinds = ["turn.started", "turn.settled", "turn.started", "turn.settled"];
    const [straight, stepped] = [await run(0), await run(600_000)];
    expect(straight).toEqual([kinds, 1_000, expect.any(String), 1]);
    expect(stepped).toEqual([kinds, 1_000, straight[2], -1]);
  });

  it("R12 folds to one state whenever it runs, with other hashes", async () => {
    const run = async (startMs: number): Promise<readonly [string, string]> => {
      const rooms = [roomOf(says("hello @b"), ["a", "b"])];
      const test = await TestHost.open({ rooms, clock: loopClock(startMs) });
      await test.room.post({ text: "hi" });
      await test.quiet();
      const rows = await test.rows();
      return [checkpointOf(test.room.folded, "").digest, rows.at(-1)?.hash ?? ""];
    };
    const [one, other] = [await run(1_000), await run(2_000_000)];
    expect(other[0]).toBe(one[0]);
    expect(other[1]).not.toBe(one[1]);
  });
});

describe("turns of a room", () => {
  it("R20 take a post off what is owed one by one, serially in roster order", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b", "c"])] });
    const receipt = await test.room.post({ text: "to all" });
    expect(receipt.addressed).toEqual(["m-a", "m-b", "m-c"]);
    const owed: unknown[] = [];
    for (const index of [0, 1, 2]) {
      const { turn, say } = await held.turn(index);
      expect(held.turns).toHaveLength(index + 1);
      owed.push([turn.member.member_id, (await test.log.inbox("r1")).map((post) => post.owed.length)]);
      say(`answer ${index}`);
      await until(() => test.host.runs.every((run) => run.attempt.coordinates !== turn.coordinates));
    }
    await test.quiet();
    expect(owed).toEqual([
      ["m-a", [2]],
      ["m-b", [1]],
      ["m-c", []],
    ]);
    expect(held.turns.map(({ turn }) => turn.unseen.map((entry) => entry.text))).toEqual([
      ["to all"],
      ["to all", "answer 0"],
      ["to all", "answer 0", "answer 1"],
    ]);
  });

  it("R22 accept what names nobody known, and show it with the next post that names somebody", async () => {
    const turns: Turn[] = [];
    const runner = runnerOf((turn) => {
      turns.push(turn);
      return { status: "passed" };
    });
    const test = await TestHost.open({ rooms: [roomOf(runner, ["a", "b"])] });
    expect(await test.room.post({ text: "@nobody hello" })).toMatchObject({ addressed: [], unresolved: ["nobody"] });
    await test.quiet();
    expect([turns.length, (await test.log.inbox("r1")).length]).toEqual([0, 1]);
    await test.room.post({ text: "hi @a" });
    await test.quiet();
    expect(turns.map((turn) => turn.unseen.map(({ text }) => text))).toEqual([["@nobody hello", "hi @a"]]);
    expect(await test.log.inbox("r1")).toEqual([]);
  });

  it("R36 give a member of two threads one open turn; the other waits its turn", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "one" });
    await held.turn(0);
    await test.room.post({ text: "two", thread_id: "side" });
    await test.pass(100);
    expect(held.turns).toHaveLength(1);
    held.turns[0]?.say("first");
    (await held.turn(1)).say("second");
    await test.quiet();
    const rows = await test.rows();
    expect(
      rows.map((row) => [row.thread_id, row.kind === "turn.started" ? row.payload.cause : row.payload.text]),
    ).toEqual([
      ["main", "message"],
      ["main", "first"],
      ["side", "queued"],
      ["side", "second"],
    ]);
  });

  it("C-008 R19 start once for one event id, however often it comes", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    const post = { text: "hello", event_id: "k1" };
    const [first, second] = await Promise.all([test.room.post(post), test.room.post(post)]);
    expect([first.starts, second.starts]).toEqual([true, false]);
    expect(second).toEqual({ ...first, duplicate: true, starts: false });
    (await held.turn(0)).say("hi");
    await test.quiet();
    expect(await test.room.post(post)).toEqual({ ...first, duplicate: true, starts: false });
    await expect(test.room.post({ ...post, text: "other" })).rejects.toMatchObject({ code: "idempotency_conflict" });
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
    expect(held.turns).toHaveLength(1);
  });

  it("C-008 take a post while the member runs, and answer it afterwards, never beside", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "one", event_id: "k1" });
    await held.turn(0);
    expect(await test.room.post({ text: "two", event_id: "k2" })).toMatchObject({ duplicate: false });
    await test.pass(100);
    expect(held.turns).toHaveLength(1);
    held.turns[0]?.say("first");
    (await held.turn(1)).say("second");
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a newer_message",
      "started m-a queued",
      "settled m-a completed",
    ]);
  });

  it("C-080 go to members with names from the prototype", async () => {
    const rooms = [
      {
        room_id: "r1",
        members: ["constructor", "toString"].map((id) => ({ ...member(id, says(`I am ${id}`)), member_id: id })),
      },
    ];
    const test = await TestHost.open({ rooms });
    expect((await test.room.post({ text: "@constructor @toString" })).addressed).toEqual(["constructor", "toString"]);
    await test.quiet();
    const spoken = test.of("message.delta").map(({ coordinates, payload }) => [coordinates.member_id, payload.text]);
    expect(spoken).toEqual([
      ["constructor", "I am constructor"],
      ["toString", "I am toString"],
    ]);
    const proto = { rooms: [{ room_id: "r2", members: [{ ...member("a", null), member_id: "__proto__" }] }] };
    await expect(TestHost.open(proto)).rejects.toMatchObject({ code: "invalid_roster" });
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  it("carry the origin of the post that caused them", async () => {
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))] });
    await test.room.post({ text: "hello", origin: "c-7f3a" });
    await test.quiet();
    const [started]: readonly ActivityEvent[] = test.events;
    expect(started?.kind === "turn.started" && started.payload.origin).toBe("c-7f3a");
  });
});
