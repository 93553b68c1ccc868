import type { MemberStateWord, Scope } from "../../core/index.ts";
import type { PluginCaller } from "../plugin.ts";
import type { Board, BoardTurn, RequestCard, StreamedText, Tally } from "./board.ts";

/** A turn as somebody may see it: `reasoning` is null without the grant. */
export interface VisibleTurn extends Omit<BoardTurn, "reasoning"> {
  readonly reasoning: StreamedText | null;
}

/** A board as somebody may see it. */
export interface VisibleBoard extends Omit<Board, "members"> {
  readonly members: readonly (Omit<Board["members"][number], "turns"> & { readonly turns: readonly VisibleTurn[] })[];
}

/** Who asks, as far as it matters to what is shown. */
export type Viewer = Pick<PluginCaller, "scopes" | "rooms" | "grants">;

/** `admin` stands for all scopes. */
export function holds({ scopes }: Pick<Viewer, "scopes">, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes("admin");
}

/** Whether a room is there for somebody. */
export function seesRoom({ rooms }: Pick<Viewer, "rooms">, roomId: string): boolean {
  return rooms === null || rooms.includes(roomId);
}

/** What is asked is for those who may answer it, reasoning for those who were granted it. */
export function visibleBoard(board: Board, viewer: Viewer): VisibleBoard {
  const hasReasoning = viewer.grants.includes("reasoning");
  const visibleTurn = (turn: BoardTurn): VisibleTurn => ({
    ...turn,
    reasoning: hasReasoning ? turn.reasoning : null,
    requests: turn.requests.map((card) => (holds(viewer, card.scope) ? card : withheld(card))),
  });
  const members = board.members.map((member) => ({ ...member, turns: member.turns.map(visibleTurn) }));
  return { ...board, members };
}

function withheld(card: RequestCard): RequestCard {
  const { id, method, scope, state, tool_id, opened_at, expires_at, resolved_at, outcome } = card;
  return {
    ...{ id, method, scope, state, opened_at, expires_at, resolved_at, outcome },
    ...(tool_id === undefined ? {} : { tool_id }),
    ...{ is_withheld: true, by: null, truncated: [] },
  };
}

const texts = new WeakMap<Board, Map<string, string>>();

/** JSON of what somebody may see, made once for all who may see the same. */
export function boardText(board: Board, viewer: Viewer): string {
  const scopes: readonly Scope[] = ["read", "write", "approvals", "admin"];
  const key = [...scopes.filter((scope) => holds(viewer, scope)), viewer.grants.includes("reasoning")].join(" ");
  const known = texts.get(board) ?? new Map<string, string>();
  const text = known.get(key) ?? JSON.stringify(visibleBoard(board, viewer));
  texts.set(board, known.set(key, text));
  return text;
}

/** What a list of rooms says of one. */
export interface BoardSummary {
  readonly room_id: string;
  readonly name: string | null;
  /** How many members are in each state. */
  readonly members: { readonly [State in MemberStateWord]?: number };
  readonly open_requests: number;
  /** Of the turns that its board keeps. */
  readonly tool_calls: Tally;
}

/** Counts of a board. Of several counts the sum is exact when all of them are. */
export function summaryOf(board: Board): BoardSummary {
  const members: { [State in MemberStateWord]?: number } = {};
  for (const { state } of board.members) members[state] = (members[state] ?? 0) + 1;
  const turns = board.members.flatMap((member) => member.turns);
  const isExact = board.unplaced.dropped === 0 && turns.every(({ tool_calls }) => tool_calls.certainty === "exact");
  const count = turns.reduce((sum, { tool_calls }) => sum + tool_calls.count, 0);
  return {
    ...{ room_id: board.room_id, name: board.name, members, open_requests: openRequests(board).length },
    tool_calls: { count, certainty: isExact ? "exact" : "at_least" },
  };
}

/** Requests that wait for somebody, in the order of members and of their asking. */
export function openRequests(board: Pick<VisibleBoard, "members">): readonly RequestCard[] {
  const running = board.members.flatMap(({ turns }) => turns.filter(({ status }) => status === "running"));
  return running.flatMap(({ requests }) => requests.filter(({ state }) => state === "open"));
}
