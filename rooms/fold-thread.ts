import { limits } from "../core/index.ts";
import type { DiscussionState, ShownRow, TaskState, ThreadState } from "./fold-state.ts";
import type { SettledRow, StartedRow } from "./log.ts";
import { mentionedWords } from "./mention-words.ts";

/** The thread after a start in it; undefined before its first. */
export function threadAfterStart(thread: ThreadState | undefined, row: StartedRow): ThreadState {
  // A retry asks again what its first attempt was asked: it opens nothing and shows nothing new.
  const isRetry = row.execution_generation > 1;
  const posts = isRetry ? [] : postsInFull(row);
  const transcript = thread?.transcript ?? [];
  return {
    thread_id: row.thread_id,
    last_row: row.seq,
    discussion: discussionAfterStart(thread?.discussion, row),
    transcript: posts.length === 0 ? transcript : withShown(transcript, row, posts),
    open_turns: [...(thread?.open_turns ?? []), row.turn_id],
  };
}

/** The thread after the end of an attempt of `task` in it. */
export function threadAfterSettle(thread: ThreadState, task: TaskState, row: SettledRow): ThreadState {
  const { transcript, open_turns, discussion } = thread;
  return {
    thread_id: thread.thread_id,
    last_row: row.seq,
    discussion:
      task.discussion.message_id === discussion.message_id ? discussionAfterSettle(discussion, task, row) : discussion,
    transcript: isAnswer(row) ? withShown(transcript, row, []) : transcript,
    open_turns: open_turns.filter((turn) => turn !== row.turn_id),
  };
}

function discussionAfterStart(present: DiscussionState | undefined, row: StartedRow): DiscussionState {
  const { message_id, round } = row.payload.discussion;
  if (present === undefined || (present.message_id !== message_id && row.execution_generation === 1)) {
    return {
      message_id,
      first_row: row.seq,
      last_row: row.seq,
      round,
      slots_done: [],
      completed: 0,
      named: openingWords(row),
    };
  }
  if (present.message_id !== message_id) return present;
  const isNewRound = round > present.round;
  return {
    message_id,
    first_row: present.first_row,
    last_row: row.seq,
    round: isNewRound ? round : present.round,
    slots_done: isNewRound ? [] : present.slots_done,
    completed: present.completed,
    named: present.named,
  };
}

function discussionAfterSettle(present: DiscussionState, task: TaskState, row: SettledRow): DiscussionState {
  // A superseded text names nobody and counts in no round.
  const counts = row.payload.status !== "superseded" && task.discussion.round === present.round;
  const answered = isAnswer(row);
  return {
    message_id: present.message_id,
    first_row: present.first_row,
    last_row: row.seq,
    round: present.round,
    slots_done: counts ? withSlot(present.slots_done, task.discussion.slot) : present.slots_done,
    completed: present.completed + (answered ? 1 : 0),
    named: answered ? withWords(present.named, row.payload.text) : present.named,
  };
}

function isAnswer(row: SettledRow): boolean {
  return row.payload.status === "completed" && row.payload.text !== "";
}

function postsInFull(row: StartedRow): readonly string[] {
  const ids: string[] = [];
  for (const item of row.payload.input) if ("text" in item) ids.push(item.message_id);
  return ids.length > limits.maxTranscriptEntries ? ids.slice(-limits.maxTranscriptEntries) : ids;
}

function openingWords(row: StartedRow): readonly string[] {
  const { message_id } = row.payload.discussion;
  const post = row.payload.input.find((item) => "text" in item && item.message_id === message_id);
  return post !== undefined && "text" in post ? withWords([], post.text) : [];
}

function withShown(
  transcript: readonly ShownRow[],
  row: StartedRow | SettledRow,
  posts: readonly string[],
): readonly ShownRow[] {
  const kept = transcript.length < limits.maxTranscriptEntries ? transcript.slice() : transcript.slice(1);
  kept.push({ row: row.seq, member_id: row.member_id, posts });
  return kept;
}

function withSlot(slots: readonly number[], slot: number): readonly number[] {
  if (slots.includes(slot)) return slots;
  const last = slots.at(-1) ?? -1;
  return slot > last ? [...slots, slot] : [...slots, slot].sort((a, b) => a - b);
}

function withWords(named: readonly string[], text: string): readonly string[] {
  const words = mentionedWords(text);
  return words.length === 0 ? named : [...new Set([...named, ...words])].slice(-limits.maxNamedWords);
}
