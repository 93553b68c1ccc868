import { describe, expect, it } from "vitest";
import type { JsonObject, ManualClock, Runner, Turn } from "../../../core/index.ts";
import { emptyState, fold, openSqliteLog, type RoomLog } from "../../../rooms/index.ts";
import { interposed } from "../../support/interposed.ts";
import { loopClock } from "../../support/open-log.ts";
import { HeldRunner, roomOf, runnerOf, says, secret, TestHost, until } from "../../support/open-room.ts";

/** Two tools of which one ends, and a question that nobody answers. */
function leaveOpen(turn: Turn): void {
  turn.emit({ type: "tool.start", payload: { tool_id: "A", name: "read" } });
  turn.emit({ type: "tool.start", payload: { tool_id: "B", name: "write" } });
  turn.emit({ type: "tool.complete", payload: { tool_id: "A", outcome: "ok" } });
  void turn.ask({ method: "approval", params: { command: "rm" } });
}

/** Throws whatever of it is read, but for the `then` that a promise looks for. */
const unreadable: object = new Proxy(new Error("x"), {
  get(_, key) {
    if (key === "then") return undefined;
    throw new Error("unreadable");
  },
});

/** What a turn is told to end with, behind its start and its tools. */
const lastOf = (test: TestHost): readonly unknown[] =>
  test.events.slice(-3).map(({ kind, payload }) => {
    const { tool_id, outcome, status, reason_code } = payload as JsonObject;
    return [kind, tool_id ?? null, outcome ?? status, reason_code ?? null];
  });

/** A clock that counts the timers that have neither run nor been undone. */
function countingClock(): { readonly clock: ManualClock; readonly timers: () => number } {
  const base = loopClock();
  let timers = 0;
  const after: ManualClock["after"] = (delayMs, run) => {
    timers++;
    let isOver = false;
    const end = (): void => {
      if (!isOver) timers--;
      isOver = true;
    };
    const undo = base.after(delayMs, () => {
      end();
      run();
    });
    return () => {
      end();
      undo();
    };
  };
  return { clock: { ...base, after }, timers: () => timers };
}

/** What runners do, and how their turns settle. */
const strangeEnds: readonly (readonly [string, () => unknown, string])[] = [
  ["undefined", () => undefined, "runner_error"],
  ["a number", () => 7, "runner_error"],
  ["null", () => null, "runner_error"],
  ["no status", () => ({}), "runner_error"],
  ["an unknown status", () => ({ status: "abandoned" }), "runner_error"],
  ["a reason that is none", () => ({ status: "failed", reason_code: "constructor" }), "runner_error"],
  ["a text that is none", () => ({ status: "completed", text: 7 }), "runner_error"],
  ["a usage that is none", () => ({ status: "completed", text: "x", usage: "much" }), "completed"],
  [
    "an error object",
    () => ({ status: "failed", reason_code: "provider_auth", error: new Error("x") }),
    "provider_auth",
  ],
  ["fields that throw", () => unreadable, "runner_error"],
  ["a rejection with nothing", () => Promise.reject(undefined), "runner_error"],
  ["a rejection that cannot be read", () => Promise.reject(unreadable), "runner_error"],
  ["nothing said", () => ({ status: "completed" }), "no_result"],
  ["its own cancel", () => ({ status: "cancelled" }), "interrupted"],
  ["half a surrogate pair", () => ({ status: "completed", text: "a\ud800" }), "completed"],
  [
    "a usage with odd figures",
    () => ({ status: "completed", text: "x", usage: JSON.parse('{"__proto__":1,"a":1}') }),
    "completed",
  ],
  ["2 MiB of control characters", () => ({ status: "completed", text: "\u0001".repeat(2_097_152) }), "completed"],
  [
    "an error of 2 MiB",
    () => {
      throw new Error("\u0001".repeat(2_097_152));
    },
    "runner_error",
  ],
];

