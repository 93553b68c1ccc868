import { cutUnits, limits, requestScope, utf8Length, type TruncatedField } from "../../core/index.ts";
import type { BoardTurn, RequestCard, ToolCard } from "./board.ts";
import type { BoardBounds } from "./bounds.ts";
import type { BoardEvent } from "./read-event.ts";

type EventOf<Kind extends BoardEvent["kind"]> = Extract<BoardEvent, { readonly kind: Kind }>;

/** The turn with the card of a tool that an event tells of. Pure. */
export function withTool(
  turn: BoardTurn,
  event: EventOf<"tool.started" | "tool.completed" | "tool.output_risk">,
  bounds: BoardBounds,
): BoardTurn {
  if (event.kind === "tool.started") return withNewTool(turn, startedCard(event), bounds);
  const { tool_id } = event.payload;
  const at = turn.tools.findLastIndex(
    (card) => card.tool_id === tool_id && (event.kind === "tool.output_risk" || card.state === "running"),
  );
  const card = turn.tools[at];
  if (card !== undefined) return { ...turn, tools: turn.tools.with(at, changedCard(card, event)) };
  if (event.kind === "tool.completed" && turn.forgotten.open_tools > 0) {
    // The end of a call whose card is here no more: it is counted already.
    const forgotten = { ...turn.forgotten, open_tools: turn.forgotten.open_tools - 1 };
    return { ...turn, forgotten };
  }
  if (event.kind === "tool.output_risk" && turn.forgotten.tools > 0) return turn;
  // Its start was lost, or passed before anybody looked.
  return withNewTool(turn, changedCard(unseenCard(tool_id, event.payload.name), event), bounds);
}

function startedCard({ payload, at, truncated }: EventOf<"tool.started">): ToolCard {
  return { ...blank, ...payload, started_at: at, truncated };
}

/** A card of a call of which only the name is known. */
export function unseenCard(tool_id: string, name: string): ToolCard {
  return { ...blank, tool_id, name, state: "lost" };
}

/** A card of a call that runs since before anybody looked. */
export function runningCard(tool: {
  readonly tool_id: string;
  readonly name: string;
  readonly since: number;
}): ToolCard {
  return { ...blank, tool_id: tool.tool_id, name: tool.name, started_at: tool.since };
}

const blank: Omit<ToolCard, "tool_id" | "name"> = {
  state: "running",
  started_at: null,
  ended_at: null,
  duration_ms: null,
  outcome: null,
  truncated: [],
};

function changedCard(card: ToolCard, event: EventOf<"tool.completed" | "tool.output_risk">): ToolCard {
  // What is found in an output may be told again.
  const earlier = card.truncated.filter(({ field }) => !event.truncated.some((each) => each.field === field));
  const truncated = [...earlier, ...event.truncated];
  if (event.kind === "tool.output_risk") return { ...card, risk: event.payload.risk ?? null, truncated };
  const { outcome, duration_ms = null, result, summary, error } = event.payload;
  const said = {
    ...(result === undefined ? {} : { result }),
    ...(summary === undefined ? {} : { summary }),
    ...(error === undefined ? {} : { error }),
  };
  return { ...card, ...said, state: "ended", outcome, duration_ms, ended_at: event.at, truncated };
}

/** The turn with one more card; above the bound the oldest that has ended goes. */
export function withNewTool(turn: BoardTurn, card: ToolCard, { maxCards }: BoardBounds): BoardTurn {
  const tools = [...turn.tools, card];
  if (tools.length <= maxCards) return { ...turn, tools };
  const ended = tools.findIndex(({ state }) => state !== "running");
  const gone = Math.max(0, ended);
  const open = tools[gone]?.state === "running" ? 1 : 0;
  const { forgotten } = turn;
  return {
    ...turn,
    tools: tools.toSpliced(gone, 1),
    forgotten: { ...forgotten, tools: forgotten.tools + 1, open_tools: forgotten.open_tools + open },
  };
}

