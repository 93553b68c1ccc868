import { cutUnits, type Coordinates } from "../../core/index.ts";
import type { Board, BoardTurn, EarlierAttempt, Missing, Tally } from "./board.ts";
import type { BoardBounds } from "./bounds.ts";
import { withLostEnds, withRequest, withTool } from "./cards.ts";
import type { BoardEvent, settledSchema, startedSchema } from "./read-event.ts";
import { noText, withLostEnd, withPiece } from "./streamed-text.ts";
import type { z } from "zod";

/** An event of one attempt. */
type AttemptEvent = Exclude<BoardEvent, { readonly kind: "gap" }>;
type GapEvent = Extract<BoardEvent, { readonly kind: "gap" }>;

const nothingMissing: Missing = { dropped: 0, withheld: 0, unseen: 0, kinds: {} };
const none: Tally = { count: 0, certainty: "exact" };

/**
 * An attempt of which nothing was seen.
 * @param throughSeq the last row that is known
 */
export function newTurn(of: Omit<Coordinates, "room_id" | "member_id">, throughSeq: number): BoardTurn {
  const { turn_id, task_id, thread_id, execution_generation } = of;
  return {
    ...{ turn_id, task_id, thread_id, execution_generation, place: throughSeq + 0.5 },
    ...{ earlier: [], started_seq: null, settled_seq: null, started_at: null, settled_at: null },
    ...{ cause: null, input: null, status: "running", reason_code: null, error: null, usage: null },
    ...{ duration_ms: null, activity_count: null, answer: null },
    ...{ n: 0, is_closed: false, missing: nothingMissing, counts: null },
    ...{
      streamed: noText,
      reasoning: noText,
      tool_calls: none,
      tools: [],
      requests_asked: none,
      requests: [],
      notes: [],
    },
    forgotten: { tools: 0, open_tools: 0, requests: 0, notes: 0, earlier: 0 },
  };
}

/** The next attempt of the same task. What the one before showed is gone, but for how it ended. */
export function nextAttempt(
  before: BoardTurn,
  of: Omit<Coordinates, "room_id" | "member_id">,
  { bounds: { maxEarlier }, through_seq }: Board,
): BoardTurn {
  const { execution_generation, status, reason_code, tool_calls } = withLostEnds(before);
  const ended = status === "running" ? "unknown" : status;
  const entry: EarlierAttempt = { execution_generation, status: ended, reason_code, tool_calls };
  const earlier = [...before.earlier, entry];
  const over = Math.max(0, earlier.length - maxEarlier);
  const turn = newTurn(of, through_seq);
  const forgotten = { ...turn.forgotten, earlier: before.forgotten.earlier + over };
  return { ...turn, earlier: earlier.slice(over), forgotten };
}

/** The turn behind an event of it; the same when its numbers are on the board already. Pure. */
export function withEvent(turn: BoardTurn, event: BoardEvent, bounds: BoardBounds): BoardTurn {
  if (turn.is_closed) return turn;
  const after = event.kind === "gap" ? withGap(turn, event) : withNumbered(turn, event, bounds);
  return after === turn ? turn : tallied(after);
}

function withNumbered(turn: BoardTurn, event: AttemptEvent, bounds: BoardBounds): BoardTurn {
  const { n, n_from } = event;
  // Only the end of an abandoned attempt has no number.
  if (n === null) return event.kind === "turn.settled" ? withKind(turn, event, bounds) : turn;
  if (n <= turn.n) return turn;
  return withKind({ ...withHole(turn, (n_from ?? n) - 1), n }, event, bounds);
}

/** What lies between the last number and `n` never came. */
function withHole(turn: BoardTurn, n: number): BoardTurn {
  if (n <= turn.n) return turn;
  const missing = { ...turn.missing, unseen: turn.missing.unseen + n - turn.n };
  const { streamed, reasoning } = turn;
  return { ...turn, n, missing, streamed: withLostEnd(streamed), reasoning: withLostEnd(reasoning) };
}

function withKind(turn: BoardTurn, event: AttemptEvent, bounds: BoardBounds): BoardTurn {
  switch (event.kind) {
    case "turn.started":
      return withStart(turn, { ...event.payload, seq: event.payload.row.seq, at: event.at }, bounds);
    case "turn.settled": {
      const settled = withEnd(turn, { ...event.payload, seq: event.payload.row.seq, at: event.at }, bounds);
      return withLostEnds({ ...settled, counts: knownKinds(event.payload.counts), is_closed: true });
    }
    case "tool.started":
    case "tool.completed":
    case "tool.output_risk":
      return withTool(turn, event, bounds);
    case "message.delta":
      if (event.payload === null) return turn;
      return { ...turn, streamed: withPiece(turn.streamed, event.payload, bounds.maxTextUnits) };
    case "reasoning.delta":
      if (event.payload === null) return turn;
      return { ...turn, reasoning: withPiece(turn.reasoning, event.payload, bounds.maxTextUnits) };
    case "request.opened":
    case "request.resolved":
      return withRequest(turn, event, bounds);
    case "message.interim":
      if (event.payload.already_streamed) return turn;
      return withNote(turn, { kind: "interim", text: event.payload.text, at: event.at }, bounds);
    case "turn.error":
      return withNote(turn, { kind: "error", text: event.payload.message, at: event.at }, bounds);
  }
}

