import type { ActivityEvent, InputItem, StartCause, TurnSettled } from "../../../core/index.ts";
import type { LogRow, RunningAttempt } from "../../client/index.ts";
import { certaintyOf, coverageOf, type Certainty, type Coverage, type NumberRange } from "./attempt-coverage.ts";
import { streamedText } from "./streamed-text.ts";
import { requestNodes, toolNodes, type RequestNode, type ToolNode } from "./turn-calls.ts";

/** A piece of a turn's input with its text, wherever that stands; null when the row that has it is not at hand. */
export interface InputNode {
  readonly message_id: string | null;
  readonly row_seq: number | null;
  readonly author: string | null;
  readonly text: string | null;
}

/** A text of an attempt. */
export interface TextNode {
  /** `row`: the final text, from the log; `stream`: what was streamed, as far as it was seen. */
  readonly source: "row" | "stream";
  /** Between two of them something is missing. */
  readonly pieces: readonly string[];
  /** UTF-16 units that are known to be missing. */
  readonly missing_units: number;
  /** The final text was longer than a row holds. */
  readonly truncated: boolean;
  readonly certainty: Certainty;
}

/** Several of a kind, and how sure it is that these are all. */
export interface Listed<Node> {
  readonly certainty: Certainty;
  readonly list: readonly Node[];
}

/** How an attempt ended, as its row says. */
export interface AttemptEnd extends Omit<TurnSettled, "text" | "truncated"> {
  readonly row_seq: number;
  /** Wall ms. */
  readonly at: number;
  /** Its host died: whether, and how far, it ran nobody knows. */
  readonly may_have_run: boolean;
}

/** One execution of a turn's task. */
export interface AttemptNode {
  readonly execution_generation: number;
  /** null when its row is not at hand. */
  readonly started: {
    readonly row_seq: number;
    /** Wall ms. */
    readonly at: number;
    readonly cause: StartCause;
    readonly origin: string | null;
  } | null;
  /** null while it is open, as far as the rows at hand say. */
  readonly settled: AttemptEnd | null;
  /** Whether any activity of it was seen: rows alone do not tell what happened between start and end. */
  readonly is_watched: boolean;
  readonly activity: Omit<Coverage, "missing"> & { readonly certainty: Certainty };
  readonly tools: Listed<ToolNode>;
  /** Those of a tool call stand there as well. */
  readonly requests: Listed<RequestNode>;
  readonly text: TextNode;
  /** `withheld` counts what a missing grant kept back. */
  readonly reasoning: TextNode & { readonly withheld: number };
  readonly errors: Listed<{ readonly n: number | null; readonly message: string; readonly reason: string | null }>;
}

/** One turn: what it was asked, and each attempt with what is known of it. */
export interface TurnTree {
  readonly room_id: string;
  readonly thread_id: string;
  readonly member_id: string;
  readonly turn_id: string;
  readonly task_id: string;
  /** null when the row of its start is not at hand. */
  readonly input: readonly InputNode[] | null;
  readonly attempts: readonly AttemptNode[];
}

/**
 * One turn as a tree; undefined when nothing of it is given. Pure, and honest: what was not seen is `unknown` or null, never
 * empty or 0 (C-072).
 * @param events activity of its attempts, gaps among them; others are passed over
 * @param rows its rows, and those that its input refers to
 * @param about.running what attempts had shown when somebody began to watch
 */
export function turnTree(
  events: readonly ActivityEvent[],
  rows: readonly LogRow[],
  about: { readonly turnId: string; readonly running?: readonly RunningAttempt[] },
): TurnTree | undefined {
  const ofTurn = (place: { readonly turn_id: string } | null): boolean => place?.turn_id === about.turnId;
  const own = {
    rows: rows.filter(ofTurn),
    events: events.filter(({ coordinates }) => ofTurn(coordinates)),
    running: (about.running ?? []).filter(({ coordinates }) => ofTurn(coordinates)),
  };
  const place = own.rows[0] ?? own.events[0]?.coordinates ?? own.running[0]?.coordinates;
  if (place === undefined || place === null) return undefined;
  const { room_id, thread_id, member_id, turn_id, task_id } = place;
  const generations = new Set([
    ...own.rows.map((row) => row.execution_generation),
    ...[...own.events, ...own.running].flatMap(({ coordinates }) => coordinates?.execution_generation ?? []),
  ]);
  const attempts = [...generations].sort((a, b) => a - b).map((generation) => attemptNode(generation, own));
  return { room_id, thread_id, member_id, turn_id, task_id, input: inputOf(own.rows, rows), attempts };
}

