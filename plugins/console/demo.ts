import { RoomtapError } from "../../core/index.ts";
import type { HostConfig } from "../config.ts";

/** The room of `roomtap demo` and `roomtap up --demo`. */
export const demoRoomId = "demo";
/** What a person asks in it. Both members are named, so both answer. */
export const demoText = "@all Please look over the release plan, and say what has to change.";

/**
 * One room of two members. With `acp` both are driven by one process of an agent that a third party wrote. Sessions outside
 * the room have a scripted agent, so that anyone can try the wire by hand.
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
        policy: { maxRounds: 1, maxOwedPasses: 0 },
        members: [
          { handle: "planner", display_name: "Planner", runner: planner },
          { handle: "reviewer", display_name: "Reviewer", runner: reviewer },
        ],
      },
    ],
    agents: { scripted: { kind: "scripted", from: "message" } },
  };
}

/** What `roomtap demo --scene` can show. */
export const demoScenes = ["hello", "rounds"] as const;
/** A word of `demoScenes`. */
export type DemoScene = (typeof demoScenes)[number];

/** What a person asks in the scene `rounds`: first a draft, then something that will be stopped. */
export const roundsTexts = {
  draft: "@planner Draft the release, and ask whom you need.",
  watch: "@reviewer Watch the rollout until I stop you.",
} as const;

/**
 * Three members that need no agent: one names another, who answers in the second round and is refused what it asks for;
 * then there is nothing to add. The last one works until it is stopped.
 */
export function roundsConfig(): HostConfig {
  return {
    rooms: [
      {
        room_id: demoRoomId,
        name: "Demo",
        members: [
          {
            handle: "planner",
            display_name: "Planner",
            runner: { kind: "scripted", turns: [{ steps: plannerSteps }] },
          },
          {
            handle: "builder",
            display_name: "Builder",
            runner: { kind: "scripted", turns: [{ steps: builderSteps }] },
          },
          {
            handle: "reviewer",
            display_name: "Reviewer",
            runner: { kind: "scripted", turns: [{ steps: reviewerSteps }] },
          },
        ],
      },
    ],
  };
}

type Steps = Extract<DemoRunner, { readonly script: unknown }>["script"]["steps"];

const plannerSteps: Steps = [
  { tool: { id: "p1", name: "read_file", args: { path: "PLAN.md" }, result: "1. build 2. test 3. ship", ms: 80 } },
  { delta: "The plan is sound. @builder please build it first.\n" },
];

const builderSteps: Steps = [
  { tool_start: { id: "b1", name: "run_command", args: { command: "make release" } } },
  {
    ask: {
      method: "approval",
      params: { tool_id: "b1", tool_name: "run_command", command: "make release", choices: ["once", "deny"] },
    },
  },
  { delta: "I was not allowed to build: somebody has to say yes first.\n" },
];

const reviewerSteps: Steps = [
  { tool_start: { id: "r1", name: "watch", args: { url: "/rollout" } } },
  { delta: "Nothing has failed so far.\n" },
  { sleep_ms: 600_000 },
];

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
