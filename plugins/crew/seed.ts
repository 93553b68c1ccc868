import type { Coordinates, MemberEntry, RequestEntry, RunningTool } from "../../core/index.ts";
import type { Board, BoardMember, BoardTurn } from "./board.ts";
import type { BoardBounds } from "./bounds.ts";
import { openCard, runningCard, withNewRequest, withNewTool } from "./cards.ts";
import { attemptKey, newMember, openTurn, reduceEntry, restated } from "./members.ts";
import { askedSchema, cutValues } from "./read-event.ts";
import { placed } from "./reduce.ts";
import { reduceRow } from "./rows.ts";
import { textUpTo } from "./streamed-text.ts";
import { newTurn, nextAttempt, tallied, withoutEnd, withUnknownEnd } from "./turn.ts";

/** An attempt that runs, up to its event `n`. */
export interface SeedAttempt {
  readonly coordinates: Coordinates;
  readonly n: number;
  readonly text: string;
  /** UTF-16 units of its streamed text, and of its reasoning; without them no more than `text` has. */
  readonly offset?: number | undefined;
  readonly reasoning_offset?: number | undefined;
  readonly tools: readonly RunningTool[];
  readonly open_requests: readonly string[];
}

/** A room at one instant, of which a `RoomSnapshot` has all, and so has what `rooms.subscribe` gives. */
export interface Seed {
  readonly room: {
    readonly room_id: string;
    readonly name: string;
    readonly roster: readonly {
      readonly member_id: string;
      readonly handle: string;
      readonly display_name?: string | undefined;
    }[];
  };
  /** Rows behind this one are not part of it. */
  readonly log?: { readonly latest_seq: number } | undefined;
  readonly members: readonly MemberEntry[];
  readonly open_requests: readonly RequestEntry[];
  readonly attempts: readonly SeedAttempt[];
}

/** How a board is joined with what it is seeded from. */
export interface SeedOptions {
  /** Rows of the room's log, in order: what settled before. */
  readonly rows?: readonly unknown[] | undefined;
  /**
   * Which events follow. `all`: whatever is in a consumer's queue, so turns that are known go on by their events. `behind`:
   * only those behind the seed, as a gateway sends them, so a turn that it does not name has no further ones. Default `all`.
   */
  readonly events?: "all" | "behind" | undefined;
}

/**
 * The board with all that a room says of itself at one instant. Events join it without a hole and none is counted twice: of an
 * attempt in the seed those above its `n` are new. What passed before is unseen: counts say `at_least`. Pure.
 */
export function seed(
  board: Board,
  { room, log, members, open_requests, attempts }: Seed,
  options: SeedOptions = {},
): Board {
  const { rows = [], events = "all" } = options;
  if (room.room_id !== board.room_id) return board;
  const upToSeed = rows.filter((row) => seqOf(row) <= (log?.latest_seq ?? Infinity));
  const before = upToSeed.reduce<Board>(reduceRow, withRoster(board, room));
  const running = new Set(attempts.map(({ coordinates }) => attemptKey(coordinates)));
  const elsewhere = new Set(members.flatMap(({ task_id, state }) => (state === "idle" ? [] : [task_id])));
  let next = mapTurns(before, (turn) => {
    if (running.has(attemptKey(turn)) || turn.is_closed) return turn;
    if (events === "behind" && (turn.status !== "running" || !elsewhere.has(turn.task_id))) return withoutEnd(turn);
    return turn.n === 0 && !elsewhere.has(turn.task_id) ? withUnknownEnd(turn) : turn;
  });
  for (const attempt of attempts) next = withAttempt(next, attempt, open_requests, events);
  return members.reduce(reduceEntry, next);
}

/**
 * The board with who is in the room now, and what only the room can tell of them: whose turn waits, who is paused or asked to
 * stop. Turns stay as their events have them. Pure.
 */
export function refresh(board: Board, { room, members }: Pick<Seed, "room" | "members">): Board {
  if (room.room_id !== board.room_id) return board;
  const next = members.reduce(reduceEntry, withRoster(board, room));
  // Whoever watches is not told of what looks the same.
  const looks = ({ name, members: each }: Board): string =>
    JSON.stringify([name, each], (key, value: unknown) => (key === "turns" ? undefined : value));
  return looks(next) === looks(board) ? board : next;
}

