import { afterAll, describe, it } from "vitest";
import { systemClock, type Runner } from "../../../core/index.ts";
import { acpExampleAgent } from "../../../plugins/runners/acp-example.ts";
import { createAcpRunner } from "../../../plugins/runners/acp-runner.ts";
import { createProcessRunner } from "../../../plugins/runners/process-runner.ts";
import { fakeTurn } from "../../support/fake-turn.ts";

const example = acpExampleAgent() ?? "not installed";
const runners: Runner[] = [];
afterAll(() => Promise.all(runners.map((runner) => runner.close())));

// Each run of this agent takes some seconds, so they run side by side.
function open(isolated: boolean): Runner {
  const config = { kind: "acp" as const, command: process.execPath, args: [example] };
  const options = { clock: systemClock, report: () => undefined };
  const runner = isolated
    ? createProcessRunner({ ...config, process: true }, options)
    : createAcpRunner(config, options);
  runners.push(runner);
  return runner;
}

const config = { path: "/home/user/project/config.json", content: '{"database": {"host": "new-host"}}' };
const readme = { content: "# My Project\n\nThis is a sample project..." };
const firstTexts = [
  "I'll help you with that. Let me start by reading some files to understand the current situation.",
  " Now I understand the project structure. I need to make some changes to improve it.",
];
const reads = [
  {
    type: "tool.start",
    payload: { tool_id: "call_1", name: "Reading project files", args: { path: "/project/README.md" } },
  },
  {
    type: "tool.complete",
    payload: { tool_id: "call_1", name: "Reading project files", outcome: "ok", result: readme },
  },
];
const edit = "Modifying critical configuration file";

describe.each([
  ["by the host", false],
  ["by a child", true],
])("the third party's example agent, started %s", { concurrent: true, timeout: 30_000 }, (_by, isolated) => {
  it("reads, asks, is granted, and completes", async ({ expect }) => {
    const turn = fakeTurn({ choice: "once" });
    expect(await open(isolated).run(turn)).toEqual({ status: "completed", usage: null });
    expect(turn.questions).toEqual([
      {
        method: "approval",
        params: { tool_id: "call_2", tool_name: edit, command: edit, choices: ["once", "deny"] },
      },
    ]);
    const tools = turn.frames.filter((frame) => frame.type !== "message.delta");
    expect(tools).toEqual([
      ...reads,
      {
        type: "tool.start",
        payload: { tool_id: "call_2", name: edit, args: { ...config, path: "/project/config.json" } },
      },
      {
        type: "tool.complete",
        payload: {
          tool_id: "call_2",
          name: edit,
          outcome: "ok",
          result: { success: true, message: "Configuration updated" },
        },
      },
    ]);
    const last = " Perfect! I've successfully updated the configuration. The changes have been applied.";
    expect(turn.text).toBe([...firstTexts, last].join(""));
  });

  it("C-006 is refused, goes on, and leaves its tool open", async ({ expect }) => {
    const turn = fakeTurn({ choice: "deny" });
    expect(await open(isolated).run(turn)).toEqual({ status: "completed", usage: null });
    const ends = turn.frames.filter((frame) => frame.type === "tool.complete");
    expect(ends).toEqual([reads[1]]);
    const last = " I understand you prefer not to make that change. I'll skip the configuration update.";
    expect(turn.text).toBe([...firstTexts, last].join(""));
  });

  it("C-005 is cancelled while it works, and runs the next turn in the same session", async ({ expect }) => {
    const runner = open(isolated);
    const turn = fakeTurn();
    const running = runner.run(turn);
    await turn.seen((frame) => frame.type === "tool.start");
    turn.stop();
    expect(await running).toEqual({ status: "cancelled" });
    const next = fakeTurn();
    const nextRunning = runner.run(next);
    await next.seen((frame) => frame.type === "message.delta");
    next.stop();
    expect(await nextRunning).toEqual({ status: "cancelled" });
  });

  it("C-041 is killed while its permission is open", async ({ expect }) => {
    const runner = open(isolated);
    const turns = [fakeTurn({ member: "m1" }), fakeTurn({ member: "m2" })];
    const ends = turns.map((turn) => runner.run(turn));
    await Promise.all(turns.map((turn) => turn.asked()));
    await runner.close();
    for (const end of await Promise.all(ends))
      expect(end).toMatchObject({ status: "failed", reason_code: "runner_lost" });
    expect(turns.map((turn) => turn.questions.length)).toEqual([1, 1]);
  });
});

it("is found beside the package's main entry", ({ expect }) => {
  expect(example).toMatch(/acp-agent\/dist\/examples\/agent\.js$/);
});
