import { limits, RoomtapError } from "../core/index.ts";
import {
  sortedBy,
  type FoldState,
  type MemberState,
  type SeenThread,
  type TaskState,
  type ThreadState,
} from "./fold-state.ts";
import { threadAfterSettle, threadAfterStart } from "./fold-thread.ts";
import type { LogRow, SettledRow, StartedRow } from "./log-row.ts";

/**
 * The state after `rows`, which follow `state.through_seq` without a hole. Pure: no clock, no roster, no inbox; times of
 * rows are not read. Equal rows give an equal state in one call or in many (I4).
 * @throws RoomtapError `log_corrupt` that names room and row: see `RoomFold.apply`
 */
export function fold(state: FoldState, rows: Iterable<LogRow>): FoldState {
  const folding = new RoomFold(state);
  for (const row of rows) folding.apply(row);
  return folding.state();
}

/**
 * A fold that goes on row by row, for whoever follows a log. Entries are replaced, never changed: the state it began
 * with and the states it gave stay as they are.
 */
export class RoomFold {
  readonly #roomId: string;
  #throughSeq: number;
  readonly #threads: Map<string, ThreadState>;
  readonly #members: Map<string, MemberState>;
  readonly #openTasks = new Map<string, TaskState>();
  /** In the order in which they settled. */
  readonly #settledTasks = new Map<string, TaskState>();

  constructor(from: FoldState) {
    this.#roomId = from.room_id;
    this.#throughSeq = from.through_seq;
    this.#threads = new Map(from.threads.map((thread) => [thread.thread_id, thread]));
    this.#members = new Map(from.members.map((member) => [member.member_id, member]));
    for (const task of [...from.tasks].sort((a, b) => (a.settled_row ?? 0) - (b.settled_row ?? 0))) {
      (task.status === null ? this.#openTasks : this.#settledTasks).set(task.task_id, task);
    }
  }

  /** The last row that was applied. */
  get throughSeq(): number {
    return this.#throughSeq;
  }

  /** The state as it is now; later rows do not change it. */
  state(): FoldState {
    return {
      room_id: this.#roomId,
      through_seq: this.#throughSeq,
      threads: sortedBy(this.#threads.values(), (thread) => thread.thread_id),
      members: sortedBy(this.#members.values(), (member) => member.member_id),
      tasks: [...this.#openTasks.values(), ...this.#settledTasks.values()].sort(
        (a, b) => a.started_row - b.started_row,
      ),
    };
  }

  /**
   * Takes the next row in. A refused row changes nothing.
   * @throws RoomtapError `log_corrupt` for a row of another room, a hole in `seq`, a start while the member's attempt is
   * open, a generation that is not the last + 1, a settle without its start, and a second settle
   */
  apply(row: LogRow): void {
    if (row.room_id !== this.#roomId) throw this.#corrupt(row, `it belongs to room ${row.room_id}`);
    if (row.seq !== this.#throughSeq + 1) throw this.#corrupt(row, `expected row ${this.#throughSeq + 1}`);
    if (row.kind === "turn.started") this.#start(row);
    else this.#settle(row);
    this.#throughSeq = row.seq;
  }

  #start(row: StartedRow): void {
    const member = this.#members.get(row.member_id);
    this.#checkStart(row, member);
    const { thread_id, member_id, turn_id, task_id, execution_generation, seq } = row;
    this.#settledTasks.delete(task_id);
    this.#openTasks.set(task_id, {
      task_id,
      turn_id,
      thread_id,
      member_id,
      discussion: row.payload.discussion,
      execution_generation,
      status: null,
      reason_code: null,
      started_row: seq,
      settled_row: null,
    });
    this.#members.set(member_id, {
      member_id,
      last_row: seq,
      open: { thread_id, turn_id, task_id, execution_generation, started_row: seq },
      seen: seenAfterStart(member?.seen ?? [], row),
      last: member?.last ?? null,
    });
    this.#threads.set(thread_id, threadAfterStart(this.#threads.get(thread_id), row));
    this.#evict();
  }

