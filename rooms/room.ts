import { messageOf, requestEntry, RoomtapError, type MemberEntry, type Runner } from "../core/index.ts";
import type { AttemptRun } from "./attempt-run.ts";
import { emptyState, type FoldState } from "./fold-state.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { loadRoom, type StoredLog } from "./load-room.ts";
import type { AcceptResult, LeaseLost, NewPost, Refused, RoomLog, RoomRecord, StopFence } from "./log.ts";
import { memberEntries } from "./member-states.ts";
import { Pauses } from "./pauses.ts";
import type { RoomPolicy } from "./policy.ts";
import { preparePostInput, type PostInput, type PostReceipt } from "./post.ts";
import { abandonOpenAttempts } from "./recovery.ts";
import { retryable } from "./retryable.ts";
import { roomState, type RoomState } from "./room-state.ts";
import { rosterOf, type MemberDefinition } from "./room-definition.ts";
import { isLost, isPassing, maxRetryMs } from "./room-writer.ts";
import { Tenure, type HostParts } from "./tenure.ts";

/** What one room is made of. */
export interface RoomParts {
  /** As the database had it when the host opened. */
  readonly record: RoomRecord;
  /** As the host was given them; the stored roster follows when the room is driven here. */
  readonly members: readonly MemberDefinition[];
  readonly name: string;
  readonly policy: RoomPolicy;
}

/** What a room needs of its host beside what all share. */
export interface RoomHostParts extends HostParts {
  readonly log: RoomLog & StoredLog;
  readonly leases: LeaseKeeper;
}

/** Kinds of trouble of one room that are told; what goes beyond them is not. */
const maxReported = 256;

/** One room: posts come in from anybody, and while this host holds its lease, it drives it. */
export class Room {
  readonly #host: RoomHostParts;
  readonly #policy: RoomPolicy;
  readonly #reported = new Set<string>();
  #record: RoomRecord;
  #members: readonly MemberDefinition[];
  #runners: ReadonlyMap<string, Runner>;
  readonly #name: string;
  #tenure: Tenure | null = null;
  /** The attempt to get the room, while one is made. */
  #driving: Promise<void> | null = null;
  #isRecovering = false;
  readonly #pauses: Pauses;
  #damage: RoomtapError | null = null;
  /** What a damaged log held up to its first bad row. */
  #readable: FoldState | null = null;
  #closed = false;
  #entries: readonly MemberEntry[] = [];

  constructor(parts: RoomParts, host: RoomHostParts) {
    this.#host = host;
    this.#record = parts.record;
    this.#members = parts.members;
    this.#name = parts.name;
    this.#policy = parts.policy;
    this.#runners = rosterOf(parts.members).runners;
    this.#pauses = new Pauses(host.clock);
  }

  /** Its name, members and revision, as this host knows them. */
  get record(): RoomRecord {
    return this.#record;
  }

  /** Why it is read-only; null while it is not. */
  get damage(): RoomtapError | null {
    return this.#damage;
  }

  /** The folded state after the last row that this host wrote or read; empty while it has never driven the room. */
  get folded(): FoldState {
    return this.#tenure?.writer.state ?? this.#readable ?? emptyState(this.#record.room_id);
  }

  /** Attempts of this host that have started and not settled. */
  get runs(): ReadonlySet<AttemptRun> {
    return this.#tenure?.runs ?? new Set();
  }

  /** Whether this host holds the room's lease. */
  get isDriven(): boolean {
    return this.#tenure !== null;
  }

