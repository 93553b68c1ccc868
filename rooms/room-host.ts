import {
  createLane,
  hostDefaults,
  RoomtapError,
  type Clock,
  type IdSource,
  type OpenRequest,
  type Report,
  type Tap,
} from "../core/index.ts";
import { Places } from "./admission.ts";
import type { AttemptRun } from "./attempt-run.ts";
import type { LeaseWait } from "./lease-claim.ts";
import { LeaseKeeper, type LeaseCounters } from "./lease-keeper.ts";
import type { StoredLog } from "./load-room.ts";
import type { RoomLog, RoomRecord } from "./log.ts";
import { parsePolicy } from "./policy.ts";
import { Room, type RoomHostParts } from "./room.ts";
import { rosterOf, type RoomDefinition } from "./room-definition.ts";
import { Signal } from "./signal.ts";

/** What a host is made of. */
export interface RoomHostOptions {
  readonly log: RoomLog & StoredLog;
  readonly tap: Tap;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly report: Report;
  readonly rooms: readonly RoomDefinition[];
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

/** How often a host tried to do something in a room that was not its own any more. Nothing of it had an effect. */
export interface StaleCounters extends LeaseCounters {
  readonly refused_settles: number;
  /** Stops, pauses, retries, rosters and the like. */
  readonly refused_changes: number;
  /** Frames of attempts that had ended or were given up, of all rooms of the tap. */
  readonly late_frames: number;
  /** Answers to requests that were not open any more, likewise. */
  readonly refused_answers: number;
}

/** The rooms of a process, side by side: each is driven here while this process holds its lease. */
export class RoomHost {
  readonly #rooms = new Map<string, Room>();
  readonly #parts: RoomHostParts;
  readonly #undo: (() => void)[] = [];
  #waiters: (() => void)[] = [];
  /** Fires at the next commit, whoever makes it. */
  #committed = new Signal();

