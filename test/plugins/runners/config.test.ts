import { describe, expect, it } from "vitest";
import { manualClock, RoomtapError } from "../../../core/index.ts";
import { createRunners, parseRunnerConfig, type RunnerConfig } from "../../../plugins/runners/index.ts";
import { fakeTurn } from "../../support/fake-turn.ts";

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
    { kind: "scripted", from: "message" },
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
    const one = runners.of({ kind: "acp", command: "node", args: [], env: { A: "1", B: "2" } });
    expect(runners.of({ kind: "acp", command: "node", cwd: ".", env: { B: "2", A: "1" } })).toBe(one);
    expect(runners.of({ kind: "acp", command: "node", env: { A: "1" } })).not.toBe(one);
    expect(runners.of({ kind: "acp", command: "node", args: ["x"], env: { A: "1", B: "2" } })).not.toBe(one);
    expect(runners.of({ kind: "acp", command: "node", cwd: "/", env: { A: "1", B: "2" } })).not.toBe(one);
  });

  it("makes a runner of each kind", async () => {
    await using runners = open();
    expect(runners.of({ kind: "acp", command: "node" }).kind).toBe("acp");
    const scripted = runners.of({ kind: "scripted", script: { steps: [{ finish: "done" }] } });
    expect(scripted.kind).toBe("scripted");
    expect(await scripted.run(fakeTurn())).toEqual({ status: "completed", text: "done" });
    expect(await runners.of({ kind: "scripted", from: "message" }).run(fakeTurn())).toEqual({ status: "passed" });
  });

  it("closes them all, twice if asked", async () => {
    const runners = open();
    const runner = runners.of({ kind: "scripted", from: "message" });
    await runners.close();
    await runners.close();
    expect(await runner.run(fakeTurn())).toMatchObject({ status: "failed", reason_code: "not_admitted" });
  });
});