  /** Whether a post stands in the inbox that somebody is to answer, here or elsewhere. */
  async isOwed(): Promise<boolean> {
    return (await this.#host.log.inbox(this.#record.room_id)).some(({ owed }) => owed.length > 0);
  }

  /** Whether it is being made ready here, or a start is being looked for, made, to be tried again, or due later. */
  get isPlanning(): boolean {
    return this.#tenure?.isPlanning ?? this.#isRecovering;
  }

  /**
   * Waits for the lease, settles what a dead host left open, and drives the room until the lease is lost. Resolves when
   * the room is driven, is found to be damaged, or was closed before.
   * @throws RoomtapError what the log throws; the lease is given back then
   */
  drive(): Promise<void> {
    this.#driving ??= this.#acquire().finally(() => {
      this.#driving = null;
    });
    return this.#driving;
  }

  /** The same, but trouble of the database that may pass is told and waited for; other trouble makes it read-only. */
  async driveWhenPossible(): Promise<void> {
    while (!this.#closed && this.#damage === null && this.#tenure === null) {
      try {
        await this.drive();
      } catch (fault) {
        if (!isPassing(fault)) return this.#becomeReadOnly(fault);
        this.#report(fault.code, `${fault.message}; it is driven as soon as that is over`, fault);
        await this.#pauses.wait(maxRetryMs);
      }
    }
  }

  /** To be told when the lease of that generation is not this host's any more: what runs under it is stopped. */
  lost(generation: number): void {
    const tenure = this.#tenure;
    // Not driven yet: whoever is about to notices by itself.
    if (tenure === null || tenure.leaseGeneration !== generation) return;
    this.#tenure = null;
    tenure.end();
    this.#host.report({
      code: "lease_lost",
      message: `${this.#where}: its lease was lost; what ran here was stopped and is not written`,
      subject: this.#record.room_id,
    });
    void this.driveWhenPossible();
  }

  /**
   * Accepts a post: when this resolves it is durable, and the turns of those it addresses follow, here or at the host that
   * drives the room.
   * @throws RoomtapError `invalid_params`, `text_too_large`, `idempotency_conflict`, `inbox_full`, `room_full`,
   * `room_disbanded`, `closed`, `log_corrupt` (the room is read-only), and what the log throws
   */
  async post(input: PostInput): Promise<PostReceipt> {
    this.#checkOpen();
    const { post, unresolved } = preparePostInput(input, await this.#presentRecord());
    const result = await this.#accept(post);
    const base = { room_id: post.room_id, thread_id: post.thread_id, unresolved, addressed: post.owed };
    if (result.status === "accepted") {
      this.pump();
      return { ...base, message_id: result.post.message_id, duplicate: false };
    }
    if (result.status === "duplicate") return { ...base, message_id: result.message_id, duplicate: true };
    throw new RoomtapError(result.status, result.message);
  }

  /**
   * Stops all that runs and closes what waits; pauses nobody. The stop is durable before anybody is interrupted.
   * @param options.cancelId the same id gives the first answer and stops nothing again
   * @returns how many attempts were open
   * @throws RoomtapError `lease_lost`, `room_disbanded`
   */
  async stop(
    options: { readonly cancelId?: string | undefined } = {},
  ): Promise<{ cancelled: number; fence: StopFence }> {
    const tenure = this.#owned();
    const { cancelId = null } = options;
    return tenure.writer.inOrder(async () => {
      const { log } = this.#host;
      const cancelled = tenure.runs.size;
      const result = this.#taken(await log.stop({ ...tenure.writer.fence, cancel_id: cancelId, cancelled }));
      if (result.status === "stopped") for (const run of tenure.runs) run.stop("stopped");
      this.pump();
      return { cancelled: result.cancelled, fence: result.fence };
    });
  }

  /**
   * Cancels one open turn, or closes one post that waits. Gives how many that were.
   * @throws RoomtapError `unknown_turn`, `unknown_message`, `lease_lost`
   */
  async cancel(what: { readonly turnId: string } | { readonly messageId: string }): Promise<number> {
    const tenure = this.#owned();
    if ("turnId" in what) {
      const run = [...tenure.runs].find(({ attempt }) => attempt.coordinates.turn_id === what.turnId);
      if (run === undefined) throw new RoomtapError("unknown_turn", `no open turn ${what.turnId} in ${this.#where}`);
      run.stop("turn_cancelled");
      return 1;
    }
    const message_id = what.messageId;
    // In order: no start that shows the post is under way.
    const result = await tenure.writer.inOrder(async () =>
      this.#taken(await this.#host.log.closePost({ ...tenure.writer.fence, message_id })),
    );
    if (result.status === "unknown_message") {
      throw new RoomtapError("unknown_message", `message ${message_id} does not wait in ${this.#where}`);
    }
    this.pump();
    return 1;
  }

  /** Lets members, or all, start nothing until they are resumed; what they run goes on. Gives all that are paused. */
  pause(memberIds?: readonly string[]): Promise<readonly string[]> {
    return this.#setPaused(true, memberIds);
  }

  /** The opposite of `pause`: they answer what they are owed. */
  resume(memberIds?: readonly string[]): Promise<readonly string[]> {
    return this.#setPaused(false, memberIds);
  }

  /**
   * Asks for one more attempt of a task: durable when this resolves.
   * @param options.generation of the attempt that is meant; default the last
   * @param options.origin of who asks
   * @returns the generation of the attempt to come
   * @throws RoomtapError `unknown_task`, `task_open`, `stale_generation`, `not_retryable`, `inbox_full`, `lease_lost`
   */
  async retry(
    taskId: string,
    options: { readonly generation?: number | undefined; readonly origin?: string | null | undefined } = {},
  ): Promise<{ task_id: string; execution_generation: number }> {
    const tenure = this.#owned();
    return tenure.writer.inOrder(async () => {
      const { state, fence } = tenure.writer;
      const answer = retryable(state, taskId, options.generation);
      if (answer !== "ok") throw new RoomtapError(answer, `task ${taskId} of ${this.#where}: ${answer}`);
      const execution_generation = state.tasks.find(({ task_id }) => task_id === taskId)?.execution_generation ?? 0;
      const { origin = null } = options;
      const retry = { ...fence, task_id: taskId, execution_generation, origin, cause: "retry" } as const;
      this.#taken(await this.#host.log.putRetry(retry));
      this.pump();
      return { task_id: taskId, execution_generation: execution_generation + 1 };
    });
  }

  /**
   * Gives the room another roster, as a new revision. Open turns keep what they were bound to; a removed member's turn is
   * cancelled and what it was owed is released.
   * @throws RoomtapError `revision_conflict`, `invalid_roster`, `room_disbanded`, `lease_lost`
   */
  async setRoster(
    members: readonly MemberDefinition[],
    options: { readonly expectedRevision?: number } = {},
  ): Promise<RoomRecord> {
    const tenure = this.#owned();
    return tenure.writer.inOrder(() => this.#putRoster(tenure, members, options.expectedRevision));
  }

  /** Closes the room for good: open turns are cancelled, its log stays readable. A repeat gives the first time. */
  async disband(): Promise<{ disbanded_at: number }> {
    const tenure = this.#owned();
    return tenure.writer.inOrder(async () => {
      const result = this.#taken(await this.#host.log.disband(tenure.writer.fence));
      this.#record = { ...this.#record, disbanded_at: result.disbanded_at };
      for (const run of tenure.runs) run.stop("room_disbanded");
      return { disbanded_at: result.disbanded_at };
    });
  }

  /** All there is to know of the room now, of one instant. Starts nothing. */
  async state(): Promise<RoomState> {
    const tenure = this.#owned();
    return tenure.writer.inOrder(() => this.#stateOf(tenure));
  }

  async #stateOf(tenure: Tenure): Promise<RoomState> {
    const { tap, places, clock } = this.#host;
    const { input, plan, dueWaiting } = await tenure.look();
    const runs = [...tenure.runs];
    const roomsBefore = places.before(this.#record.room_id) ?? 0;
    const { state } = tenure.writer;
    const { room } = input;
    const live = runs.map((run) => run.live);
    const source = { state, room, plan, dueWaiting, live, roomsBefore, now: clock.now(), before: this.#entries };
    this.#entries = memberEntries(source);
    const requests = runs.flatMap((run) => tap.requests.open(run.attempt).map(requestEntry));
    return roomState({ input, threads: plan.threads, members: this.#entries, requests });
  }

  /** Starts what the plan says; comes back by itself when a place is free, something is due, or somebody posts. */
  pump(): void {
    if (this.#damage === null) void this.#tenure?.pump();
  }

  /** From now on no turn starts and no post is taken. What runs is the caller's to stop. */
  close(): void {
    this.#closed = true;
    this.#pauses.close();
    this.#tenure?.close();
  }

  /** Resolves when the steps that were begun are over: a start among them has its attempt then. */
  async idle(): Promise<void> {
    await this.#tenure?.writer.idle();
  }

  /** Stores the state and gives the lease back. To be called when nothing runs any more. */
  async release(): Promise<void> {
    const tenure = this.#tenure;
    this.#tenure = null;
    if (tenure !== null && this.#damage === null) await tenure.storeCheckpoint();
    await this.#host.leases.release(this.#record.room_id);
    // It ends by itself without its lease; what went wrong is told to whoever waits for it.
    await this.#driving?.catch(() => undefined);
  }

  async #acquire(): Promise<void> {
    const { leases } = this.#host;
    const { room_id } = this.#record;
    while (!this.#closed && this.#damage === null) {
      const lease = await leases.acquire(room_id);
      if (lease === null) return;
      try {
        this.#isRecovering = true;
        if (await this.#begin(lease.generation)) return;
      } catch (fault) {
        if (!isLost(fault)) {
          await leases.release(room_id).catch(() => undefined);
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
    const { room_id } = this.#record;
    this.#record = (await log.room(room_id)) ?? this.#record;
    const loaded = await loadRoom(log, room_id, clock);
    if ("ignored" in loaded.checkpoint && loaded.checkpoint.ignored !== "none") {
      this.#report(
        "checkpoint_ignored",
        `its stored checkpoint was not used (${loaded.checkpoint.ignored}) and is made anew`,
      );
    }
    if (loaded.damage !== null) {
      this.#readable = loaded.fold.state();
      this.#becomeReadOnly(loaded.damage);
      return true;
    }
    const fence = { room_id, lease_generation: leaseGeneration };
    const { stop, disbanded_at } = this.#record;
    const recovered = await abandonOpenAttempts({ log, tap, fence, loaded, runners: this.#runners, stop });
    const tenure = new Tenure(
      {
        roomId: room_id,
        leaseGeneration,
        loaded: recovered,
        policy: this.#policy,
        runners: () => this.#runners,
        onLost: () => this.#refused(leaseGeneration),
        onDamage: (fault) => this.#becomeReadOnly(fault),
        report: (code, message, cause) => this.#report(code, message, cause),
      },
      this.#host,
    );
    // A roster that was given with another one in mind is a new revision.
    if (disbanded_at === null) await this.#putRoster(tenure, this.#members);
    if (this.#closed || !leases.isHeld(room_id, leaseGeneration)) return false;
    this.#tenure = tenure;
    this.pump();
    return true;
  }

  async #putRoster(
    tenure: Tenure,
    members: readonly MemberDefinition[],
    expected_revision?: number,
  ): Promise<RoomRecord> {
    const { content, runners } = rosterOf(members);
    const put = { ...tenure.writer.fence, name: this.#name, ...content, expected_revision };
    const result = this.#taken(await this.#host.log.putRoom(put));
    this.#members = members;
    this.#runners = runners;
    this.#record = result.room;
    const present = new Set(content.members.map(({ member_id }) => member_id));
    for (const run of tenure.runs) {
      if (!present.has(run.attempt.coordinates.member_id)) run.stop("member_removed");
    }
    this.pump();
    return result.room;
  }

  async #setPaused(paused: boolean, memberIds?: readonly string[]): Promise<readonly string[]> {
    const tenure = this.#owned();
    const known = this.#record.members.map(({ member_id }) => member_id);
    const unknown = memberIds?.find((memberId) => !known.includes(memberId));
    if (unknown !== undefined) throw new RoomtapError("unknown_member", `no member ${unknown} in ${this.#where}`);
    const change = { ...tenure.writer.fence, member_ids: memberIds ?? known, paused };
    // In order: no start that was planned before is under way when this resolves.
    return tenure.writer.inOrder(async () => {
      const result = this.#taken(await this.#host.log.setPaused(change));
      this.pump();
      return result.paused;
    });
  }

  /** The leases tell whoever runs under that one, this room among them. */
  #refused(generation: number): void {
    this.#host.leases.writeRefused(this.#record.room_id, generation);
  }

  /** As mentions are to be resolved: whoever drives the room may have given it another roster. */
  async #presentRecord(): Promise<RoomRecord> {
    if (this.#tenure === null) this.#record = (await this.#host.log.room(this.#record.room_id)) ?? this.#record;
    return this.#record;
  }

  get #where(): string {
    return `room ${this.#record.room_id}`;
  }

  #checkOpen(): void {
    if (this.#closed) throw new RoomtapError("closed", `${this.#where} is closed`);
    if (this.#damage !== null) throw this.#damage;
  }

  /** @throws RoomtapError `lease_lost` while another host drives the room */
  #owned(): Tenure {
    this.#checkOpen();
    if (this.#tenure !== null) return this.#tenure;
    this.#host.refused.changes++;
    throw new RoomtapError("lease_lost", `another host drives ${this.#where}`);
  }

  /** The change that was made. @throws RoomtapError of the refusal */
  #taken<Result extends { readonly status: string }>(result: Result): Exclude<Result, Refusal> {
    if (!isRefusal(result)) return result as Exclude<Result, Refusal>;
    if (result.status === "lease_lost") {
      this.#host.refused.changes++;
      if (this.#tenure !== null) this.#refused(this.#tenure.leaseGeneration);
    }
    throw new RoomtapError(result.status, result.message);
  }

  async #accept(post: NewPost): Promise<AcceptResult> {
    try {
      return await this.#host.log.accept(post);
    } catch (fault) {
      if (fault instanceof RoomtapError && fault.code === "log_corrupt") this.#becomeReadOnly(fault);
      throw fault;
    }
  }

  /** At the first sign that log and memory do not agree: nothing is repaired by itself. */
  #becomeReadOnly(fault: unknown): void {
    if (this.#damage !== null) return;
    this.#damage =
      fault instanceof RoomtapError
        ? fault
        : new RoomtapError("internal", `${this.#where}: ${messageOf(fault)}`, { cause: fault });
    this.#tenure?.close();
    const { code, message, remedy } = this.#damage;
    this.#report(code, `${message}; ${this.#where} takes no posts. ${remedy}`, fault);
  }

  /** Each kind of trouble of a room is told once. */
  #report(code: string, message: string, cause?: unknown): void {
    const key = `${code} ${message}`;
    if (this.#reported.has(key) || this.#reported.size >= maxReported) return;
    this.#reported.add(key);
    this.#host.report({ code, message: `${this.#where}: ${message}`, subject: this.#record.room_id, cause });
  }
}

/** Why a change of a room was not made. */
type Refusal = LeaseLost | Refused<"inbox_full" | "room_disbanded" | "revision_conflict" | "invalid_roster">;

const refusals: readonly string[] = [
  "lease_lost",
  "inbox_full",
  "room_disbanded",
  "revision_conflict",
  "invalid_roster",
] satisfies readonly Refusal["status"][];

function isRefusal(result: { readonly status: string }): result is Refusal {
  return refusals.includes(result.status);
}
