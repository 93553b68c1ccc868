import { systemClock, type Runner } from "../../../core/index.ts";
import { createProcessRunner } from "../../../plugins/runners/process-runner.ts";
import type { RunnerConfig } from "../../../plugins/runners/config.ts";
import { ask, told, toldAgentPath, tool, toolUpdate } from "../../support/told-agent.ts";
import { toldRunnerPath } from "../../support/told-runner.ts";
import { runnerContract } from "./runner.contract.ts";

/** The contract closes what it opens. */
function inChild(config: RunnerConfig): () => Runner {
  return () => createProcessRunner({ ...config, process: true }, { clock: systemClock, report: () => undefined });
}

const post = (...steps: object[]): string => `@one ${JSON.stringify({ steps })}`;

runnerContract("scripted in a child", inChild({ kind: "scripted", from: "message" }), {
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

const approval = { method: "approval", params: { command: "rm -rf build", choices: ["once", "deny"] } };

runnerContract("a module in a child", inChild({ kind: "module", path: toldRunnerPath }), {
  streams: told({ say: "Hello " }, { say: "room" }),
  usesTool: told(
    { emit: { type: "tool.start", payload: { tool_id: "t1", name: "read_file" } } },
    { emit: { type: "tool.complete", payload: { tool_id: "t1", outcome: "ok" } } },
  ),
  asks: told({ ask: approval }),
  waits: told({ say: "waiting" }, { hang: true }),
  dies: told({ say: "x" }, { exit: 1 }),
  fails: told({ throw: "boom" }),
});

runnerContract("an ACP agent of a child", inChild({ kind: "acp", command: process.execPath, args: [toldAgentPath] }), {
  streams: told({ say: "Hello " }, { say: "room" }),
  usesTool: told(
    tool({ toolCallId: "t1", title: "read_file", rawInput: { path: "a.md" } }),
    toolUpdate({ toolCallId: "t1", status: "completed", rawOutput: "text" }),
  ),
  asks: told(ask({ toolCallId: "t1", title: "Clean", rawInput: { command: "rm -rf build" } }), { say: "on" }),
  waits: told({ say: "waiting" }, { hang: true }),
  dies: told({ say: "x" }, { exit: 1 }),
  fails: told({ refuse: { code: -32603, message: "Internal error", data: { details: "boom" } } }),
});
