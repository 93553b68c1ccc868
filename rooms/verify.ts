import { messageOf, RoomtapError, type Clock } from "../core/index.ts";
import { checkpointOf } from "./checkpoint.ts";
import { emptyState } from "./fold-state.ts";
import { RoomFold } from "./fold.ts";
import { chainStart, verifyRows, type ChainLink, type ChainProblem } from "./hash-chain.ts";
import { eventId } from "./ids.ts";
import type { LogRow, RoomRecord } from "./log.ts";
import { parseRow, type StoredRow } from "./stored-row.ts";

/** What verification reads: rows as they are stored, in pages, damaged ones too. */
export interface VerifiableLog {
  rooms(): Promise<readonly Pick<RoomRecord, "room_id">[]>;
  storedRows(roomId: string, afterSeq: number): Promise<readonly StoredRow[]>;
}

/** The first row of a room that is not as it was written. */
export interface VerifyProblem {
  readonly seq: number;
  /**
   * `order`: a row is missing; `prev_hash`, `hash`: the chain is broken; `row`: it is no row of the log; `fold`: it does
   * not fit the rows before it; `unreadable`: the file itself is damaged there.
   */
  readonly kind: ChainProblem["kind"] | "row" | "fold" | "unreadable";
  readonly message: string;
}

/** An attempt that has started and not settled. */
export interface OpenTurn {
  readonly seq: number;
  readonly thread_id: string;
  readonly member_id: string;
  readonly turn_id: string;
  readonly task_id: string;
  readonly execution_generation: number;
}

/** What verification found in one room. */
export interface RoomVerdict {
  readonly room_id: string;
  /** Rows that are right: all of them, or those before the problem. */
  readonly rows: number;
  /** The last of them; 0 for an empty log. */
  readonly head: number;
  readonly log_hash: string;
  /** Of the state folded from those rows. */
  readonly digest: string;
  /** Attempts that started and did not settle in those rows, in order of their rows. No problem by themselves. */
  readonly open_turns: readonly OpenTurn[];
  readonly problem: VerifyProblem | null;
}

/**
 * Checks every row of every room: its hash, its place in the chain, its shape, its event id, and that it folds. Rooms
 * come in order of their ids, each as soon as it is done; one room's problem does not keep the next from being checked.
 * Gives way to the event loop after each page.
 * @throws RoomtapError for the file as a whole: `log_corrupt`, `log_busy`, ...
 */
export async function* verifyLog(log: VerifiableLog, clock: Clock): AsyncGenerator<RoomVerdict, void, undefined> {
  for (const { room_id } of await log.rooms()) yield await verifyRoom(log, room_id, clock);
}

/** What of a room has been found right so far. */
interface Progress {
  readonly fold: RoomFold;
  /** By task and generation. */
  readonly open: Map<string, OpenTurn>;
  link: ChainLink;
}

async function verifyRoom(log: VerifiableLog, roomId: string, clock: Clock): Promise<RoomVerdict> {
  const done: Progress = { fold: new RoomFold(emptyState(roomId)), open: new Map(), link: chainStart };
  const problem = await findProblem(log, roomId, done, clock);
  const { seq, hash } = done.link;
  const { digest } = checkpointOf(done.fold.state(), hash);
  return {
    room_id: roomId,
    rows: seq,
    head: seq,
    log_hash: hash,
    digest,
    open_turns: [...done.open.values()],
    problem,
  };
}

async function findProblem(
  log: VerifiableLog,
  roomId: string,
  done: Progress,
  clock: Clock,
): Promise<VerifyProblem | null> {
  for (;;) {
    let page: readonly StoredRow[];
    try {
      page = await log.storedRows(roomId, done.link.seq);
    } catch (fault) {
      if (!(fault instanceof RoomtapError) || fault.code !== "log_corrupt") throw fault;
      return { seq: done.link.seq + 1, kind: "unreadable", message: fault.message };
    }
    if (page.length === 0) return null;
    for (const row of page) {
      const problem = take(done, row);
      if (problem !== null) return problem;
    }
    await new Promise<void>((resolve) => clock.defer(resolve));
  }
}

// A row counts as right only when every check has passed.
function take(done: Progress, stored: StoredRow): VerifyProblem | null {
  const link = verifyRows([stored], done.link);
  if ("kind" in link) return link;
  const { seq } = stored;
  let row: LogRow;
  try {
    row = parseRow(stored);
  } catch (fault) {
    return { seq, kind: "row", message: messageOf(fault) };
  }
  const id = eventId(row.room_id, row.kind, row.task_id, row.execution_generation);
  if (row.event_id !== id)
    return { seq, kind: "row", message: `row ${seq} has event id ${row.event_id}, expected ${id}` };
  try {
    done.fold.apply(row);
  } catch (fault) {
    return { seq, kind: "fold", message: messageOf(fault) };
  }
  const attempt = `${row.task_id} ${row.execution_generation}`;
  if (row.kind === "turn.started") done.open.set(attempt, openTurn(row));
  else done.open.delete(attempt);
  done.link = link;
  return null;
}

function openTurn(row: LogRow): OpenTurn {
  const { seq, thread_id, member_id, turn_id, task_id, execution_generation } = row;
  return { seq, thread_id, member_id, turn_id, task_id, execution_generation };
}
