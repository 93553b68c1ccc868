import { limits } from "../core/index.ts";
import { discussionAfterSettle, discussionAfterStart, isAnswer } from "./fold-discussion.ts";
import type { ShownRow, TaskState, ThreadState } from "./fold-state.ts";
import type { SettledRow, StartedRow } from "./log-row.ts";

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
      task.discussion.message_id === discussion.message_id ? discussionAfterSettle(discussion, row) : discussion,
    transcript: isAnswer(row) ? withShown(transcript, row, []) : transcript,
    open_turns: open_turns.filter((turn) => turn !== row.turn_id),
  };
}

function postsInFull(row: StartedRow): readonly string[] {
  const ids: string[] = [];
  for (const item of row.payload.input) if ("text" in item) ids.push(item.message_id);
  return ids.length > limits.maxTranscriptEntries ? ids.slice(-limits.maxTranscriptEntries) : ids;
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
