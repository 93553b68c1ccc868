import type { EventOf } from "../../core/index.ts";
import type { Attributes, OtelApi, Span, SpanContext, Tracer } from "./api.ts";
import {
  contentAttribute,
  settledAttributes,
  startedAttributes,
  toolAttributes,
  toolErrorType,
  turnErrorType,
} from "./attributes.ts";

/** What spans are made with. */
export interface SpanParts {
  readonly api: OtelApi;
  readonly tracer: Tracer;
  /** Whether texts are told. */
  readonly content: boolean;
}

interface OpenSpan {
  readonly span: Span;
  /** Wall ms. */
  readonly startedAt: number;
}

/** The spans of one attempt: its own, and those of its tool calls below it. */
export class AttemptSpan {
  readonly #parts: SpanParts;
  readonly #turn: OpenSpan;
  /** By tool id; the core bounds how many one attempt has. */
  readonly #tools = new Map<string, OpenSpan>();
  #lost = 0;

  constructor(turn: OpenSpan, parts: SpanParts) {
    this.#turn = turn;
    this.#parts = parts;
  }

  get context(): SpanContext {
    return this.#turn.span.spanContext();
  }

  started({ payload }: EventOf<"turn.started">): void {
    this.#turn.span.setAttributes(startedAttributes(payload, this.#parts.content));
  }

  toolStarted({ payload, at }: EventOf<"tool.started">): void {
    const content = this.#parts.content ? contentAttribute("gen_ai.tool.call.arguments", payload.args) : {};
    this.#tools.set(payload.tool_id, this.#openTool(payload, at, content));
  }

  /** One whose start nobody told began so long before as it took. */
  toolCompleted({ payload, at }: EventOf<"tool.completed">): void {
    const { tool_id, outcome, duration_ms, result, error } = payload;
    const tool =
      this.#tools.get(tool_id) ?? this.#openTool(payload, at - (duration_ms ?? 0), { "roomtap.start_unknown": true });
    this.#tools.delete(tool_id);
    tool.span.setAttribute("roomtap.tool.outcome", outcome);
    if (this.#parts.content) tool.span.setAttributes(contentAttribute("gen_ai.tool.call.result", result));
    this.#fail(tool.span, toolErrorType(outcome), error);
    endAt(tool, at);
  }

  /** What happened in between, as an event of the turn's span. */
  note(name: string, at: number, attributes: Attributes): void {
    this.#turn.span.addEvent(name, attributes, new Date(at));
  }

  /** So many of its events did not come. */
  lost(events: number): void {
    this.#lost += events;
    this.#turn.span.setAttribute("roomtap.lost_events", this.#lost);
  }

  /** Events were lost, and nobody knows of which attempts. */
  mayLack(): void {
    this.#turn.span.setAttribute("roomtap.may_lack_events", true);
  }

  settled({ payload, at }: EventOf<"turn.settled">): void {
    const { span } = this.#turn;
    span.setAttributes(settledAttributes(payload, this.#parts.content));
    this.#fail(span, turnErrorType(payload), payload.error);
    this.#end(at);
  }

  /** Ends it without its outcome. */
  broken(at: number, why: "interrupted" | "outcome_unknown"): void {
    this.#turn.span.setAttribute(`roomtap.${why}`, true);
    this.#end(at);
  }

  /** The seam ends open tools before their turn: what is open here lost its end. */
  #end(at: number): void {
    for (const tool of this.#tools.values()) {
      tool.span.setAttribute("roomtap.tool.outcome", "unknown");
      endAt(tool, at);
    }
    this.#tools.clear();
    endAt(this.#turn, at);
  }

  #fail(span: Span, type: string | null, message: unknown): void {
    if (type === null) return;
    const { api, content } = this.#parts;
    const told = content && typeof message === "string" ? { message } : {};
    span.setAttribute("error.type", type);
    span.setStatus({ code: api.SpanStatusCode.ERROR, ...told });
  }

  #openTool(tool: { readonly tool_id: string; readonly name: string }, at: number, more: Attributes): OpenSpan {
    const { api, tracer } = this.#parts;
    const attributes = { ...toolAttributes(tool), ...more };
    const below = api.trace.setSpan(api.ROOT_CONTEXT, this.#turn.span);
    const span = tracer.startSpan(`execute_tool ${tool.name}`, { attributes, startTime: new Date(at) }, below);
    return { span, startedAt: at };
  }
}

/** Wall time may step back: no span ends before it began. */
function endAt({ span, startedAt }: OpenSpan, at: number): void {
  span.end(new Date(Math.max(at, startedAt)));
}
