import type { RequestOutcome } from "./runner.ts";
import type { Session } from "./sessions.ts";

/** What somebody answers: a result as the method's table has it, or one word or text that stands for it. */
export interface RequestAnswer {
  readonly choice?: unknown;
  readonly result?: unknown;
  /** Told beside the outcome. */
  readonly reason?: string | undefined;
}

/**
 * What became of an answer. Only `ok` had an effect; `already_resolved` tells the outcome that stands; one that does not fit
 * its question leaves it open.
 */
export type AnswerResult =
  | { readonly status: "ok" | "already_resolved"; readonly outcome: RequestOutcome }
  | { readonly status: "unknown_request" }
  | { readonly status: "invalid_answer" };

/** What became of the answer to one of several questions. `remaining`: ids of those that nobody has answered. */
export type LockResult =
  | { readonly status: "ok"; readonly remaining: readonly string[] }
  | { readonly status: "already_resolved"; readonly remaining: readonly []; readonly outcome: RequestOutcome }
  | { readonly status: "unknown_request" }
  | { readonly status: "unknown_question" }
  | { readonly status: "invalid_answer" };

/** Which approvals are answered: the one that is named, or all of a session that wait now and offer the choice. */
export interface ApprovalResponse {
  /** null when its id leads nowhere any more: the one that holds the named request is meant. */
  readonly session: Session | null;
  readonly request_id?: string | undefined;
  readonly all?: boolean | undefined;
  /** Default `deny`. */
  readonly choice?: string | undefined;
}

/**
 * What became of it. `resolved` counts requests, whatever the number of calls that wait for one; `outcome` is that of the
 * approval that was named.
 */
export type RespondResult =
  | { readonly status: "ok"; readonly resolved: number; readonly outcome?: RequestOutcome }
  | { readonly status: "already_resolved"; readonly resolved: 0; readonly outcome?: RequestOutcome }
  | { readonly status: "request_id_required" }
  | { readonly status: "invalid_choice" }
  | { readonly status: "unknown_request" };