  #checkStart(row: StartedRow, member: MemberState | undefined): void {
    const { task_id, execution_generation } = row;
    const open = member?.open ?? null;
    if (open !== null) {
      const isSame = open.task_id === task_id && open.execution_generation === execution_generation;
      throw this.#corrupt(
        row,
        isSame
          ? "a second start of an open attempt"
          : `member ${row.member_id} has an open turn since row ${open.started_row}`,
      );
    }
    const task = this.#openTasks.get(task_id) ?? this.#settledTasks.get(task_id);
    if (task !== undefined && !isOfTask(row, task)) throw this.#corrupt(row, `task ${task_id} belongs to another turn`);
    const expected = (task?.execution_generation ?? 0) + 1;
    if (execution_generation !== expected) {
      throw this.#corrupt(row, `execution generation ${execution_generation}, expected ${expected}`);
    }
  }

  #settle(row: SettledRow): void {
    const { task_id, thread_id, member_id, turn_id, seq } = row;
    const { status, reason_code } = row.payload;
    const task = this.#openTasks.get(task_id);
    const thread = this.#threads.get(thread_id);
    const member = this.#members.get(member_id);
    if (task?.execution_generation !== row.execution_generation || !isOfTask(row, task) || !thread || !member) {
      const isSecond = this.#settledTasks.get(task_id)?.execution_generation === row.execution_generation;
      throw this.#corrupt(row, isSecond ? "a second settle of an attempt" : "a settle without its start");
    }
    this.#openTasks.delete(task_id);
    this.#settledTasks.set(task_id, {
      task_id,
      turn_id,
      thread_id,
      member_id,
      discussion: task.discussion,
      execution_generation: task.execution_generation,
      status,
      reason_code,
      started_row: task.started_row,
      settled_row: seq,
    });
    this.#members.set(member_id, {
      member_id,
      last_row: seq,
      open: null,
      seen: member.seen,
      last: { turn_id, status, reason_code, settled_row: seq },
    });
    this.#threads.set(thread_id, threadAfterSettle(thread, task, row));
    this.#evict();
  }

  /** Brings every table back within its bound. What goes is chosen by row number alone, and nothing open goes. */
  #evict(): void {
    if (this.#settledTasks.size > limits.maxFoldSettledTasks) {
      const [oldest] = this.#settledTasks.keys();
      if (oldest !== undefined) this.#settledTasks.delete(oldest);
    }
    if (this.#threads.size > limits.maxFoldThreads) {
      const gone = oldestOf(this.#threads, (thread) => thread.open_turns.length === 0);
      if (gone !== undefined) this.#forgetThread(gone);
    }
    if (this.#members.size > limits.maxFoldMembers) {
      const gone = oldestOf(this.#members, (member) => member.open === null);
      if (gone !== undefined) this.#members.delete(gone);
    }
  }

  #forgetThread(threadId: string): void {
    this.#threads.delete(threadId);
    for (const [memberId, member] of this.#members) {
      if (member.seen.every((seen) => seen.thread_id !== threadId)) continue;
      this.#members.set(memberId, { ...member, seen: member.seen.filter((seen) => seen.thread_id !== threadId) });
    }
  }

  #corrupt(row: LogRow, problem: string): RoomtapError {
    return new RoomtapError("log_corrupt", `room ${this.#roomId}, row ${row.seq} (${row.kind}): ${problem}`);
  }
}

function isOfTask(row: LogRow, task: TaskState): boolean {
  return row.turn_id === task.turn_id && row.thread_id === task.thread_id && row.member_id === task.member_id;
}

function seenAfterStart(seen: readonly SeenThread[], row: StartedRow): readonly SeenThread[] {
  const { thread_id, seq } = row;
  const at = seen.findIndex((entry) => entry.thread_id >= thread_id);
  const before = at === -1 ? undefined : seen[at];
  const present = before?.thread_id === thread_id ? before : undefined;
  const entry: SeenThread = {
    thread_id,
    seen_through_seq: Math.max(present?.seen_through_seq ?? 0, row.payload.seen_through_seq),
    started_row: seq,
  };
  return seen.toSpliced(at === -1 ? seen.length : at, present === undefined ? 0 : 1, entry);
}

function oldestOf<Entry extends { readonly last_row: number }>(
  entries: ReadonlyMap<string, Entry>,
  mayGo: (entry: Entry) => boolean,
): string | undefined {
  let oldest: string | undefined;
  let lowest = Infinity;
  for (const [id, entry] of entries) {
    if (entry.last_row >= lowest || !mayGo(entry)) continue;
    oldest = id;
    lowest = entry.last_row;
  }
  return oldest;
}
