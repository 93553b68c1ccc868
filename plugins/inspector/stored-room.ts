import { RoomtapError } from "../../core/index.ts";
import {
  emptyState,
  RoomFold,
  type FoldState,
  type InboxRow,
  type MemberState,
  type PlanInput,
  type SqliteLogReader,
} from "../../rooms/index.ts";
import { holderOf, type LeaseHolder } from "./lease-holder.ts";
import { roomOf } from "./open-log.ts";

/** A member as a database knows it: what it does now is known to the process that drives its room, and is not said here. */
export interface StoredMember {
  readonly member_id: string;
  readonly handle: string;
  readonly display_name: string;
  readonly runner_kind: string | null;
  readonly paused: boolean;
  /** Its turn that has started and not settled. */
  readonly open: MemberState["open"];
  readonly last: MemberState["last"];
  /** Posts that it was asked to answer and has not begun to. */
  readonly owed_posts: number;
}

/** A room as a database has it, of one instant. */
export interface StoredRoom {
  readonly room: {
    readonly room_id: string;
    readonly name: string;
    readonly revision: number;
    readonly created_at: number;
    readonly disbanded_at: number | null;
  };
  readonly log: { readonly latest_seq: number; readonly log_hash: string; readonly bytes: number };
  readonly lease: {
    readonly generation: number;
    readonly held: boolean;
    readonly holder: LeaseHolder;
    readonly pid: number | null;
  };
  readonly members: readonly StoredMember[];
  readonly threads: readonly {
    readonly thread_id: string;
    readonly discussion: string;
    readonly round: number;
    readonly last_row: number;
    readonly open_turns: readonly string[];
  }[];
  readonly inbox: readonly (Pick<InboxRow, "message_id" | "thread_id" | "author" | "owed"> & {
    /** Wall ms. */
    readonly at: number;
  })[];
  /** Requests live in the process that drives the room: a database knows none. */
  readonly open_requests: null;
}

/** @throws RoomtapError `unknown_room`, `log_corrupt` */
export async function readStoredRoom(log: SqliteLogReader, roomId: string): Promise<StoredRoom> {
  await roomOf(log, roomId);
  const input = await log.planInput(roomId);
  if (input === undefined) throw new RoomtapError("unknown_room", `no room ${roomId} in ${log.file}`);
  return storedRoom(input, await foldedTo(log, roomId, input.head.seq));
}

/** The state folded up to a row. */
async function foldedTo(log: SqliteLogReader, roomId: string, seq: number): Promise<FoldState> {
  const fold = new RoomFold(emptyState(roomId));
  while (fold.throughSeq < seq) {
    const after_seq = fold.throughSeq;
    for (const row of (await log.read(roomId, { after_seq, limit: seq - after_seq })).rows) fold.apply(row);
  }
  return fold.state();
}

/** Puts together what was read. Pure, but for the look at the process that holds the lease. */
function storedRoom({ room, inbox, head, log_bytes, lease }: PlanInput, state: FoldState): StoredRoom {
  const { room_id, name, revision, created_at, disbanded_at, paused } = room;
  const members = new Map(state.members.map((member) => [member.member_id, member]));
  return {
    room: { room_id, name, revision, created_at, disbanded_at },
    log: { latest_seq: head.seq, log_hash: head.hash, bytes: log_bytes },
    lease: {
      ...{ generation: lease.generation, held: !lease.released, holder: holderOf(lease) },
      pid: lease.released ? null : (lease.process?.pid ?? null),
    },
    members: room.members.map(({ member_id, handle, display_name, runner_kind }) => ({
      ...{ member_id, handle, display_name, runner_kind, paused: paused.includes(member_id) },
      open: members.get(member_id)?.open ?? null,
      last: members.get(member_id)?.last ?? null,
      owed_posts: inbox.filter(({ owed }) => owed.includes(member_id)).length,
    })),
    threads: state.threads.map(({ thread_id, discussion, last_row, open_turns }) => ({
      ...{ thread_id, discussion: discussion.message_id, round: discussion.round, last_row, open_turns },
    })),
    inbox: inbox.map(({ message_id, thread_id, author, owed, accepted_at }) => ({
      ...{ message_id, thread_id, author, owed, at: accepted_at },
    })),
    open_requests: null,
  };
}
