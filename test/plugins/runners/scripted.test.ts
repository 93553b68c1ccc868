import { describe, expect, it } from "vitest";
import { manualClock, systemClock, type RunnerFrame, type TurnEnd } from "../../../core/index.ts";
import { parseScript, type Script } from "../../../plugins/runners/script.ts";
import { createScriptedRunner } from "../../../plugins/runners/scripted.ts";
import { fakeTurn, personSays, type FakeTurn, type FakeTurnOptions } from "../../support/fake-turn.ts";
import { runnerContract } from "./runner.contract.ts";

const post = (...steps: object[]): string => `@one ${JSON.stringify({ steps })}`;

runnerContract("scripted", () => createScriptedRunner({ script: "message", clock: systemClock }), {
  streams: post({ delta: "Hello " }, { delta: "room" }),
  usesTool: post({ tool: { id: "t1", name: "read_file" } }),
  asks: post(
    { ask: { method: "approval", params: { command: "rm -rf build", choices: ["once", "deny"] } } },
    { delta: "on" },
  ),
  waits: post({ delta: "waiting" }, { sleep_ms: 1_000_000 }),
  dies: post({ delta: "x" }, { crash: true }),
  fails: post({ fail: "boom" }),
});

function script(...steps: object[]): Script {
  const parsed = parseScript({ steps });
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.script;
}

function start(steps: object[], options: FakeTurnOptions = {}) {
  const clock = manualClock();
  const runner = createScriptedRunner({ script: script(...steps), clock });
  const turn = fakeTurn(options);
  let end: TurnEnd | undefined;
  const ended = runner.run(turn).then((told) => {
    end = told;
  });
  return { clock, turn, ended, end: () => end };
}

async function play(steps: object[], options: FakeTurnOptions = {}): Promise<{ turn: FakeTurn; end: TurnEnd }> {
  const runner = createScriptedRunner({ script: script(...steps), clock: manualClock() });
  const turn = fakeTurn(options);
  return { turn, end: await runner.run(turn) };
}

/** Lets what is settled by now run on. */
const settle = (): Promise<void> => new Promise((go) => systemClock.defer(go));

const delta = (text: string): RunnerFrame => ({ type: "message.delta", payload: { text } });

describe("the steps of a script", () => {
  it.each<[string, object[], RunnerFrame[], TurnEnd]>([
    ["nothing", [], [], { status: "completed" }],
    ["delta", [{ delta: "Hi " }, { delta: "" }], [delta("Hi "), delta("")], { status: "completed" }],
    [
      "reasoning",
      [{ reasoning: "hm" }],
      [{ type: "reasoning.delta", payload: { text: "hm" } }],
      { status: "completed" },
    ],
    [
      "tool",
      [{ tool: { id: "c1", name: "read_file", args: { path: "a.md" }, result: "text" } }],
      [
        { type: "tool.start", payload: { tool_id: "c1", name: "read_file", args: { path: "a.md" } } },
        { type: "tool.complete", payload: { tool_id: "c1", name: "read_file", outcome: "ok", result: "text" } },
      ],
      { status: "completed" },
    ],
    [
      "tool_start and tool_complete",
      [
        { tool_start: { id: "c2", name: "x", args: {} } },
        { tool_complete: { id: "c2", result: "r", outcome: "error" } },
      ],
      [
        { type: "tool.start", payload: { tool_id: "c2", name: "x", args: {} } },
        { type: "tool.complete", payload: { tool_id: "c2", outcome: "error", result: "r" } },
      ],
      { status: "completed" },
    ],
    [
      "frame",
      [{ frame: { type: "status.update", payload: { kind: "status" } } }, { frame: { type: "bare" } }],
      [{ type: "status.update", payload: { kind: "status" } }, { type: "bare" }],
      { status: "completed" },
    ],
    [
      "repeat in repeat",
      [{ repeat: { times: 2, steps: [{ delta: "a" }, { repeat: { times: 2, steps: [{ delta: "b" }] } }] } }],
      ["a", "b", "b", "a", "b", "b"].map(delta),
      { status: "completed" },
    ],
    ["repeat of nothing", [{ repeat: { times: 3, steps: [] } }, { delta: "a" }], [delta("a")], { status: "completed" }],
    [
      "finish",
      [{ delta: "a" }, { finish: "final" }, { delta: "b" }],
      [delta("a")],
      { status: "completed", text: "final" },
    ],
    ["pass", [{ pass: true }, { delta: "b" }], [], { status: "passed" }],
    ["fail", [{ fail: "boom" }, { delta: "b" }], [], { status: "failed", reason_code: "runner_error", error: "boom" }],
    [
      "crash",
      [{ repeat: { times: 2, steps: [{ delta: "a" }, { crash: true }] } }],
      [delta("a")],
      { status: "failed", reason_code: "runner_lost", error: "the script crashed" },
    ],
  ])("%s", async (_, steps, frames, end) => {
    const played = await play(steps);
    expect(played.turn.frames).toEqual(frames);
    expect(played.end).toEqual(end);
  });

  it("sleep_ms and a tool's ms wait on the given clock", async () => {
    const { clock, turn, ended } = start([{ sleep_ms: 20 }, { tool: { id: "c", name: "x", ms: 5 } }, { delta: "end" }]);
    const typesAfter = async (ms: number): Promise<string[]> => {
      clock.advance(ms);
      await settle();
      return turn.frames.map((frame) => frame.type);
    };
    expect(await typesAfter(19)).toEqual([]);
    expect(await typesAfter(1)).toEqual(["tool.start"]);
    expect(await typesAfter(4)).toEqual(["tool.start"]);
    expect(await typesAfter(1)).toEqual(["tool.start", "tool.complete", "message.delta"]);
    await ended;
  });

  it("ask hands the question on as it stands", async () => {
    const ask = { method: "approval", params: { command: "rm", choices: ["once", "deny"], tool_id: "c1" } };
    const { turn } = await play([{ ask }], { choice: "deny" });
    expect(turn.questions).toEqual([ask]);
  });
});

