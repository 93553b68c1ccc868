import { z } from "zod";
import { RoomtapError } from "../../core/index.ts";
import { firstProblem } from "./first-problem.ts";
import { scriptSchema, type Script } from "./script.ts";

/** An agent that speaks the Agent Client Protocol on its standard input and output. */
export interface AcpConfig {
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
  | { readonly kind: "scripted"; readonly from: "message" }
  | { readonly kind: "scripted"; readonly script: Script }
  /** One script for each turn of the member in a thread, in order; beyond them it passes. */
  | { readonly kind: "scripted"; readonly turns: readonly Script[] };

/** What a config says of the agent behind a member. */
export type RunnerConfig = AcpConfig | ScriptedConfig;

// A NUL ends a string for the operating system, and `=` a name.
const systemText = z.string().regex(/^[^\0]*$/, { error: "holds a NUL character" });
const envName = z.string().regex(/^[^=\0]+$/, { error: "not a name of an environment variable" });

const acpSchema = z.strictObject({
  kind: z.literal("acp"),
  command: systemText.min(1),
  args: z.array(systemText).optional(),
  cwd: systemText.min(1).optional(),
  env: z.record(envName, systemText).optional(),
});

const scriptedSchema = z
  .strictObject({
    kind: z.literal("scripted"),
    from: z.literal("message").optional(),
    script: scriptSchema.optional(),
    turns: z.array(scriptSchema).min(1).max(100).optional(),
  })
  .refine(({ from, script, turns }) => [from, script, turns].filter((form) => form !== undefined).length === 1, {
    error: 'expected either "from", "script" or "turns"',
  })
  // The check above is what makes this true.
  .transform((config) => config as ScriptedConfig);

/** What a config may say of a member's runner, strict: a key that is unknown is an error at its path. */
export const runnerConfigSchema: z.ZodType<RunnerConfig> = z.discriminatedUnion("kind", [acpSchema, scriptedSchema]);

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
