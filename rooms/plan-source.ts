import type { Coordinates, Notice, TurnStarted } from "../core/index.ts";
import type { FoldState } from "./fold-state.ts";
import type { InboxChange, InboxRow, RetryRow } from "./inbox-row.ts";
import type { Append } from "./log.ts";
import type { RoomRecord } from "./room-record.ts";
import type { RoomPolicy } from "./policy.ts";

/** All that a plan depends on. */
export interface PlanSource {
  readonly state: FoldState;
  readonly room: RoomRecord;
  /** The room's posts that wait, by number. */
  readonly inbox: readonly InboxRow[];
  /** In the order in which they were asked for. */
  readonly retries: readonly RetryRow[];
  /** Ids of the tasks with a due time: whose has passed, by due time, and whose has not. */
  readonly due: { readonly passed: readonly string[]; readonly waiting: readonly string[] };
  readonly policy: RoomPolicy;
  /** Turn ids of the open attempts that wait for a person. */
  readonly parked: ReadonlySet<string>;
  /** Payload of the last start of each task that `retries` and `due.passed` name. */
  readonly startedOf: ReadonlyMap<string, TurnStarted>;
}

/** A turn that may start now: its row, and what that row takes from what waits. */
export interface PlannedStart {
  /** The frozen object of the attempt, for its row and for all its events. */
  readonly coordinates: Coordinates;
  readonly payload: TurnStarted;
  readonly inbox: readonly InboxChange[];
  /** All that were asked for this task. */
  readonly retries: NonNullable<Append["retries"]>;
  readonly due: { readonly take: readonly string[] };
}

/** Why a discussion starts nothing now, or that it has ended. */
export type ThreadStanding =
  /** A turn that the others wait for is open. */
  | { readonly status: "running"; readonly reason: null }
  /**
   * No end: a planned start waits for its place (`slot`), all that are to answer are paused, or have an open turn
   * elsewhere, or are not driven here, or the time of the next attempt has not come (`due`).
   */
  | {
      readonly status: "waiting";
      readonly reason: "slot" | "paused" | "member_busy" | "member_unavailable" | "due";
    }
  /** A round brought no text; or nobody has anything new to hear. */
  | { readonly status: "settled"; readonly reason: "silent_round" | "answered" }
  /** Somebody would have something to say, but a bound of the policy is reached. */
  | { readonly status: "bounded"; readonly reason: "max_rounds" | "max_messages" | "max_owed_passes" }
  /** By a stop, or its post was withdrawn, or the room was disbanded. */
  | { readonly status: "stopped"; readonly reason: null }
  /** The post addresses nobody that is driven. */
  | { readonly status: "unresolved_mention"; readonly reason: null };

/** How the newest discussion of a thread stands. An older one was ended by the newer one's post. */
export type ThreadPlan = ThreadStanding & {
  readonly thread_id: string;
  /** Message id of the post that opened it, or that will. */
  readonly discussion: string;
  /**
   * Member ids in roster order: who is still to have a turn as far as that is known; of a discussion that ended, whom
   * members named that was never heard.
   */
  readonly owed: readonly string[];
};

/** What may happen next in a room. */
export interface Plan {
  /**
   * Attempts that were asked for or are due come first, then who waits longest. At most one per thread and one per
   * member, so all may start side by side.
   */
  readonly starts: readonly PlannedStart[];
  /** Every thread that the log or the inbox knows, by thread id (UTF-16 units). */
  readonly threads: readonly ThreadPlan[];
  /** What was left out and why: entries of the roster that do not parse, owed members that are not driven here. */
  readonly diagnostics: readonly Notice[];
}
