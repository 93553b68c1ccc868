import { describe, expect, it } from "vitest";
import { HeldRunner } from "../support/held-runner.ts";
import { approval, asks, HeldPlace, holdRun, OpenRun } from "../support/open-run.ts";

describe("a stop", () => {
  it("aborts the turn with its word, and the end is cancelled whatever the runner says", async () => {
    const { open, turn, say } = await holdRun();
    open.run.stop("stopped");
    expect([turn.signal.reason, open.run.isStopping, open.changes]).toEqual(["stopped", true, 1]);
    say("so far");
    await open.pass(0);
    expect(open.settled).toMatchObject({ status: "cancelled", reason_code: "stopped", text: "so far" });
  });

  it.each([
    ["stopped", "interrupted"],
    ["shutdown", "shutdown"],
  ] as const)("of the word %s withdraws what is asked as %s, and what is asked later", async (word, reason) => {
    const { open, turn } = await holdRun();
    const answers = asks(turn);
    open.run.stop(word);
    await open.pass(0);
    expect(answers).toEqual([{ outcome: "cancelled", reason, by: null }]);
    expect(await turn.ask(approval("rm"))).toEqual({ outcome: "cancelled", reason: "interrupted", by: null });
    expect([open.run.waits, open.bus.tap.requests.open()]).toEqual([false, []]);
  });

  it("before the start leaves the runner uncalled", async () => {
    const held = new HeldRunner();
    const open = new OpenRun({ runner: held });
    open.run.stop("interrupted");
    expect(await open.start()).toMatchObject({ status: "cancelled", reason_code: "interrupted", text: "" });
    expect(held.turns).toEqual([]);
  });

  it("after the end changes nothing", async () => {
    const { open, turn, say } = await holdRun();
    say("done");
    await open.pass(0);
    open.run.stop("stopped");
    expect([turn.signal.aborted, open.run.isStopping, open.changes]).toEqual([false, false, 0]);
    expect(open.settled?.status).toBe("completed");
  });
});

describe("the grace of a stop", () => {
  it.each([
    ["its default", {}, 30_000],
    ["what was set", { stopGraceMs: 400 }, 400],
  ])("is %s", async (_, options, graceMs) => {
    const { open, turn } = await holdRun(options);
    turn.emit({ type: "message.delta", payload: { text: "so far" } });
    open.run.stop("stopped");
    await open.pass(graceMs - 1);
    expect([open.settled, open.run.hasEnded]).toEqual([null, false]);
    await open.pass(1);
    expect([open.settled?.reason_code, open.settled?.text, open.run.hasEnded]).toEqual(["stopped", "so far", true]);
  });

  it("over, what the runner still says and throws is nobody's", async () => {
    const { open, turn, fail } = await holdRun({ stopGraceMs: 0 });
    open.run.stop("stopped");
    await open.pass(0);
    const { settled } = open;
    expect(turn.emit({ type: "message.delta", payload: { text: "late" } })).toBe("late_frame");
    fail(new Error("late"));
    await open.pass(0);
    expect([open.settled, open.settled?.status]).toEqual([settled, "cancelled"]);
  });

  it.each([
    [100, 300],
    [300, 100],
  ])("is the shorter of %i and %i ms, with the first reason", async (first, second) => {
    const { open, turn } = await holdRun();
    open.run.stop("interrupted", first);
    open.run.stop("shutdown", second);
    expect([turn.signal.reason, open.changes]).toEqual(["interrupted", 1]);
    await open.pass(99);
    expect(open.settled).toBeNull();
    await open.pass(1);
    expect(open.settled).toMatchObject({ status: "cancelled", reason_code: "interrupted", duration_ms: 100 });
  });
});

describe("a fence", () => {
  it("seals at once, and the runner is told to stop", async () => {
    const { open, turn } = await holdRun();
    turn.emit({ type: "message.delta", payload: { text: "so far" } });
    open.run.fence();
    expect([turn.signal.reason, open.run.execution.sealed]).toEqual(["shutdown", true]);
    expect(turn.emit({ type: "message.delta", payload: { text: "late" } })).toBe("late_frame");
    await open.pass(0);
    expect(open.settled).toMatchObject({ status: "cancelled", reason_code: "shutdown", text: "so far" });
  });
});

describe("the deadline", () => {
  it.each([
    ["its default", {}, 1_800_000],
    ["what was set", { turnDeadlineMs: 1_000 }, 1_000],
  ])("is %s", async (_, options, deadlineMs) => {
    const { open, turn, say } = await holdRun(options);
    await open.pass(deadlineMs - 1);
    expect(turn.signal.aborted).toBe(false);
    await open.pass(1);
    expect([turn.signal.reason, open.settled]).toEqual(["turn_deadline", null]);
    say("late");
    await open.pass(0);
    expect(open.settled).toMatchObject({ status: "failed", reason_code: "turn_deadline", text: "late" });
  });

  it("does not count the time in which the turn waits for a person", async () => {
    const { open, turn, end } = await holdRun({ turnDeadlineMs: 1_000, stopGraceMs: 0 });
    await open.pass(400);
    asks(turn);
    await open.pass(5_000);
    await open.answer();
    await open.pass(599);
    expect(turn.signal.aborted).toBe(false);
    await open.pass(1);
    expect([turn.signal.reason, open.settled?.duration_ms]).toEqual(["turn_deadline", 1_000]);
    end({ status: "cancelled" });
  });

  it("does not count the time in which an answered turn waits for a place", async () => {
    const place = new HeldPlace();
    const { open, turn } = await holdRun({ turnDeadlineMs: 1_000, place });
    await open.pass(400);
    asks(turn);
    await open.answer();
    await open.pass(5_000);
    await place.give();
    await open.pass(599);
    expect(turn.signal.aborted).toBe(false);
    await open.pass(1);
    expect(turn.signal.reason).toBe("turn_deadline");
  });

  it("does not shorten the grace of a stop", async () => {
    const { open } = await holdRun({ turnDeadlineMs: 100, stopGraceMs: 0 });
    open.run.stop("stopped", 300);
    await open.pass(299);
    expect(open.settled).toBeNull();
    await open.pass(1);
    expect(open.settled?.reason_code).toBe("stopped");
  });

  it("is over with the turn", async () => {
    const { open, turn, say } = await holdRun({ turnDeadlineMs: 1_000 });
    say("done");
    await open.pass(1_000);
    expect([turn.signal.aborted, open.settled?.status]).toEqual([false, "completed"]);
  });
});
