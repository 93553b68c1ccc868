import type { Notice } from "../core/index.ts";
import { PlanMembers } from "./plan-members.ts";
import { planRetries, type PlannedRetries } from "./plan-retries.ts";
import type { Plan, PlanSource, ThreadPlan } from "./plan-source.ts";
import { decideThread, fenceOf, threadPlan, threadViews, type Decision, type ThreadView } from "./plan-thread.ts";
import { firstStart } from "./plan-turn.ts";

export type { Plan, PlannedStart, PlanSource, ThreadPlan, ThreadStanding } from "./plan-source.ts";

/**
 * Which turns may start, and for each thread why nothing does. Pure: equal sources give equal plans, ids included.
 *
 * A person's post opens a discussion in its thread and ends the older one there. Those it addresses answer one after the
 * other, each with the answers before (round 0); then rounds follow as `nextStep` says. Limits of the policy bound the
 * later rounds: whoever a person's post addresses is answered for. In each thread one turn runs at a time, and each member
 * has one open turn in the room, in whatever thread that is.
 */
export function planNext(source: PlanSource): Plan {
  const { state, room, policy, parked } = source;
  const members = new PlanMembers(source);
  const fence = fenceOf(room);
  const threads = threadViews(source, members, fence);
  const isOpen = room.disbanded_at === null;
  const again = isOpen ? planRetries(source, new Map(threads.map((t) => [t.thread_id, t])), members) : none;
  const begun = new Set(again.starts.map(({ coordinates }) => coordinates.thread_id));
  const turnIds = new Set(state.tasks.map(({ turn_id }) => turn_id));
  const starts = [...again.starts];
  const plans = new Map<string, ThreadPlan>();
  for (const thread of inTurn(threads)) {
    const decision = decideThread(thread, { members, policy, tasks: state.tasks, parked, fence });
    const { turn } = decision;
    if (turn !== undefined && !begun.has(thread.thread_id)) {
      members.take(turn.member.member_id);
      starts.push(firstStart({ room, thread, turn, members, policy, turnIds }));
    }
    plans.set(thread.thread_id, threadPlan(thread, withRetries(decision, thread, again, members)));
  }
  return {
    starts,
    threads: threads.flatMap(({ thread_id }) => plans.get(thread_id) ?? []),
    diagnostics: diagnose(source, members, again),
  };
}

const none: PlannedRetries = { starts: [], waiting: new Map(), unknown: [] };

/** Whoever waits longest is first: by the row after which the oldest post came, or the thread's last one. */
function inTurn(threads: readonly ThreadView[]): readonly ThreadView[] {
  return threads
    .map((thread) => {
      const post = thread.posts.find(({ owed }) => owed.length > 0);
      const row = post?.after_seq ?? thread.state?.last_row ?? Infinity;
      return { thread, row, number: post?.number ?? Infinity };
    })
    .sort((a, b) => compare(a.row, b.row) || compare(a.number, b.number))
    .map(({ thread }) => thread);
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** A thread with a further attempt to come, now or later, has not ended. */
function withRetries(
  decision: Decision,
  { thread_id }: ThreadView,
  { starts, waiting }: PlannedRetries,
  members: PlanMembers,
): Pick<Decision, "standing" | "owed"> {
  const start = starts.find(({ coordinates }) => coordinates.thread_id === thread_id);
  const later = waiting.get(thread_id) ?? [];
  const reason = start === undefined ? later[0]?.reason : "slot";
  if (reason === undefined) return decision;
  const { standing, owed } = decision;
  const goesOn = standing.status === "running" || standing.status === "waiting";
  const again = [...(start === undefined ? [] : [start.coordinates]), ...later].map(({ member_id }) => member_id);
  return {
    standing: goesOn && start === undefined ? standing : { status: "waiting", reason },
    // Of an end, `owed` names those that were never heard and get no turn any more.
    owed: members.inOrder(goesOn ? [...owed, ...again] : again),
  };
}

function diagnose(
  { room, inbox, state, retries, due }: PlanSource,
  { problems, driven }: PlanMembers,
  { unknown }: PlannedRetries,
): readonly Notice[] {
  const subject = room.room_id;
  const known = new Set(driven.map(({ member_id }) => member_id));
  const again = new Set([...retries.map(({ task_id }) => task_id), ...due.passed]);
  const awaited = [
    ...inbox.flatMap(({ owed }) => owed),
    ...state.tasks.flatMap(({ task_id, member_id }) => (again.has(task_id) ? member_id : [])),
  ];
  const unavailable = new Set(awaited.filter((memberId) => !known.has(memberId)));
  return [
    ...problems.map((message): Notice => ({ code: "invalid_roster", message, subject })),
    ...[...unavailable].map((memberId): Notice => ({
      code: "member_unavailable",
      message: `member ${memberId} is owed a turn, but the roster has no such member with a runner`,
      subject,
    })),
    ...unknown.map((taskId): Notice => ({
      code: "unknown_task",
      message: `task ${taskId} was to be tried again, but it is not among the tasks that are known`,
      subject,
    })),
  ];
}
