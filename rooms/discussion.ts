import type { DiscussionState, FoldState, NamedWord } from "./fold-state.ts";
import type { Member } from "./room-record.ts";
import type { Choice, PlanMembers } from "./plan-members.ts";
import type { ThreadStanding } from "./plan-source.ts";
import type { RoomPolicy } from "./policy.ts";

/** A discussion that has begun, and what its next turn depends on. */
export interface DiscussionSource {
  readonly thread_id: string;
  readonly discussion: DiscussionState;
  readonly members: PlanMembers;
  readonly policy: RoomPolicy;
  readonly tasks: FoldState["tasks"];
}

/** What follows in a discussion whose posts are answered: a turn of a later round, or none now, or none at all. */
export type Step =
  | {
      readonly kind: "turn";
      readonly member: Member;
      readonly round: number;
      /** The member was named, by a person or a member. */
      readonly isNamed: boolean;
      /** The text it is to hear, or that named it. */
      readonly row: number;
    }
  | { readonly kind: "wait"; readonly standing: ThreadStanding; readonly owed: readonly string[] }
  | { readonly kind: "end"; readonly standing: ThreadStanding; readonly owed: readonly string[] };

/**
 * The next turn of the later rounds. In a round each of its members that has something new to hear has one turn, the first
 * in its order that is free comes first; a round is over when nobody is left but those that are passed over. It goes on
 * until a round brings no text, nobody has anything new to hear, or a bound is reached. Then members that were named by
 * members and were not heard since have a turn each, up to `maxOwedPasses` times: rounds with numbers from `maxRounds` on.
 */
export function nextStep(source: DiscussionSource): Step {
  const { discussion, policy } = source;
  if (discussion.completed >= policy.maxMemberMessages) return ended(source, "max_messages");
  if (discussion.round >= policy.maxRounds) return owedPass(source);
  const present = chooseIn(source, discussion.round);
  if (present.next !== undefined || present.isBusy) return stepOf(source, present, discussion.round);
  const step = isSilent(discussion) ? owedPass(source, "silent_round") : nextRound(source);
  // Whoever is passed over keeps its place in this round as long as no later one begins.
  return step.kind === "end" && present.heldBy !== undefined ? stepOf(source, present, discussion.round) : step;
}

/**
 * The members of a round in their order: everybody named before it by the post or by completed texts, or all when nobody
 * was; in roster order, rotated by the round.
 */
export function roundOrder(named: DiscussionState["named"], round: number, members: PlanMembers): readonly Member[] {
  const words = named.flatMap((entry) => (entry.round <= round ? entry.word : []));
  const inRosterOrder = members.addressedBy(words);
  const first = inRosterOrder.length === 0 ? 0 : round % inRosterOrder.length;
  return [...inRosterOrder.slice(first), ...inRosterOrder.slice(0, first)];
}

/** The row of the oldest text the member was not shown, of the last ones that each of the others said; or undefined. */
function newsRow({ discussion, members, thread_id }: DiscussionSource, memberId: string): number | undefined {
  const seen = members.seenThrough(memberId, thread_id);
  return discussion.spoke.find(({ member_id, row }) => member_id !== memberId && row > seen)?.row;
}

interface RoundChoice extends Choice {
  readonly candidates: readonly Member[];
}

/** Who is next in a round: who has something new to hear and had no turn in it. Round 0 is the posts' own. */
function chooseIn(source: DiscussionSource, round: number): RoundChoice {
  const { discussion, members } = source;
  if (round === 0) return { ...members.choose([]), candidates: [] };
  const candidates = roundOrder(discussion.named, round, members).filter(
    ({ member_id }) => !hadTurn(discussion, member_id, round) && newsRow(source, member_id) !== undefined,
  );
  return { ...members.choose(candidates), candidates };
}

function nextRound(source: DiscussionSource): Step {
  const round = source.discussion.round + 1;
  const choice = chooseIn(source, round);
  if (choice.candidates.length === 0) return owedPass(source, "answered");
  return round < source.policy.maxRounds ? stepOf(source, choice, round) : owedPass(source, "max_rounds");
}

/** @param over why the rounds are over; without it they were over before */
function owedPass(source: DiscussionSource, over?: "silent_round" | "answered" | "max_rounds"): Step {
  const { discussion, members, policy } = source;
  const unheard = unheardMembers(source);
  if (unheard.length === 0) return ended(source, over ?? (isUnfinished(source) ? "max_rounds" : "answered"));
  const begun = Math.max(0, discussion.round - policy.maxRounds + 1);
  if (begun > 0) {
    const left = unheard.filter(({ member_id }) => !hadTurn(discussion, member_id, discussion.round));
    if (left.length > 0) return stepOf(source, { ...members.choose(left), candidates: left }, discussion.round);
  }
  if (begun >= policy.maxOwedPasses) return ended(source, "max_owed_passes");
  return stepOf(source, { ...members.choose(unheard), candidates: unheard }, policy.maxRounds + begun);
}

/** Members that a member named and that said nothing since. Whose turn was cancelled since is not asked again. */
function unheardMembers({ discussion, members, tasks }: DiscussionSource): readonly Member[] {
  const { named, spoke, message_id } = discussion;
  if (named.every(({ row }) => row === null)) return [];
  return members.driven.filter((member) => {
    const { member_id } = member;
    const row = nameOf(discussion, member)?.row ?? 0;
    if (row <= (spoke.find((entry) => entry.member_id === member_id)?.row ?? 0)) return false;
    const last = tasks.findLast((task) => task.member_id === member_id && task.discussion.message_id === message_id);
    return !(last?.status === "cancelled" && (last.settled_row ?? 0) > row);
  });
}

function nameOf({ named }: DiscussionState, { handle }: Member): NamedWord | undefined {
  return named.find(({ word }) => word === handle.toLowerCase());
}

function hadTurn({ round, turns }: DiscussionState, memberId: string, inRound: number): boolean {
  return inRound === round && turns.some(({ member_id }) => member_id === memberId);
}

/** Whether the present round brought no text so far. */
function isSilent({ spoke, turns, first_row }: DiscussionState): boolean {
  const begin = turns[0]?.row ?? first_row;
  return spoke.every(({ row }) => row < begin);
}

function isUnfinished(source: DiscussionSource): boolean {
  const { discussion, members } = source;
  return roundOrder(discussion.named, discussion.round, members).some(
    ({ member_id }) => newsRow(source, member_id) !== undefined,
  );
}

function stepOf(source: DiscussionSource, choice: RoundChoice, round: number): Step {
  const { discussion, members, policy } = source;
  const { next: member, isBusy, heldBy, candidates } = choice;
  if (member !== undefined) {
    const name = nameOf(discussion, member);
    const isPass = round >= policy.maxRounds;
    const isNamed = isPass || (name !== undefined && name.round <= round);
    const row = (isPass ? name?.row : newsRow(source, member.member_id)) ?? discussion.last_row;
    return { kind: "turn", member, round, isNamed, row };
  }
  const reason = isBusy ? "member_busy" : (heldBy ?? "member_busy");
  const owed = members.inOrder(candidates.map(({ member_id }) => member_id));
  return { kind: "wait", standing: { status: "waiting", reason }, owed };
}

type EndReason = "silent_round" | "answered" | "max_rounds" | "max_messages" | "max_owed_passes";

function ended(source: DiscussionSource, reason: EndReason): Step {
  const owed = unheardMembers(source).map(({ member_id }) => member_id);
  const standing: ThreadStanding =
    reason === "silent_round" || reason === "answered" ? { status: "settled", reason } : { status: "bounded", reason };
  return { kind: "end", standing, owed };
}