function withNote(
  turn: BoardTurn,
  { text, ...note }: BoardTurn["notes"][number],
  { maxNotes, maxNoteUnits }: BoardBounds,
): BoardTurn {
  const notes = [...turn.notes, { ...note, text: cutUnits(text, maxNoteUnits) }];
  const over = Math.max(0, notes.length - maxNotes);
  return { ...turn, notes: notes.slice(over), forgotten: { ...turn.forgotten, notes: turn.forgotten.notes + over } };
}

/** What of a gap is not on the board already: counts of one that begins before are at most so many. */
function withGap(turn: BoardTurn, { payload }: GapEvent): BoardTurn {
  const { first_n, last_n, kinds } = payload;
  const hasEnd = (kinds["turn.settled"] ?? 0) > 0;
  if (first_n === null || last_n === null) return hasEnd ? withoutEnd(counted(turn, payload, Infinity)) : turn;
  if (last_n <= turn.n) return turn;
  const before = withHole(turn, first_n - 1);
  const after = { ...counted(before, payload, last_n - before.n), n: last_n };
  return hasEnd ? withoutEnd(after) : after;
}

function counted(turn: BoardTurn, gap: GapEvent["payload"], most: number): BoardTurn {
  const { missing } = turn;
  const kinds: Record<string, number> = { ...missing.kinds };
  for (const [kind, number] of Object.entries(gap.kinds)) {
    if (Object.hasOwn(kindNames, kind)) kinds[kind] = (kinds[kind] ?? 0) + Math.min(number, most);
  }
  return {
    ...turn,
    missing: {
      ...missing,
      dropped: missing.dropped + Math.min(gap.dropped, most),
      withheld: missing.withheld + Math.min(gap.withheld, most),
      kinds,
    },
    streamed: (gap.kinds["message.delta"] ?? 0) > 0 ? withLostEnd(turn.streamed) : turn.streamed,
    reasoning: (gap.kinds["reasoning.delta"] ?? 0) > 0 ? withLostEnd(turn.reasoning) : turn.reasoning,
  };
}

function knownKinds(counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(counts).filter(([kind]) => Object.hasOwn(kindNames, kind)));
}

/** Kinds that a gap or the end of a turn may count. */
const kindNames: { readonly [Kind in BoardEvent["kind"]]: true } = {
  "turn.started": true,
  "turn.settled": true,
  "tool.started": true,
  "tool.completed": true,
  "tool.output_risk": true,
  "message.delta": true,
  "message.interim": true,
  "reasoning.delta": true,
  "request.opened": true,
  "request.resolved": true,
  "turn.error": true,
  gap: true,
};

/** Nothing more comes of the turn, and how it ended is not known but by its row. */
export function withoutEnd(turn: BoardTurn): BoardTurn {
  const status = turn.status === "running" ? "unknown" : turn.status;
  return tallied(withLostEnds({ ...turn, status, is_closed: true }));
}

/** A turn that can no longer run, as another one of its member does; its own last events may still come. */
export function withUnknownEnd(turn: BoardTurn): BoardTurn {
  return turn.status === "running" ? tallied({ ...turn, status: "unknown" }) : turn;
}

/** How a turn began, from its row or its event. */
export type Start = z.output<typeof startedSchema> & { readonly seq: number; readonly at: number };
/** How it ended. */
export type End = z.output<typeof settledSchema> & { readonly seq: number; readonly at: number };

/** The turn with what is known of its start. What is there already stays. */
export function withStart(turn: BoardTurn, { cause, input, seq, at }: Start, { maxNoteUnits }: BoardBounds): BoardTurn {
  const post = input.findLast((item) => item.text !== undefined)?.text;
  return {
    ...turn,
    cause,
    // It was taken for over, and begins now.
    status: turn.status === "unknown" && turn.n <= 1 && !turn.is_closed ? "running" : turn.status,
    ...{ place: seq, started_seq: seq },
    started_at: turn.started_at ?? at,
    input: post === undefined ? turn.input : cutUnits(post, maxNoteUnits),
  };
}

/** The turn with how it ended; the first that says so is right. */
export function withEnd(turn: BoardTurn, end: End, { maxTextUnits, maxNoteUnits }: BoardBounds): BoardTurn {
  if (turn.settled_seq !== null) return turn;
  const { status, reason_code, usage, activity_count, duration_ms, text, error } = end;
  const answer = cutUnits(text, maxTextUnits);
  return {
    ...turn,
    ...{ status, reason_code, usage, activity_count, duration_ms, settled_seq: end.seq, settled_at: end.at },
    error: error === null ? null : cutUnits(error, maxNoteUnits),
    answer: { text: answer, truncated: end.truncated || answer.length < text.length },
  };
}

/** The turn with its numbers of tool calls and requests. */
export function tallied(turn: BoardTurn): BoardTurn {
  const { tools, requests, forgotten } = turn;
  return {
    ...turn,
    tool_calls: tallyOf(turn, "tool.started", tools.length + forgotten.tools),
    requests_asked: tallyOf(turn, "request.opened", requests.length + forgotten.requests),
  };
}

/** The end of a turn counts for itself what it had; before, what was seen is all there was if nothing is missing. */
function tallyOf(turn: BoardTurn, kind: string, seen: number): Tally {
  const { counts, missing, status, is_closed, activity_count, n } = turn;
  if (counts !== null) return { count: counts[kind] ?? 0, certainty: "exact" };
  const isToEnd = status === "running" || is_closed || activity_count === n;
  const isWhole = isToEnd && status !== "abandoned" && missing.unseen === 0 && (missing.kinds[kind] ?? 0) === 0;
  return { count: seen, certainty: isWhole ? "exact" : "at_least" };
}
