import { z } from "zod";
import { readApproval, shownApproval } from "./approval-question.ts";
import { estimateBytes } from "./cut.ts";
import type { JsonObject } from "./frames.ts";
import { limits } from "./options.ts";
import type { Scope } from "./scope.ts";

/** What an answer says, once it was found to fit its question. */
export interface Reading {
  /** Of an approval. */
  readonly choice?: string;
  /** Of an approval: it is meant for all that wait in the session and offer the choice. */
  readonly all?: boolean;
  /** What the agent gets. Of several questions, `answers` is absent when all of them were turned away. */
  readonly result?: JsonObject;
}

/** How the questions of a method are put to people, and how their answers are read. */
export interface RequestKind {
  /** Who is asked, and who may answer. */
  readonly scope: Scope;
  readonly lifetimeMs: number;
  /** The key under which a result has what somebody types as one text. */
  readonly textKey: "choice" | "answer" | "value";
  /** What is answered is a secret. */
  readonly isSecret: boolean;
  /** Of the params, redacted already, what reaches people; null for a question that cannot be put. */
  show(params: JsonObject, inRoom: boolean): JsonObject | null;
  /** null for an answer that does not fit. */
  read(result: unknown, shown: JsonObject): Reading | null;
}

// Results are loose: what a newer client says beside its answer is left out. So are params: what an agent puts beside its
// question reaches nobody.
const text = z.string().max(limits.maxAnswerUnits);
const clarifyResult = z.object({
  answer: text.nullable().default(null),
  answers: z.record(z.string(), text).nullable().default(null),
});
const textValue = z.object({ value: text });
const anyValue = z.object({ value: z.unknown() }).refine(({ value }) => value !== undefined);

const question = {
  question: z.string().min(1),
  choices: z.array(z.string()).nullish(),
  multi_select: z.boolean().nullish(),
};
const oneQuestion = z.object(question).transform(given);
const qid = z.string().min(1).max(limits.maxToolIdUnits);
const severalQuestions = z.object({
  questions: z
    .array(z.object({ qid, ...question }).transform(given))
    .min(1)
    .max(limits.maxQuestions)
    .refine((questions) => new Set(questions.map((each) => each["qid"])).size === questions.length),
});

const clarify: RequestKind = {
  scope: "write",
  lifetimeMs: limits.questionLifetimeMs,
  textKey: "answer",
  isSecret: false,
  show: shownBy(z.union([severalQuestions, oneQuestion])),
  read(result, shown) {
    const answered = clarifyResult.safeParse(result).data;
    if (answered === undefined) return null;
    const { answer, answers } = answered;
    const ids = questionIdsOf(shown);
    // An answer to one question is none to several, and the other way round; neither turns all of them away.
    if (ids === null) return answer === null && answers !== null ? null : { result: { answer: answer ?? "" } };
    if (answers === null) return answer === null ? { result: {} } : null;
    const known = ids.filter((id) => Object.hasOwn(answers, id));
    return { result: { answers: Object.fromEntries(known.map((id) => [id, answers[id]])) } };
  },
};

/**
 * Every method by which an agent asks, once. `vault.*` stands for all that begin with `vault.`; the methods from there on
 * are handed on as they are, for clients that know what to do with them.
 */
export const requestTable = {
  approval: {
    scope: "approvals",
    lifetimeMs: limits.approvalLifetimeMs,
    textKey: "choice",
    isSecret: false,
    show: shownApproval,
    read: readApproval,
  },
  clarify,
  secret: {
    ...valueKind(z.object({ env_var: z.string().min(1), prompt: z.string().default("") }), textValue),
    isSecret: true,
  },
  sudo: { ...valueKind(z.object({ command: z.string().min(1) }), textValue), isSecret: true },
  ask: valueKind(
    z.object({ prompt: z.string().min(1), schema: z.record(z.string(), z.unknown()).nullish() }).transform(given),
    anyValue,
  ),
  "vault.*": relayed(limits.questionLifetimeMs),
  "terminal.read": relayed(limits.relayedLifetimeMs),
  "window.read": relayed(limits.relayedLifetimeMs),
  "preview.read": relayed(limits.relayedLifetimeMs),
  "preview.act": relayed(limits.relayedLifetimeMs),
  tour: relayed(limits.relayedLifetimeMs),
} as const satisfies Record<string, RequestKind>;

/** The methods of `requestTable`, as a client is told them. */
export const requestMethods = Object.keys(requestTable) as readonly (keyof typeof requestTable)[];

/** The entry of a method; undefined for one by which nobody is asked. */
export function requestKind(method: string): RequestKind | undefined {
  if (method.startsWith("vault.")) return requestTable["vault.*"];
  return Object.hasOwn(requestTable, method) ? requestTable[method as keyof typeof requestTable] : undefined;
}

/** The scope that a request of this method, its answer and its `request.*` events need. */
export function requestScope(method: string): Scope {
  return requestKind(method)?.scope ?? "admin";
}

/** Ids of questions that are asked together; null for any other question. */
export function questionIdsOf({ questions }: JsonObject): readonly string[] | null {
  return Array.isArray(questions) ? questions.map(({ qid: id }: { readonly qid: string }) => id) : null;
}

/** A question that is answered by one value. */
function valueKind(params: z.ZodType<JsonObject>, result: z.ZodType<JsonObject>): RequestKind {
  return {
    scope: "write",
    lifetimeMs: limits.questionLifetimeMs,
    textKey: "value",
    isSecret: false,
    show: shownBy(params),
    read(value) {
      const parsed = result.safeParse(value).data;
      return parsed === undefined ? null : { result: parsed };
    },
  };
}

function relayed(lifetimeMs: number): RequestKind {
  // The host's own: which session it is, and that it is no approval.
  const others = z.looseObject({}).transform(({ session_id: _session, request_id: _request, ...params }) => params);
  return { ...valueKind(others, anyValue), lifetimeMs };
}

function shownBy(schema: z.ZodType<JsonObject>): RequestKind["show"] {
  return (params) => {
    const shown = schema.safeParse(params).data;
    return shown === undefined || estimateBytes(shown) > limits.maxQuestionBytes ? null : shown;
  };
}

/** The fields that have a value. */
function given(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
