import { isPassing, messageOf, RoomtapError } from "../core/index.ts";
import { emptyState, type FoldState } from "./fold-state.ts";
import { loadRoom, type LoadedRoom } from "./load-room.ts";
import { Pauses } from "./pauses.ts";
import type { PresentRoom } from "./present-room.ts";
import { abandonOpenAttempts } from "./recovery.ts";
import { rosterOf, type MemberDefinition } from "./room-definition.ts";
import type { RoomRecord } from "./room-record.ts";
import { isRefusal, type Refusal } from "./room-refusal.ts";
import { isLost, maxRetryMs } from "./room-writer.ts";
import type { HostParts } from "./tenure-parts.ts";
import { Tenure } from "./tenure.ts";

/** Kinds of trouble of one room that are told; what goes beyond them is not. */
const maxReported = 256;

/**
 * Gets a room for this host and keeps it: waits for the lease, settles what a dead host left open, drives the room under a
 * tenure, and stands in line again when that is lost. A log that contradicts itself makes the room read-only.
 */
export class RoomDrive {
  readonly pauses: Pauses;
  readonly #present: PresentRoom;
  readonly #host: HostParts;
  readonly #onChange: () => void;
  readonly #reported = new Set<string>();
  #tenure: Tenure | null = null;
  /** The attempt to get the room, while one is made. */
  #driving: Promise<void> | null = null;
  #isRecovering = false;
  #damage: RoomtapError | null = null;
  /** What was known when it was driven last, or what a damaged log held up to its first bad row. */
  #readable: FoldState | null = null;
  #closed = false;

  /** @param onChange something moved in the room */
  constructor(present: PresentRoom, host: HostParts, onChange: () => void) {
    this.#present = present;
    this.#host = host;
    this.#onChange = onChange;
    this.pauses = new Pauses(host.clock);
  }

  /** null while this host does not drive the room. */
  get tenure(): Tenure | null {
    return this.#tenure;
  }

  /** Why it is read-only; null while it is not. */
  get damage(): RoomtapError | null {
    return this.#damage;
  }

  /** The folded state after the last row that this host wrote or read; empty while it has never driven the room. */
  get folded(): FoldState {
    return this.#tenure?.writer.state ?? this.#readable ?? emptyState(this.#present.roomId);
  }

  /** Whether it is being made ready here, or a start is being looked for, made, to be tried again, or due later. */
  get isPlanning(): boolean {
    return this.#tenure?.isPlanning ?? this.#isRecovering;
  }

  /** @throws RoomtapError `closed`, or why the room is read-only */
  checkOpen(): void {
    if (this.#closed) throw new RoomtapError("closed", `${this.#present.where} is closed`);
    if (this.#damage !== null) throw this.#damage;
  }

  /** @throws RoomtapError `room_disbanded`, `lease_lost` while another host drives the room */
  owned(): Tenure {
    this.checkOpen();
    if (this.#tenure !== null) return this.#tenure;
    const { where, record } = this.#present;
    if (record.disbanded_at !== null) throw new RoomtapError("room_disbanded", `${where} was disbanded`);
    this.#host.refused.changes++;
    throw new RoomtapError("lease_lost", `another host drives ${where}`);
  }

  /** The change that was made. @throws RoomtapError of the refusal */
  taken<Result extends { readonly status: string }>(result: Result): Exclude<Result, Refusal> {
    if (!isRefusal(result)) return result as Exclude<Result, Refusal>;
    if (result.status === "lease_lost") {
      this.#host.refused.changes++;
      if (this.#tenure !== null) this.#refused(this.#tenure.leaseGeneration);
    }
    throw new RoomtapError(result.status, result.message);
  }

  /** As `Room.drive`. */
  drive(): Promise<void> {
    this.#driving ??= this.#acquire().finally(() => {
      this.#driving = null;
    });
    return this.#driving;
  }

  /** As `Room.driveWhenPossible`. */
  async driveWhenPossible(): Promise<void> {
    while (!this.#closed && this.#damage === null && this.#tenure === null) {
      try {
        await this.drive();
      } catch (fault) {
        if (!isPassing(fault)) return this.becomeReadOnly(fault);
        this.report(fault.code, `${fault.message}; it is driven as soon as that is over`, fault);
        await this.pauses.wait(maxRetryMs);
      }
    }
  }

  /** As `Room.lost`. */
  lost(generation: number): void {
    const tenure = this.#tenure;
    // Not driven yet: whoever is about to notices by itself.
    if (tenure === null || tenure.leaseGeneration !== generation) return;
    this.#leave(tenure);
    tenure.end();
    this.#host.report({
      code: "lease_lost",
      message: `${this.#present.where}: its lease was lost; what ran here was stopped and is not written`,
      subject: this.#present.roomId,
    });
    void this.driveWhenPossible();
  }

