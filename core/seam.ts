import type { ActivityEvent, ActivityKind, ActivityPayloads } from "./activity.ts";
import type { ActivitySink } from "./activity-sink.ts";
import { Attempt, kindNumber } from "./attempt.ts";
import { cleanPayload, cleanText, type Cleaned } from "./clean.ts";
import type { Clock } from "./clock.ts";
import { envelopeBytes, estimateBytes, fitPayload } from "./cut.ts";
import { deltaAt, type DeltaStream } from "./delta-stream.ts";
import { withoutEcho } from "./echo.ts";
import type { Report } from "./errors.ts";
import type { Execution } from "./execution.ts";
import { FrameSinks, type FrameSink } from "./frame-sinks.ts";
import type { Frame, JsonObject, RequestFrame } from "./frames.ts";
import { limits } from "./options.ts";
import type { Redactor } from "./redact.ts";
import { Refusals, type Refusal } from "./refusals.ts";
import type { WriteResult } from "./runner.ts";
import type { SessionRegistry } from "./sessions.ts";
import { isStampedType, nameOf, requestOpened, stampTable, toolCompleted, toolIdOf, toolStarted } from "./stamp.ts";
import { TickTime } from "./tick-time.ts";
import { cutUnits } from "./utf8.ts";

const messageDelta = kindNumber("message.delta");
const reasoningDelta = kindNumber("reasoning.delta");

/**
 * The one door every frame leaves by (I1): redact, number, stamp, hand on. It never throws at its caller, never waits and
 * runs no plugin code, so its cost does not depend on who listens or how slow they are (I5).
 */
export class Seam {
  readonly #clock: Clock;
  readonly #sessions: SessionRegistry;
  readonly #redactor: Redactor;
  readonly #activity: ActivitySink;
  readonly #sinks: FrameSinks;
  readonly #refusals: Refusals;
  readonly #time: TickTime;
  #unserialisable = 0;

  constructor(parts: {
    readonly clock: Clock;
    readonly sessions: SessionRegistry;
    readonly redactor: Redactor;
    readonly activity: ActivitySink;
    readonly report: Report;
  }) {
    this.#clock = parts.clock;
    this.#sessions = parts.sessions;
    this.#redactor = parts.redactor;
    this.#activity = parts.activity;
    this.#sinks = new FrameSinks(parts.report);
    this.#refusals = new Refusals(parts.report);
    this.#time = new TickTime(parts.clock);
  }

  /** Frames refused so far, by reason: `late_frame`, `unknown_session`, ... */
  refused(reason: Refusal): number {
    return this.#refusals.of(reason);
  }

  /** Payloads that were no JSON and left as `{"unserialisable": true}`. */
  get unserialisable(): number {
    return this.#unserialisable;
  }

  /**
   * Hands every frame that leaves, numbered, to `sink`; undone by what it returns.
   * @param options.hidden false: not those of hidden sessions, which are not built then. Default true
   */
  addFrameSink(sink: FrameSink, options: { readonly hidden?: boolean } = {}): () => void {
    return this.#sinks.add(sink, { hidden: options.hidden ?? true });
  }

  /**
   * Puts a frame out. Room activity comes only from frames that are written for an attempt, and only while it is open:
   * a frame is never taken for another turn's (I2). Frames without an execution are numbered in their session and pass.
   * @param expiresAt of a request, wall ms; observers are told, clients are not
   */
  writeJson(frame: Frame, execution?: Execution, expiresAt: number | null = null): WriteResult {
    try {
      if (execution === undefined) return this.#writeOutside(frame);
      if (execution.sealed) return this.refuse("late_frame");
      const named = frame.params.session_id;
      const session = execution.session;
      const isNamed = named === session.runtimeId || this.#sessions.byRuntimeId(named ?? "") === session;
      if (!isNamed) return this.refuse("unknown_session");
      if ("id" in frame) return this.#writeRequest(frame, execution, expiresAt);
      const { type, payload } = frame.params;
      switch (type) {
        case "message.delta":
          return this.#writeDelta(execution, execution.message, messageDelta, payload);
        case "reasoning.delta":
          return this.#writeDelta(execution, execution.reasoning, reasoningDelta, payload);
        case "tool.start":
        case "tool.complete":
          return this.#writeTool(execution, type, payload);
        default:
          return this.#writeOther(execution, type, payload);
      }
    } catch (fault) {
      // Every field of a frame is read before anything is numbered, so one that throws had no effect.
      return this.#refusals.countFault(fault);
    }
  }

  /** Lets out the text that is held back: text never moves across a frame that is no delta. */
  flush(execution: Execution): void {
    this.#release(execution, execution.message, messageDelta, execution.message.flush());
    this.#release(execution, execution.reasoning, reasoningDelta, execution.reasoning.flush());
  }

