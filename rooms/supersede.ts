import type { FoldState, TaskState } from "./fold-state.ts";
import type { InboxRow } from "./inbox-row.ts";
import type { RoomRecord } from "./room-record.ts";
import { opensDiscussion } from "./person-post.ts";

/**
 * Whether a person wrote to the task's thread since its last attempt started: what completes now is kept as
 * `superseded`. Posts of other threads, of agents, and withdrawn ones change nothing.
 */
export function isSuperseded(source: {
  readonly state: FoldState;
  readonly room: Pick<RoomRecord, "members">;
  readonly inbox: readonly InboxRow[];
  readonly task: TaskState;
}): boolean {
  const { state, room, inbox, task } = source;
  const discussion = state.threads.find(({ thread_id }) => thread_id === task.thread_id)?.discussion;
  // The post that opened it may have left the inbox.
  const isOver = discussion !== undefined && discussion.message_id !== task.discussion.message_id;
  if (isOver && discussion.first_row > task.started_row) return true;
  return inbox.some(
    (post) =>
      post.thread_id === task.thread_id && post.after_seq >= task.started_row && opensDiscussion(post, room.members),
  );
}
