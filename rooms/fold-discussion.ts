import { limits } from "../core/index.ts";
import type { DiscussionState, MemberRow, NamedWord } from "./fold-state.ts";
import type { SettledRow, StartedRow } from "./log-row.ts";
import { mentionedWords } from "./mention-words.ts";

/** The discussion of a thread after a start in it: the one that goes on, or the one that this start opens. */
export function discussionAfterStart(present: DiscussionState | undefined, row: StartedRow): DiscussionState {
  const { message_id, round } = row.payload.discussion;
  // A retry goes on with what its first attempt began: it opens nothing, and its turn is counted already.
  const isRetry = row.execution_generation > 1;
  if (present === undefined || (present.message_id !== message_id && !isRetry)) return opened(row);
  if (present.message_id !== message_id) return present;
  const isNewRound = round > present.round;
  return {
    message_id,
    first_row: present.first_row,
    last_row: row.seq,
    round: isNewRound ? round : present.round,
    turns: isRetry ? present.turns : withMember(isNewRound ? [] : present.turns, row),
    completed: present.completed,
    spoke: present.spoke,
    named: present.named,
  };
}

/** The discussion after the end of one of its turns. Only a text that completed changes more than the last row. */
export function discussionAfterSettle(present: DiscussionState, row: SettledRow): DiscussionState {
  const answered = isAnswer(row);
  return {
    message_id: present.message_id,
    first_row: present.first_row,
    last_row: row.seq,
    round: present.round,
    turns: present.turns,
    completed: present.completed + (answered ? 1 : 0),
    spoke: answered
      ? withMember(
          present.spoke.filter(({ member_id }) => member_id !== row.member_id),
          row,
        )
      : present.spoke,
    named: answered ? withWords(present.named, row, present.round + 1) : present.named,
  };
}

/** Whether others are shown it. A superseded text is kept in its row and shown to nobody. */
export function isAnswer(row: SettledRow): boolean {
  return row.payload.status === "completed" && row.payload.text !== "";
}

function opened(row: StartedRow): DiscussionState {
  const { message_id, round } = row.payload.discussion;
  const post = row.payload.input.find((item) => "text" in item && item.message_id === message_id);
  const words = post !== undefined && "text" in post ? mentionedWords(post.text) : [];
  return {
    message_id,
    first_row: row.seq,
    last_row: row.seq,
    round,
    turns: withMember([], row),
    completed: 0,
    spoke: [],
    named: words.slice(-limits.maxNamedWords).map((word) => ({ word, round: 0, row: null })),
  };
}

function withMember(entries: readonly MemberRow[], { member_id, seq }: StartedRow | SettledRow): readonly MemberRow[] {
  const kept = entries.length < limits.maxDiscussionMembers ? entries : entries.slice(1);
  return [...kept, { member_id, row: seq }];
}

/** `round` is the first in which the words of this text count. */
function withWords(named: readonly NamedWord[], row: SettledRow, round: number): readonly NamedWord[] {
  const said = new Set(mentionedWords(row.payload.text));
  if (said.size === 0) return named;
  const known = named.map((entry) => (said.delete(entry.word) ? { ...entry, row: row.seq } : entry));
  const added = [...said].map((word) => ({ word, round, row: row.seq }));
  return [...known, ...added].slice(-limits.maxNamedWords);
}
