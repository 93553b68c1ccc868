import { z } from "zod";
import { coordinatesSchema, requestOutcomes } from "../../core/index.ts";
import { runnerConfigSchema } from "./config.ts";

/** Tells the turns of one child apart: 1, 2, ... */
const key = z.int().min(1);
const object = z.record(z.string(), z.unknown());
/** A JSON object, looked at from outside: there is one in each frame, and the seam walks through it. */
const anObject = z.custom<{ readonly [name: string]: unknown }>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  { error: "expected an object" },
);

const entrySchema = z.strictObject({
  author: z.strictObject({ kind: z.enum(["person", "agent"]), id: z.string(), display_name: z.string().optional() }),
  text: z.string(),
  attachments: z.array(z.string()).readonly().optional(),
});

const turnSchema = z.strictObject({
  turn_id: z.string(),
  coordinates: coordinatesSchema.nullable(),
  member: z.strictObject({ member_id: z.string(), handle: z.string(), display_name: z.string() }),
  session: z.string(),
  unseen: z.array(entrySchema).readonly(),
  earlier: z.array(entrySchema).readonly(),
});

const answeredSchema = z.strictObject({
  outcome: z.enum(requestOutcomes),
  choice: z.string().optional(),
  reason: z.string().optional(),
  by: z.strictObject({ origin: z.string() }).nullable(),
  result: object.optional(),
  timed_out: z.literal(true).optional(),
});

const correctionSchema = z.strictObject({ kind: z.enum(["steer", "redirect"]), text: z.string() });

/** What the host tells a child, a line of JSON each. */
const toChildSchema = z.discriminatedUnion("type", [
  /** First of all, once: the runner that it is to be. */
  z.strictObject({ type: z.literal("load"), config: runnerConfigSchema, max_line_bytes: z.int().min(1) }),
  z.strictObject({ type: z.literal("run"), key, turn: turnSchema }),
  z.strictObject({ type: z.literal("stop"), key, reason: z.string() }),
  z.strictObject({ type: z.literal("answer"), ask: key, answered: answeredSchema }),
  z.strictObject({ type: z.literal("steer"), key, steer: key, correction: correctionSchema }),
  /** It is to close its runner and to exit. */
  z.strictObject({ type: z.literal("close") }),
]);

/** What a child tells the host. Frames and questions are other people's: what stands beside the
 * fields named here, a number or an origin of its own, is dropped. */
const fromChildSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ready") }),
  /** Its runner cannot be had. */
  z.strictObject({ type: z.literal("broken"), problem: z.string() }),
  /** null stands for what is no frame, or too large a one: the host counts it. */
  z.strictObject({
    type: z.literal("frame"),
    key,
    frame: z.object({ type: z.string(), payload: anObject.optional() }).nullable(),
  }),
  /** `ask` tells the questions of a child apart. null stands for what is no question. */
  z.strictObject({
    type: z.literal("ask"),
    key,
    ask: key,
    question: z.object({ method: z.string(), params: anObject }).nullable(),
  }),
  /** The host reads the end as it reads that of any runner. */
  z.strictObject({ type: z.literal("end"), key, end: z.unknown() }),
  /** `problem`: what the runner threw. */
  z.strictObject({ type: z.literal("steered"), steer: key, taken: z.boolean(), problem: z.string().optional() }),
  z.strictObject({
    type: z.literal("notice"),
    code: z.string(),
    message: z.string(),
    subject: z.string().optional(),
  }),
  /** The process groups that it has started, by their leaders: they end with it. */
  z.strictObject({ type: z.literal("groups"), pids: z.array(z.int().min(2)).max(1_024).readonly() }),
]);

export type ToChild = z.infer<typeof toChildSchema>;
export type FromChild = z.infer<typeof fromChildSchema>;

/** A message, or what is wrong with the line: it may hold a secret, so it is not shown. */
export type Parsed<Message> =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; problem: string };

export const parseToChild = parserOf(toChildSchema);
export const parseFromChild = parserOf(fromChildSchema);

function parserOf<Message>(schema: z.ZodType<Message>): (line: string) => Parsed<Message> {
  return (line) => {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      // What the runtime says of it quotes the line.
      return { ok: false, problem: "it is no JSON" };
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return { ok: true, message: parsed.data };
    const [issue] = parsed.error.issues;
    const path = issue?.path.map(String).join(".") ?? "";
    return { ok: false, problem: path === "" ? "it is no message" : `${path} is not as expected` };
  };
}
