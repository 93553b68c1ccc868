import {
  type Coordinates,
  type MemberEntry,
  type MemberStateWord,
  type ReasonCode,
  type RequestEntry,
} from "../core/index.ts";
import type { RoomState } from "./room-state.ts";

/** What a person may do something about. */
export type PendingAction =
  /** A question of a member that waits for an answer. */
  | ({ readonly action: "answer" } & RequestEntry)
  /** A member's last attempt failed, and a retry of its task would be taken. */
  | {
      readonly action: "retry";
      /** Of the attempt that failed. */
      readonly coordinates: Coordinates;
      readonly reason_code: ReasonCode | null;
    };

/** How a room's driver is doing. */
export interface DriverStatus {
  /** Some host holds the room's lease. */
  readonly running: boolean;
  /** Some attempt is open. */
  readonly working: boolean;
  /** No attempt goes on although somebody is owed a turn. */
  readonly blocked: boolean;
  /** Members by state; each word is there. */
  readonly counts: { readonly [State in MemberStateWord]: number };
  /** Questions first, oldest first; then tasks, in roster order. */
  readonly pending_actions: readonly PendingAction[];
  /** Rooms are not driven over several machines. */
  readonly peer_routes: readonly [];
}

/** What follows from a room's state about its driver. Pure. */
export function driverStatus({ room, lease, threads, members, open_requests }: RoomState): DriverStatus {
  const counts = countsOf(members);
  const isOwed = threads.some(({ status, owed }) => (status === "running" || status === "waiting") && owed.length > 0);
  const answers = open_requests.map((request) => ({ action: "answer", ...request }) as const);
  const retries = members.flatMap((member) => retryOf(room.room_id, member));
  return {
    running: lease.held,
    working: counts.running + counts.stopping + counts.needs_input > 0,
    blocked: isOwed && counts.running + counts.stopping === 0,
    counts,
    pending_actions: [...answers, ...retries],
    peer_routes: [],
  };
}

function countsOf(members: readonly MemberEntry[]): DriverStatus["counts"] {
  const counts = { needs_input: 0, stopping: 0, running: 0, queued: 0, failed: 0, idle: 0 };
  for (const { state } of members) counts[state]++;
  return counts;
}

function retryOf(room_id: string, entry: MemberEntry): PendingAction | [] {
  const { member_id, thread_id, turn_id, task_id, execution_generation, retryable, reason_code = null } = entry;
  if (retryable !== true) return [];
  if (thread_id === undefined || turn_id === undefined || task_id === undefined) return [];
  if (execution_generation === undefined) return [];
  const coordinates = { room_id, thread_id, member_id, turn_id, task_id, execution_generation };
  return { action: "retry", coordinates, reason_code };
}
