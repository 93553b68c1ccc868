import { describe, expect, it } from "vitest";
import { countingIds, manualClock, SessionHost, Tap, type LiveSession, type RunnerFrame } from "../../../core/index.ts";
import { createScriptedRunner } from "../../../plugins/runners/scripted.ts";
import { fakeTurn, type FakeTurn } from "../../support/fake-turn.ts";
import { MemorySessions } from "../../support/memory-sessions.ts";
import { taken } from "../../support/open-sessions.ts";
import { turnsOfLoop } from "../../support/turns-of-loop.ts";

/** A turn of a session of its own that is asked this. */
const asked = (post: string): FakeTurn => Object.assign(fakeTurn({ post }), { coordinates: null });

/** A script that is played in a session, and stands where it waits. */
async function started(script: object) {
  const clock = manualClock();
  const runner = createScriptedRunner({ script: "message", clock });
  const turn = asked(JSON.stringify(script));
  const end = runner.run(turn);
  await turnsOfLoop(1);
  const deltas = (): readonly unknown[] => turn.frames.flatMap((frame) => textOf(frame) ?? []);
  return { clock, runner, turn, end, deltas };
}

const textOf = ({ type, payload }: RunnerFrame): unknown => (type === "message.delta" ? payload?.["text"] : undefined);

const waits = { steps: [{ delta: "a" }, { sleep_ms: 1_000 }, { delta: "b" }], steer: [{ delta: "s" }] };

describe("a scripted agent in a session", () => {
  it.each([
    ["hello", ["hello"]],
    ["tell me more", ["tell ", "me ", "more"]],
    [" two\n words ", [" ", "two\n ", "words "]],
    ["1 2 3 4 5 6 7 8 9", ["1 2 ", "3 4 ", "5 6 ", "7 8 ", "9"]],
  ])("repeats words: %j", async (text, pieces) => {
    const turn = asked(text);
    const end = await createScriptedRunner({ script: "message", clock: manualClock() }).run(turn);
    expect(turn.frames.map(textOf)).toEqual(pieces);
    expect(end).toEqual({ status: "completed" });
  });

  it("passes when it is told nothing, and in a room when it is told words", async () => {
    const runner = createScriptedRunner({ script: "message", clock: manualClock() });
    expect(await runner.run(asked(""))).toEqual({ status: "passed" });
    expect(await runner.run(fakeTurn({ post: "hello" }))).toEqual({ status: "passed" });
  });

  it("takes a steer, and plays its steps before what is left", async () => {
    const { clock, runner, turn, end, deltas } = await started(waits);
    expect(await runner.steer?.(turn, { kind: "steer", text: "x" })).toBe(true);
    clock.advance(1_000);
    await end;
    expect(deltas()).toEqual(["a", "s", "b"]);
  });

  it("takes a redirect at once, and plays its steps instead of what is left", async () => {
    const { runner, turn, end, deltas } = await started(waits);
    expect(await runner.steer?.(turn, { kind: "redirect", text: "x" })).toBe(true);
    expect(await end).toEqual({ status: "completed" });
    expect(deltas()).toEqual(["a", "s"]);
  });

  it("takes each of several corrections", async () => {
    const { clock, runner, turn, end, deltas } = await started(waits);
    for (const kind of ["steer", "steer"] as const) await runner.steer?.(turn, { kind, text: "x" });
    clock.advance(1_000);
    await end;
    expect(deltas()).toEqual(["a", "s", "s", "b"]);
  });

  it("takes no correction without steps for it, and none when it is over", async () => {
    const bare = await started({ steps: waits.steps });
    expect(await bare.runner.steer?.(bare.turn, { kind: "steer", text: "x" })).toBe(false);
    bare.turn.stop();
    expect(await bare.end).toEqual({ status: "cancelled" });
    const over = await started({ steps: [{ finish: "done" }], steer: [{ delta: "s" }] });
    await over.end;
    expect(await over.runner.steer?.(over.turn, { kind: "redirect", text: "x" })).toBe(false);
    expect(await over.runner.steer?.(fakeTurn(), { kind: "redirect", text: "x" })).toBe(false);
  });

  it("is redirected through its session", async () => {
    const clock = manualClock();
    const tap = new Tap({ clock, ids: countingIds(), activity: { listening: false, push: () => undefined } });
    const frames: unknown[] = [];
    tap.seam.addFrameSink((frame) => {
      if (!("id" in frame)) frames.push([frame.params.type, frame.params.payload?.["offset"]]);
    });
    const runner = createScriptedRunner({ script: "message", clock });
    const parts = { store: new MemorySessions(), tap, clock, ids: countingIds(), report: () => undefined };
    const host = new SessionHost({ ...parts, agents: [{ agent_id: "default", runner }] });
    const live = (await host.create({ owner: { client_id: null, principal: "local" } })) as LiveSession;
    for (const text of [JSON.stringify(waits), "rather this"]) {
      taken(await live.submit({ text }, "c-a")).begin();
      await turnsOfLoop(2);
    }
    await live.quiet();
    // What is said because of it may come first; where it stands in the text is told.
    expect(frames).toEqual([
      ["message.start", undefined],
      ["session.info", undefined],
      ["message.delta", undefined],
      ["message.delta", undefined],
      ["message.input", 1],
      ["message.complete", undefined],
      ["session.info", undefined],
    ]);
  });
});
