import { messageOf, RoomtapError, type Clock } from "../core/index.ts";
import { checkpointOf } from "./checkpoint.ts";
import { emptyState } from "./fold-state.ts";
import { RoomFold } from "./fold.ts";
import { chainStart, chargedBytes, verifyRows, type ChainLink, type ChainProblem } from "./hash-chain.ts";
import { eventId } from "./ids.ts";
import type { LogRow } from "./log-row.ts";
import { parseRow, type StoredRow } from "./stored-row.ts";

/** What verification reads: rows as they are stored, in pages, damaged ones too, and what stands beside them. */
export interface VerifiableLog {
  /** What is wrong with the file itself, a line each; empty when nothing is. */
  fileProblems(): Promise<readonly string[]>;
  /** Of all rooms, also of those that cannot be read, in order. */
  roomIds(): Promise<readonly string[]>;
  /** By room. */
  orphans(): Promise<readonly Orphan[]>;
  storedRows(roomId: string, afterSeq: number): Promise<readonly StoredRow[]>;
  /** undefined when nothing is found under the id. */
  roomCheck(roomId: string): Promise<RoomCheck | undefined>;
}

/** Rows of a table that belong to a room that is not there. */
export interface Orphan {
  /** May be anything. */
  readonly room_id: string;
  readonly table: string;
  readonly rows: number;
}

/** What an engine keeps of a room beside its rows, and what of that does not fit together. */
export interface RoomCheck {
  /** The number of the last row that was appended. */
  readonly head_seq: number;
  /** Of all rows, as `chargedBytes` counts them. */
  readonly log_bytes: number;
  /** Attempts that started and did not settle. */
  readonly open_turns: number;
  readonly problem: TableProblem | null;
}

/** What is wrong beside the rows: the room's record, a roster, a waiting post, a sum over them, the lease. */
export interface TableProblem {
  readonly kind: "room" | "roster" | "inbox" | "counters" | "lease";
  readonly message: string;
}

/** What of a room is not as it was written: the first such row, or what does not fit its rows. */
export interface VerifyProblem {
  /** The row; null when it is about none. */
  readonly seq: number | null;
  /**
   * `order`: a row is missing; `prev_hash`, `hash`: the chain is broken; `row`: it is no row of the log; `fold`: it does
   * not fit the rows before it; `head`: rows are missing at the end, or were added there; `orphan`: rows of a room that is
   * not there; `unreadable`: the file itself is damaged there; others: see `TableProblem`.
   */
  readonly kind: ChainProblem["kind"] | "row" | "fold" | "head" | "orphan" | "unreadable" | TableProblem["kind"];
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
 * Checks every row of every room: its hash, its place in the chain, its shape, its event id, and that it folds; then that
 * what is kept beside the rows fits them: where they end, sums, rosters, posts that wait. Rooms come in order of their ids,
 * each as soon as it is done, and behind them what belongs to no room; one room's problem does not keep the next from being
 * checked. Gives way to the event loop after each page. The file itself is the business of `fileProblems`.
 *
 * What leaves no trace is not found: a room that went with all that belonged to it, a name or a time of a room.
 * @throws RoomtapError for the file as a whole: `log_corrupt`, `log_busy`, ...
 */
export async function* verifyLog(log: VerifiableLog, clock: Clock): AsyncGenerator<RoomVerdict, void, undefined> {
  for (const roomId of await log.roomIds()) yield await verifyRoom(log, roomId, clock);
  const orphans = await orphansOf(log);
  for (const roomId of new Set(orphans.map(({ room_id }) => room_id))) {
    const left = orphans.filter(({ room_id }) => room_id === roomId);
    const rows = left.map((orphan) => `${orphan.rows} of ${orphan.table}`).join(", ");
    const message = `there is no such room, and rows belong to it: ${rows}`;
    yield verdictOf(roomId, progressOf(roomId), { seq: null, kind: "orphan", message });
  }
}

async function orphansOf(log: VerifiableLog): Promise<readonly Orphan[]> {
  try {
    return await log.orphans();
  } catch (fault) {
    // Where the file is damaged nobody can tell; that it is, `fileProblems` says.
    if (fault instanceof RoomtapError && fault.code === "log_corrupt") return [];
    throw fault;
  }
}

/** What of a room has been found right so far. */
interface Progress {
  readonly fold: RoomFold;
  /** By task and generation. */
  readonly open: Map<string, OpenTurn>;
  link: ChainLink;
  bytes: number;
}

function progressOf(roomId: string): Progress {
  return { fold: new RoomFold(emptyState(roomId)), open: new Map(), link: chainStart, bytes: 0 };
}

/** The same of one room. @throws RoomtapError as `verifyLog` */
export async function verifyRoom(log: VerifiableLog, roomId: string, clock: Clock): Promise<RoomVerdict> {
  const done = progressOf(roomId);
  try {
    return verdictOf(roomId, done, await findProblem(log, roomId, done, clock));
  } catch (fault) {
    if (!(fault instanceof RoomtapError) || fault.code !== "log_corrupt") throw fault;
    return verdictOf(roomId, done, { seq: done.link.seq + 1, kind: "unreadable", message: fault.message });
  }
}

function verdictOf(roomId: string, done: Progress, problem: VerifyProblem | null): RoomVerdict {
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
  for (let promised = 0; ;) {
    const page = await log.storedRows(roomId, done.link.seq);
    for (const row of page) {
      const problem = take(done, row);
      if (problem !== null) return problem;
    }
    await new Promise<void>((resolve) => clock.defer(resolve));
    if (page.length > 0) continue;
    const check = await log.roomCheck(roomId);
    if (check === undefined) return { seq: null, kind: "room", message: "nothing is found under its id" };
    // A host may have appended rows since the page was read: they are looked for once.
    if (check.head_seq <= done.link.seq || check.head_seq <= promised) return besideRows(check, done);
    promised = check.head_seq;
  }
}

/** What does not fit the rows, all of which are right. */
function besideRows(check: RoomCheck, { link, bytes, open }: Progress): VerifyProblem | null {
  const { head_seq, log_bytes, open_turns, problem } = check;
  if (head_seq > link.seq) {
    const message = `its last row is row ${head_seq}, and the log ends at row ${link.seq}`;
    return { seq: link.seq + 1, kind: "head", message };
  }
  if (head_seq < link.seq) {
    const message = `its last row is row ${head_seq}, and the log goes on to row ${link.seq}`;
    return { seq: head_seq + 1, kind: "head", message };
  }
  if (log_bytes !== bytes) {
    return { seq: null, kind: "counters", message: `log_bytes says ${log_bytes}, and the rows take ${bytes}` };
  }
  if (open_turns !== open.size) {
    return { seq: null, kind: "counters", message: `open_turns says ${open_turns}, and ${open.size} are open` };
  }
  return problem === null ? null : { seq: null, ...problem };
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
  done.bytes += chargedBytes(stored);
  return null;
}

function openTurn(row: LogRow): OpenTurn {
  const { seq, thread_id, member_id, turn_id, task_id, execution_generation } = row;
  return { seq, thread_id, member_id, turn_id, task_id, execution_generation };
}