interface OfTurn {
  readonly rows: readonly LogRow[];
  readonly events: readonly ActivityEvent[];
  readonly running: readonly RunningAttempt[];
}

interface Attempt {
  /** In order of their places. */
  readonly events: readonly ActivityEvent[];
  readonly running: RunningAttempt | undefined;
  readonly standing: "open" | "settled" | "abandoned";
  readonly isWatched: boolean;
  readonly lastN: number | null;
  /** Its start and its end, as far as rows tell of them. */
  readonly ends: readonly NumberRange[];
}

function attemptNode(generation: number, turn: OfTurn): AttemptNode {
  const isOf = (place: { readonly execution_generation: number } | null): boolean =>
    place?.execution_generation === generation;
  const rows = turn.rows.filter(isOf);
  const events = turn.events.filter(({ coordinates }) => isOf(coordinates)).toSorted((a, b) => placeOf(a) - placeOf(b));
  const running = turn.running.find(({ coordinates }) => isOf(coordinates));
  const started = rows.find((row) => row.kind === "turn.started");
  const settled = rows.find((row) => row.kind === "turn.settled");
  const count = settled?.payload.activity_count ?? null;
  const ends = [...(started === undefined ? [] : [1]), ...(count === null ? [] : [count])];
  const standing = settled === undefined ? "open" : count === null ? "abandoned" : "settled";
  const isWatched = running !== undefined || events.length > 0;
  const attempt: Attempt = {
    ...{ events, running, standing, isWatched },
    lastN: count ?? running?.n ?? null,
    ends: ends.map((n) => ({ first: n, last: n })),
  };
  const coverage = coverageAfter(0, attempt);
  const sure = (...kinds: readonly string[]): Certainty => certaintyOf(coverage, { kinds, isWatched, standing });
  // What was open when somebody began to watch, and whose end did not pass since, is open still.
  const since = certaintyOf(coverageAfter(running?.n ?? 0, attempt), {
    ...{ isWatched, standing },
    kinds: ["tool.completed", "request.resolved"],
  });
  const known = { isOpen: standing === "open", isSure: since === "exact" };
  const requests = requestNodes(events, running, known);
  return {
    execution_generation: generation,
    started: started === undefined ? null : startOf(started),
    settled: settled === undefined ? null : endOf(settled),
    is_watched: isWatched,
    activity: { ...figuresOf(coverage), certainty: sure(...coverage.missing.keys()) },
    tools: {
      certainty: sure("tool.started", "tool.completed"),
      list: toolNodes(events, running, { ...known, requests }),
    },
    requests: { certainty: sure("request.opened", "request.resolved"), list: requests },
    text: textOf(attempt, settled),
    reasoning: reasoningOf(events, sure),
    errors: { certainty: sure("turn.error"), list: events.flatMap(errorNode) },
  };
}

/** Where an event stands in its attempt: a gap before what follows it. */
function placeOf(event: ActivityEvent): number {
  return event.kind === "gap" ? (event.payload.first_n ?? 0) : (event.n ?? Infinity);
}

function startOf({ seq, created_at, payload }: LogRow & { kind: "turn.started" }): AttemptNode["started"] {
  return { row_seq: seq, at: created_at, cause: payload.cause, origin: payload.origin };
}

function endOf({ seq, created_at, payload }: LogRow & { kind: "turn.settled" }): AttemptEnd {
  const { text: _text, truncated: _truncated, ...end } = payload;
  return { row_seq: seq, at: created_at, ...end, may_have_run: end.status === "abandoned" };
}

