import { makeCoordinates } from "../core/index.ts";
import type { TaskState } from "./fold-state.ts";
import type { RetryRow } from "./inbox-row.ts";
import type { PlanMembers } from "./plan-members.ts";
import type { PlannedStart, PlanSource, ThreadStanding } from "./plan-source.ts";
import { isHeld, type ThreadView } from "./plan-thread.ts";

/** One more attempt that waits, and for what. */
export interface WaitingAttempt {
  readonly member_id: string;
  readonly reason: Exclude<(ThreadStanding & { status: "waiting" })["reason"], "slot">;
}

/** The further attempts of a plan. */
export interface PlannedRetries {
  /** In the order in which they were asked for; behind them those whose time has come. */
  readonly starts: readonly PlannedStart[];
  /** By thread id. */
  readonly waiting: ReadonlyMap<string, readonly WaitingAttempt[]>;
  /** Tasks that were to be tried again, of which the state or `startedOf` knows nothing. */
  readonly unknown: readonly string[];
}

/** A task that is to have one more attempt. `retry` is undefined when nobody asked and its time has come. */
interface Wanted {
  readonly task_id: string;
  readonly retry: RetryRow | undefined;
}

/**
 * One more attempt of each task that somebody asked for or whose due time has passed, as far as its member and its thread
 * are free. It has the turn, the task and the input of the first; a stop that came before it was asked for is over.
 */
export function planRetries(
  source: PlanSource,
  threads: ReadonlyMap<string, ThreadView>,
  members: PlanMembers,
): PlannedRetries {
  const tasks = new Map(source.state.tasks.map((task) => [task.task_id, task]));
  const starts: PlannedStart[] = [];
  const waiting = new Map<string, WaitingAttempt[]>();
  const unknown: string[] = [];
  const begun = new Set<string>();
  const wait = ({ thread_id, member_id }: TaskState, reason: WaitingAttempt["reason"]): void => {
    waiting.set(thread_id, [...(waiting.get(thread_id) ?? []), { member_id, reason }]);
  };
  for (const { task_id, retry } of wanted(source)) {
    const task = tasks.get(task_id);
    const payload = source.startedOf.get(task_id);
    if (task === undefined || payload === undefined) {
      unknown.push(task_id);
      continue;
    }
    // What was asked for may have begun with another one's row.
    if (task.status === null || isOver(task, retry)) continue;
    const thread = threads.get(task.thread_id);
    const choice = members.choose(members.driven.filter(({ member_id }) => member_id === task.member_id));
    if (choice.next === undefined) {
      wait(task, choice.isBusy ? "member_busy" : (choice.heldBy ?? "member_unavailable"));
    } else if (begun.has(task.thread_id) || (thread !== undefined && isHeld(thread, source.parked))) {
      wait(task, "member_busy");
    } else {
      begun.add(task.thread_id);
      members.take(task.member_id);
      starts.push(nextAttempt(source, task, { payload, retry }));
    }
  }
  for (const task_id of source.due.waiting) {
    const task = tasks.get(task_id);
    if (task !== undefined && task.status !== null) wait(task, "due");
  }
  return { starts, waiting, unknown };
}

function wanted({ retries, due }: PlanSource): readonly Wanted[] {
  const asked = new Map(retries.map((retry) => [retry.task_id, retry]));
  const unasked = due.passed.filter((task_id) => !asked.has(task_id));
  return [
    ...[...asked].map(([task_id, retry]) => ({ task_id, retry })),
    ...unasked.map((task_id) => ({ task_id, retry: undefined })),
  ];
}

/** Whether what was asked for has been carried out: another attempt was made since. */
function isOver(task: TaskState, retry: RetryRow | undefined): boolean {
  return retry !== undefined && retry.execution_generation < task.execution_generation;
}

function nextAttempt(
  { state, retries, due }: PlanSource,
  task: TaskState,
  { payload, retry }: { readonly payload: PlannedStart["payload"]; readonly retry: RetryRow | undefined },
): PlannedStart {
  const { task_id, turn_id, thread_id, member_id } = task;
  const isUnasked = retry?.cause === "auto_continue";
  return {
    coordinates: makeCoordinates({
      room_id: state.room_id,
      thread_id,
      member_id,
      turn_id,
      task_id,
      execution_generation: task.execution_generation + 1,
    }),
    payload: {
      ...payload,
      cause: isUnasked ? "auto_continue" : "retry",
      origin: isUnasked ? "auto_continue" : retry === undefined ? payload.origin : retry.origin,
    },
    inbox: [],
    retries: retries
      .filter((row) => row.task_id === task_id)
      .map(({ execution_generation }) => ({ task_id, execution_generation })),
    due: { take: [...due.passed, ...due.waiting].includes(task_id) ? [task_id] : [] },
  };
}
