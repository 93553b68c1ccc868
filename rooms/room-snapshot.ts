import { requestEntry, type Coordinates, type MemberEntry, type RunningTool, type Tap } from "../core/index.ts";
import type { AttemptRun } from "./attempt-run.ts";
import { memberEntries } from "./member-states.ts";
import type { RoomLook } from "./room-look.ts";
import { roomState, type RoomState } from "./room-state.ts";

/** An attempt that runs in this process, as it is at one instant: its activity goes on behind `n`. */
export interface AttemptSnapshot {
  readonly coordinates: Coordinates;
  /** Of its last event. */
  readonly n: number;
  /** What it has streamed, or its first 1,048,576 units. */
  readonly text: string;
  /** UTF-16 units that it has streamed: the `offset` of its next `message.delta`, and of its next `reasoning.delta`. */
  readonly offset: number;
  readonly reasoning_offset: number;
  /** Open calls, in order of their starts. */
  readonly tools: readonly RunningTool[];
  /** Ids (`srq-`), oldest first. */
  readonly open_requests: readonly string[];
}

/** A room's state and what runs in it, of one instant. */
export interface RoomSnapshot extends RoomState {
  /** Of attempts whose settled row is not in the log yet, in the order of their starts. */
  readonly attempts: readonly AttemptSnapshot[];
}

/** What each member of a room is doing. */
export function entriesOf(
  look: RoomLook,
  about: { readonly before: readonly MemberEntry[]; readonly roomsBefore: number; readonly now: number },
): readonly MemberEntry[] {
  const { state, input, plan, dueWaiting, runs } = look;
  return memberEntries({ state, room: input.room, plan, dueWaiting, live: runs.map((run) => run.live), ...about });
}

/** The state of a room. */
export function stateOf({ input, plan, runs }: RoomLook, members: readonly MemberEntry[], tap: Tap): RoomState {
  const requests = runs.flatMap((run) => tap.requests.open(run.attempt).map(requestEntry));
  return roomState({ input, threads: plan.threads, members, requests });
}

/** What runs in a room. */
export function attemptsOf({ state, runs }: RoomLook): readonly AttemptSnapshot[] {
  const open = new Map(
    state.tasks.flatMap(({ task_id, status, execution_generation }) =>
      status === null ? [[task_id, execution_generation] as const] : [],
    ),
  );
  return runs.flatMap((run) => {
    const { task_id, execution_generation } = run.attempt.coordinates;
    return open.get(task_id) === execution_generation ? snapshotOf(run) : [];
  });
}

function snapshotOf({ attempt, live, tools }: AttemptRun): AttemptSnapshot {
  const { coordinates, n, message, reasoning } = attempt;
  const streamed = { text: message.text, offset: message.units, reasoning_offset: reasoning.units };
  return { coordinates, n, ...streamed, tools, open_requests: live.open_requests };
}
