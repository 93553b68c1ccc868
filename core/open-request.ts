import type { ApprovedCall } from "./approval-rules.ts";
import { Attempt } from "./attempt.ts";
import { ClarifyLocks } from "./clarify-locks.ts";
import type { Undo } from "./clock.ts";
import type { Coordinates } from "./coordinates.ts";
import type { Execution } from "./execution.ts";
import type { JsonObject, RequestFrame } from "./frames.ts";
import { questionIdsOf, type RequestKind } from "./request-table.ts";
import type { Answered, RequestOutcome } from "./runner.ts";
import type { Session } from "./sessions.ts";

/** Why a request ended without an answer. */
export type CancelWord =
  | "timeout"
  | "interrupted"
  | "session_closed"
  | "shutdown"
  | "no_handler"
  | "too_many_requests"
  | "runner_lost";

/** A question that waits, with what is needed to answer it by exact id. */
export interface OpenRequest {
  /** `srq-` and 12 hex. */
  readonly id: string;
  /** `apr-` and 12 hex: the id of an approval among the approvals of its session; null of any other question. */
  readonly request_id: string | null;
  readonly method: string;
  /** Where its turn belongs in its room; null outside rooms. */
  readonly coordinates: Coordinates | null;
  /** Of its turn, a hidden one in a room. */
  readonly session: Session;
  /** As it left the seam: redacted. */
  readonly params: JsonObject;
  /** Wall ms. */
  readonly created_at: number;
  /** Wall ms; null when it never expires. */
  readonly expires_at: number | null;
  /** Of several questions, what was answered so far, redacted; null while nothing was. */
  readonly answers: JsonObject | null;
}

/** A call that waits for the outcome of a request. */
export interface Waiter {
  /** The tool call that an approval is about. */
  readonly toolId: string | undefined;
  readonly settle: (answered: Answered) => void;
}

/** What a question is made of when it is raised. */
export interface RaisedQuestion {
  readonly execution: Execution;
  readonly kind: RequestKind;
  readonly method: string;
  /** What people see of it. */
  readonly shown: JsonObject;
  /** What an approval is compared by; null when nothing is equal to it. */
  readonly call: ApprovedCall | null;
  /** What an approval that joins this one has, too; null when none does. */
  readonly likeness: string | null;
  readonly toolId: string | undefined;
}

/** A question that waits, as its keeper has it. */
export class WaitingRequest implements OpenRequest {
  readonly id: string;
  readonly request_id: string | null;
  readonly params: JsonObject;
  readonly created_at: number;
  readonly expires_at: number | null;
  /** Of several questions what was answered so far; null of one question. */
  readonly locks: ClarifyLocks | null;
  /** Monotonic ms; Infinity when it never expires. */
  readonly dueAt: number;
  readonly raised: RaisedQuestion;
  /** At least one: each equal question that was asked meanwhile is one more. */
  readonly waiters: Waiter[] = [];
  /** Set when it is kept. */
  stopTimer: Undo = () => undefined;
  answers: JsonObject | null = null;

  constructor(
    raised: RaisedQuestion,
    ids: { readonly id: string; readonly request_id: string | null },
    times: { readonly created_at: number; readonly expires_at: number | null; readonly dueAt: number },
  ) {
    this.raised = raised;
    this.id = ids.id;
    this.request_id = ids.request_id;
    const own = ids.request_id === null ? {} : { request_id: ids.request_id };
    this.params = { session_id: this.session.runtimeId, ...own, ...raised.shown };
    this.created_at = times.created_at;
    this.expires_at = times.expires_at;
    this.dueAt = times.dueAt;
    const questions = raised.method === "clarify" ? questionIdsOf(raised.shown) : null;
    this.locks = questions === null ? null : new ClarifyLocks(questions);
  }

  get method(): string {
    return this.raised.method;
  }

  get execution(): Execution {
    return this.raised.execution;
  }

  get session(): Session {
    return this.raised.execution.session;
  }

  get coordinates(): Coordinates | null {
    const { execution } = this.raised;
    return execution instanceof Attempt ? execution.coordinates : null;
  }

  /** Hands the outcome to each call that waits. */
  settle(outcome: RequestOutcome, result: JsonObject | undefined): void {
    const isPartial = this.locks !== null && outcome.outcome === "expired";
    const answered: Answered = isPartial
      ? { ...outcome, result: { answers: this.locks.answers }, timed_out: true }
      : { ...outcome, ...(result === undefined ? {} : { result }) };
    for (const { settle } of this.waiters) settle(answered);
  }
}

/** The frame by which a client is asked, now or again: its session by the id that it has now, and what was answered so far. */
export function requestFrame({ id, method, params, session, answers }: OpenRequest): RequestFrame {
  const locked = answers === null ? {} : { answers };
  return { jsonrpc: "2.0", id, method, params: { ...params, ...locked, session_id: session.runtimeId } };
}
