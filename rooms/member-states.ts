import {
  memberStateOf,
  type Coordinates,
  type LiveAttempt,
  type MemberEntry,
  type WaitsBehind,
} from "../core/index.ts";
import type { FoldState, MemberState, TaskState } from "./fold-state.ts";
import type { RoomRecord } from "./room-record.ts";
import type { Plan } from "./plan-source.ts";
import { retryable } from "./retryable.ts";
import { drivenMembers, readRoster } from "./roster.ts";

/** What the states of a room's members follow from, of one instant. */
export interface MembersSource {
  readonly state: FoldState;
  readonly room: RoomRecord;
  readonly plan: Pick<Plan, "starts" | "threads">;
  /** Ids of the tasks whose due time has not passed. */
  readonly dueWaiting: readonly string[];
  /** The attempts that this process runs in the room. */
  readonly live: readonly LiveAttempt[];
  /** How many rooms stand before this one in the line for a place. */
  readonly roomsBefore: number;
  /** Wall ms, for `since` of what has changed. */
  readonly now: number;
  /** The entries before: who is in the same state keeps its `since`. */
  readonly before: readonly MemberEntry[];
}

/** A turn that is to come, and what it waits for. */
interface WaitingTurn {
  readonly behind: WaitsBehind;
  readonly position?: number;
  /** What is known of it. */
  readonly at: Partial<Coordinates>;
}

/**
 * What each member is doing: those that runners drive, in roster order, then those that are no longer on the roster and
 * have an open attempt. Pure; equal sources give equal entries.
 */
export function memberEntries(source: MembersSource): readonly MemberEntry[] {
  const { state, room, before } = source;
  const driven = drivenMembers(readRoster(room.members).members).map(({ member_id }) => member_id);
  const leaving = state.members.filter(({ member_id, open }) => open !== null && !driven.includes(member_id));
  const known = new Map(state.members.map((member) => [member.member_id, member]));
  const previous = new Map(before.map((entry) => [entry.member_id, entry]));
  const waiting = waitingTurns(source, known);
  const owed = owedMembers(source);
  return [...driven, ...leaving.map(({ member_id }) => member_id)].map((memberId) =>
    entryOf(source, memberId, {
      member: known.get(memberId),
      waiting: waiting.get(memberId),
      isOwed: owed.has(memberId),
      previous: previous.get(memberId),
    }),
  );
}

/** The entries that are not as they were: what is to be told. */
export function changedEntries(before: readonly MemberEntry[], after: readonly MemberEntry[]): readonly MemberEntry[] {
  const told = new Map(before.map((entry) => [entry.member_id, JSON.stringify(entry)]));
  return after.filter((entry) => told.get(entry.member_id) !== JSON.stringify(entry));
}

interface About {
  readonly member: MemberState | undefined;
  readonly waiting: WaitingTurn | undefined;
  readonly isOwed: boolean;
  readonly previous: MemberEntry | undefined;
}

function entryOf(source: MembersSource, memberId: string, about: About): MemberEntry {
  const { state, room, now } = source;
  const { member, waiting } = about;
  const open = member?.open ?? null;
  const last = member?.last ?? null;
  const live = source.live.find(
    ({ coordinates }) =>
      coordinates.task_id === open?.task_id && coordinates.execution_generation === open.execution_generation,
  );
  const word = memberStateOf({
    hasOpenAttempt: open !== null,
    hasOpenRequest: (live?.open_requests.length ?? 0) > 0,
    isStopping: live?.stopping ?? false,
    isQueued: waiting !== undefined,
    isOwed: about.isOwed,
    last: last?.status ?? null,
  });
  const failed = word === "failed" ? lastTask(state, member) : undefined;
  const entry: MemberEntry = {
    member_id: memberId,
    state: word,
    paused: room.paused.includes(memberId),
    since: now,
    ...placeOf(open ?? failed ?? (word === "queued" ? waiting?.at : undefined)),
    ...(live?.tool ? { tool: live.tool } : {}),
    open_requests: live?.open_requests ?? [],
    ...(waiting?.position === undefined ? {} : { position: waiting.position }),
    ...(waiting === undefined ? {} : { behind: waiting.behind }),
    ...(word === "failed" && last !== null
      ? { reason_code: last.reason_code, retryable: mayRetry(source, failed) }
      : {}),
    last: last === null ? null : { turn_id: last.turn_id, status: last.status, reason_code: last.reason_code },
  };
  return { ...entry, since: sinceOf(entry, about.previous, live) };
}

