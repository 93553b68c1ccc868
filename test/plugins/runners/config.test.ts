import { describe, expect, it } from "vitest";
import { manualClock, RoomtapError } from "../../../core/index.ts";
import { createRunners, parseRunnerConfig, type RunnerConfig } from "../../../plugins/runners/index.ts";
import { fakeTurn } from "../../support/fake-turn.ts";
import { toldRunnerPath } from "../../support/told-runner.ts";

const errorOf = (value: unknown, path?: string): unknown => {
  try {
    parseRunnerConfig(value, path);
  } catch (fault) {
    return fault;
  }
  return undefined;
};

describe("a runner's config", () => {
  it.each<RunnerConfig>([
    { kind: "acp", command: "node" },
    { kind: "acp", command: "node", args: ["agent.js"], cwd: ".", env: { K: "V" } },
    { kind: "acp", command: "node", process: true },
    { kind: "module", path: "./runner.js" },
    {
      kind: "module",
      path: "./runner.js",
      options: { list: [1, null, "x", { a: true }] },
      rerun: "safe",
      process: false,
    },
    { kind: "module", path: "./runner.js", process: true, cwd: ".", env: { K: "V" } },
    { kind: "scripted", from: "message" },
    { kind: "scripted", from: "message", process: true },
    { kind: "scripted", script: { steps: [{ delta: "x" }] } },
  ])("%j is one", (config) => {
    expect(parseRunnerConfig(config)).toEqual(config);
  });

  it.each([
    ["an unknown kind", { kind: "llm" }, /^runner\.kind: /],
    ["no command", { kind: "acp" }, /^runner\.command: /],
    ["an unknown key", { kind: "acp", command: "a", agrs: [] }, /^runner\.agrs: unknown key$/],
    ["a variable that is no text", { kind: "acp", command: "a", env: { K: 1 } }, /^runner\.env\.K: /],
    ["a name that no variable has", { kind: "acp", command: "a", env: { "A=B": "" } }, /^runner\.env\.A=B: /],
    ["a NUL", { kind: "acp", command: "a", args: ["x", "\0"] }, /^runner\.args\[1\]: holds a NUL character$/],
    ["no path", { kind: "module" }, /^runner\.path: is missing, expected string$/],
    [
      "options that are no JSON",
      { kind: "module", path: "a", options: { f: () => 1 } },
      /^runner\.options: expected JSON$/,
    ],
    ["a rerun that is none", { kind: "module", path: "a", rerun: true }, /^runner\.rerun: /],
    ["an unknown key of a module", { kind: "module", path: "a", command: "b" }, /^runner\.command: unknown key$/],
    ["a folder of no child", { kind: "module", path: "a", cwd: "." }, /^runner\.cwd: needs "process": true: /],
    [
      "an environment of no child",
      { kind: "module", path: "a", process: false, env: {} },
      /^runner\.env: needs "process"/,
    ],
    ["a process that is none", { kind: "scripted", from: "message", process: "yes" }, /^runner\.process: /],
    ["no script", { kind: "scripted" }, /^runner: expected either "from", "script" or "turns"$/],
    ["two scripts", { kind: "scripted", from: "message", script: { steps: [] } }, /^runner: expected either/],
    [
      "a bad step",
      { kind: "scripted", script: { steps: [{ dleta: "" }] } },
      /^runner\.script\.steps\[0\]\.dleta: unknown key$/,
    ],
  ])("is invalid_config at its path: %s", (_, value, message) => {
    const error = errorOf(value);
    expect(error).toBeInstanceOf(RoomtapError);
    expect(error).toMatchObject({ code: "invalid_config", message: expect.stringMatching(message) as string });
  });

  it("names the place it was given", () => {
    expect(errorOf({ kind: "acp" }, "rooms[0].members[1].runner")).toMatchObject({
      message: expect.stringMatching(/^rooms\[0\]\.members\[1\]\.runner\.command: /) as string,
    });
  });
});

describe("the runners of a host", () => {
  const open = () => createRunners({ clock: manualClock(), report: () => undefined });

  it("gives equal acp configs one runner", async () => {
    await using runners = open();
    const one = await runners.of({ kind: "acp", command: "node", args: [], env: { A: "1", B: "2" } });
    expect(await runners.of({ kind: "acp", command: "node", cwd: ".", env: { B: "2", A: "1" } })).toBe(one);
    expect(await runners.of({ kind: "acp", command: "node", env: { A: "1" } })).not.toBe(one);
    expect(await runners.of({ kind: "acp", command: "node", args: ["x"], env: { A: "1", B: "2" } })).not.toBe(one);
    expect(await runners.of({ kind: "acp", command: "node", cwd: "/", env: { A: "1", B: "2" } })).not.toBe(one);
  });

  it("gives equal configs of a child one runner", async () => {
    await using runners = open();
    const told = { kind: "module", path: toldRunnerPath, process: true } as const;
    const options = { a: 1, b: { c: [1], d: 2 } };
    const one = await runners.of({ ...told, options });
    expect(await runners.of({ ...told, cwd: ".", env: {}, options: { b: { d: 2, c: [1] }, a: 1 } })).toBe(one);
    expect(await runners.of({ ...told, options: { ...options, a: 2 } })).not.toBe(one);
    expect(await runners.of({ ...told, options, env: { K: "V" } })).not.toBe(one);
    const scripted = await runners.of({ kind: "scripted", from: "message", process: true });
    expect(await runners.of({ kind: "scripted", process: true, from: "message" })).toBe(scripted);
    const here = await runners.of({ kind: "acp", command: "node" });
    expect(await runners.of({ kind: "acp", command: "node", process: true })).not.toBe(here);
    expect(await runners.of({ kind: "acp", command: "node", process: false })).toBe(here);
  });

  it("refuses a module that is not there where its config stands, also for a child", async () => {
    await using runners = open();
    for (const process of [false, true]) {
      const opening = runners.of({ kind: "module", path: "/no/such.js", process }, "agents.a");
      await expect(opening).rejects.toMatchObject({
        code: "invalid_config",
        message: "agents.a.path: expected the file of a module, found nothing at /no/such.js",
      });
    }
  });

  it("makes a runner of each kind", async () => {
    await using runners = open();
    expect((await runners.of({ kind: "acp", command: "node" })).kind).toBe("acp");
    const scripted = await runners.of({ kind: "scripted", script: { steps: [{ finish: "done" }] } });
    expect(scripted.kind).toBe("scripted");
    expect(await scripted.run(fakeTurn())).toEqual({ status: "completed", text: "done" });
    const passing = await runners.of({ kind: "scripted", from: "message" });
    expect(await passing.run(fakeTurn())).toEqual({ status: "passed" });
  });

  it("closes them all, twice if asked", async () => {
    const runners = open();
    const runner = await runners.of({ kind: "scripted", from: "message" });
    await runners.close();
    await runners.close();
    expect(await runner.run(fakeTurn())).toMatchObject({ status: "failed", reason_code: "not_admitted" });
  });
});
