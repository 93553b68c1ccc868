import type { InboxRow } from "./inbox-row.ts";
import type { Member } from "./room-record.ts";
import { parseMentions } from "./mentions.ts";

/**
 * Whether a post opens a discussion in its thread and ends the older one there: a person's does, also when it addresses
 * nobody. Not one that was withdrawn (it addressed somebody, and is owed to nobody before any row holds it): it is context
 * for what comes. An agent's post is answered within the discussion that goes on.
 */
export function opensDiscussion({ author, owed, text }: InboxRow, roster: readonly Member[]): boolean {
  if (author.kind !== "person") return false;
  return owed.length > 0 || parseMentions(text, roster).addressed.length === 0;
}
