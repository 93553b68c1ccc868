import type { ReasonCode, TurnStatus } from "./activity.ts";
import type { Attempt } from "./attempt.ts";
import type { Coordinates } from "./coordinates.ts";

/** What a member is doing, in the order in which the words are tried: the first that holds is its state. */
export const memberStateWords = ["needs_input", "stopping", "running", "queued", "failed", "idle"] as const;
/** A word of `memberStateWords`. */
export type MemberStateWord = (typeof memberStateWords)[number];

/** What a turn that is to come waits for: a place, its member's open turn, others in its thread, its due time. */
export type WaitsBehind = "slot" | "member" | "thread" | "due";

/** A tool call that is open. */
export interface RunningTool {
  readonly tool_id: string;
  readonly name: string;
  /** Wall ms. */
  readonly since: number;
}

/** An attempt that this process runs, as far as its member's state follows from it. */
export interface LiveAttempt {
  readonly coordinates: Coordinates;
  /** Wall ms of its start. */
  readonly since: number;
  /** Ids (`srq-`) of its requests that wait for a person, oldest first. */
  readonly open_requests: readonly string[];
  /** Wall ms since when the oldest of them waits; null while none does. */
  readonly asked_at: number | null;
  /** The call that began last of those that are open. */
  readonly tool: RunningTool | null;
  /** It was asked to stop. */
  readonly stopping: boolean;
}

/** What a member is doing now and did last. */
export interface MemberEntry {
  readonly member_id: string;
  readonly state: MemberStateWord;
  /** It starts nothing until it is resumed. What runs goes on. */
  readonly paused: boolean;
  /** Wall ms: since when this host has known it in this state. */
  readonly since: number;
  /** Of its open attempt, of the turn that waits, or of the one that failed; as far as they are known. */
  readonly thread_id?: string;
  readonly turn_id?: string;
  readonly task_id?: string;
  readonly execution_generation?: number;
  readonly tool?: RunningTool;
  readonly open_requests: readonly string[];
  /** Where the turn that waits stands among those that wait for the same, from 1; a due time has none. */
  readonly position?: number;
  /** Also beside an open attempt, when one more turn of the member waits. */
  readonly behind?: WaitsBehind;
  /** Of a `failed` one. */
  readonly reason_code?: ReasonCode | null;
  /** Of a `failed` one: whether a retry of the task would be taken. */
  readonly retryable?: boolean;
  readonly last: {
    readonly turn_id: string;
    readonly status: TurnStatus;
    readonly reason_code: ReasonCode | null;
  } | null;
}

/** What decides a member's state. */
export interface MemberFacts {
  readonly hasOpenAttempt: boolean;
  /** A request of that attempt waits for a person. */
  readonly hasOpenRequest: boolean;
  /** That attempt was asked to stop. */
  readonly isStopping: boolean;
  /** A turn of it is planned and waits. */
  readonly isQueued: boolean;
  /** It is owed something newer than its last attempt, planned or not. */
  readonly isOwed: boolean;
  /** How its last attempt ended; null when there was none. */
  readonly last: TurnStatus | null;
}

/** The state of a member: the first word that holds. Pure. */
export function memberStateOf(facts: MemberFacts): MemberStateWord {
  const { hasOpenAttempt, hasOpenRequest, isStopping, isQueued, isOwed, last } = facts;
  if (hasOpenAttempt) {
    if (hasOpenRequest) return "needs_input";
    return isStopping ? "stopping" : "running";
  }
  if (isQueued) return "queued";
  return (last === "failed" || last === "abandoned") && !isOwed ? "failed" : "idle";
}

/**
 * An attempt as the state of its member needs it. Equal attempts give equal entries: times of tools are counted from the
 * attempt's start, so a wall clock that steps moves none of them.
 */
export function liveAttemptOf(
  attempt: Attempt,
  about: {
    /** Wall ms and monotonic ms of its start, read together. */
    readonly since: number;
    readonly startedAt: number;
    readonly open_requests: readonly string[];
    readonly asked_at: number | null;
    readonly stopping: boolean;
  },
): LiveAttempt {
  const { since, startedAt, open_requests, asked_at, stopping } = about;
  const last = [...attempt.openTools].at(-1);
  const tool =
    last === undefined
      ? null
      : { tool_id: last.tool_id, name: last.name, since: Math.round(since + last.startedAt - startedAt) };
  return { coordinates: attempt.coordinates, since, open_requests, asked_at, tool, stopping };
}
