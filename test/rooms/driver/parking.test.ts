import { describe, expect, it } from "vitest";
import type { RequestOutcome } from "../../../core/index.ts";
import { loopClock, turnsOfLoop } from "../../support/open-log.ts";
import { HeldRunner, member, roomOf, runnerOf, says, TestHost, until, type HeldTurn } from "../../support/open-room.ts";
import { coordinatesOf } from "../../support/turn-coordinates.ts";

const minute = 60_000;
const approval = (command: string, tool_id?: string) =>
  ({
    method: "approval",
    params: { command, tool_name: "shell", ...(tool_id === undefined ? {} : { tool_id }) },
  }) as const;

/** Asks, and notes what it is told and when. */
function asks({ turn }: HeldTurn, command = "rm", toolId?: string): { readonly outcomes: RequestOutcome[] } {
  const outcomes: RequestOutcome[] = [];
  void turn.ask(approval(command, toolId)).then((outcome) => outcomes.push(outcome));
  return { outcomes };
}

/** A host with long leases, whose time a test moves in large steps. */
function patient(options: Parameters<typeof TestHost.open>[0]): Promise<TestHost> {
  return TestHost.open({ leaseTtlMs: 600_000, ...options });
}

describe("a turn that waits for a person", () => {
  it("R37 holds no place: two that wait leave two for others", async () => {
    const held = new HeldRunner();
    const rooms = ["r1", "r2", "r3", "r4"].map((roomId) => roomOf(held, ["a"], roomId));
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 2 });
    for (const room of test.host.rooms) await room.post({ text: "go" });
    asks(await held.turn(0));
    asks(await held.turn(1));
    await held.turn(3);
    expect(test.host.runs.map((run) => [run.attempt.coordinates.room_id, run.isParked])).toEqual([
      ["r1", true],
      ["r2", true],
      ["r3", false],
      ["r4", false],
    ]);
  });

  it("R37 does not delay the 101st room when 100 wait", async () => {
    const held = new HeldRunner();
    const rooms = Array.from({ length: 101 }, (_, index) => roomOf(held, ["a"], `r${index}`));
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 1 });
    for (const room of test.host.rooms.slice(0, 100)) await room.post({ text: "go" });
    for (let index = 0; index < 100; index++) asks(await held.turn(index));
    await until(() => test.host.runs.every((run) => run.isParked));
    await test.host.room("r100").post({ text: "go" });
    (await held.turn(100)).say("done");
    await until(() => test.host.room("r100").folded.through_seq === 2);
    expect(test.host.runs).toHaveLength(100);
  });

  it.each([0, -10 * minute, 10 * minute])(
    "R38 loses no time, also when the wall clock is stepped by %i ms",
    async (step) => {
      const held = new HeldRunner();
      const clock = loopClock();
      const test = await patient({ rooms: [roomOf(held)], clock, stopGraceMs: 0 });
      await test.room.post({ text: "go" });
      const turn = await held.turn(0);
      await test.pass(10 * minute, minute);
      const { outcomes } = asks(turn);
      await test.pass(1_439 * minute, minute);
      clock.setNow(clock.now() + step);
      test.tap.requests.answer(test.tap.requests.open()[0]?.id ?? "", { choice: "once" }, "c-1");
      await until(() => outcomes.length === 1);
      await test.pass(19 * minute, minute);
      await test.pass(minute - 1_000, 1_000);
      expect(turn.turn.signal.aborted).toBe(false);
      await test.pass(2_000, 1_000);
      expect([turn.turn.signal.reason, await test.told()]).toEqual([
        "turn_deadline",
        ["started m-a message", "settled m-a turn_deadline"],
      ]);
    },
  );

  it("R39 C-005 is stopped once at its deadline, given up once after the grace, and the next turn begins", async () => {
    const held = new HeldRunner();
    const test = await patient({ rooms: [roomOf(held, ["a", "b"])] });
    await test.room.post({ text: "go" });
    const { turn } = await held.turn(0);
    let stops = 0;
    turn.signal.addEventListener("abort", () => stops++);
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    await test.pass(1_800_000 - 1_000, 1_000);
    expect(stops).toBe(0);
    await test.pass(1_000, 1_000);
    expect([stops, turn.signal.reason, held.turns.length]).toEqual([1, "turn_deadline", 1]);
    await test.pass(29_000, 1_000);
    expect(await test.told()).toEqual(["started m-a message"]);
    await test.pass(1_000, 1_000);
    const next = await held.turn(1);
    expect([stops, next.turn.member.member_id]).toEqual([1, "m-b"]);
    held.turns[0]?.say("too late");
    next.say("b here");
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a turn_deadline",
      "started m-b message",
      "settled m-b completed",
    ]);
    expect((await test.rows())[1]?.payload).toMatchObject({ status: "failed", text: "", duration_ms: 1_830_000 });
    expect(test.of("tool.completed").map(({ payload }) => payload.outcome)).toEqual(["interrupted"]);
    expect(test.of("turn.settled")).toHaveLength(2);
  });

  it("R40 is decided at once, and told when a place is free, before any new turn", async () => {
    const held = new HeldRunner();
    const rooms = ["r1", "r2", "r3"].map((roomId) => roomOf(held, ["a"], roomId));
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 1 });
    await test.host.room("r1").post({ text: "go" });
    const { outcomes } = asks(await held.turn(0));
    await test.host.room("r2").post({ text: "go" });
    const second = await held.turn(1);
    await test.host.room("r3").post({ text: "go" });
    const [request] = test.tap.requests.open();
    expect(test.tap.requests.answer(request?.id ?? "", { choice: "once" }, "c-1")).toMatchObject({ status: "ok" });
    expect(test.tap.requests.open()).toEqual([]);
    await test.pass(1_000);
    await test.delivered();
    expect(test.of("request.resolved").map(({ payload }) => payload.outcome)).toEqual(["answered"]);
    expect([outcomes.length, held.turns.length]).toEqual([0, 2]);
    second.say("done");
    await until(() => outcomes.length === 1);
    await test.pass(100);
    expect(held.turns).toHaveLength(2);
    held.turns[0]?.say("done");
    (await held.turn(2)).say("done");
    await test.quiet();
  });

  it("R40 goes on waiting for its other questions, and holds no place meanwhile", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({
      rooms: ["r1", "r2"].map((roomId) => roomOf(held, ["a"], roomId)),
      maxConcurrentTurns: 1,
    });
    await test.host.room("r1").post({ text: "go" });
    const turn = await held.turn(0);
    const [one, other] = [asks(turn, "rm a"), asks(turn, "rm b")];
    const [first, second] = test.tap.requests.open();
    test.tap.requests.answer(first?.id ?? "", { choice: "once" }, "c-1");
    await until(() => one.outcomes.length === 1);
    await test.host.room("r2").post({ text: "go" });
    const next = await held.turn(1);
    expect((await test.host.room("r1").state()).members[0]).toMatchObject({ state: "needs_input" });
    test.tap.requests.answer(second?.id ?? "", { choice: "once" }, "c-1");
    await test.pass(100);
    expect(other.outcomes).toEqual([]);
    next.say("done");
    await until(() => other.outcomes.length === 1);
    turn.say("done");
    await test.quiet();
    expect(await test.told("r1")).toEqual(["started m-a message", "settled m-a completed"]);
  });

  it("leaves its place to others for good when it is stopped or ends while it waits", async () => {
    const held = new HeldRunner();
    const rooms = ["r1", "r2", "r3"].map((roomId) => roomOf(held, ["a"], roomId));
    const test = await TestHost.open({ rooms, maxConcurrentTurns: 1 });
    await test.host.room("r1").post({ text: "go" });
    asks(await held.turn(0));
    await test.host.room("r1").stop();
    held.turns[0]?.end({ status: "cancelled" });
    await until(() => test.host.runs.length === 0);
    await test.host.room("r2").post({ text: "go" });
    asks(await held.turn(1));
    held.turns[1]?.say("never mind");
    await until(() => test.host.runs.length === 0);
    await test.host.room("r3").post({ text: "go" });
    (await held.turn(2)).say("done");
    await test.quiet();
    expect(await Promise.all(["r1", "r2", "r3"].map((roomId) => test.told(roomId)))).toEqual([
      ["started m-a message", "settled m-a stopped"],
      ["started m-a message", "settled m-a completed"],
      ["started m-a message", "settled m-a completed"],
    ]);
  });

  it("does not keep a newer post of its thread from another member", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])] });
    await test.room.post({ text: "@a one" });
    asks(await held.turn(0));
    await test.room.post({ text: "@b two" });
    (await held.turn(1)).say("b here");
    await until(() => test.room.folded.through_seq === 3);
    test.tap.requests.answer(test.tap.requests.open()[0]?.id ?? "", { choice: "once" }, "c-1");
    held.turns[0]?.say("a here");
    await test.quiet();
    expect((await test.told()).at(-1)).toBe("settled m-a newer_message");
  });
});

