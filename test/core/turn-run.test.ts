import { describe, expect, it } from "vitest";
import type { Correction, Turn, TurnEnd } from "../../core/index.ts";
import { turnsOfLoop } from "../support/turns-of-loop.ts";
import { HeldRunner, runnerOf, says, type HeldTurn } from "../support/held-runner.ts";
import { approval, asks, HeldPlace, holdRun, OpenRun, startRun } from "../support/open-run.ts";

describe("a run", () => {
  it("hands its runner the turn and gives the end of it", async () => {
    const { open, turn, say } = await holdRun();
    expect([turn.turn_id, turn.coordinates, turn.session, turn.signal.aborted]).toEqual(["t-1", null, "plain", false]);
    await open.pass(250);
    say("done");
    await open.pass(0);
    expect(open.settled).toEqual({
      status: "completed",
      reason_code: null,
      text: "done",
      truncated: false,
      error: null,
      usage: null,
      activity_count: 0,
      duration_ms: 250,
    });
    expect([open.run.hasEnded, open.run.execution.sealed]).toEqual([true, true]);
  });

  it.each<[string, () => unknown, string]>([
    ["throws", () => Promise.reject(new Error("broken")), "broken"],
    ["says no end", () => undefined, "expected an object, got undefined"],
  ])("fails when its runner %s", async (_, run, error) => {
    const settled = await new OpenRun({ runner: runnerOf(run) }).start();
    expect(settled).toMatchObject({ status: "failed", reason_code: "runner_error" });
    expect(settled.error).toContain(error);
  });

  it("refuses what its runner emits after the end, and what only the host builds", async () => {
    const { open, turn, say } = await holdRun();
    expect(turn.emit({ type: "message.complete", payload: { status: "complete" } })).toBe("invalid_frame");
    say("done");
    await open.pass(0);
    const count = open.frames.length;
    expect(turn.emit({ type: "message.delta", payload: { text: "more" } })).toBe("late_frame");
    expect(open.frames).toHaveLength(count);
  });

  it.each<[string, (open: OpenRun, held: HeldTurn) => void]>([
    ["by itself", (_, { say }) => say("done")],
    ["after a stop", ({ run }, { say }) => [run.stop("stopped"), say("done")]],
    ["after two stops", ({ run }) => [run.stop("interrupted", 2), run.stop("stopped", 1)]],
    ["at its deadline", ({ bus }) => bus.clock.advance(1_800_000)],
    ["while it waits for a person", ({ run }, { turn }) => [asks(turn), run.stop("stopped", 0)]],
  ])("leaves no timer behind when it ends %s", async (_, finish) => {
    const held = new HeldRunner();
    const open = startRun({ runner: held, stopGraceMs: 0 });
    expect(open.timers).toBe(1);
    finish(open, await held.turn(0));
    await open.pass(1);
    expect([open.settled === null, open.timers]).toEqual([false, 0]);
  });

  it("says that it is done when it is told so", async () => {
    const { run } = new OpenRun({ runner: says("done") });
    let isDone = false;
    void run.done.then(() => (isDone = true));
    await run.run();
    expect(isDone).toBe(false);
    run.markDone();
    await run.done;
    expect(isDone).toBe(true);
  });
});