  /** Inside a step: stores a roster, stops what removed members run, and looks for what may start now. */
  async putRoster(
    tenure: Tenure,
    members: readonly MemberDefinition[],
    expected_revision?: number,
  ): Promise<RoomRecord> {
    const roster = rosterOf(members);
    const { name } = this.#present.record;
    const put = { ...tenure.writer.fence, name, ...roster.content, expected_revision };
    const { room } = this.taken(await this.#host.log.putRoom(put));
    this.#present.takeRoster(room, members, roster);
    const staying = new Set(roster.content.members.map(({ member_id }) => member_id));
    for (const run of tenure.runs) {
      if (!staying.has(run.attempt.coordinates.member_id)) run.stop("member_removed");
    }
    this.pump();
    return room;
  }

  /** Starts what the plan says. */
  pump(): void {
    if (this.#damage === null) void this.#tenure?.pump();
  }

  /** From now on no turn starts. What runs is the caller's to stop. */
  close(): void {
    this.#closed = true;
    this.pauses.close();
    this.#tenure?.close();
  }

  /** Stores the state and gives the lease back. To be called when nothing runs any more. */
  async release(): Promise<void> {
    const tenure = this.#tenure;
    if (tenure !== null) this.#leave(tenure);
    if (tenure !== null && this.#damage === null) await tenure.storeCheckpoint();
    await this.#host.leases.release(this.#present.roomId);
    // It ends by itself without its lease; what went wrong is told to whoever waits for it.
    await this.#driving?.catch(() => undefined);
  }

  /** At the first sign that log and memory do not agree: nothing is repaired by itself. */
  becomeReadOnly(fault: unknown): void {
    if (this.#damage !== null) return;
    const { where } = this.#present;
    this.#damage =
      fault instanceof RoomtapError
        ? fault
        : new RoomtapError("internal", `${where}: ${messageOf(fault)}`, { cause: fault });
    this.#tenure?.close();
    const { code, message, remedy } = this.#damage;
    this.report(code, `${message}; ${where} takes no posts. ${remedy}`, fault);
  }

  /** Each kind of trouble of a room is told once. */
  report(code: string, message: string, cause?: unknown): void {
    const key = `${code} ${message}`;
    if (this.#reported.has(key) || this.#reported.size >= maxReported) return;
    this.#reported.add(key);
    const { where, roomId } = this.#present;
    this.#host.report({ code, message: `${where}: ${message}`, subject: roomId, cause });
  }

  async #acquire(): Promise<void> {
    const { leases } = this.#host;
    const { roomId } = this.#present;
    while (!this.#closed && this.#damage === null) {
      const lease = await leases.acquire(roomId);
      if (lease === null) return;
      try {
        this.#isRecovering = true;
        if (await this.#begin(lease.generation)) return;
      } catch (fault) {
        if (!isLost(fault)) {
          await leases.release(roomId).catch(() => undefined);
          throw fault;
        }
        this.#refused(lease.generation);
      } finally {
        this.#isRecovering = false;
      }
    }
  }

  /** Whether it is driven now, or never will be. False: the lease was lost meanwhile. */
  async #begin(leaseGeneration: number): Promise<boolean> {
    const { log, tap, clock, leases } = this.#host;
    const { roomId, runners } = this.#present;
    const { stop, disbanded_at } = await this.#present.read(log);
    const loaded = await loadRoom(log, roomId, clock);
    this.#reportIgnored(loaded);
    if (loaded.damage !== null) {
      this.#readable = loaded.fold.state();
      this.becomeReadOnly(loaded.damage);
      return true;
    }
    const fence = { room_id: roomId, lease_generation: leaseGeneration };
    const recovered = await abandonOpenAttempts({ log, tap, fence, loaded, runners, stop });
    const tenure = this.#tenureOf(recovered, leaseGeneration);
    // A roster that was given with another one in mind is a new revision.
    if (disbanded_at === null) await this.putRoster(tenure, this.#present.members);
    if (this.#closed || !leases.isHeld(roomId, leaseGeneration)) return false;
    this.#tenure = tenure;
    this.pump();
    return true;
  }

  #tenureOf(loaded: LoadedRoom, leaseGeneration: number): Tenure {
    const { roomId, policy } = this.#present;
    const parts = {
      roomId,
      leaseGeneration,
      loaded,
      policy,
      runners: () => this.#present.runners,
      onChange: this.#onChange,
      onLost: () => this.#refused(leaseGeneration),
      onDamage: (fault: unknown) => this.becomeReadOnly(fault),
      report: (code: string, message: string, cause?: unknown) => this.report(code, message, cause),
    };
    return new Tenure(parts, this.#host);
  }

  #reportIgnored({ checkpoint }: LoadedRoom): void {
    if (!("ignored" in checkpoint) || checkpoint.ignored === "none") return;
    const message = `its stored checkpoint was not used (${checkpoint.ignored}) and is made anew`;
    this.report("checkpoint_ignored", message);
  }

  #leave(tenure: Tenure): void {
    this.#readable = tenure.writer.state;
    this.#tenure = null;
  }

  /** The leases tell whoever runs under that one, this room among them. */
  #refused(generation: number): void {
    this.#host.leases.writeRefused(this.#present.roomId, generation);
  }
}