/** @param entry with `since` as it is when the state is new */
function sinceOf(entry: MemberEntry, previous: MemberEntry | undefined, live: LiveAttempt | undefined): number {
  if (previous !== undefined && isSame(previous, entry)) return previous.since;
  if (entry.state === "needs_input") return live?.asked_at ?? entry.since;
  const goesOnAgain = previous?.state === "needs_input" && previous.turn_id === entry.turn_id;
  return entry.state === "running" && !goesOnAgain ? (live?.since ?? entry.since) : entry.since;
}

/** Whether a member is still in the state that it was in, and not in such a one again. */
function isSame(previous: MemberEntry, entry: MemberEntry): boolean {
  if (previous.state !== entry.state) return false;
  // A turn that waits gets its ids when its place in the thread is known.
  if (entry.state === "queued") return true;
  return (
    previous.turn_id === entry.turn_id &&
    previous.execution_generation === entry.execution_generation &&
    previous.last?.turn_id === entry.last?.turn_id
  );
}

function placeOf(at: Partial<Coordinates> | undefined): Partial<Coordinates> {
  if (at === undefined) return {};
  const { thread_id, turn_id, task_id, execution_generation } = at;
  return {
    ...(thread_id === undefined ? {} : { thread_id }),
    ...(turn_id === undefined ? {} : { turn_id }),
    ...(task_id === undefined ? {} : { task_id }),
    ...(execution_generation === undefined ? {} : { execution_generation }),
  };
}

function lastTask({ tasks }: FoldState, member: MemberState | undefined): TaskState | undefined {
  return tasks.find(({ settled_row }) => settled_row !== null && settled_row === member?.last?.settled_row);
}

/** What the log kept may be tried again; nothing is in a room that was disbanded. */
function mayRetry({ state, room }: MembersSource, task: TaskState | undefined): boolean {
  return task !== undefined && room.disbanded_at === null && retryable(state, task.task_id) === "ok";
}

/** Who is to have a turn that has not begun, paused or not. */
function owedMembers({ plan, room }: MembersSource): ReadonlySet<string> {
  if (room.disbanded_at !== null) return new Set();
  const starting = plan.starts.map(({ coordinates }) => coordinates.member_id);
  return new Set([...starting, ...plan.threads.flatMap((thread) => (goesOn(thread) ? thread.owed : []))]);
}

/** A thread that has ended names in `owed` who was never heard. */
function goesOn({ status }: Plan["threads"][number]): boolean {
  return status === "running" || status === "waiting";
}

/** By member id, the turn that comes first: one that may start, one behind others, one whose time has not come. */
function waitingTurns(
  { state, room, plan, dueWaiting, roomsBefore }: MembersSource,
  known: ReadonlyMap<string, MemberState>,
): ReadonlyMap<string, WaitingTurn> {
  const waiting = new Map<string, WaitingTurn>();
  const add = (memberId: string, turn: WaitingTurn): void => {
    if (!waiting.has(memberId) && !room.paused.includes(memberId)) waiting.set(memberId, turn);
  };
  for (const [index, { coordinates }] of plan.starts.entries()) {
    add(coordinates.member_id, { behind: "slot", position: roomsBefore + index + 1, at: coordinates });
  }
  const due = state.tasks.filter(({ task_id, status }) => status !== null && dueWaiting.includes(task_id));
  for (const { thread_id, owed } of plan.threads.filter(goesOn)) {
    const line = owed.filter((memberId) => !room.paused.includes(memberId));
    for (const [index, memberId] of line.entries()) {
      if (due.some((task) => task.member_id === memberId && task.thread_id === thread_id)) continue;
      if ((known.get(memberId)?.open ?? null) !== null) add(memberId, { behind: "member", at: { thread_id } });
      else add(memberId, { behind: "thread", position: index + 1, at: { thread_id } });
    }
  }
  for (const { member_id, thread_id, turn_id, task_id, execution_generation: made } of due) {
    add(member_id, { behind: "due", at: { thread_id, turn_id, task_id, execution_generation: made + 1 } });
  }
  return waiting;
}
