import { systemClock } from "../../core/index.ts";
import {
  checkpointOf,
  emptyState,
  fold,
  RoomFold,
  verifyLog,
  type FoldState,
  type LogRow,
  type RoomRecord,
  type SettledRow,
  type SqliteRoomLog,
  type StartedRow,
} from "../../rooms/index.ts";
import { loadRoom } from "../../rooms/load-room.ts";
import { connect } from "../../rooms/sqlite/database.ts";
import { safeMemberIds } from "./chaos-room.ts";
import type { Dice } from "./dice.ts";
import type { Entry } from "./journal.ts";

/** A room when all is over, with all that was noted of it. */
interface Evidence {
  readonly room: RoomRecord;
  readonly rows: readonly LogRow[];
  /** Numbers of accepted posts, by message id. */
  readonly numbers: ReadonlyMap<string, number>;
  readonly entries: readonly Entry[];
}

/** All that is wrong in the file, in words; empty when nothing is. To be called when no host is open. */
export async function findFaults(
  log: SqliteRoomLog,
  entries: readonly Entry[],
  dice: Dice,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for await (const { room_id, problem, open_turns } of verifyLog(log, systemClock)) {
    if (problem !== null) faults.push(`verify ${room_id}: ${problem.message}`);
    faults.push(...open_turns.map(({ turn_id }) => `${room_id}: turn ${turn_id} is open`));
  }
  const started = new Set<string>();
  for (const room of await log.rooms()) {
    const rows = await rowsOf(log, room.room_id);
    for (const row of rows) if (row.kind === "turn.started") started.add(attemptOf(row));
    const evidence = { room, rows, numbers: numbersOf(log.file, room.room_id), entries };
    const found = [
      ...attemptFaults(evidence),
      ...postFaults(evidence),
      ...unaskedFaults(evidence),
      ...(await digestFaults(log, evidence, dice)),
      ...(await waitingFaults(log, room)),
    ];
    faults.push(...found.map((fault) => `${room.room_id}: ${fault}`));
  }
  return [...faults, ...callFaults(entries, started)];
}

function attemptOf({ task_id, execution_generation }: Pick<LogRow, "task_id" | "execution_generation">): string {
  return `${task_id} ${execution_generation}`;
}

async function rowsOf(log: SqliteRoomLog, roomId: string): Promise<readonly LogRow[]> {
  const rows: LogRow[] = [];
  for (;;) {
    const page = await log.read(roomId, { after_seq: rows.length });
    rows.push(...page.rows);
    if (!page.has_more) return rows;
  }
}

function numbersOf(file: string, roomId: string): ReadonlyMap<string, number> {
  const connection = connect(file, { readonly: true });
  try {
    const receipts = connection.prepare<[string], { message_id: string; number: number }>(
      "SELECT message_id, number FROM receipts WHERE room_id = ?",
    );
    return new Map(receipts.all(roomId).map(({ message_id, number }) => [message_id, number]));
  } finally {
    connection.close();
  }
}

const starts = (rows: readonly LogRow[]): readonly StartedRow[] => rows.filter((row) => row.kind === "turn.started");
const settles = (rows: readonly LogRow[]): readonly SettledRow[] => rows.filter((row) => row.kind === "turn.settled");

/** Each attempt has one start and one settle. */
function attemptFaults({ rows }: Evidence): readonly string[] {
  const counts = new Map<string, { starts: number; settles: number }>();
  for (const row of rows) {
    const count = counts.get(attemptOf(row)) ?? { starts: 0, settles: 0 };
    if (row.kind === "turn.started") count.starts++;
    else count.settles++;
    counts.set(attemptOf(row), count);
  }
  return [...counts]
    .filter(([, count]) => count.starts !== 1 || count.settles !== 1)
    .map(([attempt, count]) => `attempt ${attempt} has ${count.starts} starts and ${count.settles} settles`);
}

/** Each accepted post was shown in one turn of each member that it addressed, or closed. */
function postFaults({ room, rows, numbers, entries }: Evidence): readonly string[] {
  const shown = new Map<string, Set<string>>();
  for (const { member_id, task_id, payload } of starts(rows)) {
    for (const item of payload.input) {
      if (!("message_id" in item)) continue;
      const key = `${item.message_id} ${member_id}`;
      shown.set(key, (shown.get(key) ?? new Set()).add(task_id));
    }
  }
  const faults = [...shown]
    .filter(([, tasks]) => tasks.size > 1)
    .map(([key, tasks]) => `post and member ${key}: shown in ${tasks.size} turns`);
  const closed = new Set(entries.flatMap((entry) => (entry.kind === "closed" ? entry.message_id : [])));
  for (const entry of entries) {
    if (entry.kind !== "accepted" || entry.room_id !== room.room_id) continue;
    const { message_id, addressed } = entry;
    const number = numbers.get(message_id);
    if (number === undefined) faults.push(`post ${message_id} was accepted and is not there`);
    if (closed.has(message_id) || (number ?? Infinity) <= (room.stop?.post_number ?? 0)) continue;
    const missed = addressed.filter((memberId) => !shown.has(`${message_id} ${memberId}`));
    faults.push(...missed.map((memberId) => `post ${message_id} was accepted and ${memberId} never had it`));
  }
  return faults;
}