describe("a turn that waits for a person", () => {
  it("gives up its place, and hears the answer when it has one again", async () => {
    const place = new HeldPlace();
    const { open, turn } = await holdRun({ place });
    const answers = asks(turn);
    expect([open.run.waits, open.run.isParked, place.parks, open.changes]).toEqual([true, true, 1, 1]);
    expect(await open.run.parked()).toBe("parked");
    await open.answer();
    expect([open.run.waits, open.run.isParked, answers]).toEqual([false, true, []]);
    await place.give();
    await open.run.going();
    expect([open.run.isParked, open.changes, answers]).toEqual([
      false,
      2,
      [{ outcome: "answered", choice: "once", by: { origin: "c-a" } }],
    ]);
  });

  it("goes on waiting for its other questions after one answer", async () => {
    const place = new HeldPlace();
    const { open, turn } = await holdRun({ place });
    const [first, second] = [asks(turn, "one"), asks(turn, "two")];
    await open.answer();
    await place.give();
    expect([open.run.isParked, place.parks, first.length, second.length]).toEqual([true, 2, 1, 0]);
    await open.answer("deny");
    await place.give();
    expect([open.run.isParked, place.parks, second.map(({ outcome }) => outcome)]).toEqual([false, 2, ["denied"]]);
  });

  it("can wait again once it goes on", async () => {
    const { open, turn } = await holdRun();
    asks(turn);
    await open.answer();
    const heard: string[] = [];
    void open.run.parked().then(() => heard.push("parked"));
    await turnsOfLoop(1);
    expect([open.run.isParked, heard]).toEqual([false, []]);
    asks(turn);
    void open.run.going().then(() => heard.push("going"));
    await turnsOfLoop(1);
    expect([open.run.isParked, heard]).toEqual([true, ["parked"]]);
    await open.answer();
    expect([open.run.isParked, heard]).toEqual([false, ["parked", "going"]]);
  });

  it("hears the answer without a place when it has left meanwhile", async () => {
    const place = new HeldPlace();
    const { open, turn } = await holdRun({ place });
    const answers = asks(turn);
    await open.answer();
    await place.give(false);
    expect([open.run.isParked, open.changes, answers.length]).toEqual([true, 1, 1]);
  });

  it("that is stopped asks for no place", async () => {
    const place = new HeldPlace();
    const { open, turn, end } = await holdRun({ place });
    asks(turn);
    open.run.stop("stopped");
    end({ status: "cancelled" });
    await open.run.going();
    expect([place.waiting, open.run.hasEnded]).toEqual([[], true]);
  });

  it("keeps its place when its question ends at once", async () => {
    const place = new HeldPlace();
    const { open, turn } = await holdRun({ place });
    open.bus.tap.requests.on("opened", ({ id }) => open.bus.tap.requests.answer(id, { choice: "once" }, null));
    expect((await turn.ask(approval("rm"))).outcome).toBe("answered");
    expect([place.parks, open.run.isParked]).toEqual([0, false]);
  });
});

/** A runner that takes corrections as `take` says, and keeps them. */
class SteeredRunner extends HeldRunner {
  readonly corrections: (readonly [Turn, Correction])[] = [];
  readonly #take: () => boolean | Promise<boolean>;

  constructor(take: () => boolean | Promise<boolean>) {
    super();
    this.#take = take;
  }

  steer(turn: Turn, correction: Correction): boolean | Promise<boolean> {
    this.corrections.push([turn, correction]);
    return this.#take();
  }
}

const steer: Correction = { kind: "steer", text: "shorter" };

describe("a correction", () => {
  it.each<[string, boolean | Promise<boolean>]>([
    ["taken", true],
    ["taken", Promise.resolve(true)],
    ["refused", false],
    ["refused", Promise.resolve(false)],
  ])("is %s as the runner says, and comes with the turn that it got", async (word, said) => {
    const runner = new SteeredRunner(() => said);
    const { run } = startRun({ runner });
    const redirect: Correction = { kind: "redirect", text: "tests first" };
    expect([await run.correct(steer), await run.correct(redirect)]).toEqual([word, word]);
    const { turn } = await runner.turn(0);
    expect(runner.corrections.map(([given]) => given === turn)).toEqual([true, true]);
    expect(runner.corrections.map(([, correction]) => correction)).toEqual([steer, redirect]);
  });

  it("is refused for a runner that takes none", async () => {
    const { open } = await holdRun();
    expect(await open.run.correct(steer)).toBe("refused");
  });

  it.each<[string, (open: OpenRun, end: (end: TurnEnd) => void) => void]>([
    ["after the end", (_, end) => end({ status: "completed", text: "done" })],
    ["after a stop", ({ run }) => run.stop("stopped")],
    ["after the grace", ({ run }) => run.stop("stopped", 0)],
    ["after a fence", ({ run }) => run.fence()],
  ])("is refused %s without asking the runner", async (_, finish) => {
    const runner = new SteeredRunner(() => true);
    const open = startRun({ runner });
    finish(open, (await runner.turn(0)).end);
    await open.pass(0);
    expect([await open.run.correct(steer), runner.corrections]).toEqual(["refused", []]);
  });

  it("reaches a turn that waits for a person", async () => {
    const runner = new SteeredRunner(() => true);
    const open = startRun({ runner });
    asks((await runner.turn(0)).turn);
    expect([open.run.isParked, await open.run.correct(steer)]).toEqual([true, "taken"]);
  });

  it("rejects with what the runner throws, and the turn goes on", async () => {
    const fault = new Error("broken");
    const runner = new SteeredRunner(() => {
      throw fault;
    });
    const open = startRun({ runner });
    await expect(open.run.correct(steer)).rejects.toBe(fault);
    (await runner.turn(0)).say("done");
    await turnsOfLoop(1);
    expect(open.settled?.status).toBe("completed");
  });
});
