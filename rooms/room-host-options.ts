import { RoomtapError, type Clock, type IdSource, type Report, type Runner, type Tap } from "../core/index.ts";
import type { LeaseWait } from "./lease-claim.ts";
import type { StoredLog } from "./load-room.ts";
import type { RoomLog } from "./log.ts";
import type { RoomDefinition } from "./room-definition.ts";

/** What a host is made of. */
export interface RoomHostOptions {
  readonly log: RoomLog & StoredLog;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly report: Report;
  readonly rooms: readonly RoomDefinition[];
  /**
   * By id. Rooms of the database whose members name only these, because they were made at run time, are driven as well.
   */
  readonly agents?: ReadonlyMap<string, Runner> | undefined;
  /** Turns that run side by side over all rooms; those that wait for a person do not count. Default 4. */
  readonly maxConcurrentTurns?: number | undefined;
  /** How long a runner may take to end once it was asked to. Default 30,000. */
  readonly stopGraceMs?: number | undefined;
  /** How long a turn may run; the time in which it waits for a person does not count. Default 1,800,000. */
  readonly turnDeadlineMs?: number | undefined;
  /** How long a lease is believed in without being renewed, 100 to 600,000. Default 15,000. */
  readonly leaseTtlMs?: number | undefined;
  /** Told why a room cannot be driven yet, and when it can. */
  readonly onWait?: ((roomId: string, wait: LeaseWait) => void) | undefined;
}

/** @throws RoomtapError `duplicate_id`, `invalid_params` that names the option */
export function checkOptions(options: RoomHostOptions): void {
  const { rooms, maxConcurrentTurns: turns, stopGraceMs, turnDeadlineMs } = options;
  const ids = new Set<string>();
  for (const { room_id } of rooms) {
    if (ids.has(room_id)) throw new RoomtapError("duplicate_id", `two rooms have the id ${room_id}`);
    ids.add(room_id);
  }
  if (turns !== undefined && !(Number.isSafeInteger(turns) && turns >= 1)) {
    throw new RoomtapError("invalid_params", `maxConcurrentTurns: expected a whole number from 1, got ${turns}`);
  }
  checkGrace("stopGraceMs", stopGraceMs);
  checkGrace("turnDeadlineMs", turnDeadlineMs);
}

/** @throws RoomtapError `invalid_params` for a grace that is no time */
export function checkGrace(name: string, graceMs: number | undefined): void {
  if (graceMs === undefined || graceMs >= 0) return;
  throw new RoomtapError("invalid_params", `${name}: expected 0 or more milliseconds, got ${graceMs}`);
}
