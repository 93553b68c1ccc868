import {
  createLane,
  hostDefaults,
  RoomtapError,
  type Clock,
  type OpenRequest,
  type Report,
  type Runner,
  type Tap,
} from "../core/index.ts";
import { Places } from "./admission.ts";
import type { AttemptRun } from "./attempt-run.ts";
import { loadRoom, type LoadedRoom, type StoredLog } from "./load-room.ts";
import type { RoomLog } from "./log.ts";
import { abandonOpenAttempts } from "./recovery.ts";
import { Room, type HostParts } from "./room.ts";
import { parseRoster, rosterDigest } from "./roster.ts";

/** A member as a host is given it. */
export interface MemberDefinition {
  /** What `@handle` names. */
  readonly handle: string;
  /** Default `m-` and the handle. */
  readonly member_id?: string | undefined;
  /** Default the handle. */
  readonly display_name?: string | undefined;
  /** null for a person. */
  readonly runner: Runner | null;
}

/** A room as a host is given it. */
export interface RoomDefinition {
  readonly room_id: string;
  /** Default the room's id. */
  readonly name?: string | undefined;
  /** 1 to 16, in the order in which they answer. */
  readonly members: readonly MemberDefinition[];
}

/** What a host is made of. */
export interface RoomHostOptions {
  readonly log: RoomLog & StoredLog;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly report: Report;
  readonly rooms: readonly RoomDefinition[];
  /** Turns that run side by side over all rooms. Default 4. */
  readonly maxConcurrentTurns?: number | undefined;
  /** How long a runner may take to end once it was asked to. Default 30,000. */
  readonly stopGraceMs?: number | undefined;
}

/** The rooms that a process drives, side by side. Opening it settles what a dead host left open. */
export class RoomHost {
  readonly #rooms = new Map<string, Room>();
  readonly #parts: HostParts;
  #waiters: (() => void)[] = [];

  private constructor(options: RoomHostOptions) {
    const places = options.maxConcurrentTurns ?? hostDefaults.maxConcurrentTurns;
    this.#parts = {
      log: options.log,
      tap: options.tap,
      clock: options.clock,
      report: options.report,
      places: new Places(places),
      lane: createLane(places),
      stopGraceMs: options.stopGraceMs,
      onChange: () => this.#changed(),
    };
    // A turn that begins to wait for a person may be the last thing that moved.
    options.tap.requests.on("opened", () => this.#changed());
  }