describe("the ends of a turn", () => {
  it("C-005 throw: request, tool and turn end in order, and the secret nowhere shows", async () => {
    let late: Turn | undefined;
    const runner = runnerOf((turn) => {
      late = turn;
      leaveOpen(turn);
      throw new Error(`no access with ${secret}`);
    });
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    await test.room.post({ text: "go" });
    await test.quiet();
    expect(lastOf(test)).toEqual([
      ["request.resolved", null, "cancelled", null],
      ["tool.completed", "B", "interrupted", null],
      ["turn.settled", null, "failed", "runner_error"],
    ]);
    const rows = await test.rows();
    expect(rows.map(({ kind }) => kind)).toEqual(["turn.started", "turn.settled"]);
    expect(rows[1]?.payload).toMatchObject({ error: "no access with [redacted]", activity_count: 8 });
    expect(JSON.stringify([rows, test.events, test.notices])).not.toContain(secret);
    expect(late?.emit({ type: "tool.complete", payload: { tool_id: "B" } })).toBe("late_frame");
    expect(test.tap.seam.refused("late_frame")).toBe(1);
  });

  it("C-005 cancel: the same order, `cancelled`", async () => {
    const runner = runnerOf(
      (turn) =>
        new Promise((resolve) => {
          leaveOpen(turn);
          turn.emit({ type: "message.delta", payload: { text: "half" } });
          turn.signal.addEventListener("abort", () => resolve({ status: "completed", text: "whole" }));
        }),
    );
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    await test.room.post({ text: "go" });
    await until(() => test.host.runs.length === 1 && test.tap.requests.open().length === 1);
    await test.host.close();
    await test.delivered();
    expect(lastOf(test)).toEqual([
      ["request.resolved", null, "cancelled", null],
      ["tool.completed", "B", "interrupted", null],
      ["turn.settled", null, "cancelled", "shutdown"],
    ]);
    expect((await test.rows())[1]?.payload).toMatchObject({ text: "half", error: null });
  });

  it("C-005 the runner's process exits: `runner_lost`", async () => {
    const runner = runnerOf((turn) => {
      leaveOpen(turn);
      return { status: "failed", reason_code: "runner_lost", error: `exit 1, ${secret}` };
    });
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    await test.room.post({ text: "go" });
    await test.quiet();
    expect(lastOf(test)).toEqual([
      ["request.resolved", null, "cancelled", null],
      ["tool.completed", "B", "interrupted", null],
      ["turn.settled", null, "failed", "runner_lost"],
    ]);
    expect(test.of("request.resolved")[0]?.payload.reason).toBe("runner_lost");
    expect((await test.rows())[1]?.payload).toMatchObject({ error: "exit 1, [redacted]" });
  });

  it.each(strangeEnds)("settle once with %s", async (_, run, end) => {
    const test = await TestHost.open({ rooms: [roomOf(runnerOf(run))] });
    await test.room.post({ text: "go" });
    await test.quiet();
    expect(await test.told()).toEqual(["started m-a message", `settled m-a ${end}`]);
    expect(test.notices).toEqual([]);
  });

  it("settle a turn whose runner hangs after a stop when the grace is over", async () => {
    const options = { stopGraceMs: 30_000, leaseTtlMs: 120_000 };
    const test = await TestHost.open({ rooms: [roomOf(new HeldRunner())], ...options });
    await test.room.post({ text: "go" });
    await until(() => test.host.runs.length === 1);
    const closing = test.host.close();
    await test.pass(29_999, 29_999);
    expect(await test.told()).toEqual(["started m-a message"]);
    test.clock.advance(1);
    await closing;
    expect(await test.told()).toEqual(["started m-a message", "settled m-a shutdown"]);
  });

  it("refuse what a runner emits or asks behind them", async () => {
    const held = new HeldRunner();
    const test = await TestHost.open({ rooms: [roomOf(held)] });
    await test.room.post({ text: "go" });
    const { turn, say } = await held.turn(0);
    say("done");
    await test.quiet();
    expect(turn.emit({ type: "message.delta", payload: { text: "late" } })).toBe("late_frame");
    const outcome = await turn.ask({ method: "approval", params: { command: "rm" } });
    expect(outcome).toEqual({ outcome: "cancelled", reason: "interrupted", by: null });
    await test.delivered();
    expect(test.kinds()).toEqual(["turn.started", "message.delta", "turn.settled"]);
    expect(await test.told()).toHaveLength(2);
  });

  it("C-049 one that failed blocks nothing: the next post is answered", async () => {
    let turns = 0;
    const runner = runnerOf(() =>
      turns++ === 0 ? { status: "failed", reason_code: "member_unavailable" } : { status: "completed", text: "here" },
    );
    const test = await TestHost.open({ rooms: [roomOf(runner)] });
    await test.room.post({ text: "one" });
    await test.quiet();
    await test.room.post({ text: "two" });
    await test.quiet();
    expect(await test.told()).toEqual([
      "started m-a message",
      "settled m-a member_unavailable",
      "started m-a message",
      "settled m-a completed",
    ]);
    const rows = await test.rows();
    const inSteps = rows.reduce((state, row) => fold(state, [row]), emptyState("r1"));
    expect(inSteps).toEqual(test.room.folded);
  });

  it("leave no timer and no open request behind", async () => {
    const { clock, timers } = countingClock();
    const ends: Runner[] = [
      runnerOf(leaveOpen),
      runnerOf((turn) => new Promise((resolve) => turn.signal.addEventListener("abort", resolve))),
      says("hi"),
    ];
    const test = await TestHost.open({ rooms: ends.map((runner, index) => roomOf(runner, ["a"], `r${index}`)), clock });
    await Promise.all(test.host.rooms.map((room) => room.post({ text: "go" })));
    await until(() => test.of("turn.settled").length === 2);
    await test.host.close();
    await test.delivered();
    expect(test.of("turn.settled")).toHaveLength(3);
    expect([timers(), test.tap.requests.open().length, test.host.runs.length]).toEqual([0, 0, 0]);
  });

  it("start no timer for a stop that comes when the turn has ended", async () => {
    const { clock, timers } = countingClock();
    const log = await openSqliteLog({ file: ":memory:", clock });
    let commit = (): void => undefined;
    const append: RoomLog["append"] = async (given) => {
      if (given.rows[0]?.kind === "turn.settled") await new Promise<void>((resolve) => (commit = resolve));
      return log.append(given);
    };
    const test = await TestHost.open({ rooms: [roomOf(says("hi"))], clock, log: interposed(log, { append }) });
    await test.room.post({ text: "go" });
    await test.pass(50);
    const closing = test.host.close();
    await test.pass(50);
    commit();
    await closing;
    expect(timers()).toBe(0);
    expect(await test.told()).toEqual(["started m-a message", "settled m-a completed"]);
  });
});