function figuresOf({ missing: _missing, ...figures }: Coverage): Omit<Coverage, "missing"> {
  return figures;
}

/** An attempt whose host died has no final text: what was streamed is all there may be. */
function textOf(attempt: Attempt, settled: (LogRow & { kind: "turn.settled" }) | undefined): TextNode {
  if (settled === undefined || attempt.standing === "abandoned") return streamOf(attempt);
  const { text, truncated } = settled.payload;
  const pieces = text === "" ? [] : [text];
  return { source: "row", pieces, missing_units: 0, truncated, certainty: truncated ? "at_least" : "exact" };
}

function streamOf(attempt: Attempt): TextNode {
  const { events, running, isWatched, standing } = attempt;
  const deltas = events.filter((event) => event.kind === "message.delta");
  const start =
    running === undefined ? undefined : { text: running.text, offset: running.offset ?? running.text.length };
  const text = streamedText(
    deltas.map(({ payload }) => payload),
    start,
  );
  // Offsets tell what is missing before the last delta that was seen; only what came behind it may be missing unnoticed.
  const last = deltas.at(-1)?.n ?? running?.n ?? 0;
  const behind = certaintyOf(coverageAfter(last, attempt), { kinds: ["message.delta"], isWatched, standing });
  const certainty = text.missing_units > 0 ? "at_least" : behind;
  return { source: "stream", ...text, truncated: false, certainty };
}

/** What is known of the numbers behind `n`; those up to it count as seen. */
function coverageAfter(n: number, { events, lastN, ends }: Attempt): Coverage {
  const before = n === 0 ? [] : [{ first: 1, last: n }];
  return coverageOf(
    events.filter((event) => placeOf(event) >= n),
    { lastN, known: [...ends, ...before] },
  );
}

type Sure = (...kinds: readonly string[]) => Certainty;

function reasoningOf(events: readonly ActivityEvent[], sure: Sure): AttemptNode["reasoning"] {
  const deltas = events.flatMap((event) => (event.kind === "reasoning.delta" ? [event.payload] : []));
  const withheld = events.reduce((sum, event) => sum + (event.kind === "gap" ? event.payload.withheld : 0), 0);
  const text = streamedText(deltas);
  return { source: "stream", ...text, truncated: false, certainty: sure("reasoning.delta"), withheld };
}

function errorNode(event: ActivityEvent): AttemptNode["errors"]["list"] {
  if (event.kind !== "turn.error") return [];
  const { message, reason = null } = event.payload;
  return [{ n: event.n, message, reason }];
}

/** Of the first start at hand: a retry is asked the same. */
function inputOf(own: readonly LogRow[], rows: readonly LogRow[]): readonly InputNode[] | null {
  const started = own.find((row) => row.kind === "turn.started");
  if (started === undefined) return null;
  const bySeq = new Map(rows.flatMap((row) => (row.room_id === started.room_id ? [[row.seq, row] as const] : [])));
  return started.payload.input.map((item) => inputNode(item, bySeq));
}

function inputNode(item: InputItem, bySeq: ReadonlyMap<number, LogRow>): InputNode {
  if ("text" in item) return { ...shown(item), row_seq: null };
  const row = bySeq.get(item.row_seq);
  const message_id = "message_id" in item ? item.message_id : null;
  const unknown = { message_id, row_seq: item.row_seq, author: null, text: null };
  if (row === undefined) return unknown;
  if (row.kind === "turn.settled") return { ...unknown, author: row.member_id, text: row.payload.text };
  const post = row.payload.input.find((each) => "text" in each && each.message_id === message_id);
  return post !== undefined && "text" in post ? { ...shown(post), row_seq: item.row_seq } : unknown;
}

function shown({
  message_id,
  author,
  text,
}: Extract<InputItem, { readonly text: string }>): Omit<InputNode, "row_seq"> {
  return { message_id, author: author.display_name ?? author.id, text };
}
