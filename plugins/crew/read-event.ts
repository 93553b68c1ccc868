import { z } from "zod";
import {
  activityKinds,
  coordinatesSchema,
  cutPayload,
  limits,
  reasonCodes,
  requestOutcomes,
  startCauses,
  toolOutcomes,
  turnStatuses,
  type JsonObject,
  type ReasonCode,
  type TruncatedField,
} from "../../core/index.ts";
import type { BoardBounds } from "./bounds.ts";

/** Numbers of one usage; with more it is none. */
const maxUsageWords = 64;

const whole = z.int().min(0);
const count = z.record(z.string(), whole);
const text = z.string();
const row = z.looseObject({ seq: z.int().min(1) });
const known = new Set<string>(Object.values(reasonCodes).flat());
const reason = z.custom<ReasonCode>((word) => typeof word === "string" && known.has(word));
const tool = {
  tool_id: z.string().min(1).max(limits.maxToolIdUnits),
  name: text.max(limits.maxToolIdUnits).default(""),
};
const word = text.max(limits.maxToolIdUnits);
const origin = z.object({ origin: word });

/** What a turn began with. Levels and grants take fields away, so few have to be there. */
export const startedSchema = z.object({
  cause: z.enum(startCauses),
  input: z.array(z.looseObject({ text: text.optional() })).default([]),
});

/** How a turn ended. */
export const settledSchema = z.object({
  status: z.enum(turnStatuses),
  reason_code: reason.nullable(),
  text: text.default(""),
  truncated: z.boolean().default(false),
  error: text.nullable().default(null),
  usage: z
    .record(word, z.number())
    .refine((usage) => Object.keys(usage).length <= maxUsageWords)
    .nullable(),
  activity_count: z.int().min(1).nullable(),
  duration_ms: whole.nullable(),
});

/** Text and offset; at level `meta` the text is only measured. */
const delta = z.union([
  z.object({ text, offset: whole, snapshot: z.literal(true).optional() }),
  z.object({ offset: whole, sizes: count }).transform(() => null),
]);

/** A question, as its event and as lists of open ones have it. */
export const askedSchema = z.object({
  id: z.string().min(1).max(limits.maxToolIdUnits),
  request_id: word.optional(),
  method: z.string().min(1).max(limits.maxToolIdUnits),
  tool_id: word.optional(),
  command: text.optional(),
  description: text.optional(),
  question: text.optional(),
  questions: z.unknown().optional(),
  prompt: text.optional(),
  env_var: word.optional(),
  choices: z.array(word).max(limits.maxQuestions).readonly().optional(),
  expires_at: z.number().nullable(),
});

/** What a board reads of each kind. Loose: events grow. */
const payloads = {
  "turn.started": startedSchema.extend({ row }),
  "turn.settled": settledSchema.extend({ row, counts: count }),
  "tool.started": z.object({ ...tool, args: z.unknown().optional(), context: z.unknown().optional() }),
  "tool.completed": z.object({
    ...tool,
    outcome: z.enum(toolOutcomes),
    duration_ms: z.number().min(0).optional(),
    result: z.unknown().optional(),
    summary: z.unknown().optional(),
    error: z.unknown().optional(),
  }),
  "tool.output_risk": z.object({ ...tool, risk: z.unknown().optional() }),
  "message.delta": delta,
  "reasoning.delta": delta,
  "message.interim": z.object({ text: text.default(""), already_streamed: z.boolean() }),
  "request.opened": askedSchema,
  "request.resolved": z.object({
    id: z.string().min(1).max(limits.maxToolIdUnits),
    request_id: word.optional(),
    method: z.string().min(1).max(limits.maxToolIdUnits),
    outcome: z.enum(requestOutcomes),
    choice: word.optional(),
    reason: word.optional(),
    by: origin.nullable(),
  }),
  "turn.error": z.object({ message: text.default("") }),
  gap: z
    .object({
      dropped: whole,
      withheld: whole,
      first_n: z.int().min(1).nullable(),
      last_n: z.int().min(1).nullable(),
      kinds: count,
    })
    .refine(({ first_n, last_n }) => (first_n ?? 0) <= (last_n ?? 0)),
} as const satisfies Record<(typeof activityKinds)[number], z.ZodType>;

const envelope = z
  .object({
    v: z.literal(1),
    coordinates: coordinatesSchema.nullable(),
    kind: z.enum(activityKinds),
    n: z.int().min(1).nullable(),
    n_from: z.int().min(1).optional(),
    at: z.number(),
    truncated: z.array(z.object({ field: text, bytes: whole })).default([]),
    payload: z.unknown(),
  })
  .refine(({ n, n_from }) => n_from === undefined || (n !== null && n_from <= n));

type Kind = keyof typeof payloads;
type Envelope = Omit<z.output<typeof envelope>, "kind" | "payload">;

/** An event as a board reads it: checked, its values a copy of its own, cut to the board's bounds. */
export type BoardEvent = {
  [Name in Kind]: Envelope & { readonly kind: Name; readonly payload: z.output<(typeof payloads)[Name]> };
}[Kind];

/** What an agent or a caller may have made as long as it likes; the rest of a payload is short. */
const cutFields = ["args", "context", "result", "summary", "error", "risk", "questions"];

/** null for what is no event, whatever it does when it is looked at. */
export function readEvent(value: unknown, bounds: BoardBounds): BoardEvent | null {
  try {
    const { kind, ...head } = envelope.parse(value);
    if (head.coordinates === null && kind !== "gap") return null;
    const payload: unknown = payloads[kind].parse(head.payload);
    if (!kind.startsWith("tool.") && kind !== "request.opened") return { ...head, kind, payload } as BoardEvent;
    const cut = cutValues(payload as JsonObject, bounds.maxValueBytes);
    const truncated = [...head.truncated, ...cut.truncated.filter(({ field }) => !isNamed(head.truncated, field))];
    return { ...head, kind, payload: cut.payload, truncated } as BoardEvent;
  } catch {
    // No event: another shape, a value that is no JSON or has no end, a property that throws.
    return null;
  }
}

/** A copy whose free values are JSON within the bound. @throws what is no JSON */
export function cutValues(
  payload: JsonObject,
  maxBytes: number,
): { readonly payload: JsonObject; readonly truncated: readonly TruncatedField[] } {
  const long = Object.entries(payload).filter(([field, value]) => cutFields.includes(field) && value !== undefined);
  if (long.length === 0) return { payload, truncated: [] };
  const copy = JSON.parse(JSON.stringify(Object.fromEntries(long))) as JsonObject;
  const cut = cutPayload(copy, maxBytes);
  return { payload: { ...payload, ...cut.payload }, truncated: cut.truncated };
}

function isNamed(truncated: readonly TruncatedField[], field: string): boolean {
  return truncated.some((each) => each.field === field);
}
