import { describe, expect, it } from "vitest";
import { parseScript, scriptLimits, unroll } from "../../../plugins/runners/script.ts";

const problemOf = (value: unknown): string => {
  const parsed = parseScript(value);
  return parsed.ok ? "none" : parsed.problem;
};

const nested = (depth: number): object => {
  let step: object = { delta: "x" };
  for (let level = 0; level < depth; level++) step = { repeat: { times: 1, steps: [step] } };
  return { steps: [step] };
};

describe("a script from outside", () => {
  it("may hold every kind of step", () => {
    const steps = [
      { delta: "Hi " },
      { reasoning: "hm" },
      { tool: { id: "c1", name: "read_file", args: { path: "a.md" }, result: "ok", outcome: "ok", ms: 5 } },
      { tool_start: { id: "c2", name: "x", args: {} } },
      { tool_complete: { id: "c2", result: "r", outcome: "ok" } },
      { ask: { method: "approval", params: { command: "rm -rf build", choices: ["once", "deny"] } } },
      { sleep_ms: 20 },
      { repeat: { times: 1000, steps: [{ delta: "x" }] } },
      { frame: { type: "status.update", payload: { kind: "status", text: "busy" } } },
      { fail: "boom" },
      { crash: true },
      { pass: true },
      { finish: "final text" },
    ];
    expect(parseScript({ steps })).toEqual({ ok: true, script: { steps } });
  });

  it.each([
    ["no object", 7, /^Invalid input/],
    ["no steps", {}, /^steps: /],
    ["an unknown key beside the steps", { steps: [], loop: true }, /^loop: unknown key$/],
    ["an unknown step", { steps: [{ delta: "a" }, { dleta: "b" }] }, /^steps\[1\]\.dleta: unknown key$/],
    ["two steps in one", { steps: [{ delta: "a", finish: "b" }] }, /^steps\[0\]: expected exactly one key$/],
    ["an empty step", { steps: [{}] }, /^steps\[0\]: expected exactly one key$/],
    [
      "an unknown key in a step",
      { steps: [{ tool: { id: "a", name: "b", time: 1 } }] },
      /^steps\[0\]\.tool\.time: unknown key$/,
    ],
    [
      "an unknown outcome",
      { steps: [{ tool_complete: { id: "a", outcome: "fine" } }] },
      /^steps\[0\]\.tool_complete\.outcome: /,
    ],
    [
      "a fault inside a repeat",
      { steps: [{ repeat: { times: 1, steps: [{ sleep_ms: "1" }] } }] },
      /^steps\[0\]\.repeat\.steps\[0\]\.sleep_ms: /,
    ],
    [
      "a question by a method that there is not",
      { steps: [{ ask: { method: "guess", params: {} } }] },
      /^steps\[0\]\.ask\.method: /,
    ],
    [
      "a key of the prototype",
      { steps: [JSON.parse('{"__proto__":{"delta":"x"}}')] },
      /^steps\[0\]\.__proto__: unknown key$/,
    ],
  ])("names the path: %s", (_, value, problem) => {
    expect(problemOf(value)).toMatch(problem);
  });

  it("may nest repeats up to the bound", () => {
    expect(problemOf(nested(scriptLimits.maxRepeatDepth))).toBe("none");
    expect(problemOf(nested(scriptLimits.maxRepeatDepth + 1))).toMatch(
      /repeat: repeats stand more than 10 deep in each other$/,
    );
    expect(problemOf(nested(5_000))).toMatch(/more than 10 deep/);
  });

  it("may play up to the bound of steps", () => {
    const playing = (times: number): object => ({ steps: [{ repeat: { times, steps: [{ delta: "x" }] } }] });
    const half = scriptLimits.maxPlayedSteps / 2;
    expect(problemOf(playing(half))).toBe("none");
    expect(problemOf(playing(half + 1))).toBe("steps: plays more than 10000000 steps");
    const empty = { steps: [{ repeat: { times: scriptLimits.maxPlayedSteps + 1, steps: [] } }] };
    expect(problemOf(empty)).toBe("steps: plays more than 10000000 steps");
  });

  it("C-078 keeps arguments of any depth unread", () => {
    const args: unknown = JSON.parse(`${"[".repeat(5_000)}${"]".repeat(5_000)}`);
    expect(problemOf({ steps: [{ tool: { id: "a", name: "b", args } }] })).toBe("none");
  });

  it("unrolls one step at a time", () => {
    const parsed = parseScript({ steps: [{ repeat: { times: 5_000_000, steps: [{ delta: "x" }] } }] });
    if (!parsed.ok) throw new Error(parsed.problem);
    const steps = unroll(parsed.script.steps);
    const taken = [steps.next(), steps.next(), steps.next()].map(({ value }) => Object.keys(value ?? {})[0]);
    expect(taken).toEqual(["repeat", "delta", "repeat"]);
  });
});
