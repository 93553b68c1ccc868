import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Runner, TurnEnd } from "../../../core/index.ts";
import { checkpointOf, emptyState, fold, openSqliteLog, verifyLog } from "../../../rooms/index.ts";
import { connect } from "../../../rooms/sqlite/database.ts";
import { claim, goneProcess, loopClock, temporaryFolder } from "../../support/open-log.ts";
import { HeldRunner, roomOf, runnerOf, TestHost, until } from "../../support/open-room.ts";
import { coordinatesOf } from "../../support/turn-coordinates.ts";

/** Ends its turns as it is told, one after the other; the last end is that of all later ones. */
function endsWith(...ends: readonly TurnEnd[]): Runner {
  let next = 0;
  return runnerOf(() => ends[Math.min(next++, ends.length - 1)]);
}

const unavailable: TurnEnd = { status: "failed", reason_code: "member_unavailable" };
const refused: TurnEnd = { status: "failed", reason_code: "not_admitted" };
const here: TurnEnd = { status: "completed", text: "here" };

describe("a retry", () => {
  it("R42 is one more attempt of the same task, and is refused while there is none to be made", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "go", origin: "c-1" });
    const first = await held.turn(0);
    const { task_id, turn_id } = coordinatesOf(first.turn);
    await expect(test.room.retry("k-none")).rejects.toMatchObject({ code: "unknown_task" });
    await expect(test.room.retry(task_id)).rejects.toMatchObject({ code: "task_open" });
    first.fail(new Error("broken"));
    await test.quiet();
    const retried = await test.room.retry(task_id, { generation: 1, origin: "c-2" });
    expect(retried).toEqual({
      room_id: "r1",
      task_id,
      thread_id: "main",
      turn_id,
      status: "queued",
      execution_generation: 2,
    });
    const second = await held.turn(1);
    await expect(test.room.retry(task_id)).rejects.toMatchObject({ code: "task_open" });
    second.fail(new Error("broken again"));
    await test.quiet();
    await expect(test.room.retry(task_id, { generation: 1 })).rejects.toMatchObject({ code: "stale_generation" });
    await test.room.retry(task_id, { generation: 2 });
    (await held.turn(2)).say("here");
    await test.quiet();
    await expect(test.room.retry(task_id)).rejects.toMatchObject({ code: "not_retryable" });
    const starts = (await test.rows()).flatMap((row) => (row.kind === "turn.started" ? [row] : []));
    expect(starts.map((row) => [row.turn_id, row.execution_generation, row.payload.cause, row.payload.origin])).toEqual(
      [
        [turn_id, 1, "message", "c-1"],
        [turn_id, 2, "retry", "c-2"],
        [turn_id, 3, "retry", null],
      ],
    );
    expect(new Set(starts.map(({ payload }) => JSON.stringify(payload.input))).size).toBe(1);
    expect(held.turns.map(({ turn }) => turn.unseen.map(({ text }) => text))).toEqual([["go"], ["go"], ["go"]]);
  });

  it("R42 is stored before it is answered: a host that dies behind it leaves it to the next", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)], clock, log });
    await test.room.post({ text: "go" });
    const first = await held.turn(0);
    first.fail(new Error("broken"));
    await test.quiet();
    await test.room.pause();
    await test.room.retry(coordinatesOf(first.turn).task_id);
    await test.host.close();
    const next = await TestHost.open({ rooms: [roomOf(held)], clock, log });
    expect((await next.room.state()).threads).toMatchObject([{ status: "waiting", reason: "paused", owed: ["m-a"] }]);
    await next.room.resume();
    (await held.turn(1)).say("here");
    await next.quiet();
    expect((await next.told()).slice(2)).toEqual(["started m-a retry", "settled m-a completed"]);
  });

  it.each([false, true])(
    "C-049 gives five rows of one digest (its checkpoint deleted between: %s)",
    async (isDeleted) => {
      const file = join(temporaryFolder(), "test.db");
      const runner = endsWith(unavailable, here);
      const first = await TestHost.open({ rooms: [roomOf(runner)], file });
      await first.room.post({ text: "one" });
      await first.quiet();
      await first.close();
      if (isDeleted) {
        const other = connect(file);
        other.exec("DELETE FROM checkpoints");
        other.close();
      }
      const held = new HeldRunner();
      // The kind of a runner is part of the roster's digest.
      const again: Runner = { kind: "test", run: held.run.bind(held), close: held.close.bind(held) };
      const test = await TestHost.open({ rooms: [roomOf(again)], file });
      const [started] = await test.rows();
      await test.room.retry(started?.task_id ?? "");
      (await held.turn(0)).say("here");
      await test.quiet();
      await test.room.post({ text: "two" });
      await held.turn(1);
      const rows = await test.rows();
      expect(
        rows.map((row) => [
          row.kind,
          row.execution_generation,
          row.kind === "turn.started" ? row.payload.cause : row.payload.status,
        ]),
      ).toEqual([
        ["turn.started", 1, "message"],
        ["turn.settled", 1, "failed"],
        ["turn.started", 2, "retry"],
        ["turn.settled", 2, "completed"],
        ["turn.started", 1, "message"],
      ]);
      expect(new Set(rows.slice(0, 4).map(({ task_id }) => task_id)).size).toBe(1);
      const inSteps = rows.reduce((state, row) => fold(state, [row]), emptyState("r1"));
      const digest = checkpointOf(fold(emptyState("r1"), rows), "").digest;
      expect([checkpointOf(inSteps, "").digest, checkpointOf(test.room.folded, "").digest]).toEqual([digest, digest]);
      held.turns[1]?.say("here");
      await test.quiet();
    },
  );
});

