import type { Author, MemberEntry, RequestEntry } from "../core/index.ts";
import type { InboxRow } from "./inbox-row.ts";
import type { PlanInput } from "./room-reader.ts";
import type { Member } from "./room-record.ts";
import type { ThreadPlan } from "./plan-source.ts";

/** A post that waits, without its text. */
export interface InboxEntry {
  readonly message_id: string;
  readonly thread_id: string;
  readonly author: Author;
  /** Wall ms. */
  readonly at: number;
  /** `closed`: nobody will answer it; it stays until a turn of its thread carries it as context. */
  readonly state: "open" | "closed";
  /** Members that it addressed and that have not started. */
  readonly owed: readonly string[];
}

/** All there is to know of a room now. Reading it starts nothing. */
export interface RoomState {
  readonly room: {
    readonly room_id: string;
    readonly name: string;
    readonly revision: number;
    readonly disbanded_at: number | null;
    readonly roster: readonly Member[];
  };
  readonly log: { readonly latest_seq: number; readonly log_hash: string };
  /** Who may write: counts up at each change of hands. */
  readonly lease: { readonly generation: number; readonly held: boolean };
  readonly threads: readonly ThreadPlan[];
  readonly members: readonly MemberEntry[];
  /** By number. */
  readonly inbox: readonly InboxEntry[];
  /** Oldest first. */
  readonly open_requests: readonly RequestEntry[];
  /** Rows and bytes that count for the room's quota. */
  readonly quota: { readonly rows: number; readonly bytes: number };
}

/** Puts a room's state together from what was read at one instant. Pure. */
export function roomState(parts: {
  readonly input: PlanInput;
  readonly threads: readonly ThreadPlan[];
  readonly members: readonly MemberEntry[];
  readonly requests: readonly RequestEntry[];
}): RoomState {
  const { input, threads, members, requests } = parts;
  const { room, head, lease } = input;
  const { room_id, name, revision, disbanded_at } = room;
  return {
    room: { room_id, name, revision, disbanded_at, roster: room.members },
    log: { latest_seq: head.seq, log_hash: head.hash },
    lease: { generation: lease.generation, held: !lease.released },
    threads,
    members,
    inbox: input.inbox.map(inboxEntry),
    open_requests: requests,
    quota: { rows: head.seq, bytes: input.log_bytes },
  };
}

function inboxEntry({ message_id, thread_id, author, accepted_at, owed }: InboxRow): InboxEntry {
  return { message_id, thread_id, author, at: accepted_at, state: owed.length > 0 ? "open" : "closed", owed };
}
