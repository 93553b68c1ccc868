import { createLane, hostDefaults, limits, RoomtapError, type OpenRequest, type Runner } from "../core/index.ts";
import { Places } from "./admission.ts";
import type { AttemptRun } from "./attempt-run.ts";
import { isSameRoom, storeRoom } from "./create-room.ts";
import { HostQuiet } from "./host-quiet.ts";
import { LeaseKeeper, type LeaseCounters } from "./lease-keeper.ts";
import type { Page } from "./log-row.ts";
import { LoopTurns } from "./loop-turns.ts";
import { parsePolicy } from "./policy.ts";
import { RoomCatalog, type LogPageRequest, type Readable } from "./room-catalog.ts";
import type { Tombstone } from "./room-commands.ts";
import { checkRoomName, rosterOf, type RoomDefinition } from "./room-definition.ts";
import { checkGrace, checkOptions, type RoomHostOptions } from "./room-host-options.ts";
import type { RoomPage, RoomPageRequest } from "./room-reader.ts";
import type { RoomState } from "./room-state.ts";
import { Room } from "./room.ts";
import { storedRooms } from "./stored-rooms.ts";
import type { RoomVerdict } from "./verify.ts";
import type { HostParts } from "./tenure-parts.ts";

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
  readonly #parts: HostParts;
  readonly #quiet: HostQuiet;
  readonly #catalog: RoomCatalog;
  /** Called when a room has to wait for its lease. */
  readonly #waits = new Map<string, () => void>();
  readonly #undo: (() => void)[] = [];
  #closed = false;

  private constructor(options: RoomHostOptions) {
    const { log, tap, clock, ids, report, stopGraceMs, turnDeadlineMs, leaseTtlMs } = options;
    const places = options.maxConcurrentTurns ?? hostDefaults.maxConcurrentTurns;
    const onWait: NonNullable<RoomHostOptions["onWait"]> = (roomId, wait) => {
      options.onWait?.(roomId, wait);
      this.#waits.get(roomId)?.();
    };
    const onLost = (roomId: string, generation: number): void => this.#rooms.get(roomId)?.lost(generation);
    this.#quiet = new HostQuiet(() => this.rooms, tap);
    this.#parts = {
      log,
      tap,
      clock,
      report,
      places: new Places(places, (roomIds) => this.#touch(roomIds)),
      turns: new LoopTurns(clock),
      lane: createLane(places),
      leases: new LeaseKeeper({ log, clock, ids, report, leaseTtlMs, onLost, onWait }),
      stopGraceMs,
      turnDeadlineMs,
      refused: { settles: 0, changes: 0 },
      onChange: () => this.#quiet.changed(),
    };
    this.#catalog = new RoomCatalog(this.#parts, (roomId) => this.#rooms.get(roomId));
    const touched = ({ coordinates }: OpenRequest): void => this.#touch([coordinates?.room_id ?? ""]);
    this.#undo.push(
      tap.requests.on("opened", touched),
      tap.requests.on("resolved", ({ request }) => touched(request)),
      log.watch((roomIds) => this.#onCommit(roomIds)),
    );
  }

  /**
   * Checks all that is given before anything is written, and drives each room whose lease can be had at once. A room that
   * another process drives takes posts meanwhile, and is driven here as soon as its lease can be had. So are the rooms that
   * were made at run time, if `agents` has all agents of their members; others of the database are named and left.
   * @throws RoomtapError `duplicate_id`, `invalid_roster`, `invalid_params`, `room_retired`, and what the log throws
   */
  static async open(options: RoomHostOptions): Promise<RoomHost> {
    checkOptions(options);
    const planned = options.rooms.map((definition) => ({ definition, ...rosterOf(definition.members) }));
    const policies = options.rooms.map(({ policy }) => parsePolicy(policy));
    const host = new RoomHost(options);
    try {
      // Together, because what is asked for in one tick is one commit.
      const stored = await Promise.all(
        planned.map(({ definition, content }) => storeRoom(options.log, definition, content)),
      );
      for (const [index, { definition }] of planned.entries()) {
        const [record, policy] = [stored[index]?.record, policies[index]];
        if (record === undefined || policy === undefined) continue;
        host.#rooms.set(record.room_id, new Room({ record, members: definition.members, policy }, host.#parts));
      }
      await host.#addStored(options.agents ?? new Map());
      // Whoever has to wait for a lease does not keep the others.
      await Promise.all(host.rooms.map((room) => host.#driveNow(room)));
      return host;
    } catch (fault) {
      await host.close(0).catch(() => undefined);
      throw fault;
    }
  }

  /**
   * Makes a room and drives it, as those that the host was opened with; a room of this id, name and members that is there
   * already is opened and driven. Gives whether it was there.
   * @throws RoomtapError `room_conflict`, `room_retired`, `invalid_roster`, `too_many_rooms`, `invalid_params`, `closed`, and
   * what the log throws
   */
  async create(definition: RoomDefinition): Promise<{ readonly room: Room; readonly idempotent: boolean }> {
    const { room_id, name = room_id, members } = definition;
    this.#checkOpen();
    const { content } = rosterOf(members);
    const policy = parsePolicy(definition.policy);
    checkRoomName(name);
    const { record, isNew } = await storeRoom(this.#parts.log, definition, content);
    if (!isNew && !isSameRoom(record, definition, content)) {
      throw new RoomtapError("room_conflict", `room ${room_id} is there already, with another name or other members`);
    }
    this.#checkOpen();
    const present = this.#rooms.get(room_id);
    if (present !== undefined) return { room: present, idempotent: !isNew };
    const room = new Room({ record, members, policy }, this.#parts);
    this.#rooms.set(room_id, room);
    this.#forgetDisbanded();
    // The room is there: what hinders its driving for now is waited for behind the caller's back.
    await this.#driveNow(room).catch(() => void room.driveWhenPossible());
    return { room, idempotent: !isNew };
  }

  /**
   * The room that is open here.
   * @throws RoomtapError `unknown_room`, `room_disbanded`, `driver_unavailable` when it is in the database and not open here
   */
  async find(roomId: string): Promise<Room> {
    const room = this.#rooms.get(roomId);
    if (room !== undefined) return room;
    await this.#catalog.record(roomId);
    throw new RoomtapError("driver_unavailable", `room ${roomId} is in the database and not open here`);
  }

  /**
   * As `Room.disband`; of a room that was disbanded before it gives the first tombstone, also when it is not open here.
   * @throws RoomtapError `unknown_room`, `driver_unavailable`, and those of `Room.disband`
   */
  async disband(roomId: string): Promise<Tombstone> {
    const disbanded_at = (await this.#parts.log.room(roomId))?.disbanded_at ?? null;
    if (disbanded_at !== null) return { room_id: roomId, disbanded_at, idempotent: true };
    return (await this.find(roomId)).disband();
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

  /**
   * Checks every row of a room and what stands beside them, whoever drives it.
   * @throws RoomtapError `unknown_room`, and what the log throws
   */
  verify(roomId: string): Promise<RoomVerdict> {
    return this.#catalog.verify(roomId);
  }

  /** Rooms of the database in the order of their ids, whoever drives them; damaged ones are left out. */
  page(page: RoomPageRequest = {}): Promise<RoomPage> {
    return this.#catalog.page(page);
  }

  /**
   * A page of rows of any room of the database, secrets masked: 500 rows or 2 MiB at most, at least one if there is one.
   * @param page.since_seq the rows above it. Default 0
   * @throws RoomtapError `cursor_ahead` when the log ends before `since_seq`, `unknown_room`, `room_disbanded`,
   * `history_expired` (disbanded more than 90 days ago), `invalid_params`, `log_corrupt`
   */
  log(roomId: string, page: LogPageRequest = {}): Promise<Page> {
    return this.#catalog.log(roomId, page);
  }

  /**
   * As `Room.state`, of any room of the database.
   * @throws RoomtapError `unknown_room`, `room_disbanded`, `history_expired`, `log_corrupt`
   */
  state(roomId: string, options: Readable = {}): Promise<RoomState> {
    return this.#catalog.state(roomId, options);
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
    return this.#quiet.wait();
  }

  /**
   * Resolves when every accepted post has had its turns. A turn that waits for a person when nothing else moves is settled
   * `cancelled`, `shutdown`. Gives the requests that nobody answered.
   */
  finish(): Promise<readonly OpenRequest[]> {
    return this.#quiet.finish();
  }

  /**
   * Stops what runs (`cancelled`, `shutdown`), waits until it has settled, stores what was folded and gives the leases
   * back. What waits in the inbox stays there.
   * @param graceMs how long runners may take; default `stopGraceMs`
   * @throws RoomtapError `invalid_params` for a grace that is no time
   */
  async close(graceMs?: number): Promise<void> {
    checkGrace("graceMs", graceMs);
    this.#closed = true;
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

  /** Takes in rooms that were made at run time. What nobody here can drive is left as it is, and named. */
  async #addStored(agents: ReadonlyMap<string, Runner>): Promise<void> {
    const { log, report } = this.#parts;
    const { driven, left } = await storedRooms(log, agents, (roomId) => this.#rooms.has(roomId));
    for (const parts of driven) this.#rooms.set(parts.record.room_id, new Room(parts, this.#parts));
    for (const subject of left) {
      const message = `room ${subject} is in the database and not among those to be driven: it is left as it is`;
      report({ code: "room_not_driven", message, subject });
    }
  }

  /** Resolves when the room is driven, or is known to have to wait for its lease. */
  async #driveNow(room: Room): Promise<void> {
    const roomId = room.record.room_id;
    const waiting = new Promise<void>((resolve) => this.#waits.set(roomId, resolve));
    const driven = room.drive().finally(() => this.#waits.delete(roomId));
    await Promise.race([
      driven,
      // Then it is waited for behind the back of whoever asked for it.
      waiting.then(() => void driven.catch(() => room.driveWhenPossible())),
    ]);
  }

  #onCommit(roomIds: ReadonlySet<string> | null): void {
    // Posts of other processes; those of this one pump by themselves.
    if (roomIds === null) for (const room of this.#rooms.values()) room.pump();
    this.#touch(roomIds ?? this.#rooms.keys());
    this.#quiet.committed();
  }

  #touch(roomIds: Iterable<string>): void {
    for (const roomId of roomIds) this.#rooms.get(roomId)?.touch();
  }

  #checkOpen(): void {
    if (this.#closed) throw new RoomtapError("closed", "the host is closed");
  }

  /** Whoever holds such a room may use it on; it is only not found here any more. */
  #forgetDisbanded(): void {
    const disbanded = this.rooms.filter(({ record }) => record.disbanded_at !== null);
    for (const { record } of disbanded.slice(0, -limits.maxKnownDisbanded)) this.#rooms.delete(record.room_id);
  }

  #releaseFailed(fault: unknown): void {
    const code = fault instanceof RoomtapError ? fault.code : "internal";
    this.#parts.report({ code, message: "a lease was not given back; it runs out by itself", cause: fault });
  }

  #stopAll(graceMs: number | undefined): void {
    for (const run of this.runs) run.stop("shutdown", graceMs);
  }
}