describe("a turn that was not admitted", () => {
  it("R41 is tried again after 1 s and 2 s, three times in all, and a restart does not hurry it", async () => {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const starts: number[] = [];
    const runner = runnerOf(() => {
      starts.push(clock.monotonic());
      return refused;
    });
    const first = await TestHost.open({ rooms: [roomOf(runner)], clock, log });
    await first.room.post({ text: "go" });
    await until(() => starts.length === 1);
    await first.pass(500);
    await first.host.close();
    const next = await TestHost.open({ rooms: [roomOf(runner)], clock, log });
    await next.pass(475);
    expect([starts, (await next.room.state()).members[0]?.behind]).toEqual([[0], "due"]);
    await next.pass(2_100);
    await next.pass(60_000, 250);
    expect(starts).toEqual([0, 1_000, 3_000]);
    const rows = await next.rows();
    expect(rows.map((row) => [row.kind, row.execution_generation])).toEqual(
      [1, 2, 3].flatMap((generation) => [
        ["turn.started", generation],
        ["turn.settled", generation],
      ]),
    );
    expect(await next.told()).toEqual(
      ["message", "retry", "retry"].flatMap((cause) => [`started m-a ${cause}`, "settled m-a not_admitted"]),
    );
    expect((await next.room.state()).members).toMatchObject([
      { state: "failed", reason_code: "not_admitted", retryable: true },
    ]);
  });
});

describe("a turn whose host died", () => {
  /** The rows that the next host leaves. */
  async function recovered(rerun: "safe" | undefined, attempts = 1): Promise<{ test: TestHost; held: HeldRunner }> {
    const clock = loopClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    const held = new HeldRunner();
    const runner: Runner = { kind: "test", rerun, run: held.run.bind(held), close: held.close.bind(held) };
    for (let attempt = 0; attempt < attempts; attempt++) {
      const dead = await TestHost.open({ rooms: [roomOf(runner)], clock, log });
      if (attempt === 0) await dead.room.post({ text: "go" });
      await held.turn(attempt);
      await claim(log, "r1", "dead", goneProcess);
    }
    return { test: await TestHost.open({ rooms: [roomOf(runner)], clock, log }), held };
  }

  it("R48 is run again by itself when its runner says that it is safe", async () => {
    const { test, held } = await recovered("safe");
    const { turn, say } = await held.turn(1);
    expect([coordinatesOf(turn).execution_generation, turn.unseen.map(({ text }) => text)]).toEqual([2, ["go"]]);
    say("here");
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a host_lost",
      "started m-a auto_continue",
      "settled m-a completed",
    ]);
    const [, , again] = await test.rows();
    expect(again?.kind === "turn.started" && again.payload.origin).toBe("auto_continue");
  });

  it("R48 is abandoned and no more with another runner, and its member is told as failed", async () => {
    const { test, held } = await recovered(undefined);
    await test.quiet();
    expect([held.turns.length, ...(await test.told())]).toEqual([1, "started m-a message", "settled m-a host_lost"]);
    expect((await test.room.state()).members).toMatchObject([
      { member_id: "m-a", state: "failed", reason_code: "host_lost", retryable: true },
    ]);
  });

  it("R48 that kills its host each time is run three times by itself, not more", async () => {
    const { test, held } = await recovered("safe", 3);
    await test.quiet();
    expect(held.turns).toHaveLength(3);
    expect((await test.told()).at(-1)).toBe("settled m-a host_lost");
  });
});

describe("a room", () => {
  type Act = "post" | "fail" | "answer" | "retry" | "stop" | "pause" | "resume";
  const acts: readonly Act[] = ["post", "fail", "answer", "retry", "stop", "pause", "resume"];

  async function carryOut(act: Act, test: TestHost, held: HeldRunner): Promise<void> {
    const { room } = test;
    const open = held.turns.at(-1);
    if (act === "post") await room.post({ text: "go on" });
    else if (act === "fail") open?.fail(new Error("broken"));
    else if (act === "answer") open?.say("here");
    else if (act === "stop") await room.stop();
    else if (act === "pause") await room.pause();
    else if (act === "resume") await room.resume();
    else await room.retry(room.folded.tasks.at(-1)?.task_id ?? "k-none").catch(() => undefined);
  }

  it("R43 C-049 answers the next post, whatever was done to it before", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...acts), { maxLength: 14 }), async (plan) => {
        const held = new HeldRunner();
        const test = await TestHost.open({ rooms: [roomOf(held)] });
        for (const act of plan) {
          await carryOut(act, test, held);
          await test.pass(50);
        }
        await test.room.resume();
        const { message_id } = await test.room.post({ text: "the last one" });
        for (let turn = 0; turn < 40 && !isAnswered(test, message_id); turn++) {
          for (const { say } of held.turns) say("here");
          await test.pass(50);
        }
        expect(isAnswered(test, message_id)).toBe(true);
        await test.quiet();
        for await (const verdict of verifyLog(test.log, loopClock())) expect(verdict.problem).toBeNull();
        await test.close();
      }),
      { numRuns: 25 },
    );
  });

  function isAnswered(test: TestHost, messageId: string): boolean {
    const { tasks } = test.room.folded;
    return tasks.some(({ discussion, status }) => discussion.message_id === messageId && status === "completed");
  }
});
