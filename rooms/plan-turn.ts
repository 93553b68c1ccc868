import { limits, makeCoordinates, RoomtapError, type StartCause, type TurnStarted } from "../core/index.ts";
import { roundOrder } from "./discussion.ts";
import type { DiscussionState, NamedWord } from "./fold-state.ts";
import { taskId, turnId } from "./ids.ts";
import type { InboxRow } from "./inbox-row.ts";
import type { Member, RoomRecord } from "./room-record.ts";
import { mentionedWords } from "./mention-words.ts";
import { opensDiscussion } from "./person-post.ts";
import type { PlanMembers } from "./plan-members.ts";
import type { PlannedStart } from "./plan-source.ts";
import type { NextTurn, ThreadView } from "./plan-thread.ts";
import type { RoomPolicy } from "./policy.ts";
import { turnInput, type TurnInput } from "./turn-input.ts";

/** Everything that the first attempt of a turn depends on. */
export interface TurnSource {
  readonly room: RoomRecord;
  readonly thread: ThreadView;
  readonly turn: NextTurn;
  readonly members: PlanMembers;
  readonly policy: RoomPolicy;
  /** Ids of the turns that the log's state knows: none is given to another turn. */
  readonly turnIds: ReadonlySet<string>;
}

/** The start of a turn that was decided: its place, its input, and what that takes from the inbox. */
export function firstStart(source: TurnSource): PlannedStart {
  const { room, thread, turn } = source;
  const { room_id, roster_digest } = room;
  const { thread_id } = thread;
  const { member_id } = turn.member;
  const input = inputOf(source);
  const place = placeOf(source, input);
  const { seen_through_seq } = input;
  const idAt = (at: number): string =>
    turnId({
      room_id,
      thread_id,
      member_id,
      discussion: place.message_id,
      round: place.round,
      slot: at,
      seen_through_seq,
    });
  let slot = slotOf(source, place);
  // A second turn at the same place that has seen the same rows: its slot is behind all others.
  while (source.turnIds.has(idAt(slot))) slot += limits.maxMembers;
  const turn_id = idAt(slot);
  const messageIds = input.items.flatMap((item) => ("message_id" in item ? item.message_id : []));
  const task_id = taskId(turn_id, messageIds, roster_digest);
  const payload: TurnStarted = {
    input: input.items,
    ...whyOf(source, input, place),
    seen_through_seq,
    roster_digest,
    discussion: { message_id: place.message_id, round: place.round, slot },
  };
  return {
    coordinates: makeCoordinates({ room_id, thread_id, member_id, turn_id, task_id, execution_generation: 1 }),
    payload,
    inbox: input.inbox,
    retries: [],
    due: { take: [] },
  };
}

function inputOf({ thread, turn, members }: TurnSource): TurnInput {
  const { member_id } = turn.member;
  const input = turnInput({
    member_id,
    posts: thread.posts,
    thread: thread.state,
    seen: members.stateOf(member_id)?.seen.find((seen) => seen.thread_id === thread.thread_id),
  });
  if (input.items.length > 0 || turn.kind === "owed") return input;
  // A member that is asked once more knows everything: it is shown again why.
  return { ...input, items: [{ row_seq: turn.row }] };
}

/** Where a turn belongs: a discussion, a round of it, and the words that say who takes part. */
interface Place {
  readonly message_id: string;
  readonly round: number;
  readonly named: readonly NamedWord[];
  /** The discussion in the log, when it is that one. */
  readonly present: DiscussionState | undefined;
}

/** The discussion that goes on, unless a post that the turn shows first opens a newer one. */
function placeOf({ thread, turn, members }: TurnSource, input: TurnInput): Place {
  const { state, isStopped, posts } = thread;
  const present = isStopped ? undefined : state?.discussion;
  const opening = turn.kind === "owed" ? openingPost(input.posts, members) : undefined;
  if (opening === undefined && present !== undefined) {
    const round = turn.kind === "owed" ? present.round : turn.round;
    return { message_id: present.message_id, round, named: present.named, present };
  }
  const isAsking = ({ owed }: InboxRow): boolean => owed.length > 0;
  const post = opening ?? input.posts.findLast(isAsking) ?? posts.find(isAsking);
  if (post === undefined)
    throw new RoomtapError("internal", `a turn in thread ${thread.thread_id} that no post asks for`);
  const named = mentionedWords(post.text).map((word): NamedWord => ({ word, round: 0, row: null }));
  return { message_id: post.message_id, round: 0, named, present: undefined };
}

function openingPost(shown: readonly InboxRow[], members: PlanMembers): InboxRow | undefined {
  return shown.findLast((post) => post.row_seq === null && opensDiscussion(post, members.roster));
}

/** Its place in the order of its round; members that the round does not ask have theirs behind the largest roster's. */
function slotOf({ turn, members, policy }: TurnSource, place: Place): number {
  const slot = orderOf(place, members, policy).indexOf(turn.member);
  return slot === -1 ? limits.maxMembers + members.roster.indexOf(turn.member) : slot;
}

function orderOf({ named, round }: Place, members: PlanMembers, policy: RoomPolicy): readonly Member[] {
  return round < policy.maxRounds ? roundOrder(named, round, members) : members.driven;
}

function whyOf(source: TurnSource, input: TurnInput, place: Place): { cause: StartCause; origin: string | null } {
  const { turn, thread } = source;
  const { member_id } = turn.member;
  if (turn.kind === "turn") {
    const isQueued = turn.round < source.policy.maxRounds && hasWaited(source, place, turn.row);
    return { cause: isQueued ? "queued" : turn.isNamed ? "mention" : "host", origin: "host" };
  }
  const isOwed = ({ owed }: InboxRow): boolean => owed.includes(member_id);
  const oldest = thread.posts.find(isOwed);
  const shown = input.posts.filter(isOwed);
  const { origin = null } = shown.at(-1) ?? oldest ?? {};
  if (hasWaited(source, place, oldest?.after_seq ?? 0)) return { cause: "queued", origin };
  return { cause: shown.some(({ named }) => named.includes(member_id)) ? "mention" : "message", origin };
}

/** Whether the member could not start when it was its turn: what it is to answer came at row `since`. */
function hasWaited({ turn, members, policy }: TurnSource, place: Place, since: number): boolean {
  const { member_id } = turn.member;
  if ((members.stateOf(member_id)?.last?.settled_row ?? 0) > since) return true;
  const { present, round } = place;
  if (present === undefined || present.round !== round) return false;
  const later = present.turns.filter(({ row }) => row > since);
  if (turn.kind === "owed" && round > 0 && later.length === present.turns.length) return true;
  const order = orderOf(place, members, policy).map((member) => member.member_id);
  const own = order.indexOf(member_id);
  return later.some((other) => order.indexOf(other.member_id) > own);
}