describe("a question in a room", () => {
  it("R50 waits for hours with nobody there, and is in the state with its member", async () => {
    const held = new HeldRunner();
    const test = await patient({ rooms: [roomOf(held)] });
    await test.room.post({ text: "go" });
    const turn = await held.turn(0);
    asks(turn, "rm -rf build", "c1");
    await test.pass(60 * minute, minute);
    const { members, open_requests } = await test.room.state();
    const [request] = test.tap.requests.open();
    expect(open_requests).toMatchObject([
      {
        id: request?.id,
        method: "approval",
        command: "rm -rf build",
        tool_id: "c1",
        coordinates: turn.turn.coordinates,
      },
    ]);
    expect(members).toMatchObject([{ state: "needs_input", open_requests: [request?.id], turn_id: turn.turn.turn_id }]);
  });

  it("R51 takes an answer by its exact id, once, and none of an attempt before", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "go" });
    const first = await held.turn(0);
    asks(first);
    const stale = test.tap.requests.open()[0]?.id ?? "";
    first.fail(new Error("broken"));
    await test.quiet();
    await test.room.retry(coordinatesOf(first.turn).task_id);
    const second = await held.turn(1);
    const { outcomes } = asks(second);
    const [{ id, request_id } = { id: "", request_id: "" }] = test.tap.requests.open();
    const answer = (exact: string) => test.tap.requests.answer(exact, { choice: "once" }, "c-1").status;
    expect([
      answer(stale),
      answer("srq-000000000000"),
      answer(id.slice(0, -1)),
      answer(coordinatesOf(first.turn).task_id),
    ]).toEqual(["already_resolved", "unknown_request", "unknown_request", "unknown_request"]);
    expect([test.tap.requests.open().length, outcomes.length]).toEqual([1, 0]);
    expect([answer(request_id ?? ""), answer(id)]).toEqual(["ok", "already_resolved"]);
    expect(test.host.counters.refused_answers).toBe(5);
    second.say("done");
    await test.quiet();
    expect(
      test
        .of("request.resolved")
        .map(({ coordinates, payload }) => [coordinates.execution_generation, payload.outcome]),
    ).toEqual([
      [1, "cancelled"],
      [2, "answered"],
    ]);
  });

  it("R52 that is denied ends its own tool, and leaves its siblings and the turn", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "go" });
    const turn = await held.turn(0);
    const asked = ["a", "b", "c"].map((name) => asks(turn, `rm ${name}`, `c-${name}`));
    const [first, ...others] = test.tap.requests.open();
    test.tap.requests.answer(first?.id ?? "", { choice: "deny" }, "c-1");
    await until(() => asked[0]?.outcomes.length === 1);
    await test.delivered();
    expect(test.of("tool.completed").map(({ payload }) => [payload.tool_id, payload.outcome])).toEqual([
      ["c-a", "denied"],
    ]);
    expect(test.tap.requests.open()).toEqual(others);
    for (const { id } of others) test.tap.requests.answer(id, { choice: "once" }, "c-1");
    await until(() => asked.every(({ outcomes }) => outcomes.length === 1));
    turn.say("done");
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
  });

  it("R53 that is equal to an open one is answered with it, and resolved once", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "go" });
    const turn = await held.turn(0);
    const asked = [asks(turn, "rm", "c1"), asks(turn, "rm", "c2"), asks(turn, "rm -f", "c3")];
    const open = test.tap.requests.open();
    expect(open.map(({ params }) => params["command"])).toEqual(["rm", "rm -f"]);
    for (const { id } of open) test.tap.requests.answer(id, { choice: "once" }, "c-1");
    await until(() => asked.every(({ outcomes }) => outcomes.length === 1));
    expect(asked.map(({ outcomes }) => outcomes[0]?.outcome)).toEqual(["answered", "answered", "answered"]);
    for (const tool_id of ["c1", "c2", "c3"])
      turn.turn.emit({ type: "tool.complete", payload: { tool_id, outcome: "ok" } });
    turn.say("done");
    await test.quiet();
    expect(test.kinds().filter((kind) => kind.startsWith("request."))).toEqual([
      "request.opened",
      "request.opened",
      "request.resolved",
      "request.resolved",
    ]);
    expect(test.of("tool.completed").map(({ payload }) => [payload.tool_id, payload.outcome])).toEqual([
      ["c1", "ok"],
      ["c2", "ok"],
      ["c3", "ok"],
    ]);
  });

  it("that is asked while others run tools keeps the turn out of `running`, and says since when", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held), roomOf(says("hi"), ["a"], "r2")] });
    await test.room.post({ text: "go" });
    const turn = await held.turn(0);
    await test.pass(1_000);
    asks(turn);
    const at = test.clock.now();
    expect((await test.room.state()).members[0]).toMatchObject({ state: "needs_input", since: at });
    await test.pass(1_000);
    expect((await test.room.state()).members[0]).toMatchObject({ state: "needs_input", since: at });
    await turnsOfLoop(1);
  });
});

describe("a runner that asks without end", () => {
  it("is told `too_many_requests` at the bound, and its turn goes on", async () => {
    const runner = runnerOf(async (turn) => {
      const asked = Array.from({ length: 33 }, (_, index) => turn.ask(approval(`rm ${index}`)));
      const last = await asked[32];
      return { status: "completed", text: String(last?.reason) };
    });
    const test = await TestHost.open({ rooms: [{ room_id: "r1", members: [member("a", runner)] }] });
    await test.room.post({ text: "go" });
    await test.quiet();
    expect((await test.rows())[1]?.payload).toMatchObject({ text: "too_many_requests" });
  });
});
