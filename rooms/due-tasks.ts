import type { DueRow } from "./inbox-row.ts";

/** The tasks of a room that are to be tried again by themselves, at one instant. */
export interface DueTasks {
  /** By due time. */
  readonly passed: readonly string[];
  readonly waiting: readonly string[];
  /** Ms until the next one; null without any. */
  readonly nextInMs: number | null;
}

/** @param now wall ms: due times have to outlive a restart */
export function dueTasks(rows: readonly DueRow[], now: number): DueTasks {
  const waiting = rows.filter(({ due_at }) => due_at > now);
  const [next] = waiting;
  return {
    passed: rows.filter(({ due_at }) => due_at <= now).map(({ task_id }) => task_id),
    waiting: waiting.map(({ task_id }) => task_id),
    nextInMs: next === undefined ? null : next.due_at - now,
  };
}