function seqOf(row: unknown): number {
  return typeof row === "object" && row !== null && "seq" in row ? Number(row.seq) : 0;
}

function withRoster(board: Board, { name, roster }: Seed["room"]): Board {
  const listed = roster.map(({ member_id, handle, display_name = handle }): BoardMember => {
    const known = board.members.find((each) => each.member_id === member_id) ?? newMember(member_id);
    return { ...known, handle, display_name, is_on_roster: true };
  });
  const others = board.members.filter((each) => !roster.some(({ member_id }) => member_id === each.member_id));
  const former = others.map((each) => ({ ...each, is_on_roster: false }));
  const room = Math.max(0, board.bounds.maxMembers - listed.length);
  const kept = former.slice(Math.max(0, former.length - room));
  const gone = former.length - kept.length;
  return { ...board, name, members: [...listed, ...kept], forgotten_members: board.forgotten_members + gone };
}

function mapTurns(board: Board, change: (turn: BoardTurn) => BoardTurn): Board {
  const members = board.members.map((member) => {
    const turns = member.turns.map(change);
    const isSame = turns.every((turn, at) => turn === member.turns[at]);
    return isSame ? member : restated({ ...member, turns }, openTurn(member)?.started_at ?? null);
  });
  return { ...board, members };
}

function withAttempt(
  board: Board,
  attempt: SeedAttempt,
  asked: readonly RequestEntry[],
  events: NonNullable<SeedOptions["events"]>,
): Board {
  const { coordinates, n } = attempt;
  const member =
    board.members.find(({ member_id }) => member_id === coordinates.member_id) ?? newMember(coordinates.member_id);
  const known = member.turns.find(({ task_id }) => task_id === coordinates.task_id);
  const generation = known?.execution_generation ?? 0;
  if (coordinates.execution_generation < generation) return board;
  const isKnown = known !== undefined && coordinates.execution_generation === generation;
  // What a queue still holds of it tells more than the seed does.
  if (isKnown && (known.n >= n || (events === "all" && known.n > 0))) return board;
  const turn = isKnown
    ? known
    : known === undefined
      ? newTurn(coordinates, board.through_seq)
      : nextAttempt(known, coordinates, board);
  const requests = asked.filter(
    (each) => each.coordinates !== null && attemptKey(each.coordinates) === attemptKey(coordinates),
  );
  return placed(board, member, tallied(upTo(turn, attempt, requests, board.bounds)), turn.started_at);
}

/** The turn as the seed shows it: what was open on it and is not in the seed has ended unseen. */
function upTo(
  turn: BoardTurn,
  { n, text, offset = text.length, reasoning_offset = 0, tools, open_requests }: SeedAttempt,
  asked: readonly RequestEntry[],
  bounds: BoardBounds,
): BoardTurn {
  const [openTools, openIds] = [new Set(tools.map(({ tool_id }) => tool_id)), new Set(open_requests)];
  const { maxTextUnits } = bounds;
  let next: BoardTurn = {
    ...turn,
    n,
    missing: { ...turn.missing, unseen: turn.missing.unseen + n - turn.n },
    streamed: textUpTo(text, offset, maxTextUnits),
    reasoning: reasoningUpTo(turn, reasoning_offset),
    tools: turn.tools.map((card) =>
      card.state === "running" && !openTools.has(card.tool_id) ? { ...card, state: "lost" } : card,
    ),
    requests: turn.requests.map((card) =>
      card.state === "open" && !openIds.has(card.id) ? { ...card, state: "lost" } : card,
    ),
  };
  for (const tool of tools) {
    const isThere = next.tools.some(({ tool_id, state }) => tool_id === tool.tool_id && state === "running");
    if (!isThere) next = withNewTool(next, runningCard(tool), bounds);
  }
  for (const request of asked) {
    const parsed = askedSchema.safeParse(request).data;
    if (parsed === undefined || next.requests.some(({ id }) => id === parsed.id)) continue;
    const cut = cutValues(parsed, bounds.maxValueBytes);
    next = withNewRequest(next, openCard(cut.payload as typeof parsed, null, cut.truncated), bounds);
  }
  return next;
}

/** What was thought before is not in a seed. */
function reasoningUpTo({ reasoning }: BoardTurn, units: number): BoardTurn["reasoning"] {
  if (units === reasoning.start + reasoning.text.length) return reasoning;
  return { start: units, text: "", lacks_start: true, lacks_end: false };
}
