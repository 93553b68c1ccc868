import type { Member } from "./room-record.ts";
import { mentionedWords } from "./mention-words.ts";
import { drivenMembers } from "./roster.ts";

/** Whom a text addresses. */
export interface Mentions {
  /** Member ids in roster order: those named, or all when the text names nobody or everybody. Never a person's. */
  readonly addressed: readonly string[];
  /** Ids of the members named by their handle, in roster order. */
  readonly named: readonly string[];
  /** Words behind `@` that name nobody, lower case, in order of first appearance. */
  readonly unresolved: readonly string[];
}

/**
 * Whom a post addresses. `@user` and the persons of a roster are known but driven by nobody: a text that names only them,
 * or only unknown words, addresses nobody. Display names never count.
 */
export function parseMentions(text: string, members: readonly Member[]): Mentions {
  return resolveWords(mentionedWords(text), members);
}

/** Whom words behind `@` address: the lower-case words of `mentionedWords`, of one text or of several. */
export function resolveWords(words: readonly string[], members: readonly Member[]): Mentions {
  const byHandle = new Map(members.map((member) => [member.handle.toLowerCase(), member.member_id]));
  const named = new Set<string>();
  const unresolved: string[] = [];
  let everybody = words.length === 0;
  for (const word of words) {
    const memberId = byHandle.get(word);
    if (memberId !== undefined) named.add(memberId);
    else if (word === "all" || word === "everyone") everybody = true;
    else if (word !== "user") unresolved.push(word);
  }
  return {
    addressed: idsOf(drivenMembers(members).filter(({ member_id }) => everybody || named.has(member_id))),
    named: idsOf(members.filter(({ member_id }) => named.has(member_id))),
    unresolved,
  };
}

function idsOf(members: readonly Member[]): readonly string[] {
  return members.map((member) => member.member_id);
}
