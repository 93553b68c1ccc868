import type { Board, BoardMember, BoardTurn } from "./board.ts";
import { newMember, withMember, withTurn } from "./members.ts";
import { readEvent, type BoardEvent } from "./read-event.ts";
import { newTurn, nextAttempt, withEvent } from "./turn.ts";

/**
 * The board behind one more event of activity. The same board when the event changes nothing: it is on it already, belongs to
 * an attempt that a retry took the place of, to another room, or is no event at all. Pure: no clock, and it never throws.
 */
export function reduceEvent(board: Board, value: unknown): Board {
  const event = readEvent(value, board.bounds);
  if (event === null) return board;
  const { coordinates } = event;
  if (coordinates === null) return event.kind === "gap" ? withUnplaced(board, event.payload) : board;
  if (coordinates.room_id !== board.room_id) return board;
  const known = board.members.find(({ member_id }) => member_id === coordinates.member_id);
  const member = known ?? newMember(coordinates.member_id);
  const before = member.turns.find(({ task_id }) => task_id === coordinates.task_id);
  const turn = turnFor(board, member, before, event);
  if (turn === null) return board;
  const after = withEvent(turn, event, board.bounds);
  if (after === turn) return board;
  return placed(board, begins(member, before, after), after, event.at);
}

/** The board with a turn of a member. */
export function placed(board: Board, member: BoardMember, turn: BoardTurn, at: number | null): Board {
  const through_seq = Math.max(board.through_seq, turn.started_seq ?? 0, turn.settled_seq ?? 0);
  const { keepTurns } = board.bounds;
  return withMember({ ...board, through_seq }, withTurn(member, turn, { at, keepTurns })) ?? board;
}

/** What waited is what begins now; whether more waits, a host tells. */
export function begins(member: BoardMember, before: BoardTurn | undefined, after: BoardTurn): BoardMember {
  const isNew = before === undefined || before.execution_generation < after.execution_generation;
  return isNew && after.status === "running" ? { ...member, waits: null } : member;
}

/**
 * The attempt that an event belongs to, as the board has it, or as it begins. null: the event is of none that is here. One
 * that is not known and does not begin by this event had ended before anybody looked, or is kept no more.
 */
function turnFor(
  board: Board,
  { turns }: BoardMember,
  before: BoardTurn | undefined,
  event: BoardEvent,
): BoardTurn | null {
  const { coordinates } = event;
  if (coordinates === null) return null;
  const { execution_generation } = coordinates;
  if (before !== undefined) {
    if (execution_generation < before.execution_generation) return null;
    if (execution_generation === before.execution_generation) return before;
    return nextAttempt(before, coordinates, board);
  }
  const first = event.kind === "gap" ? event.payload.first_n : (event.n_from ?? event.n);
  const seq = seqOf(event);
  // Its end stands in a row that is not on the board yet: the rest of it was lost.
  const isNews = event.kind === "turn.settled" && seq !== null && seq > board.through_seq;
  if (first !== 1 && !isNews) return null;
  const oldest = turns[0]?.place ?? 0;
  if (seq !== null && seq < oldest && turns.length >= board.bounds.keepTurns) return null;
  return newTurn(coordinates, board.through_seq);
}

function seqOf(event: BoardEvent): number | null {
  return event.kind === "turn.started" || event.kind === "turn.settled" ? event.payload.row.seq : null;
}

function withUnplaced(board: Board, { dropped, withheld }: Extract<BoardEvent, { kind: "gap" }>["payload"]): Board {
  if (dropped === 0 && withheld === 0) return board;
  const unplaced = {
    dropped: board.unplaced.dropped + dropped,
    withheld: board.unplaced.withheld + withheld,
  };
  return { ...board, unplaced };
}