  /** Numbers and publishes an event that is no frame: the turn's own, and the outcome of a request. */
  publish<Kind extends ActivityKind>(
    execution: Execution,
    kind: Kind,
    payload: ActivityPayloads[Kind],
    options: { readonly seq?: number; readonly numbered?: boolean; readonly bytes: number },
  ): void {
    if (!(execution instanceof Attempt)) return;
    const index = kindNumber(kind);
    const n = options.numbered === false ? null : execution.count(index);
    if (!this.#activity.listening) return;
    const { payload: cut, truncated, bytes } = fitPayload(payload as JsonObject, options.bytes);
    const event = {
      v: 1,
      coordinates: execution.coordinates,
      kind,
      n,
      seq: options.seq ?? null,
      at: this.#time.now(),
      payload: cut ?? payload,
      ...(truncated === undefined ? {} : { truncated }),
    } as ActivityEvent;
    this.#activity.push(event, execution, index, envelopeBytes + bytes);
  }

  /** Opens a call that is first heard of in a question. Without effect on one that is known. */
  mentionTool(execution: Execution, toolId: string, name: unknown): void {
    if (!execution.sealed && execution.tool(toolId) === "unknown") this.#openTool(execution, toolId, name);
  }

  /** Ends an open call in the host's name: `interrupted` at the end of the turn, `denied` after a refusal. */
  endTool(execution: Execution, toolId: string, outcome: "interrupted" | "denied" | "timeout"): void {
    if (execution.tool(toolId) !== "open") return;
    this.#completeTool(execution, toolId, { payload: { tool_id: toolId, outcome }, bytes: 64 + toolId.length });
  }

  /** A payload as it may leave: JSON, without secrets, shared with nobody. What is no JSON is counted. */
  clean(payload: unknown): Cleaned {
    const cleaned = cleanPayload(payload, this.#redactor);
    if (cleaned.problem !== null) this.#unserialisable++;
    return cleaned;
  }

  /** A word that names what is asked, as it may leave: without secrets, and of 512 UTF-16 units at most. */
  word(text: unknown): string {
    return typeof text === "string" ? cutUnits(cleanText(text, this.#redactor), limits.maxToolIdUnits) : "";
  }

  /** The last frame of a sealed execution, once: what its session emits afterwards is no turn's. */
  complete(execution: Execution, payload: JsonObject): WriteResult {
    if (!execution.sealed || execution.settled) return this.refuse("late_frame");
    execution.settled = true;
    const { session } = execution;
    const seq = ++session.seq;
    if (this.#sinks.takes(session)) {
      this.#sinks.event(session, execution.mark, "message.complete", seq, this.clean(payload).payload);
    }
    if (session.running === execution) session.running = null;
    return "written";
  }

  /** Counts a frame that had no effect. */
  refuse(reason: Refusal): Refusal {
    return this.#refusals.count(reason);
  }

  #writeDelta(execution: Execution, stream: DeltaStream, kind: number, payload: JsonObject | undefined): WriteResult {
    const piece = payload?.["text"];
    if (typeof piece !== "string") return this.refuse("invalid_frame");
    const text = stream.push(piece);
    if (text === "") return "held";
    this.#release(execution, stream, kind, text);
    return "written";
  }

  #release(execution: Execution, stream: DeltaStream, kind: number, text: string): void {
    for (let at = 0; at < text.length;) {
      const part = deltaAt(text, at);
      at += part.length;
      const offset = stream.units;
      stream.release(part);
      const seq = ++execution.session.seq;
      const n = execution instanceof Attempt ? execution.count(kind) : 0;
      if (this.#sinks.takes(execution.session))
        this.#sinks.event(execution.session, execution.mark, deltaKind(kind), seq, { text: part });
      if (!this.#activity.listening || !(execution instanceof Attempt)) continue;
      this.#activity.push(
        {
          v: 1,
          coordinates: execution.coordinates,
          kind: deltaKind(kind),
          n,
          seq,
          at: this.#time.now(),
          payload: { text: part, offset },
        },
        execution,
        kind,
        envelopeBytes + part.length,
      );
    }
  }

  #writeTool(execution: Execution, type: "tool.start" | "tool.complete", payload: unknown): WriteResult {
    const cleaned = this.clean(payload ?? {});
    const toolId = toolIdOf(cleaned.payload);
    if (toolId === undefined) return this.refuse("invalid_frame");
    const state = execution.tool(toolId);
    if (type === "tool.start") {
      return state === "unknown" ? this.#startTool(execution, toolId, cleaned) : this.refuse("duplicate_start");
    }
    if (state === "ended") return this.refuse("duplicate_end");
    if (state === "unknown" && !this.#openTool(execution, toolId, cleaned.payload["name"])) {
      return this.refuse("invalid_frame");
    }
    return this.#completeTool(execution, toolId, cleaned);
  }

  /** Opens a call that is first heard of in something else than its start. False at the bound of open calls. */
  #openTool(execution: Execution, toolId: string, name: unknown): boolean {
    const payload = { tool_id: toolId, name: nameOf({ name }, toolId) };
    return this.#startTool(execution, toolId, { payload, bytes: estimateBytes(payload) }) === "written";
  }

  #startTool(execution: Execution, toolId: string, cleaned: Omit<Cleaned, "problem">): WriteResult {
    const name = nameOf(cleaned.payload, toolId);
    if (!execution.openTool({ tool_id: toolId, name, startedAt: this.#clock.monotonic() })) {
      return this.refuse("invalid_frame");
    }
    this.flush(execution);
    const seq = ++execution.session.seq;
    this.#sinks.event(execution.session, execution.mark, "tool.start", seq, cleaned.payload);
    this.publish(execution, "tool.started", toolStarted(cleaned.payload, name), { seq, bytes: cleaned.bytes });
    return "written";
  }

  #completeTool(execution: Execution, toolId: string, cleaned: Omit<Cleaned, "problem">): WriteResult {
    const tool = execution.endTool(toolId);
    if (tool === undefined) return this.refuse("duplicate_end");
    this.flush(execution);
    const payload = toolCompleted(cleaned.payload, tool, this.#clock.monotonic());
    const seq = ++execution.session.seq;
    if (this.#sinks.takes(execution.session)) {
      this.#sinks.event(execution.session, execution.mark, "tool.complete", seq, {
        ...cleaned.payload,
        name: payload.name,
        outcome: payload.outcome,
      });
    }
    this.publish(execution, "tool.completed", payload, { seq, bytes: cleaned.bytes });
    return "written";
  }

