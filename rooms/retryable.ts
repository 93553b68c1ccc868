import { limits } from "../core/index.ts";
import type { FoldState } from "./fold-state.ts";

/** Whether a task may have one more attempt, or why not. */
export type Retryable = "ok" | "unknown_task" | "task_open" | "stale_generation" | "not_retryable";

/**
 * Whether one more attempt of a task may be asked for: its last one `failed`, was `cancelled`, `abandoned` or
 * `superseded`. The open attempt is told first, then a generation that is not the last one's.
 * @param generation of the attempt that the caller means; undefined means the last
 */
export function retryable(state: FoldState, taskId: string, generation?: number): Retryable {
  const task = state.tasks.find(({ task_id }) => task_id === taskId);
  if (task === undefined) return "unknown_task";
  if (task.status === null) return "task_open";
  if (generation !== undefined && generation !== task.execution_generation) return "stale_generation";
  return task.status === "completed" || task.status === "passed" ? "not_retryable" : "ok";
}

const { maxUnaskedAttempts: maxAttemptsUnasked } = limits;
const firstDelayMs = 1_000;
const maxDelayMs = 30_000;

/**
 * How long to wait before the next attempt of a task whose runner proved that nothing ran: 1 s, doubling to 30 s; null when
 * it has had the 3 attempts that are made without being asked.
 * @param attemptsMade the generation of the last one
 */
export function dueAfter(attemptsMade: number): number | null {
  if (attemptsMade >= maxAttemptsUnasked) return null;
  return Math.min(firstDelayMs * 2 ** (attemptsMade - 1), maxDelayMs);
}
