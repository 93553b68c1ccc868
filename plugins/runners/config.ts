import { z } from "zod";
import { RoomtapError } from "../../core/index.ts";
import { firstProblem } from "./first-problem.ts";
import { scriptSchema, type Script } from "./script.ts";

/** What every kind of runner may say. */
interface Placed {
  /**
   * `true`: the runner lives in a child process of its own, which members with the same config share. What it does there, an
   * endless loop or a crash, costs the turns in that child and nothing else; for that each frame crosses a pipe. Default
   * `false`: it runs in the host's process. A host that is to be there for others sets it for code that it did not write.
   */
  readonly process?: boolean | undefined;
}

/** An agent that speaks the Agent Client Protocol on its standard input and output. */
export interface AcpConfig extends Placed {
  readonly kind: "acp";
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Working directory of the process and of its ACP sessions; the host's own when absent. */
  readonly cwd?: string | undefined;
  /** The whole environment of the process but for PATH and HOME, which it gets from the host unless they stand here. */
  readonly env?: { readonly [name: string]: string } | undefined;
}

/** Answers from a script: one that stands here, or the one in the post that is shown. */
export type ScriptedConfig =
  /** Where that holds words and no script, it passes in a room, and repeats them in a session of its own. */
  | (Placed & { readonly kind: "scripted"; readonly from: "message" })
  | (Placed & { readonly kind: "scripted"; readonly script: Script })
  /** One script for each turn of the member in a thread, in order; beyond them it passes. */
  | (Placed & { readonly kind: "scripted"; readonly turns: readonly Script[] });

/** A runner that somebody wrote: the default export of a JavaScript module. */
export interface ModuleConfig extends Placed {
  readonly kind: "module";
  /**
   * The module's file. It exports by default a `Runner`, or a function that is called once with `options` and gives one, or
   * the promise of one. In a config file it is meant from that file's folder, else from the current one.
   */
  readonly path: string;
  /** JSON for that function. Secrets belong into `env`: what stands here is masked nowhere. */
  readonly options?: unknown;
  /**
   * `safe`: a turn that a dead host left is run again by itself. A module in the host's process may say so of its runner as
   * well; of one in a child nobody knows it before it runs, so it has to stand here.
   */
  readonly rerun?: "safe" | undefined;
  /** Working directory of the child; the host's own when absent. Needs `process`. */
  readonly cwd?: string | undefined;
  /** The whole environment of the child but for PATH and HOME, as for an `acp` agent. Needs `process`. */
  readonly env?: { readonly [name: string]: string } | undefined;
}

/** What a config says of the agent behind a member. */
export type RunnerConfig = AcpConfig | ScriptedConfig | ModuleConfig;

// A NUL ends a string for the operating system, and `=` a name.
const systemText = z.string().regex(/^[^\0]*$/, { error: "holds a NUL character" });
const envName = z.string().regex(/^[^=\0]+$/, { error: "not a name of an environment variable" });

const placed = { process: z.boolean().optional() };
const surroundings = { cwd: systemText.min(1).optional(), env: z.record(envName, systemText).optional() };

const acpSchema = z.strictObject({
  kind: z.literal("acp"),
  command: systemText.min(1),
  args: z.array(systemText).optional(),
  ...surroundings,
  ...placed,
});

// The schema's own words name each kind of value that it is not.
const json = z.custom<unknown>((value) => z.json().safeParse(value).success, { error: "expected JSON" });

const moduleSchema = z
  .strictObject({
    kind: z.literal("module"),
    path: systemText.min(1),
    options: json.optional(),
    rerun: z.literal("safe").optional(),
    ...surroundings,
    ...placed,
  })
  .superRefine(({ process, cwd, env }, context) => {
    if (process === true) return;
    const [given] = Object.entries({ cwd, env }).find(([, value]) => value !== undefined) ?? [];
    if (given === undefined) return;
    const message = 'needs "process": true: in the host\'s process a module has what the host has';
    context.addIssue({ code: "custom", path: [given], message });
  });

const scriptedSchema = z
  .strictObject({
    kind: z.literal("scripted"),
    from: z.literal("message").optional(),
    script: scriptSchema.optional(),
    turns: z.array(scriptSchema).min(1).max(100).optional(),
    ...placed,
  })
  .refine(({ from, script, turns }) => [from, script, turns].filter((form) => form !== undefined).length === 1, {
    error: 'expected either "from", "script" or "turns"',
  })
  // The check above is what makes this true.
  .transform((config) => config as ScriptedConfig);

/** What a config may say of a member's runner, strict: a key that is unknown is an error at its path. */
export const runnerConfigSchema: z.ZodType<RunnerConfig> = z.discriminatedUnion("kind", [
  acpSchema,
  moduleSchema,
  scriptedSchema,
]);

/**
 * A runner's config from outside.
 * @param path where it stands, for the message, e.g. `rooms[0].members[1].runner`
 * @throws RoomtapError `invalid_config`, naming the path of the first problem
 */
export function parseRunnerConfig(value: unknown, path = "runner"): RunnerConfig {
  const parsed = runnerConfigSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RoomtapError("invalid_config", firstProblem(parsed.error, [path]), { cause: parsed.error });
}