  #writeOther(execution: Execution, type: string, payload: unknown): WriteResult {
    if (typeof type !== "string" || type === "") return this.refuse("invalid_frame");
    const stamped = isStampedType(type);
    const cleaned = stamped || this.#sinks.takes(execution.session) ? this.clean(payload ?? {}) : null;
    this.flush(execution);
    const toolId = type === "tool.output_risk" ? toolIdOf(cleaned?.payload) : undefined;
    if (toolId !== undefined && execution.tool(toolId) === "unknown") {
      this.#openTool(execution, toolId, cleaned?.payload["name"]);
    }
    const seq = ++execution.session.seq;
    if (cleaned === null) return "written";
    const told =
      type === "error" ? withoutEcho(cleaned.payload, (text) => execution.repeatsReasoning(text)) : cleaned.payload;
    const word = stamped ? type : cleanText(type, this.#redactor);
    this.#sinks.event(execution.session, execution.mark, word, seq, payload === undefined ? undefined : told);
    if (stamped) {
      const { kind, payload: select } = stampTable[type];
      this.publish(execution, kind, select(told), { seq, bytes: cleaned.bytes });
    }
    return "written";
  }

  #writeRequest(frame: RequestFrame, execution: Execution, expiresAt: number | null): WriteResult {
    const cleaned = this.clean(frame.params);
    const clean = {
      ...frame,
      method: this.word(frame.method),
      params: { ...cleaned.payload, session_id: execution.session.runtimeId },
    };
    const toolId = toolIdOf(clean.params);
    this.flush(execution);
    if (toolId !== undefined && execution.tool(toolId) === "unknown") {
      this.#openTool(execution, toolId, cleaned.payload["tool_name"]);
    }
    this.#sinks.request(execution.session, clean);
    this.publish(execution, "request.opened", requestOpened(clean, expiresAt), { bytes: cleaned.bytes });
    return "written";
  }

  /** A frame of no execution: the host's own. It is numbered and passes, with the mark of the turn that runs. */
  #writeOutside(frame: Frame): WriteResult {
    const named = frame.params.session_id;
    const session = named === undefined ? null : this.#sessions.byRuntimeId(named);
    if (session === undefined) return this.refuse("unknown_session");
    if ("id" in frame) {
      if (!this.#sinks.takes(session)) return "written";
      const params = { ...this.clean(frame.params).payload, session_id: frame.params.session_id };
      this.#sinks.request(session, { ...frame, method: this.word(frame.method), params });
      return "written";
    }
    const { type, payload } = frame.params;
    if (typeof type !== "string" || type === "") return this.refuse("invalid_frame");
    if (session !== null) session.seq++;
    if (!this.#sinks.takes(session)) return "written";
    const cleaned = payload === undefined ? undefined : this.clean(payload).payload;
    const mark = session?.running?.mark ?? null;
    this.#sinks.event(session, mark, cleanText(type, this.#redactor), session?.seq, cleaned);
    return "written";
  }
}

function deltaKind(kind: number): "message.delta" | "reasoning.delta" {
  return kind === messageDelta ? "message.delta" : "reasoning.delta";
}
