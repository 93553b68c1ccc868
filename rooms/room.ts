import type { RoomtapError, Runner, Undo } from "../core/index.ts";
import type { AttemptRun } from "./attempt-run.ts";
import type { FoldState } from "./fold-state.ts";
import type { PostInput, PostReceipt } from "./post.ts";
import { PresentRoom, type RoomParts } from "./present-room.ts";
import type { RoomChange } from "./room-change.ts";
import { RoomCommands, type RetryReceipt, type Tombstone } from "./room-commands.ts";
import type { MemberDefinition } from "./room-definition.ts";
import { RoomDrive } from "./room-drive.ts";
import type { RoomRecord, StopFence } from "./room-record.ts";
import type { RoomSnapshot } from "./room-snapshot.ts";
import type { RoomState } from "./room-state.ts";
import { RoomView } from "./room-view.ts";
import { RoomWatch } from "./room-watch.ts";
import type { HostParts } from "./tenure-parts.ts";

const noRuns: ReadonlySet<AttemptRun> = new Set();

/**
 * One room: posts come in from anybody, and while this host holds its lease, it drives it. Calls that change something
 * are refused by a `RoomtapError` with the code of the refusal.
 */
export class Room {
  readonly #host: HostParts;
  readonly #present: PresentRoom;
  readonly #drive: RoomDrive;
  readonly #commands: RoomCommands;
  readonly #view: RoomView;
  readonly #watch: RoomWatch;

  constructor(parts: RoomParts, host: HostParts) {
    const present = new PresentRoom(parts);
    const drive = new RoomDrive(present, host, () => {
      this.touch();
      host.onChange();
    });
    const view = new RoomView(present, drive, host);
    this.#host = host;
    this.#present = present;
    this.#drive = drive;
    this.#commands = new RoomCommands(present, drive, host);
    this.#view = view;
    this.#watch = new RoomWatch(present.roomId, { view, drive, host });
  }

  /** Its name, members and revision, as this host knows them. */
  get record(): RoomRecord {
    return this.#present.record;
  }

  /** What drives its members, by member id; persons have none. */
  get runners(): ReadonlyMap<string, Runner> {
    return this.#present.runners;
  }

  /** Its members as this host was given them last: who drives them, and by what name. */
  get members(): readonly MemberDefinition[] {
    return this.#present.members;
  }

  /** Why it is read-only; null while it is not. */
  get damage(): RoomtapError | null {
    return this.#drive.damage;
  }

  /** The folded state after the last row that this host wrote or read; empty while it has never driven the room. */
  get folded(): FoldState {
    return this.#drive.folded;
  }

  /** Attempts of this host that have started and not settled. */
  get runs(): ReadonlySet<AttemptRun> {
    return this.#drive.tenure?.runs ?? noRuns;
  }

  /** Whether this host holds the room's lease. */
  get isDriven(): boolean {
    return this.#drive.tenure !== null;
  }

  /** Whether it is being made ready here, or a start is being looked for, made, to be tried again, or due later. */
  get isPlanning(): boolean {
    return this.#drive.isPlanning;
  }