/** The turn with the request that an event tells of. Pure. */
export function withRequest(
  turn: BoardTurn,
  event: EventOf<"request.opened" | "request.resolved">,
  bounds: BoardBounds,
): BoardTurn {
  const at = turn.requests.findIndex(({ id }) => id === event.payload.id);
  const card = turn.requests[at];
  if (event.kind === "request.opened") {
    if (card !== undefined) return turn;
    return withNewRequest(turn, openCard(event.payload, event.at, event.truncated), bounds);
  }
  const { outcome, choice, reason, by } = event.payload;
  const how: Partial<RequestCard> = {
    ...(choice === undefined ? {} : { choice }),
    ...(reason === undefined ? {} : { reason }),
    ...{ state: "resolved", outcome, by: by === null ? null : { origin: by.origin }, resolved_at: event.at },
  };
  if (card !== undefined) {
    // What was asked had to be whole to be answered; now its beginning will do.
    const known = cutTexts({ ...card, ...how }, bounds.maxNoteUnits, bounds.maxNoteUnits);
    return { ...turn, requests: turn.requests.with(at, known) };
  }
  if (turn.forgotten.requests > 0) return turn;
  const { id, request_id, method } = event.payload;
  return withNewRequest(turn, { ...openCard({ id, request_id, method, expires_at: null }, null, []), ...how }, bounds);
}

/** The card of a request that waits. */
export function openCard(
  asked: EventOf<"request.opened">["payload"],
  openedAt: number | null,
  truncated: RequestCard["truncated"],
): RequestCard {
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  const card: RequestCard = {
    ...(given as typeof asked),
    scope: requestScope(asked.method),
    state: "open",
    is_withheld: asked.method === "approval" && asked.choices === undefined,
    opened_at: openedAt,
    resolved_at: null,
    outcome: null,
    by: null,
    truncated,
  };
  return cutTexts(card, limits.maxApprovalTextUnits, limits.maxToolIdUnits * 32);
}

/** The card with its texts cut: those of an approval, and those of any other question. */
function cutTexts(card: RequestCard, approvalUnits: number, questionUnits: number): RequestCard {
  const bounds = { command: approvalUnits, description: approvalUnits, question: questionUnits, prompt: questionUnits };
  const cut: { -readonly [Field in keyof typeof bounds]?: string } = {};
  const truncated: TruncatedField[] = [];
  for (const field of Object.keys(bounds) as (keyof typeof bounds)[]) {
    const text = card[field];
    if (text === undefined || text.length <= bounds[field]) continue;
    cut[field] = cutUnits(text, bounds[field]);
    if (!card.truncated.some((each) => each.field === field)) truncated.push({ field, bytes: utf8Length(text) });
  }
  return truncated.length === 0 && Object.keys(cut).length === 0
    ? card
    : { ...card, ...cut, truncated: [...card.truncated, ...truncated] };
}

/** The turn with one more request; above the bound the oldest that is resolved goes. */
export function withNewRequest(turn: BoardTurn, card: RequestCard, { maxRequests }: BoardBounds): BoardTurn {
  const requests = [...turn.requests, card];
  if (requests.length <= maxRequests) return { ...turn, requests };
  const resolved = requests.findIndex(({ state }) => state !== "open");
  const forgotten = { ...turn.forgotten, requests: turn.forgotten.requests + 1 };
  return { ...turn, requests: requests.toSpliced(Math.max(0, resolved), 1), forgotten };
}

/** The turn is over: what still runs or waits on it has ended, and nobody told how. */
export function withLostEnds(turn: BoardTurn): BoardTurn {
  const tools = turn.tools.map((card) => (card.state === "running" ? { ...card, state: "lost" as const } : card));
  const requests = turn.requests.map((card) => (card.state === "open" ? { ...card, state: "lost" as const } : card));
  return { ...turn, tools, requests };
}
