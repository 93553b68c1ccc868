import { RoomtapError } from "../../core/index.ts";
import type { HostConfig } from "../config.ts";

/** The room of `roomtap demo` and `roomtap up --demo`. */
export const demoRoomId = "demo";
/** What a person asks in it. Both members are named, so both answer. */
export const demoText = "@all Please look over the release plan, and say what has to change.";

/**
 * One room of two members. With `acp` both are driven by one process of an agent that a third party wrote.
 * @param agent path of that agent's program; undefined when it is not installed
 * @throws RoomtapError `runner_not_installed`
 */
export function demoConfig(runner: "acp" | "scripted", agent: string | undefined): HostConfig {
  const [planner, reviewer] = runner === "acp" ? acpRunners(agent) : scriptedRunners;
  return {
    rooms: [
      {
        room_id: demoRoomId,
        name: "Demo",
        members: [
          { handle: "planner", display_name: "Planner", runner: planner },
          { handle: "reviewer", display_name: "Reviewer", runner: reviewer },
        ],
      },
    ],
  };
}

type Runners = readonly [DemoRunner, DemoRunner];
type DemoRunner = NonNullable<HostConfig["rooms"][number]["members"][number]["runner"]>;

function acpRunners(agent: string | undefined): Runners {
  if (agent === undefined) {
    throw new RoomtapError("runner_not_installed", "the demo's agent, a development dependency, is not installed here");
  }
  const runner = { kind: "acp", command: process.execPath, args: [agent] } as const;
  return [runner, runner];
}

const scriptedRunners: Runners = [
  {
    kind: "scripted",
    script: {
      steps: [
        { reasoning: "The plan is in a file: read it first." },
        { delta: "I read the plan before I answer.\n" },
        {
          tool: {
            id: "call-1",
            name: "read_file",
            args: { path: "PLAN.md" },
            result: "1. build 2. test 3. ship",
            ms: 150,
          },
        },
        { delta: "The order is right. " },
        { tool_start: { id: "call-2", name: "run_command", args: { command: "rm -rf build" } } },
        {
          ask: {
            method: "approval",
            params: { tool_id: "call-2", tool_name: "run_command", command: "rm -rf build", choices: ["once", "deny"] },
          },
        },
        { delta: "Step 1 needs a clean folder.\n" },
      ],
    },
  },
  {
    kind: "scripted",
    script: {
      steps: [
        { sleep_ms: 100 },
        {
          tool: {
            id: "call-1",
            name: "search",
            args: { query: "release checklist" },
            result: ["checklist.md"],
            ms: 120,
          },
        },
        { delta: "I agree with Planner. " },
        { delta: "Add a step that tags the release.\n" },
      ],
    },
  },
];
