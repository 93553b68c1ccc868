import type { ActivityEvent, EventOf, RequestOutcomeWord, ToolOutcome } from "../../../core/index.ts";
import type { RunningAttempt } from "../../client/index.ts";

/** `end_not_seen`: it may be over, and how it ended is not known here. */
export type CallState = "open" | "ended" | "end_not_seen";

/** One tool call. */
export interface ToolNode {
  readonly tool_id: string;
  /** null when only a later event of it was seen that does not say it. */
  readonly name: string | null;
  readonly state: CallState;
  /** `unknown` when it ended and nobody said how; null when its end was not seen. */
  readonly outcome: ToolOutcome | null;
  /** null when nobody said it. */
  readonly duration_ms: number | null;
  readonly args?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly summary?: unknown;
  /** What was said of the risks of its output. */
  readonly risks: readonly unknown[];
  /** Numbers of its start and its end; null when they were not seen. */
  readonly first_n: number | null;
  readonly last_n: number | null;
  readonly requests: readonly RequestNode[];
}

/** One question that waited for a person. */
export interface RequestNode {
  /** `srq-` and 12 hex. */
  readonly id: string;
  readonly method: string | null;
  readonly tool_id: string | null;
  /** What was asked; null when it is withheld, or was not seen. */
  readonly asked: string | null;
  readonly state: CallState;
  readonly outcome: RequestOutcomeWord | null;
  readonly choice: string | null;
  readonly reason: string | null;
  /** The connection that answered; null when the host did (a policy, an expiry, an end), or nobody knows. */
  readonly by: string | null;
  readonly first_n: number | null;
  readonly last_n: number | null;
}

interface Known {
  /** The attempt has not settled, as far as the rows at hand say. */
  readonly isOpen: boolean;
  /** No end passed unseen. */
  readonly isSure: boolean;
}

/** The tool calls that events tell of, in the order in which they were first seen. Pure. */
export function toolNodes(
  events: readonly ActivityEvent[],
  running: RunningAttempt | undefined,
  known: Known & { readonly requests: readonly RequestNode[] },
): readonly ToolNode[] {
  const tools = new Map<string, ToolNode>();
  const change = (tool_id: string, changes: Partial<ToolNode>): void => {
    const before = tools.get(tool_id) ?? { ...unseenTool, tool_id };
    tools.set(tool_id, { ...before, ...changes });
  };
  for (const { tool_id, name } of (running?.tools ?? []) as readonly { tool_id: string; name: string }[]) {
    change(tool_id, { name });
  }
  for (const event of events) {
    if (event.kind === "tool.started") {
      const { tool_id, name, args } = event.payload;
      change(tool_id, { name, first_n: event.n, ...(args === undefined ? {} : { args }) });
    } else if (event.kind === "tool.completed") change(event.payload.tool_id, endOfTool(event));
    else if (event.kind === "tool.output_risk") {
      const { tool_id, name, ...risk } = event.payload;
      change(tool_id, { name, risks: [...(tools.get(tool_id)?.risks ?? []), risk] });
    }
  }
  return [...tools.values()].map((tool) => ({
    ...tool,
    state: tool.outcome === null ? openState(known) : "ended",
    requests: known.requests.filter(({ tool_id }) => tool_id === tool.tool_id),
  }));
}

const unseenTool = {
  name: null,
  state: "end_not_seen",
  outcome: null,
  duration_ms: null,
  risks: [],
  first_n: null,
  last_n: null,
  requests: [],
} as const satisfies Omit<ToolNode, "tool_id">;

function endOfTool({ n, payload }: EventOf<"tool.completed">): Partial<ToolNode> {
  const { name, outcome, duration_ms = null, result, error, summary } = payload;
  const said = Object.entries({ result, error, summary }).filter(([, value]) => value !== undefined);
  return { name, outcome, duration_ms, last_n: n, ...Object.fromEntries(said) };
}

/** The requests that events tell of, in the order in which they were first seen. Pure. */
export function requestNodes(
  events: readonly ActivityEvent[],
  running: RunningAttempt | undefined,
  known: Known,
): readonly RequestNode[] {
  const requests = new Map<string, RequestNode>();
  const change = (id: string, changes: Partial<RequestNode>): void => {
    requests.set(id, { ...(requests.get(id) ?? { ...unseenRequest, id }), ...changes });
  };
  for (const request of running?.open_requests ?? []) {
    // A server says ids; who may see more is told it by the state of the room, whose entry may stand here.
    if (typeof request === "string") change(request, {});
    else if (typeof request["id"] === "string") change(request["id"], openedBy(request as unknown as Opened));
  }
  for (const event of events) {
    if (event.kind === "request.opened") {
      change(event.payload.id, { ...openedBy(event.payload), first_n: event.n });
    } else if (event.kind === "request.resolved") {
      const { id, method, outcome, choice = null, reason = null, by } = event.payload;
      change(id, { method, outcome, choice, reason, by: by?.origin ?? null, last_n: event.n });
    }
  }
  return [...requests.values()].map((request) => ({
    ...request,
    state: request.outcome === null ? openState(known) : "ended",
  }));
}

const unseenRequest = {
  method: null,
  tool_id: null,
  asked: null,
  state: "end_not_seen",
  outcome: null,
  choice: null,
  reason: null,
  by: null,
  first_n: null,
  last_n: null,
} as const satisfies Omit<RequestNode, "id">;

type Opened = EventOf<"request.opened">["payload"];

function openedBy(payload: Opened): Pick<RequestNode, "method" | "tool_id" | "asked"> {
  return { method: payload.method, tool_id: payload.tool_id ?? null, asked: askedBy(payload) };
}

function askedBy(payload: Opened): string | null {
  const { command, description, question, prompt, env_var, questions } = payload;
  const said = [command, description, question, prompt, env_var].filter((text) => text !== undefined && text !== "");
  if (said.length > 0) return said.join("; ");
  return questions === undefined ? null : JSON.stringify(questions);
}

function openState({ isOpen, isSure }: Known): CallState {
  return isOpen && isSure ? "open" : "end_not_seen";
}
