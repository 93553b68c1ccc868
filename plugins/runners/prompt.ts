import type { TranscriptEntry } from "../../core/index.ts";

/**
 * The prompt of one turn: what the member has not seen, oldest first.
 *
 * An entry is `name: text`, where the name is the author's display name, or id; outside rooms, where only one speaks to the
 * agent, what is new is the text alone. References of attachments follow, one a line. A blank line stands between entries. An agent whose own memory is new is first told what was said before, under
 * a heading; a second heading then begins what is new. Texts are not changed: they may hold anything, headings too.
 *
 * @param earlier up to 24 entries before the unseen ones, for a new agent session; empty when the agent remembers
 * @param inRoom whether several may speak to it
 */
export function promptText(
  unseen: readonly TranscriptEntry[],
  earlier: readonly TranscriptEntry[] = [],
  inRoom = true,
): string {
  const news = unseen.map(inRoom ? entryText : ownText).join("\n\n");
  if (earlier.length === 0) return news;
  const before = earlier.map(entryText).join("\n\n");
  return `[Earlier in this conversation]\n\n${before}\n\n[New messages]\n\n${news}`;
}

function entryText(entry: TranscriptEntry): string {
  const { author } = entry;
  return `${author.display_name ?? author.id}: ${ownText(entry)}`;
}

function ownText({ text, attachments = [] }: TranscriptEntry): string {
  return [text, ...attachments.map((each) => `[attachment] ${each}`)].join("\n");
}