  /** Whether a post stands in the inbox that somebody is to answer, here or elsewhere. */
  async isOwed(): Promise<boolean> {
    return (await this.#host.log.inbox(this.#present.roomId)).some(({ owed }) => owed.length > 0);
  }

  /**
   * Accepts a post: when this resolves it is durable, and the turns of those it addresses follow, here or at the host that
   * drives the room.
   * @throws RoomtapError `invalid_params`, `text_too_large`, `idempotency_conflict`, `inbox_full`, `room_full`,
   * `room_disbanded`, `closed`, `log_corrupt` (the room is read-only), and what the log throws
   */
  post(input: PostInput): Promise<PostReceipt> {
    return this.#commands.post(input);
  }

  /**
   * Stops all that runs and closes what waits; pauses nobody. The stop is durable before anybody is interrupted.
   * @param options.cancelId the same id gives the first answer and stops nothing again
   * @returns how many attempts were open
   * @throws RoomtapError `lease_lost`, `room_disbanded`
   */
  stop(options: { readonly cancelId?: string | undefined } = {}): Promise<{ cancelled: number; fence: StopFence }> {
    return this.#commands.stop(options.cancelId ?? null);
  }

  /**
   * Cancels one open turn, or closes one post that waits. Gives how many that were.
   * @throws RoomtapError `unknown_turn`, `unknown_message`, `lease_lost`
   */
  cancel(what: { readonly turnId: string } | { readonly messageId: string }): Promise<number> {
    return "turnId" in what ? this.#commands.cancelTurn(what.turnId) : this.#commands.cancelPost(what.messageId);
  }

  /** Lets members, or all, start nothing until they are resumed; what they run goes on. Gives all that are paused. */
  pause(memberIds?: readonly string[]): Promise<readonly string[]> {
    return this.#commands.setPaused(true, memberIds);
  }

  /** The opposite of `pause`: they answer what they are owed. */
  resume(memberIds?: readonly string[]): Promise<readonly string[]> {
    return this.#commands.setPaused(false, memberIds);
  }

  /**
   * Asks for one more attempt of a task: durable when this resolves.
   * @param options.generation of the attempt that is meant; default the last
   * @param options.origin of who asks
   * @throws RoomtapError `unknown_task`, `task_open`, `stale_generation`, `not_retryable`, `inbox_full`, `lease_lost`
   */
  retry(
    taskId: string,
    options: { readonly generation?: number | undefined; readonly origin?: string | null | undefined } = {},
  ): Promise<RetryReceipt> {
    return this.#commands.retry(taskId, options.generation, options.origin ?? null);
  }

  /**
   * Gives the room another roster, as a new revision. Open turns keep what they were bound to; a removed member's turn is
   * cancelled and what it was owed is released.
   * @throws RoomtapError `revision_conflict`, `invalid_roster`, `room_disbanded`, `lease_lost`
   */
  setRoster(
    members: readonly MemberDefinition[],
    options: { readonly expectedRevision?: number } = {},
  ): Promise<RoomRecord> {
    return this.#commands.setRoster(members, options.expectedRevision);
  }

  /**
   * Gives the room another name, as a new revision; the one that it has changes nothing. The same event id with the same
   * name gives the first answer again, also after a restart; the last 10,000 of 30 days are known.
   * @throws RoomtapError `idempotency_conflict`, `invalid_params`, `room_disbanded`, `lease_lost`
   */
  rename({ eventId, name }: { readonly eventId: string; readonly name: string }): Promise<RoomRecord> {
    return this.#commands.rename(eventId, name);
  }

  /**
   * Closes the room for good: open turns are cancelled, its log stays readable. A repeat gives the first time.
   * @throws RoomtapError `lease_lost`
   */
  disband(): Promise<Tombstone> {
    return this.#commands.disband();
  }

  /**
   * All there is to know of the room now, of one instant. Starts nothing. Of a room that another host drives, what runs is
   * known by its rows alone.
   * @throws RoomtapError `closed`, `log_corrupt`, and what the log throws
   */
  state(): Promise<RoomState> {
    return this.#view.state();
  }

  /**
   * The state, and each attempt that runs here as it is at the same instant. Errors as in `state`.
   * @param onInstant called at that instant: of posts and members, who watches was told nothing newer before, and is told
   * nothing older afterwards
   */
  snapshot(onInstant?: () => void): Promise<RoomSnapshot> {
    return this.#view.snapshot(onInstant);
  }

  /**
   * Tells `listener` what changes in the room, until the undo that this resolves with is called: posts, rows in their
   * order, entries of members. In force when it resolves: every change from then on is told, by whichever process it was
   * made (other ones are noticed within `watchIntervalMs`), so a snapshot taken afterwards and what is told join without
   * a hole; some of it may be told twice. A state that lasts shorter than a look is not told. The listener must be quick;
   * when it throws, that is reported and the others are told all the same.
   * @throws RoomtapError `closed`, `log_corrupt`, and what the log throws
   */
  watch(listener: (change: RoomChange) => void): Promise<Undo> {
    return this.#watch.watch(listener);
  }

  /** To be called when something may have changed that the room itself did not do. */
  touch(): void {
    this.#watch.touch();
  }

  /**
   * Waits for the lease, settles what a dead host left open, and drives the room until the lease is lost. Resolves when
   * the room is driven, is found to be damaged, or was closed before.
   * @throws RoomtapError what the log throws; the lease is given back then
   */
  drive(): Promise<void> {
    return this.#drive.drive();
  }

  /** The same, but trouble of the database that may pass is told and waited for; other trouble makes it read-only. */
  driveWhenPossible(): Promise<void> {
    return this.#drive.driveWhenPossible();
  }

  /** To be told when the lease of that generation is not this host's any more: what runs under it is stopped. */
  lost(generation: number): void {
    this.#drive.lost(generation);
  }

  /** Starts what the plan says; comes back by itself when a place is free, something is due, or somebody posts. */
  pump(): void {
    this.#drive.pump();
  }

  /** From now on no turn starts and no post is taken. What runs is the caller's to stop. */
  close(): void {
    this.#drive.close();
  }

  /** Resolves when the steps that were begun are over: a start among them has its attempt then. */
  async idle(): Promise<void> {
    await this.#drive.tenure?.writer.idle();
  }

  /** Stores the state and gives the lease back. To be called when nothing runs any more. */
  release(): Promise<void> {
    return this.#drive.release();
  }
}
