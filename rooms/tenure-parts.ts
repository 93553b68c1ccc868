import type { Clock, Lane, Report, Runner, Tap } from "../core/index.ts";
import type { Places } from "./admission.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import type { LoadedRoom, StoredLog } from "./load-room.ts";
import type { RoomLog } from "./log.ts";
import type { LoopTurns } from "./loop-turns.ts";
import type { RoomPolicy } from "./policy.ts";

/** What a host tried to write in rooms that were not its own any more. None of it changed anything. */
export interface StaleWrites {
  /** Ends of attempts. */
  settles: number;
  /** Stops, pauses, retries, rosters, and what else is asked for by a call. */
  changes: number;
}

/** What all rooms of a host share. */
export interface HostParts {
  readonly log: RoomLog & StoredLog;
  readonly leases: LeaseKeeper;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly report: Report;
  readonly places: Places;
  readonly lane: Lane;
  /** For those who only look: none of them keeps the others from the event loop. */
  readonly turns: LoopTurns;
  readonly stopGraceMs?: number | undefined;
  readonly turnDeadlineMs?: number | undefined;
  readonly refused: StaleWrites;
  /** Something moved: a turn started, ended or began to wait, or nothing is left to start. */
  readonly onChange: () => void;
}

/** What one tenure is made of. */
export interface TenureParts {
  readonly roomId: string;
  readonly leaseGeneration: number;
  /** The room as recovery left it. */
  readonly loaded: LoadedRoom;
  readonly policy: RoomPolicy;
  /** By member id; may change with the roster. */
  readonly runners: () => ReadonlyMap<string, Runner>;
  /** Something moved in the room. A text that grows is nothing of that kind. */
  readonly onChange: () => void;
  /** A write was refused because the lease is somebody else's. */
  readonly onLost: () => void;
  /** The log and memory do not agree: nothing more is written. */
  readonly onDamage: (fault: unknown) => void;
  /** Tells trouble of the room, each kind once. */
  readonly report: (code: string, message: string, cause?: unknown) => void;
}
