import type { AttemptRun } from "./attempt-run.ts";
import { dueTasks, type DueTasks } from "./due-tasks.ts";
import type { FoldState } from "./fold-state.ts";
import { planNext, type Plan } from "./plan.ts";
import type { RoomPolicy } from "./policy.ts";
import type { PlanInput } from "./room-reader.ts";
import { readStarts, type RowSource } from "./turn-rows.ts";

/** A room at one instant, as far as this process knows it. */
export interface RoomLook {
  readonly input: PlanInput;
  /** Folded up to the head that `input` names. */
  readonly state: FoldState;
  readonly plan: Plan;
  /** Ids of the tasks whose due time has not passed. */
  readonly dueWaiting: readonly string[];
  /** Attempts that run in this process. */
  readonly runs: readonly AttemptRun[];
}

/** Whether what was read and what was folded are of one instant. */
export function isWhole({ input, state }: Pick<RoomLook, "input" | "state">): boolean {
  return input.head.seq === state.through_seq;
}

/** What the plan says of a room, and which due times have passed. Starts nothing. */
export async function planOf(source: {
  readonly rows: RowSource;
  readonly input: PlanInput;
  readonly state: FoldState;
  readonly policy: RoomPolicy;
  readonly runs: Iterable<AttemptRun>;
  /** Wall ms. */
  readonly now: number;
}): Promise<{ readonly plan: Plan; readonly due: DueTasks }> {
  const { rows, input, state, policy } = source;
  const { room, inbox, retries } = input;
  const due = dueTasks(input.due, source.now);
  const startedOf = await readStarts(rows, state, [...retries.map(({ task_id }) => task_id), ...due.passed]);
  const parked = new Set([...source.runs].flatMap((run) => (run.isParked ? run.attempt.coordinates.turn_id : [])));
  const plan = planNext({ state, room, inbox, retries, due, policy, parked, startedOf });
  return { plan, due };
}
