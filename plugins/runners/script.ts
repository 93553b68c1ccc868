import { z } from "zod";
import { requestKind, toolOutcomes, type JsonObject, type ToolOutcome } from "../../core/index.ts";
import { firstProblem } from "./first-problem.ts";

/** Bounds of a script. A script beyond one of them is not valid. */
export const scriptLimits = {
  /** How deep `repeat` steps may stand in each other. */
  maxRepeatDepth: 10,
  /** Steps that are played, repeats counted as often as they run. */
  maxPlayedSteps: 10_000_000,
} as const;

export interface ToolStep {
  readonly id: string;
  readonly name: string;
  readonly args?: unknown;
  readonly result?: unknown;
  /** `ok` when absent. */
  readonly outcome?: ToolOutcome | undefined;
  /** Time between the start and the end of the call. */
  readonly ms?: number | undefined;
}

/** What each kind of step carries. A step is an object with exactly one of these keys. */
export interface StepFields {
  readonly delta: string;
  readonly reasoning: string;
  readonly tool: ToolStep;
  readonly tool_start: Pick<ToolStep, "id" | "name" | "args">;
  readonly tool_complete: Pick<ToolStep, "id" | "result" | "outcome">;
  /** `method` is one of `requestTable`. */
  readonly ask: { readonly method: string; readonly params: JsonObject };
  readonly sleep_ms: number;
  readonly repeat: { readonly times: number; readonly steps: readonly Step[] };
  readonly frame: { readonly type: string; readonly payload?: JsonObject | undefined };
  readonly fail: string;
  readonly crash: true;
  readonly pass: true;
  readonly finish: string;
}

/** One step of a script: an object with one key that says what is done. */
export type Step = { [Key in keyof StepFields]: { readonly [K in Key]: StepFields[K] } }[keyof StepFields];

/** What a scripted agent does in a turn, in order. */
export interface Script {
  readonly steps: readonly Step[];
  /**
   * What it does when it is corrected while it works; without it no correction is taken. A redirect has it do this
   * instead of what is left, and wait no longer; a steer has it do this first.
   */
  readonly steer?: readonly Step[] | undefined;
}

const object = z.record(z.string(), z.unknown());
const outcome = z.enum(toolOutcomes).optional();
const duration = z.number().min(0);
const askedBy = z.string().refine((method) => requestKind(method) !== undefined, { error: "no such method" });
const toolStart = z.strictObject({ id: z.string().min(1), name: z.string().min(1), args: z.unknown().optional() });
const toolEnd = z.strictObject({ id: z.string().min(1), result: z.unknown().optional(), outcome });

const plainFields = {
  delta: z.string(),
  reasoning: z.string(),
  tool: z.strictObject({ ...toolStart.shape, ...toolEnd.shape, ms: duration.optional() }),
  tool_start: toolStart,
  tool_complete: toolEnd,
  ask: z.strictObject({ method: askedBy, params: object }),
  sleep_ms: duration,
  frame: z.strictObject({ type: z.string().min(1), payload: object.optional() }),
  fail: z.string(),
  crash: z.literal(true),
  pass: z.literal(true),
  finish: z.string(),
};

/**
 * Steps that may hold `depth` more levels of repeats. A schema per level keeps the walk over a script from outside as
 * shallow as the bound says.
 */
function stepsSchema(depth: number): z.ZodType<readonly Step[]> {
  const repeat =
    depth > 0
      ? z.strictObject({ times: z.int().min(0), steps: stepsSchema(depth - 1) })
      : z.never({ error: `repeats stand more than ${scriptLimits.maxRepeatDepth} deep in each other` });
  const step = z
    .strictObject({ ...plainFields, repeat })
    .partial()
    .refine((fields) => Object.keys(fields).length === 1, { error: "expected exactly one key" })
    // The check above is what makes this true.
    .transform((fields) => fields as Step);
  return z.array(step);
}

/** A script, strict: a key that is unknown is an error at its path. */
export const scriptSchema: z.ZodType<Script> = z.strictObject({
  steps: boundedSteps(),
  steer: boundedSteps().optional(),
});

function boundedSteps(): z.ZodType<readonly Step[]> {
  return stepsSchema(scriptLimits.maxRepeatDepth).refine((steps) => countPlayed(steps) <= scriptLimits.maxPlayedSteps, {
    error: `plays more than ${scriptLimits.maxPlayedSteps} steps`,
  });
}

/** A script from outside, or what is wrong with it: the first problem, with its path. */
export function parseScript(value: unknown): { ok: true; script: Script } | { ok: false; problem: string } {
  const parsed = scriptSchema.safeParse(value);
  return parsed.success ? { ok: true, script: parsed.data } : { ok: false, problem: firstProblem(parsed.error, []) };
}

function countPlayed(steps: readonly Step[]): number {
  return steps.reduce(
    (sum, step) => sum + ("repeat" in step ? step.repeat.times * (1 + countPlayed(step.repeat.steps)) : 1),
    0,
  );
}

/**
 * The steps in the order they are played, one at a time. A `repeat` is given once per time, before its steps: so a
 * repeat of nothing can be interrupted, too.
 */
export function* unroll(steps: readonly Step[]): Generator<Step, void> {
  for (const step of steps) {
    if (!("repeat" in step)) {
      yield step;
      continue;
    }
    for (let time = 0; time < step.repeat.times; time++) {
      yield step;
      yield* unroll(step.repeat.steps);
    }
  }
}
