import { idSchema, RoomtapError } from "../core/index.ts";
import type { AcceptResult, NewPost } from "./inbox-row.ts";
import { preparePostInput, type PostInput, type PostReceipt } from "./post.ts";
import type { PresentRoom } from "./present-room.ts";
import { problemText } from "./problem-text.ts";
import { retryable } from "./retryable.ts";
import { checkRoomName, type MemberDefinition } from "./room-definition.ts";
import type { RoomDrive } from "./room-drive.ts";
import type { RoomRecord, StopFence } from "./room-record.ts";
import type { HostParts } from "./tenure-parts.ts";
import type { Tenure } from "./tenure.ts";

/** An attempt that was asked for: it waits until its turn comes. */
export interface RetryReceipt {
  readonly room_id: string;
  readonly task_id: string;
  readonly thread_id: string;
  readonly turn_id: string;
  /** It has not started when this is said. */
  readonly status: "queued";
  /** Of the attempt to come. */
  readonly execution_generation: number;
}

/** What is left of a room that was closed for good. */
export interface Tombstone {
  readonly room_id: string;
  /** Wall ms of the first time. */
  readonly disbanded_at: number;
  /** It was disbanded before. */
  readonly idempotent: boolean;
}

/**
 * What a caller may change in a room. Each change is a step in the one line of the room's steps, durable before anybody is
 * told of it, and refused when this host has no lease of the room; only a post needs none.
 */
export class RoomCommands {
  readonly #present: PresentRoom;
  readonly #drive: RoomDrive;
  readonly #host: HostParts;

  constructor(present: PresentRoom, drive: RoomDrive, host: HostParts) {
    this.#present = present;
    this.#drive = drive;
    this.#host = host;
  }