  private constructor(options: RoomHostOptions) {
    const { log, tap, clock, ids, report, stopGraceMs, turnDeadlineMs, leaseTtlMs, onWait } = options;
    const places = options.maxConcurrentTurns ?? hostDefaults.maxConcurrentTurns;
    const onLost = (roomId: string, generation: number): void => this.#rooms.get(roomId)?.lost(generation);
    this.#parts = {
      log,
      tap,
      clock,
      report,
      places: new Places(places),
      lane: createLane(places),
      leases: new LeaseKeeper({ log, clock, ids, report, leaseTtlMs, onLost, onWait }),
      stopGraceMs,
      turnDeadlineMs,
      refused: { settles: 0, changes: 0 },
      onChange: () => this.#changed(),
    };
    // Posts of other processes; those of this one pump by themselves.
    this.#undo.push(
      log.watch((roomIds) => {
        if (roomIds === null) this.#pumpAll();
        this.#committed.fire();
        this.#committed = new Signal();
      }),
    );
  }

  /**
   * Checks all that is given before anything is written, and drives each room whose lease can be had at once. A room that
   * another process drives takes posts meanwhile, and is driven here as soon as its lease can be had.
   * @throws RoomtapError `duplicate_id`, `invalid_roster`, `invalid_params`, `room_retired`, and what the log throws
   */
  static async open(options: RoomHostOptions): Promise<RoomHost> {
    checkOptions(options);
    const planned = options.rooms.map((definition) => ({ definition, ...rosterOf(definition.members) }));
    const policies = options.rooms.map(({ policy }) => parsePolicy(policy));
    const waits = new Map<string, () => void>();
    const host = new RoomHost({
      ...options,
      onWait: (roomId, wait) => {
        options.onWait?.(roomId, wait);
        waits.get(roomId)?.();
      },
    });
    try {
      // Together, because what is asked for in one tick is one commit.
      const records = await Promise.all(
        planned.map(({ definition, content }) => createRoom(options.log, definition, content)),
      );
      for (const [index, { definition }] of planned.entries()) {
        const [record, policy] = [records[index], policies[index]];
        if (record === undefined || policy === undefined) continue;
        const { members, name = definition.room_id } = definition;
        host.#rooms.set(record.room_id, new Room({ record, members, name, policy }, host.#parts));
      }
      // Whoever has to wait for a lease does not keep the others.
      await Promise.all(
        host.rooms.map((room) => {
          const waiting = new Promise<void>((resolve) => waits.set(room.record.room_id, resolve));
          const driven = room.drive();
          return Promise.race([
            driven,
            // Then it is waited for behind the back of whoever opened the host.
            waiting.then(() => void driven.catch(() => room.driveWhenPossible())),
          ]);
        }),
      );
      await host.#nameOthers();
      return host;
    } catch (fault) {
      await host.close(0).catch(() => undefined);
      throw fault;
    }
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

  /** What it tried that was not its to do any more, since it was opened. */
  get counters(): StaleCounters {
    const { leases, refused, tap } = this.#parts;
    return {
      ...leases.counters,
      refused_settles: refused.settles,
      refused_changes: refused.changes,
      late_frames: tap.seam.refused("late_frame"),
      refused_answers: tap.requests.refusedAnswers,
    };
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
      if (waiting.length === 0) {
        const next = this.#committed.fired;
        // Where another process drives, its commits say when the posts have had their turns.
        if (!(await this.#isOwedElsewhere())) return unanswered;
        await next;
        continue;
      }
      for (const run of waiting) {
        unanswered.push(...this.#parts.tap.requests.open(run.attempt));
        run.stop("shutdown");
      }
      await Promise.all(waiting.map((run) => run.done));
    }
  }

  /**
   * Stops what runs (`cancelled`, `shutdown`), waits until it has settled, stores what was folded and gives the leases
   * back. What waits in the inbox stays there.
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
    const released = await Promise.allSettled(this.rooms.map((room) => room.release()));
    await this.#parts.leases.releaseAll();
    for (const undo of this.#undo.splice(0)) undo();
    const failed = released.find((result) => result.status === "rejected");
    if (failed?.status === "rejected") this.#releaseFailed(failed.reason);
  }

  /** Rooms of the database that nobody defined are left as they are. */
  async #nameOthers(): Promise<void> {
    const { log, report } = this.#parts;
    for (const { room_id, disbanded_at } of await log.rooms()) {
      if (this.#rooms.has(room_id) || disbanded_at !== null) continue;
      report({
        code: "room_not_driven",
        message: `room ${room_id} is in the database and not among those to be driven: it is left as it is`,
        subject: room_id,
      });
    }
  }

  #pumpAll(): void {
    for (const room of this.#rooms.values()) room.pump();
  }

  #releaseFailed(fault: unknown): void {
    const code = fault instanceof RoomtapError ? fault.code : "internal";
    this.#parts.report({ code, message: "a lease was not given back; it runs out by itself", cause: fault });
  }

  #stopAll(graceMs: number | undefined): void {
    for (const run of this.runs) run.stop("shutdown", graceMs);
  }

  async #isOwedElsewhere(): Promise<boolean> {
    const others = this.rooms.filter((room) => !room.isDriven && room.damage === null);
    return (await Promise.all(others.map((room) => room.isOwed()))).includes(true);
  }

  #isQuiet(): boolean {
    return this.rooms.every((room) => !room.isPlanning) && this.runs.every((run) => run.waits);
  }

  #changed(): void {
    if (this.#waiters.length === 0 || !this.#isQuiet()) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}

/** The room as it stands in the database; made when it is not there. A later roster is set under its lease. */
async function createRoom(
  log: RoomLog,
  { room_id, name = room_id }: RoomDefinition,
  content: Pick<RoomRecord, "members" | "roster_digest">,
): Promise<RoomRecord> {
  const result = await log.putRoom({ room_id, name, ...content, expected_revision: 0 });
  if ("room" in result) return result.room;
  if (result.status === "room_disbanded") {
    throw new RoomtapError("room_retired", `room ${room_id} was disbanded, and its id is never used again`);
  }
  const room = result.status === "revision_conflict" ? await log.room(room_id) : undefined;
  if (room !== undefined) return room;
  throw new RoomtapError(result.status, result.message);
}

function checkOptions(options: RoomHostOptions): void {
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

function checkGrace(name: string, graceMs: number | undefined): void {
  if (graceMs === undefined || graceMs >= 0) return;
  throw new RoomtapError("invalid_params", `${name}: expected 0 or more milliseconds, got ${graceMs}`);
}
