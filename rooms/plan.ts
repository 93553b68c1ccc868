import {
  limits,
  makeCoordinates,
  type Coordinates,
  type Notice,
  type StartCause,
  type TurnStarted,
} from "../core/index.ts";
import type { FoldState, MemberState, ThreadState } from "./fold-state.ts";
import { taskId, turnId } from "./ids.ts";
import type { InboxChange, InboxRow, Member, RoomRecord } from "./log.ts";
import { parseMentions } from "./mentions.ts";
import { drivenMembers, readRoster } from "./roster.ts";
import { turnInput, type TurnInput } from "./turn-input.ts";

/** All that a plan depends on. */
export interface PlanSource {
  readonly state: FoldState;
  readonly room: RoomRecord;
  /** The room's posts that wait, by number. */
  readonly inbox: readonly InboxRow[];
}

/** A turn that may start now: its row, and what that row takes from the inbox. */
export interface PlannedStart {
  /** The frozen object of the attempt, for its row and for all its events. */
  readonly coordinates: Coordinates;
  readonly payload: TurnStarted;
  readonly inbox: readonly InboxChange[];
}

/** What may happen next in a room. */
export interface Plan {
  /** Whose post waits longest comes first. At most one per thread and one per member, so all may start side by side. */
  readonly starts: readonly PlannedStart[];
  /** What was left out and why: entries of the roster that do not parse, owed members that are not driven here. */
  readonly diagnostics: readonly Notice[];
}

/** The posts of a thread that wait, and what the log knows of it. */
interface WaitingThread {
  readonly thread_id: string;
  readonly posts: InboxRow[];
  readonly state: ThreadState | undefined;
}

/**
 * Which turns may start: in each thread one, of the first member in roster order that is owed an answer and free. A thread
 * waits for its open turn; a member waits for its own, in whatever thread that is. Pure: equal sources give equal plans,
 * ids included.
 */
export function planNext({ state, room, inbox }: PlanSource): Plan {
  const { members, problems } = readRoster(room.members);
  const driven = drivenMembers(members);
  const memberStates = new Map(state.members.map((member) => [member.member_id, member]));
  const busy = new Set(state.members.filter(({ open }) => open !== null).map(({ member_id }) => member_id));
  const starts: PlannedStart[] = [];
  for (const thread of waitingThreads(inbox, state)) {
    if (thread.state !== undefined && thread.state.open_turns.length > 0) continue;
    for (const member of driven) {
      const oldestOwed = thread.posts.find(({ owed }) => owed.includes(member.member_id));
      if (oldestOwed === undefined || busy.has(member.member_id)) continue;
      busy.add(member.member_id);
      const memberState = memberStates.get(member.member_id);
      starts.push(startOf({ room, members, thread, member, memberState, oldestOwed }));
      break;
    }
  }
  return { starts, diagnostics: diagnose(room.room_id, problems, inbox, driven) };
}

/** Threads in which somebody is owed, in the order of their oldest such post. */
function waitingThreads(inbox: readonly InboxRow[], state: FoldState): readonly WaitingThread[] {
  const states = new Map(state.threads.map((thread) => [thread.thread_id, thread]));
  const threads = new Map<string, WaitingThread>();
  const waiting = new Set<WaitingThread>();
  for (const post of inbox) {
    const { thread_id } = post;
    const thread = threads.get(thread_id) ?? { thread_id, posts: [], state: states.get(thread_id) };
    threads.set(thread_id, thread);
    thread.posts.push(post);
    if (post.owed.length > 0) waiting.add(thread);
  }
  return [...waiting];
}

/** Everything that one start depends on. */
interface StartSource {
  readonly room: RoomRecord;
  readonly members: readonly Member[];
  readonly thread: WaitingThread;
  readonly member: Member;
  readonly memberState: MemberState | undefined;
  /** The thread's oldest post that the member is to answer. */
  readonly oldestOwed: InboxRow;
}

function startOf(source: StartSource): PlannedStart {
  const { room, thread, memberState } = source;
  const { room_id, roster_digest } = room;
  const { thread_id } = thread;
  const { member_id } = source.member;
  const input = turnInput({
    member_id,
    posts: thread.posts,
    thread: thread.state,
    seen: memberState?.seen.find((seen) => seen.thread_id === thread_id),
  });
  const { seen_through_seq } = input;
  const discussion = discussionOf(source, input);
  const { message_id, round, slot } = discussion;
  const turn_id = turnId({ room_id, thread_id, member_id, discussion: message_id, round, slot, seen_through_seq });
  const messageIds = input.items.flatMap((item) => ("message_id" in item ? item.message_id : []));
  const task_id = taskId(turn_id, messageIds, roster_digest);
  const owed = input.posts.filter((post) => post.owed.includes(member_id));
  return {
    coordinates: makeCoordinates({ room_id, thread_id, member_id, turn_id, task_id, execution_generation: 1 }),
    payload: {
      input: input.items,
      cause: causeOf(owed, source),
      origin: (owed.at(-1) ?? source.oldestOwed).origin,
      seen_through_seq,
      roster_digest,
      discussion,
    },
    inbox: input.inbox,
  };
}

/** The discussion a turn belongs to: that of the newest person's post it is shown, or the one that goes on. */
function discussionOf(
  { thread, members, member, oldestOwed }: StartSource,
  input: TurnInput,
): TurnStarted["discussion"] {
  const addressing = input.posts.filter((post) => post.owed.length > 0);
  const opening = addressing.findLast((post) => post.author.kind === "person") ?? addressing.at(-1) ?? oldestOwed;
  // A post that a row holds already is as old as the discussion that goes on, or older.
  const isNewer = opening.row_seq === null && addressing.includes(opening);
  const message_id = isNewer ? opening.message_id : (thread.state?.discussion.message_id ?? opening.message_id);
  const post = thread.posts.find((candidate) => candidate.message_id === message_id);
  return { message_id, round: 0, slot: slotOf(member.member_id, post, members) };
}

/** Its place among the members the post addresses; others have theirs behind the largest roster's. */
function slotOf(memberId: string, post: InboxRow | undefined, members: readonly Member[]): number {
  const place = post === undefined ? -1 : parseMentions(post.text, members).addressed.indexOf(memberId);
  return place === -1 ? limits.maxMembers + members.findIndex(({ member_id }) => member_id === memberId) : place;
}

function causeOf(owed: readonly InboxRow[], { member, memberState, oldestOwed }: StartSource): StartCause {
  const settledRow = memberState?.last?.settled_row ?? 0;
  if (settledRow > oldestOwed.after_seq) return "queued";
  return owed.some((post) => post.named.includes(member.member_id)) ? "mention" : "message";
}

function diagnose(roomId: string, problems: readonly string[], inbox: readonly InboxRow[], driven: readonly Member[]) {
  const known = new Set(driven.map(({ member_id }) => member_id));
  const unknown = new Set(inbox.flatMap(({ owed }) => owed.filter((memberId) => !known.has(memberId))));
  return [
    ...problems.map((message): Notice => ({ code: "invalid_roster", message, subject: roomId })),
    ...[...unknown].map((memberId): Notice => ({
      code: "member_unavailable",
      message: `member ${memberId} is owed a turn, but the roster has no such member with a runner`,
      subject: roomId,
    })),
  ];
}
