/** A member of a roster. Persons are listed, never driven. */
export interface Member {
  readonly member_id: string;
  /** What `@handle` names; unique in the room, case ignored. */
  readonly handle: string;
  readonly display_name: string;
  /** The kind of its runner, e.g. `acp`; null for a person. */
  readonly runner_kind: string | null;
  /**
   * The agent of the host's that drives it, by its id: any host that has an agent of this id can drive it again. Absent for
   * a person, and for a member whose runner has no such name.
   */
  readonly profile?: string | undefined;
}

/** A room with its present roster. */
export interface RoomRecord {
  readonly room_id: string;
  readonly name: string;
  /** Counts changes of name and roster, from 1. */
  readonly revision: number;
  readonly members: readonly Member[];
  /** Digest over member id, handle and runner kind, in roster order. */
  readonly roster_digest: string;
  readonly created_at: number;
  /** Members that do not answer until they are resumed, in order of their ids. */
  readonly paused: readonly string[];
  /** The last stop; posts and discussions before it start nothing any more. */
  readonly stop: StopFence | null;
  /** Wall ms; a disbanded room takes nothing any more and its id is never used again. */
  readonly disbanded_at: number | null;
}

/** Where a stop drew the line: what was accepted or logged before it starts nothing any more. */
export interface StopFence {
  /** The number of the last post before it; 0 when there was none. */
  readonly post_number: number;
  /** The last row before it. */
  readonly seq: number;
}