  /**
   * Checks all that is given before anything is written.
   * @throws RoomtapError `duplicate_id` for two rooms of one id, `invalid_roster`, `invalid_params`, and what the log throws
   */
  static async open(options: RoomHostOptions): Promise<RoomHost> {
    const { log, tap, clock, report } = options;
    checkOptions(options);
    const planned = planRooms(options.rooms);
    const host = new RoomHost(options);
    // Together, because what is asked for in one tick is one commit.
    const records = await Promise.all(planned.map(({ content }) => log.putRoom(content)));
    for (const [index, { runners }] of planned.entries()) {
      const record = records[index];
      if (record === undefined) continue;
      const { fold, damage } = await recoverRoom(record.room_id, { log, tap, clock });
      host.#rooms.set(record.room_id, new Room({ record, fold, damage, runners }, host.#parts));
    }
    for (const { room_id } of await log.rooms()) {
      if (host.#rooms.has(room_id)) continue;
      const { damage } = await recoverRoom(room_id, { log, tap, clock });
      if (damage !== null) report({ code: damage.code, message: damage.message, subject: room_id });
    }
    for (const room of host.#rooms.values()) room.pump();
    return host;
  }

  /** @throws RoomtapError `unknown_room`, naming those that are open here */
  room(roomId: string): Room {
    const room = this.#rooms.get(roomId);
    if (room !== undefined) return room;
    const known = [...this.#rooms.keys()].join(", ");
    throw new RoomtapError(
      "unknown_room",
      `no room ${roomId} is open here; open are: ${known === "" ? "none" : known}`,
    );
  }

  /** In the order in which they were given. */
  get rooms(): readonly Room[] {
    return [...this.#rooms.values()];
  }

  /** Attempts that have started and not settled, over all rooms. */
  get runs(): readonly AttemptRun[] {
    return this.rooms.flatMap((room) => [...room.runs]);
  }

  /** Resolves when nothing moves any more without a person: no turn runs, or those that do wait for an answer. */
  quiet(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#changed();
    });
  }

  /**
   * Resolves when every accepted post has had its turns. A turn that waits for a person when nothing else moves is settled
   * `cancelled`, `shutdown`. Gives the requests that nobody answered.
   */
  async finish(): Promise<readonly OpenRequest[]> {
    const unanswered: OpenRequest[] = [];
    for (;;) {
      await this.quiet();
      // Somebody may have answered between the word that all is quiet and this line.
      if (!this.#isQuiet()) continue;
      const waiting = this.runs;
      if (waiting.length === 0) return unanswered;
      for (const run of waiting) {
        unanswered.push(...this.#parts.tap.requests.open(run.attempt));
        run.stop("shutdown");
      }
      await Promise.all(waiting.map((run) => run.done));
    }
  }

  /**
   * Stops what runs (`cancelled`, `shutdown`) and waits until it has settled. What waits in the inbox stays there.
   * @param graceMs how long runners may take; default `stopGraceMs`
   * @throws RoomtapError `invalid_params` for a grace that is no time
   */
  async close(graceMs?: number): Promise<void> {
    checkGrace("graceMs", graceMs);
    for (const room of this.#rooms.values()) room.close();
    this.#stopAll(graceMs);
    await Promise.all(this.rooms.map((room) => room.idle()));
    // A start that was being written has its attempt by now.
    this.#stopAll(graceMs);
    await Promise.all(this.runs.map((run) => run.done));
  }

  #stopAll(graceMs: number | undefined): void {
    for (const run of this.runs) run.stop("shutdown", graceMs);
  }

  #changed(): void {
    if (this.#waiters.length === 0 || !this.#isQuiet()) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #isQuiet(): boolean {
    return this.rooms.every((room) => !room.isPlanning) && this.runs.every((run) => run.waits);
  }
}

/** A room as it is to be stored, and who drives its members. */
interface PlannedRoom {
  readonly content: Parameters<RoomLog["putRoom"]>[0];
  /** By member id. */
  readonly runners: ReadonlyMap<string, Runner>;
}

function planRooms(definitions: readonly RoomDefinition[]): readonly PlannedRoom[] {
  const ids = new Set<string>();
  return definitions.map(({ room_id, name = room_id, members: given }) => {
    if (ids.has(room_id)) throw new RoomtapError("duplicate_id", `two rooms have the id ${room_id}`);
    ids.add(room_id);
    const members = parseRoster(
      given.map(({ runner, ...member }) => ({ ...member, runner_kind: runner === null ? null : runner.kind })),
    );
    const runners = new Map<string, Runner>();
    for (const [index, { member_id }] of members.entries()) {
      const runner = given[index]?.runner;
      if (runner !== null && runner !== undefined) runners.set(member_id, runner);
    }
    return { content: { room_id, name, members, roster_digest: rosterDigest(members) }, runners };
  });
}

/** Folds a room, and settles what a dead host left open in it unless the room is damaged. */
async function recoverRoom(
  roomId: string,
  { log, tap, clock }: Pick<RoomHostOptions, "log" | "tap" | "clock">,
): Promise<LoadedRoom> {
  const loaded = await loadRoom(log, roomId, clock);
  if (loaded.damage === null) await abandonOpenAttempts({ log, tap, roomId, fold: loaded.fold });
  return loaded;
}

function checkOptions({ maxConcurrentTurns: turns, stopGraceMs }: RoomHostOptions): void {
  if (turns !== undefined && !(Number.isSafeInteger(turns) && turns >= 1)) {
    throw new RoomtapError("invalid_params", `maxConcurrentTurns: expected a whole number from 1, got ${turns}`);
  }
  checkGrace("stopGraceMs", stopGraceMs);
}

function checkGrace(name: string, graceMs: number | undefined): void {
  if (graceMs === undefined || graceMs >= 0) return;
  throw new RoomtapError("invalid_params", `${name}: expected 0 or more milliseconds, got ${graceMs}`);
}