  async post(input: PostInput): Promise<PostReceipt> {
    this.#drive.checkOpen();
    // As mentions are to be resolved: whoever drives the room may have given it another roster.
    const record = this.#drive.tenure === null ? await this.#present.read(this.#host.log) : this.#present.record;
    const { post, unresolved } = preparePostInput(input, record);
    const result = await this.#accept(post);
    const base = { room_id: post.room_id, thread_id: post.thread_id, unresolved, addressed: post.owed };
    if (result.status === "duplicate") {
      return { ...base, message_id: result.message_id, duplicate: true, starts: false };
    }
    if (result.status !== "accepted") throw new RoomtapError(result.status, result.message);
    const starts = (await this.#drive.tenure?.startsNow(result.post)) ?? false;
    return { ...base, message_id: result.post.message_id, duplicate: false, starts };
  }

  async stop(cancelId: string | null): Promise<{ readonly cancelled: number; readonly fence: StopFence }> {
    const tenure = this.#drive.owned();
    return tenure.writer.inOrder(async () => {
      const cancelled = tenure.runs.size;
      const stop = { ...tenure.writer.fence, cancel_id: cancelId, cancelled };
      const result = this.#drive.taken(await this.#host.log.stop(stop));
      if (result.status === "stopped") for (const run of tenure.runs) run.stop("stopped");
      this.#drive.pump();
      return { cancelled: result.cancelled, fence: result.fence };
    });
  }

  async cancelTurn(turnId: string): Promise<number> {
    const run = [...this.#drive.owned().runs].find(({ attempt }) => attempt.coordinates.turn_id === turnId);
    if (run === undefined) throw new RoomtapError("unknown_turn", `no open turn ${turnId} in ${this.#present.where}`);
    run.stop("turn_cancelled");
    return 1;
  }

  async cancelPost(message_id: string): Promise<number> {
    const tenure = this.#drive.owned();
    // In order: no start that shows the post is under way.
    const result = await tenure.writer.inOrder(async () =>
      this.#drive.taken(await this.#host.log.closePost({ ...tenure.writer.fence, message_id })),
    );
    if (result.status === "unknown_message") {
      throw new RoomtapError("unknown_message", `message ${message_id} does not wait in ${this.#present.where}`);
    }
    this.#drive.pump();
    return 1;
  }

  async setPaused(paused: boolean, memberIds?: readonly string[]): Promise<readonly string[]> {
    const tenure = this.#drive.owned();
    const { record, where } = this.#present;
    const known = record.members.map(({ member_id }) => member_id);
    const unknown = memberIds?.find((memberId) => !known.includes(memberId));
    if (unknown !== undefined) throw new RoomtapError("unknown_member", `no member ${unknown} in ${where}`);
    const change = { ...tenure.writer.fence, member_ids: memberIds ?? known, paused };
    // In order: no start that was planned before is under way when this resolves.
    return tenure.writer.inOrder(async () => {
      const result = this.#drive.taken(await this.#host.log.setPaused(change));
      this.#present.take({ ...this.#present.record, paused: result.paused });
      this.#drive.pump();
      return result.paused;
    });
  }

  async retry(task_id: string, generation: number | undefined, origin: string | null): Promise<RetryReceipt> {
    const tenure = this.#drive.owned();
    return tenure.writer.inOrder(async () => {
      const { state, fence } = tenure.writer;
      const answer = retryable(state, task_id, generation);
      const task = state.tasks.find((each) => each.task_id === task_id);
      if (answer !== "ok" || task === undefined) {
        const code = answer === "ok" ? "unknown_task" : answer;
        throw new RoomtapError(code, `task ${task_id} of ${this.#present.where}: ${code}`);
      }
      const { thread_id, turn_id, execution_generation } = task;
      const retry = { ...fence, task_id, execution_generation, origin, cause: "retry" } as const;
      this.#drive.taken(await this.#host.log.putRetry(retry));
      this.#drive.pump();
      const coming = execution_generation + 1;
      const { room_id } = fence;
      return { room_id, task_id, thread_id, turn_id, status: "queued", execution_generation: coming };
    });
  }

  async setRoster(members: readonly MemberDefinition[], expectedRevision?: number): Promise<RoomRecord> {
    const tenure = this.#drive.owned();
    return tenure.writer.inOrder(() => this.#drive.putRoster(tenure, members, expectedRevision));
  }

  async rename(event_id: string, name: string): Promise<RoomRecord> {
    const tenure = this.#drive.owned();
    checkRoomName(name);
    const id = idSchema.safeParse(event_id);
    if (!id.success) throw new RoomtapError("invalid_params", `event_id: ${problemText(id.error)}`);
    return tenure.writer.inOrder(async () => {
      const result = this.#drive.taken(await this.#host.log.rename({ ...tenure.writer.fence, event_id, name }));
      if (result.status === "renamed") this.#present.take(result.room);
      return result.room;
    });
  }

  async disband(): Promise<Tombstone> {
    this.#drive.checkOpen();
    const { roomId: room_id } = this.#present;
    const before = (await this.#present.read(this.#host.log)).disbanded_at;
    if (before !== null) return { room_id, disbanded_at: before, idempotent: true };
    const tenure = this.#drive.owned();
    return tenure.writer.inOrder(async () => {
      const { status, disbanded_at } = this.#drive.taken(await this.#host.log.disband(tenure.writer.fence));
      this.#present.take({ ...this.#present.record, disbanded_at });
      for (const run of tenure.runs) run.stop("room_disbanded");
      if (status === "disbanded") void this.#retire(tenure);
      return { room_id, disbanded_at, idempotent: status === "repeated" };
    });
  }

  /** Nobody needs the lease of a room in which nothing can happen any more. */
  async #retire(tenure: Tenure): Promise<void> {
    try {
      await Promise.all([...tenure.runs].map(({ done }) => done));
      await tenure.writer.idle();
      if (this.#drive.tenure === tenure) await this.#drive.release();
    } catch (fault) {
      const code = fault instanceof RoomtapError ? fault.code : "internal";
      this.#drive.report(code, "its lease was not given back; it runs out by itself", fault);
    }
  }

  async #accept(post: NewPost): Promise<AcceptResult> {
    try {
      return await this.#host.log.accept(post);
    } catch (fault) {
      if (fault instanceof RoomtapError && fault.code === "log_corrupt") this.#drive.becomeReadOnly(fault);
      throw fault;
    }
  }
}