describe("a stop", () => {
  it.each<[string, object]>([
    ["a sleep", { sleep_ms: 1_000 }],
    ["a tool", { tool: { id: "c", name: "x", ms: 1_000 } }],
    ["a question", { ask: { method: "approval", params: {} } }],
  ])("ends the script inside %s at once", async (_, step) => {
    const { turn, ended, end } = start([step, { delta: "never" }]);
    await settle();
    expect(end()).toBeUndefined();
    turn.stop();
    await ended;
    expect(end()).toEqual({ status: "cancelled" });
    expect(turn.frames.map((frame) => frame.type)).not.toContain("message.delta");
    expect(turn.frames.map((frame) => frame.type)).not.toContain("tool.complete");
  });

  it("ends a long repeat at its next breath", async () => {
    const { clock, turn, ended, end } = start([{ repeat: { times: 1_000_000, steps: [{ delta: "x" }] } }]);
    await settle();
    const before = turn.frames.length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(1_000);
    turn.stop();
    clock.tick();
    await ended;
    expect(end()).toEqual({ status: "cancelled" });
    expect(turn.frames.length).toBe(before);
  });

  it("ends a repeat of nothing, too", async () => {
    const { clock, turn, ended, end } = start([{ repeat: { times: 1_000_000, steps: [] } }]);
    await settle();
    turn.stop();
    clock.tick();
    await ended;
    expect(end()).toEqual({ status: "cancelled" });
  });
});

describe("a script in a message", () => {
  const run = async (unseen: ReturnType<typeof personSays>[]): Promise<{ turn: FakeTurn; end: TurnEnd }> => {
    const turn = fakeTurn({ unseen });
    const runner = createScriptedRunner({ script: "message", clock: manualClock() });
    return { turn, end: await runner.run(turn) };
  };
  const agentSays = (text: string) => ({ author: { kind: "agent" as const, id: "m-two" }, text });

  it("is the newest person's post, whatever agents said since", async () => {
    const { turn } = await run([
      personSays(post({ delta: "old" })),
      personSays(post({ delta: "new" })),
      agentSays(post({ delta: "agent" })),
    ]);
    expect(turn.text).toBe("new");
  });

  it.each([
    ["words", [personSays("@one hello")]],
    ["JSON without steps", [personSays('@one {"delta":"x"}')]],
    ["JSON that is no object", [personSays("@one [1]"), personSays("7")]],
    ["an older post that is a script", [personSays(post({ delta: "x" })), personSays("thanks")]],
    ["agents only", [agentSays(post({ delta: "x" }))]],
  ])("passes on %s", async (_, unseen) => {
    const { turn, end } = await run(unseen);
    expect(end).toEqual({ status: "passed" });
    expect(turn.frames).toEqual([]);
  });

  it("keeps the mentions inside it", async () => {
    const { turn } = await run([personSays(`@one, @two ${JSON.stringify({ steps: [{ delta: "@all hi" }] })}`)]);
    expect(turn.text).toBe("@all hi");
  });

  it("settles invalid_script and names the path", async () => {
    const { end } = await run([personSays(post({ delta: "a" }, { tool: { id: "c", name: "x", ms: -1 } }))]);
    expect(end).toMatchObject({ status: "failed", reason_code: "invalid_script" });
    expect(end).toHaveProperty("error", expect.stringMatching(/^steps\[1\]\.tool\.ms: /));
  });
});
