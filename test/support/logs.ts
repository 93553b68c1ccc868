import fc from "fast-check";
import { makeCoordinates, turnStatuses, type InputItem, type TurnSettled } from "../../core/index.ts";
import { rowHash } from "../../rooms/hash-chain.ts";
import { eventId, taskId, turnId } from "../../rooms/index.ts";
import { zeroHash, type LogRow, type NewRow, type SettledRow, type StartedRow } from "../../rooms/log-row.ts";

/** A turn to be written as a start. Everything but the member has a default. */
export interface TestStart {
  readonly member_id: string;
  readonly thread_id?: string;
  /** A new post, shown in full, that opens a discussion. Without it the thread's last discussion goes on. */
  readonly post?: { readonly message_id: string; readonly text: string };
  readonly input?: readonly InputItem[];
  readonly round?: number;
  readonly slot?: number;
  readonly seen_through_seq?: number;
}

/** The payload of a settle: `completed` with the text "done", if nothing else is said. */
export function settled(end: Partial<TurnSettled> = {}): TurnSettled {
  return {
    status: "completed",
    reason_code: null,
    text: end.status === undefined ? "done" : "",
    truncated: false,
    error: null,
    usage: null,
    activity_count: 2,
    duration_ms: 5,
    ...end,
  };
}

/** Writes valid logs: rows in order, with true ids and hashes. */
export class TestLog {
  readonly rows: LogRow[] = [];
  readonly roomId: string;
  readonly #createdAt: (seq: number) => number;
  readonly #discussions = new Map<string, string>();

  constructor(roomId = "r1", createdAt = (seq: number): number => 1_764_512_345_000 + seq * 1_000) {
    this.roomId = roomId;
    this.#createdAt = createdAt;
  }

  /** Adds a row with its place, time and hashes. */
  add(row: NewRow): LogRow {
    const seq = this.rows.length + 1;
    const { room_id, task_id, execution_generation } = row.coordinates;
    const columns = {
      ...row.coordinates,
      seq,
      event_id: eventId(room_id, row.kind, task_id, execution_generation),
      created_at: this.#createdAt(seq),
    };
    const prev_hash = this.rows.at(-1)?.hash ?? zeroHash;
    const unhashed =
      row.kind === "turn.started"
        ? { ...columns, kind: row.kind, payload: row.payload }
        : { ...columns, kind: row.kind, payload: row.payload };
    const whole: LogRow = { ...unhashed, prev_hash, hash: rowHash(prev_hash, unhashed) };
    this.rows.push(whole);
    return whole;
  }

  start(turn: TestStart): StartedRow {
    const { member_id, thread_id = "main", post, round = 0, slot = 0, seen_through_seq = 0 } = turn;
    if (post !== undefined) this.#discussions.set(thread_id, post.message_id);
    const discussion = this.#discussions.get(thread_id) ?? "msg-0";
    const room_id = this.roomId;
    const turn_id = turnId({ room_id, thread_id, member_id, discussion, round, slot, seen_through_seq });
    const inFull = post === undefined ? [] : [{ ...post, author: { kind: "person", id: "local" } as const }];
    return started(
      this.add({
        kind: "turn.started",
        coordinates: makeCoordinates({
          room_id,
          thread_id,
          member_id,
          turn_id,
          // The place in the log stands for the message ids: it tells the tasks of equal turns apart.
          task_id: taskId(turn_id, [`${this.rows.length}`], "roster"),
          execution_generation: 1,
        }),
        payload: {
          input: turn.input ?? (post === undefined ? [{ row_seq: 1 }] : inFull),
          cause: "message",
          origin: null,
          seen_through_seq,
          roster_digest: "roster",
          discussion: { message_id: discussion, round, slot },
        },
      }),
    );
  }

  /** The next attempt of a task that has settled: same input, generation + 1. */
  retry(first: StartedRow): StartedRow {
    const execution_generation = first.execution_generation + 1;
    const coordinates = makeCoordinates({ ...first, execution_generation });
    return started(this.add({ kind: "turn.started", coordinates, payload: { ...first.payload, cause: "retry" } }));
  }

  settle(start: StartedRow, end: Partial<TurnSettled> = {}): SettledRow {
    const row = this.add({ kind: "turn.settled", coordinates: makeCoordinates(start), payload: settled(end) });
    if (row.kind !== "turn.settled") throw new TypeError("expected a settle");
    return row;
  }
}

function started(row: LogRow): StartedRow {
  if (row.kind !== "turn.started") throw new TypeError("expected a start");
  return row;
}

const texts = ["done", "ask @m2 and @m3", "see `@m1`", "x", "@all: over"];

/**
 * Valid logs of one room: up to 6 members, 4 threads and `maxSteps` rows; posts, later rounds, answers, every status,
 * retries, and attempts that are open at the end.
 */
export function logs(maxSteps = 120): fc.Arbitrary<readonly LogRow[]> {
  const step = fc.record({
    member: fc.nat(5),
    thread: fc.nat(3),
    text: fc.constantFrom(...texts),
    status: fc.constantFrom(...turnStatuses),
    what: fc.constantFrom("post", "post", "round", "retry"),
    round: fc.integer({ min: 1, max: 3 }),
  });
  return fc.array(step, { minLength: 1, maxLength: maxSteps }).map((steps) => {
    const log = new TestLog();
    const open = new Map<string, StartedRow>();
    const last = new Map<string, StartedRow>();
    for (const [index, { member, thread, text, status, what, round }] of steps.entries()) {
      const member_id = `m${member}`;
      const attempt = open.get(member_id);
      const before = last.get(member_id);
      if (attempt !== undefined) {
        log.settle(attempt, { status, text: status === "passed" ? "" : text });
        open.delete(member_id);
        last.set(member_id, attempt);
      } else if (what === "retry" && before !== undefined) {
        open.set(member_id, log.retry(before));
      } else {
        const place = { member_id, thread_id: `thread-${thread}`, slot: member, seen_through_seq: log.rows.length };
        const turn = what === "round" ? { ...place, round } : { ...place, post: { message_id: `p${index}`, text } };
        open.set(member_id, log.start(turn));
      }
    }
    return log.rows;
  });
}