/** What begins by itself has a reason to, and nothing from before a stop does. */
function unaskedFaults({ room, rows, numbers, entries }: Evidence): readonly string[] {
  const faults: string[] = [];
  const asked = new Set(entries.flatMap((entry) => (entry.kind === "asked" ? attemptOf(entry) : [])));
  const fences = entries.flatMap((e) => (e.kind === "stopped" && e.room_id === room.room_id ? [e] : []));
  const stops = room.stop === null ? fences : [...fences, room.stop];
  const startRow = new Map(starts(rows).map((row) => [attemptOf(row), row]));
  const settleRow = new Map(settles(rows).map((row) => [attemptOf(row), row]));
  for (const row of starts(rows)) {
    const { task_id, member_id, execution_generation, payload, seq } = row;
    const before = { task_id, execution_generation: execution_generation - 1 };
    if (execution_generation === 1) {
      const number = numbers.get(payload.discussion.message_id) ?? Infinity;
      const fence = stops.find((stop) => seq > stop.seq && number <= stop.post_number);
      if (fence !== undefined) faults.push(`row ${seq} begins in a discussion that was stopped at row ${fence.seq}`);
      continue;
    }
    if (asked.has(attemptOf(before))) continue;
    const reason = settleRow.get(attemptOf(before))?.payload.reason_code;
    const isSafe = safeMemberIds.includes(member_id) && payload.cause === "auto_continue" && reason === "host_lost";
    if (!isSafe && reason !== "not_admitted") faults.push(`row ${seq} is an attempt nobody asked for (${reason})`);
    const fence = stops.find((stop) => seq > stop.seq && (startRow.get(attemptOf(before))?.seq ?? 0) <= stop.seq);
    if (fence !== undefined) faults.push(`row ${seq} goes on by itself with what was stopped at row ${fence.seq}`);
  }
  return faults;
}

/** The runner is called at most once for each attempt, and not before its start is in the log. */
function callFaults(entries: readonly Entry[], started: ReadonlySet<string>): readonly string[] {
  const calls = new Map<string, string[]>();
  for (const entry of entries) {
    if (entry.kind === "called") calls.set(attemptOf(entry), [...(calls.get(attemptOf(entry)) ?? []), entry.by]);
  }
  return [...calls].flatMap(([attempt, by]) => [
    ...(by.length > 1 ? [`attempt ${attempt} ran ${by.length} times: ${by.join(", ")}`] : []),
    ...(started.has(attempt) ? [] : [`attempt ${attempt} ran and has no start`]),
  ]);
}

/** One digest, however the log is folded. */
async function digestFaults(log: SqliteRoomLog, { room, rows }: Evidence, dice: Dice): Promise<readonly string[]> {
  const { room_id } = room;
  const hash = rows.at(-1)?.hash ?? "";
  const digestOf = (state: FoldState): string => checkpointOf(state, hash).digest;
  const whole = digestOf(fold(emptyState(room_id), rows));
  const oneByOne = new RoomFold(emptyState(room_id));
  for (const row of rows) oneByOne.apply(row);
  let pieces = emptyState(room_id);
  for (let from = 0; from < rows.length;) {
    const to = from + dice.between(1, 20);
    const kept = JSON.parse(JSON.stringify(pieces)) as FoldState;
    pieces = fold(kept, rows.slice(from, to));
    from = to;
  }
  const loaded = await loadRoom(log, room_id, systemClock);
  const others = { "row by row": oneByOne.state(), "in pieces": pieces, "from its checkpoint": loaded.fold.state() };
  const faults = Object.entries(others)
    .filter(([, state]) => digestOf(state) !== whole)
    .map(([how]) => `folded ${how}, its digest is another one`);
  if (rows.length > 0 && "ignored" in loaded.checkpoint) {
    faults.push(`its stored checkpoint was not used: ${loaded.checkpoint.ignored}`);
  }
  return faults;
}

/** Nothing waits, and the room's counters say what is there. */
async function waitingFaults(log: SqliteRoomLog, { room_id }: RoomRecord): Promise<readonly string[]> {
  const input = await log.planInput(room_id);
  if (input === undefined) return ["it is not there"];
  const { inbox, retries, due } = input;
  const faults = inbox
    .filter(({ owed }) => owed.length > 0)
    .map(({ message_id }) => `post ${message_id} is still owed`);
  faults.push(...retries.map(({ task_id }) => `a retry of ${task_id} still waits`));
  faults.push(...due.map(({ task_id }) => `task ${task_id} is still due`));
  const connection = connect(log.file, { readonly: true });
  const counters = connection
    .prepare<[string], { posts: number; bytes: number; open: number }>(
      "SELECT inbox_posts AS posts, inbox_bytes AS bytes, open_turns AS open FROM rooms WHERE room_id = ?",
    )
    .get(room_id);
  const stored = connection
    .prepare<[string], number>("SELECT ifnull(sum(bytes), 0) FROM inbox WHERE room_id = ?")
    .pluck()
    .get(room_id);
  connection.close();
  const expected = { posts: inbox.length + retries.length, bytes: stored, open: 0 };
  if (JSON.stringify(counters) !== JSON.stringify(expected)) {
    faults.push(`its counters are ${JSON.stringify(counters)}, expected ${JSON.stringify(expected)}`);
  }
  return faults;
}
