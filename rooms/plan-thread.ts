import { nextStep, type Step } from "./discussion.ts";
import type { FoldState, TaskState, ThreadState } from "./fold-state.ts";
import type { InboxRow } from "./inbox-row.ts";
import type { Member, StopFence } from "./room-record.ts";
import { opensDiscussion } from "./person-post.ts";
import type { PlanMembers } from "./plan-members.ts";
import type { PlanSource, ThreadPlan, ThreadStanding } from "./plan-source.ts";
import type { RoomPolicy } from "./policy.ts";

/** A thread as one plan sees it. */
export interface ThreadView {
  readonly thread_id: string;
  /** Its posts in the inbox, by number. Those before the last stop are owed to nobody. */
  readonly posts: readonly InboxRow[];
  readonly state: ThreadState | undefined;
  /** The newest person's post that no row holds yet and that opens a discussion: it ended the one in the state. */
  readonly opener: InboxRow | undefined;
  /** Its open attempts. */
  readonly open: readonly TaskState[];
  /** The discussion in the state began before the last stop. */
  readonly isStopped: boolean;
}

/** The turn that is next in a thread: one that posts ask for, or one of a later round. */
export type NextTurn = { readonly kind: "owed"; readonly member: Member } | (Step & { readonly kind: "turn" });

/** What happens next in a thread: a turn may start, or how it rests. */
export interface Decision {
  readonly turn: NextTurn | undefined;
  readonly standing: ThreadStanding;
  readonly owed: readonly string[];
}

/** What a thread's decision depends on besides the thread. */
export interface DecisionSource {
  readonly members: PlanMembers;
  readonly policy: RoomPolicy;
  readonly tasks: FoldState["tasks"];
  readonly parked: ReadonlySet<string>;
  readonly fence: StopFence;
}

/** The threads that the log or the inbox knows, by thread id in UTF-16 units. */
export function threadViews(
  { state, inbox }: Pick<PlanSource, "state" | "inbox">,
  members: PlanMembers,
  fence: StopFence,
): readonly ThreadView[] {
  const posts = new Map<string, InboxRow[]>();
  for (const post of inbox) {
    const isOver = post.number <= fence.post_number && post.owed.length > 0;
    const entry = isOver ? { ...post, owed: [] } : post;
    const list = posts.get(post.thread_id);
    if (list === undefined) posts.set(post.thread_id, [entry]);
    else list.push(entry);
  }
  const states = new Map(state.threads.map((thread) => [thread.thread_id, thread]));
  const open = state.tasks.filter(({ status }) => status === null);
  return [...new Set([...states.keys(), ...posts.keys()])].sort().map((thread_id): ThreadView => {
    const own = posts.get(thread_id) ?? [];
    const thread = states.get(thread_id);
    return {
      thread_id,
      posts: own,
      state: thread,
      opener: own.findLast(
        (post) => post.row_seq === null && post.number > fence.post_number && opensDiscussion(post, members.roster),
      ),
      open: open.filter((task) => task.thread_id === thread_id),
      isStopped: thread !== undefined && thread.discussion.first_row <= fence.seq,
    };
  });
}

/** Where the last stop drew the line; a disbanded room is stopped for good. */
export function fenceOf({ stop, disbanded_at }: PlanSource["room"]): StopFence {
  if (disbanded_at !== null) return { post_number: Infinity, seq: Infinity };
  return stop ?? { post_number: 0, seq: 0 };
}

/** Message id of the thread's newest discussion. */
export function discussionId({ opener, state, posts, isStopped }: ThreadView): string {
  if (opener !== undefined) return opener.message_id;
  const fresh = posts.filter(({ row_seq }) => row_seq === null);
  const asking = fresh.findLast(({ owed }) => owed.length > 0);
  if (asking !== undefined && (state === undefined || isStopped)) return asking.message_id;
  return state?.discussion.message_id ?? posts.at(-1)?.message_id ?? "";
}

/**
 * Whether the thread's next turn has to wait for one that is open. Turns of a thread run one after the other. Only an
 * attempt of an older discussion that waits for a person holds up nobody but its own member: what it will say is
 * superseded, and it may wait for days.
 */
export function isHeld(thread: ThreadView, parked: ReadonlySet<string>): boolean {
  if (thread.open.length === 0) return false;
  const current = discussionId(thread);
  return thread.open.some(({ turn_id, discussion }) => !parked.has(turn_id) || discussion.message_id === current);
}

/**
 * The next turn of a thread in which nothing runs. Whoever is owed an answer by a post comes first, in roster order;
 * members that are busy elsewhere are passed over and waited for; those that are paused, or whose open turn waits for a
 * person, are passed over and stay owed while the discussion goes on.
 */
export function decideThread(thread: ThreadView, source: DecisionSource): Decision {
  const { members } = source;
  const owed = members.inOrder(thread.posts.flatMap((post) => post.owed));
  if (isHeld(thread, source.parked)) return rest({ status: "running", reason: null }, owed);
  const isOwed = new Set(owed);
  const asked = members.choose(members.driven.filter(({ member_id }) => isOwed.has(member_id)));
  if (asked.next !== undefined) return start({ kind: "owed", member: asked.next }, owed);
  if (asked.isBusy) return rest({ status: "waiting", reason: "member_busy" }, owed);
  const blocked = asked.heldBy ?? (owed.length > 0 ? "member_unavailable" : undefined);
  const step = laterStep(thread, source);
  const all = step.kind === "turn" ? owed : members.inOrder([...owed, ...step.owed]);
  if (step.kind === "turn") return start(step, all);
  if (step.kind === "end" && blocked !== undefined) return rest({ status: "waiting", reason: blocked }, all);
  return rest(step.standing, all);
}

/** What follows when no post waits for anybody who could answer. */
function laterStep(thread: ThreadView, { members, policy, tasks, fence }: DecisionSource): Step {
  const { thread_id, opener, state, isStopped } = thread;
  if (opener !== undefined) {
    return { kind: "end", standing: { status: "unresolved_mention", reason: null }, owed: [] };
  }
  if (state === undefined) return stopped;
  const { discussion } = state;
  const step = nextStep({ thread_id, discussion, members, policy, tasks });
  if (!isStopped) return step;
  // One that had ended by itself before the stop keeps its end.
  return step.kind === "end" && discussion.last_row <= fence.seq ? step : stopped;
}

const stopped: Step = { kind: "end", standing: { status: "stopped", reason: null }, owed: [] };

function start(turn: NextTurn, owed: readonly string[]): Decision {
  return { turn, standing: { status: "waiting", reason: "slot" }, owed };
}

function rest(standing: ThreadStanding, owed: readonly string[]): Decision {
  return { turn: undefined, standing, owed };
}

/** How a thread is told to stand. */
export function threadPlan(thread: ThreadView, { standing, owed }: Pick<Decision, "standing" | "owed">): ThreadPlan {
  return { ...standing, thread_id: thread.thread_id, discussion: discussionId(thread), owed };
}
