import { memberStateOf, type MemberEntry } from "../../core/index.ts";
import type { Board, BoardMember, BoardTurn } from "./board.ts";
import { withUnknownEnd } from "./turn.ts";

/** The attempt that a turn stands for. */
export function attemptKey({
  task_id,
  execution_generation,
}: Pick<BoardTurn, "task_id" | "execution_generation">): string {
  return `${task_id}#${execution_generation}`;
}

/** The open turn of a member. */
export function openTurn({ turns }: BoardMember): BoardTurn | undefined {
  return turns.findLast(({ status }) => status === "running");
}

/** A member of which nothing is known. */
export function newMember(member_id: string): BoardMember {
  return {
    ...{ member_id, handle: null, display_name: null, is_on_roster: false, state: "idle", since: null },
    ...{ is_paused: false, turn_id: null, tool: null, waits: null, stopping: null, rest: "idle", last: null },
    ...{ turns: [], forgotten_turns: 0 },
  };
}

/** The board with another entry of a member that it has, or one more. null when there is no room for it. */
export function withMember(board: Board, member: BoardMember): Board | null {
  const at = board.members.findIndex(({ member_id }) => member_id === member.member_id);
  if (at >= 0) return { ...board, members: board.members.with(at, member) };
  if (board.members.length < board.bounds.maxMembers) return { ...board, members: [...board.members, member] };
  const gone = board.members.findIndex((each) => !each.is_on_roster && openTurn(each) === undefined);
  if (gone < 0) return null;
  const members = [...board.members.toSpliced(gone, 1), member];
  return { ...board, members, forgotten_members: board.forgotten_members + 1 };
}

/**
 * The member with a turn at its place: those that began earlier stand before it. A member has one open turn: when this one
 * runs, those before it are over. Above the bound the oldest goes, one that has ended before one that has not.
 * @param at wall ms of what made the difference
 */
export function withTurn(
  member: BoardMember,
  turn: BoardTurn,
  about: { readonly at: number | null; readonly keepTurns: number },
): BoardMember {
  const others = member.turns.filter(({ task_id }) => task_id !== turn.task_id);
  const before = others.findLastIndex((each) => each.place <= turn.place);
  const sorted = others.toSpliced(before + 1, 0, turn);
  const running = sorted.findLastIndex(({ status }) => status === "running");
  const turns = sorted.map((each, index) => (index < running ? withUnknownEnd(each) : each));
  const over = turns.length > about.keepTurns;
  const ended = turns.findIndex(({ status }) => status !== "running");
  const kept = over ? turns.toSpliced(Math.max(0, ended), 1) : turns;
  const forgotten_turns = member.forgotten_turns + (over ? 1 : 0);
  const ending = turns.findLast(hasEnded) === turn ? endingOf(turn) : {};
  return restated({ ...member, ...ending, turns: kept, forgotten_turns }, about.at);
}

/** It is over, and how is known. */
function hasEnded({ status }: BoardTurn): boolean {
  return status !== "running" && status !== "unknown";
}

/** What a member did last, when that is this turn. */
function endingOf({ turn_id, status, reason_code }: BoardTurn): Partial<Pick<BoardMember, "last" | "rest">> {
  if (status === "running" || status === "unknown") return {};
  const rest = status === "failed" || status === "abandoned" ? "failed" : "idle";
  return { last: { turn_id, status, reason_code }, rest };
}

/** The member with its state as its turns have it. */
export function restated(member: BoardMember, at: number | null): BoardMember {
  const open = openTurn(member);
  const key = open === undefined ? null : attemptKey(open);
  const stopping = member.stopping === key ? key : null;
  const word = memberStateOf({
    hasOpenAttempt: open !== undefined,
    hasOpenRequest: open?.requests.some(({ state }) => state === "open") === true,
    isStopping: stopping !== null,
    isQueued: member.waits !== null,
    isOwed: member.rest === "idle",
    last: member.last?.status ?? null,
  });
  const card = open?.tools.findLast(({ state }) => state === "running");
  const isSame = word === member.state && (open?.turn_id ?? null) === member.turn_id;
  return {
    ...member,
    ...{ state: word, since: isSame ? member.since : at, turn_id: open?.turn_id ?? null, stopping },
    tool: card === undefined ? null : { tool_id: card.tool_id, name: card.name, since: card.started_at },
  };
}

/**
 * The board with what only a host can tell of a member: that a turn of it waits, that it is paused or was asked to stop, and
 * since when. What its own activity tells stands: an entry may be ahead of the events, or behind them. Pure.
 */
export function reduceEntry(board: Board, entry: MemberEntry): Board {
  const known = board.members.find(({ member_id }) => member_id === entry.member_id) ?? newMember(entry.member_id);
  const open = openTurn(known);
  const { state, behind, position } = entry;
  const waits = behind === undefined || hasBegun(known, entry) ? null : { behind, position: position ?? null };
  const isOpen = open !== undefined && entry.task_id === open.task_id;
  const stopping = state === "stopping" && isOpen ? attemptKey(open) : null;
  const rest = state === "idle" || state === "failed" ? state : known.rest;
  const about = {
    is_paused: entry.paused,
    ...{ waits, stopping, rest },
    last: open === undefined && !isBehind(known, entry) ? entry.last : known.last,
  };
  const next = restated({ ...known, ...about }, entry.since);
  const dated = next.state === state && (open === undefined || isOpen) ? { ...next, since: entry.since } : next;
  return withMember(board, dated) ?? board;
}

/** What an entry calls queued has started meanwhile. */
function hasBegun({ turns }: BoardMember, { state, task_id, execution_generation = Infinity }: MemberEntry): boolean {
  if (state !== "queued") return false;
  return turns.some((turn) => turn.task_id === task_id && turn.execution_generation >= execution_generation);
}

/** An entry whose last turn is one before the last that the board has. */
function isBehind({ turns }: BoardMember, { last }: MemberEntry): boolean {
  const ended = turns.filter(hasEnded);
  return last === null ? ended.length > 0 : ended.slice(0, -1).some(({ turn_id }) => turn_id === last.turn_id);
}
