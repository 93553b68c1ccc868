import type { MemberState } from "./fold-state.ts";
import type { Member } from "./room-record.ts";
import { resolveWords } from "./mentions.ts";
import type { PlanSource } from "./plan-source.ts";
import { drivenMembers, readRoster } from "./roster.ts";

/**
 * Whether a member may start a turn: `busy` is waited for; `paused` and `parked` (its open turn waits for a person, which
 * may take days) are passed over, and stay owed.
 */
type Availability = "free" | "busy" | "paused" | "parked";

/** Who of some members is next, or what they wait for. */
export interface Choice {
  /** The first that is free. */
  readonly next: Member | undefined;
  /** None is free, and one that is busy is waited for. */
  readonly isBusy: boolean;
  /** Why the first that is passed over is; undefined when none is. */
  readonly heldBy: "paused" | "member_busy" | undefined;
}

/** The members of a room as one plan sees them: who is driven, and who is free. */
export class PlanMembers {
  /** The entries of the roster that parse. */
  readonly roster: readonly Member[];
  /** Those that runners drive, in roster order. */
  readonly driven: readonly Member[];
  /** A sentence for each entry of the roster that does not parse. */
  readonly problems: readonly string[];
  readonly #states: ReadonlyMap<string, MemberState>;
  readonly #paused: ReadonlySet<string>;
  readonly #parked: ReadonlySet<string>;
  readonly #taken = new Set<string>();
  /** By words: many threads name the same. */
  readonly #addressed = new Map<string, readonly Member[]>();

  constructor({ state, room, parked }: Pick<PlanSource, "state" | "room" | "parked">) {
    const { members, problems } = readRoster(room.members);
    this.roster = members;
    this.driven = drivenMembers(members);
    this.problems = problems;
    this.#states = new Map(state.members.map((member) => [member.member_id, member]));
    this.#paused = new Set(room.paused);
    this.#parked = parked;
  }

  /** What the log knows of a member; undefined before its first turn. */
  stateOf(memberId: string): MemberState | undefined {
    return this.#states.get(memberId);
  }

  /** The last row of a thread that a member was shown; 0 when it never was. */
  seenThrough(memberId: string, threadId: string): number {
    const seen = this.#states.get(memberId)?.seen.find(({ thread_id }) => thread_id === threadId);
    return seen?.seen_through_seq ?? 0;
  }

  /** Driven members that words behind `@` address, in roster order: all when there are none. */
  addressedBy(words: readonly string[]): readonly Member[] {
    const key = words.join(" ");
    const known = this.#addressed.get(key);
    if (known !== undefined) return known;
    const ids = new Set(resolveWords(words, this.roster).addressed);
    const addressed = this.driven.filter(({ member_id }) => ids.has(member_id));
    this.#addressed.set(key, addressed);
    return addressed;
  }

  /** Marks a member whose turn is planned: it has no second one in this plan. */
  take(memberId: string): void {
    this.#taken.add(memberId);
  }

  choose(candidates: readonly Member[]): Choice {
    let isBusy = false;
    let heldBy: Choice["heldBy"];
    for (const member of candidates) {
      const availability = this.#availability(member.member_id);
      if (availability === "free") return { next: member, isBusy: false, heldBy };
      if (availability === "busy") isBusy = true;
      else heldBy ??= availability === "paused" ? "paused" : "member_busy";
    }
    return { next: undefined, isBusy, heldBy };
  }

  /** Member ids, each once: those of driven members in roster order, then the others as they come. */
  inOrder(memberIds: readonly string[]): readonly string[] {
    const ids = new Set(memberIds);
    const driven = this.driven.flatMap(({ member_id }) => (ids.delete(member_id) ? member_id : []));
    return [...driven, ...ids];
  }

  #availability(memberId: string): Availability {
    if (this.#paused.has(memberId)) return "paused";
    const open = this.#states.get(memberId)?.open ?? null;
    if (open !== null) return this.#parked.has(open.turn_id) ? "parked" : "busy";
    return this.#taken.has(memberId) ? "busy" : "free";
  }
}
