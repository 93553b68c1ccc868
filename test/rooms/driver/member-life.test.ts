import { describe, expect, it } from "vitest";
import type { MemberEntry } from "../../../core/index.ts";
import { HeldRunner, roomOf, TestHost, until } from "../../support/open-room.ts";

describe("a member", () => {
  /** Its entry now. */
  const entryOf = async (test: TestHost, index = 0): Promise<MemberEntry | undefined> =>
    (await test.room.state()).members[index];

  it("R59 is told idle, queued, running, needs_input, running, stopping, idle; and failed", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held), roomOf(held, ["a"], "r2")], maxConcurrentTurns: 1 });
    const states: unknown[] = [];
    const note = async (): Promise<void> => void states.push((await entryOf(test))?.state);
    await note();
    await test.host.room("r2").post({ text: "go" });
    const elsewhere = await held.turn(0);
    await test.room.post({ text: "go" });
    await test.pass(50);
    await note();
    elsewhere.say("done");
    const { turn, end } = await held.turn(1);
    await note();
    turn.emit({ type: "tool.start", payload: { tool_id: "c1", name: "read" } });
    const outcome = turn.ask({ method: "approval", params: { command: "rm", tool_id: "c1" } });
    await note();
    expect(await entryOf(test)).toMatchObject({
      thread_id: "main",
      turn_id: turn.turn_id,
      execution_generation: 1,
      tool: { tool_id: "c1", name: "read" },
      open_requests: [test.tap.requests.open()[0]?.id],
    });
    test.tap.requests.answer(test.tap.requests.open()[0]?.id ?? "", { choice: "once" }, "c-1");
    await outcome;
    await note();
    await test.room.stop();
    await note();
    end({ status: "cancelled" });
    await test.quiet();
    await note();
    await test.room.post({ text: "again" });
    (await held.turn(2)).fail(new Error("broken"));
    await test.quiet();
    await note();
    expect(states).toEqual(["idle", "queued", "running", "needs_input", "running", "stopping", "idle", "failed"]);
    expect(await entryOf(test)).toMatchObject({
      reason_code: "runner_error",
      retryable: true,
      last: { status: "failed" },
    });
  });

  it("R59 that waits is told what for: a place, its own open turn, its turn in the thread", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held, ["a", "b"])] });
    await test.room.post({ text: "@a @b one" });
    await held.turn(0);
    expect(await entryOf(test, 1)).toMatchObject({ state: "queued", behind: "thread", position: 1 });
    await test.room.post({ text: "@a two", thread_id: "side" });
    expect(await entryOf(test, 0)).toMatchObject({ state: "running", thread_id: "main" });
    const { threads } = await test.room.state();
    expect(threads.map(({ thread_id, status, reason }) => [thread_id, status, reason])).toEqual([
      ["main", "running", null],
      ["side", "waiting", "member_busy"],
    ]);
    for (let index = 0; index < 3; index++) (await held.turn(index)).say("done");
    await test.quiet();
    expect((await test.room.state()).members.map(({ state }) => state)).toEqual(["idle", "idle"]);
  });

  it("is read without starting anything, and is of one instant", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.pause();
    await test.room.post({ text: "go" });
    for (let count = 0; count < 5; count++) await test.room.state();
    expect((await test.rows()).length).toBe(0);
    await test.room.resume();
    const [state] = await Promise.all([test.room.state(), until(() => held.turns.length === 1)]);
    const isOpen = state.members[0]?.state === "running";
    expect(state.log.latest_seq).toBe(isOpen ? 1 : 0);
    expect(state.lease).toEqual({ generation: 1, held: true });
    held.turns[0]?.say("done");
    await test.quiet();
  });
});
