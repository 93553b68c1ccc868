import type { ActivityEvent, ActivityKind, ActivityPayloads } from "./activity.ts";
import type { ActivitySink } from "./activity-sink.ts";
import { kindNumber, type Attempt } from "./attempt.ts";
import { cleanPayload, cleanText, type Cleaned } from "./clean.ts";
import type { Clock } from "./clock.ts";
import { envelopeBytes, estimateBytes, fitPayload } from "./cut.ts";
import { deltaAt, type DeltaStream } from "./delta-stream.ts";
import { withoutEcho } from "./echo.ts";
import type { Report } from "./errors.ts";
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

  /** Hands every frame that leaves, numbered, to `sink`; undone by what it returns. */
  addFrameSink(sink: FrameSink): () => void {
    return this.#sinks.add(sink);
  }

  /**
   * Puts a frame out. Room activity comes only from frames that are written for an attempt, and only while it is open:
   * a frame is never taken for another turn's (I2). Frames without an attempt are numbered in their session and pass.
   */
  writeJson(frame: Frame, attempt?: Attempt): WriteResult {
    try {
      if (attempt === undefined) return this.#writeOutside(frame);
      if (attempt.sealed) return this.refuse("late_frame");
      const named = frame.params.session_id;
      const session = attempt.session;
      const isNamed = named === session.runtimeId || this.#sessions.byRuntimeId(named ?? "") === session;
      if (!isNamed) return this.refuse("unknown_session");
      if ("id" in frame) return this.#writeRequest(frame, attempt);
      const { type, payload } = frame.params;
      switch (type) {
        case "message.delta":
          return this.#writeDelta(attempt, attempt.message, messageDelta, payload);
        case "reasoning.delta":
          return this.#writeDelta(attempt, attempt.reasoning, reasoningDelta, payload);
        case "tool.start":
        case "tool.complete":
          return this.#writeTool(attempt, type, payload);
        default:
          return this.#writeOther(attempt, type, payload);
      }
    } catch (fault) {
      // Every field of a frame is read before anything is numbered, so one that throws had no effect.
      return this.#refusals.countFault(fault);
    }
  }

  /** Lets out the text that is held back: text never moves across a frame that is no delta. */
  flush(attempt: Attempt): void {
    this.#release(attempt, attempt.message, messageDelta, attempt.message.flush());
    this.#release(attempt, attempt.reasoning, reasoningDelta, attempt.reasoning.flush());
  }

  /** Numbers and publishes an event that is no frame: the turn's own, and the outcome of a request. */
  publish<Kind extends ActivityKind>(
    attempt: Attempt,
    kind: Kind,
    payload: ActivityPayloads[Kind],
    options: { readonly seq?: number; readonly numbered?: boolean; readonly bytes: number },
  ): void {
    const index = kindNumber(kind);
    const n = options.numbered === false ? null : attempt.count(index);
    if (!this.#activity.listening) return;
    const { payload: cut, truncated, bytes } = fitPayload(payload as JsonObject, options.bytes);
    const event = {
      v: 1,
      coordinates: attempt.coordinates,
      kind,
      n,
      seq: options.seq ?? null,
      at: this.#time.now(),
      payload: cut ?? payload,
      ...(truncated === undefined ? {} : { truncated }),
    } as ActivityEvent;
    this.#activity.push(event, attempt, index, envelopeBytes + bytes);
  }

  /** Opens a call that is first heard of in a question. Without effect on one that is known. */
  mentionTool(attempt: Attempt, toolId: string, name: unknown): void {
    if (!attempt.sealed && attempt.tool(toolId) === "unknown") this.#openTool(attempt, toolId, name);
  }

  /** Ends an open call in the host's name: `interrupted` at the end of the attempt, `denied` after a refusal. */
  endTool(attempt: Attempt, toolId: string, outcome: "interrupted" | "denied" | "timeout"): void {
    if (attempt.tool(toolId) !== "open") return;
    this.#completeTool(attempt, toolId, { payload: { tool_id: toolId, outcome }, bytes: 64 + toolId.length });
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

  /** Counts a frame that had no effect. */
  refuse(reason: Refusal): Refusal {
    return this.#refusals.count(reason);
  }

  #writeDelta(attempt: Attempt, stream: DeltaStream, kind: number, payload: JsonObject | undefined): WriteResult {
    const piece = payload?.["text"];
    if (typeof piece !== "string") return this.refuse("invalid_frame");
    const text = stream.push(piece);
    if (text === "") return "held";
    this.#release(attempt, stream, kind, text);
    return "written";
  }

  #release(attempt: Attempt, stream: DeltaStream, kind: number, text: string): void {
    for (let at = 0; at < text.length;) {
      const part = deltaAt(text, at);
      at += part.length;
      const offset = stream.units;
      stream.release(part);
      const seq = ++attempt.session.seq;
      const n = attempt.count(kind);
      if (!this.#sinks.isEmpty) this.#sinks.event(attempt.session, deltaKind(kind), seq, { text: part });
      if (!this.#activity.listening) continue;
      this.#activity.push(
        {
          v: 1,
          coordinates: attempt.coordinates,
          kind: deltaKind(kind),
          n,
          seq,
          at: this.#time.now(),
          payload: { text: part, offset },
        },
        attempt,
        kind,
        envelopeBytes + part.length,
      );
    }
  }

  #writeTool(attempt: Attempt, type: "tool.start" | "tool.complete", payload: unknown): WriteResult {
    const cleaned = this.clean(payload ?? {});
    const toolId = toolIdOf(cleaned.payload);
    if (toolId === undefined) return this.refuse("invalid_frame");
    const state = attempt.tool(toolId);
    if (type === "tool.start") {
      return state === "unknown" ? this.#startTool(attempt, toolId, cleaned) : this.refuse("duplicate_start");
    }
    if (state === "ended") return this.refuse("duplicate_end");
    if (state === "unknown" && !this.#openTool(attempt, toolId, cleaned.payload["name"])) {
      return this.refuse("invalid_frame");
    }
    return this.#completeTool(attempt, toolId, cleaned);
  }

  /** Opens a call that is first heard of in something else than its start. False at the bound of open calls. */
  #openTool(attempt: Attempt, toolId: string, name: unknown): boolean {
    const payload = { tool_id: toolId, name: nameOf({ name }, toolId) };
    return this.#startTool(attempt, toolId, { payload, bytes: estimateBytes(payload) }) === "written";
  }

  #startTool(attempt: Attempt, toolId: string, cleaned: Omit<Cleaned, "problem">): WriteResult {
    const name = nameOf(cleaned.payload, toolId);
    if (!attempt.openTool({ tool_id: toolId, name, startedAt: this.#clock.monotonic() })) {
      return this.refuse("invalid_frame");
    }
    this.flush(attempt);
    const seq = ++attempt.session.seq;
    this.#sinks.event(attempt.session, "tool.start", seq, cleaned.payload);
    this.publish(attempt, "tool.started", toolStarted(cleaned.payload, name), { seq, bytes: cleaned.bytes });
    return "written";
  }

  #completeTool(attempt: Attempt, toolId: string, cleaned: Omit<Cleaned, "problem">): WriteResult {
    const tool = attempt.endTool(toolId);
    if (tool === undefined) return this.refuse("duplicate_end");
    this.flush(attempt);
    const payload = toolCompleted(cleaned.payload, tool, this.#clock.monotonic());
    const seq = ++attempt.session.seq;
    if (!this.#sinks.isEmpty) {
      this.#sinks.event(attempt.session, "tool.complete", seq, {
        ...cleaned.payload,
        name: payload.name,
        outcome: payload.outcome,
      });
    }
    this.publish(attempt, "tool.completed", payload, { seq, bytes: cleaned.bytes });
    return "written";
  }

  #writeOther(attempt: Attempt, type: string, payload: unknown): WriteResult {
    if (typeof type !== "string" || type === "") return this.refuse("invalid_frame");
    const stamped = isStampedType(type);
    const cleaned = stamped || !this.#sinks.isEmpty ? this.clean(payload ?? {}) : null;
    this.flush(attempt);
    const toolId = type === "tool.output_risk" ? toolIdOf(cleaned?.payload) : undefined;
    if (toolId !== undefined && attempt.tool(toolId) === "unknown") {
      this.#openTool(attempt, toolId, cleaned?.payload["name"]);
    }
    const seq = ++attempt.session.seq;
    if (cleaned === null) return "written";
    const told =
      type === "error" ? withoutEcho(cleaned.payload, (text) => attempt.repeatsReasoning(text)) : cleaned.payload;
    const word = stamped ? type : cleanText(type, this.#redactor);
    this.#sinks.event(attempt.session, word, seq, payload === undefined ? undefined : told);
    if (stamped) {
      const { kind, payload: select } = stampTable[type];
      this.publish(attempt, kind, select(told), { seq, bytes: cleaned.bytes });
    }
    return "written";
  }

  #writeRequest(frame: RequestFrame, attempt: Attempt): WriteResult {
    const cleaned = this.clean(frame.params);
    const clean = {
      ...frame,
      method: this.word(frame.method),
      params: { ...cleaned.payload, session_id: attempt.session.runtimeId },
    };
    const toolId = toolIdOf(clean.params);
    this.flush(attempt);
    if (toolId !== undefined && attempt.tool(toolId) === "unknown") {
      this.#openTool(attempt, toolId, cleaned.payload["tool_name"]);
    }
    this.#sinks.request(attempt.session, clean);
    const expiresAt = typeof cleaned.payload["expires_at"] === "number" ? cleaned.payload["expires_at"] : null;
    this.publish(attempt, "request.opened", requestOpened(clean, expiresAt), { bytes: cleaned.bytes });
    return "written";
  }

  /** A frame of no attempt: the host's own, or of a session outside rooms. It is numbered and passes. */
  #writeOutside(frame: Frame): WriteResult {
    const named = frame.params.session_id;
    const session = named === undefined ? null : this.#sessions.byRuntimeId(named);
    if (session === undefined) return this.refuse("unknown_session");
    if ("id" in frame) {
      if (this.#sinks.isEmpty) return "written";
      const params = { ...this.clean(frame.params).payload, session_id: frame.params.session_id };
      this.#sinks.request(session, { ...frame, method: this.word(frame.method), params });
      return "written";
    }
    const { type, payload } = frame.params;
    if (typeof type !== "string" || type === "") return this.refuse("invalid_frame");
    if (session !== null) session.seq++;
    if (this.#sinks.isEmpty) return "written";
    const cleaned = payload === undefined ? undefined : this.clean(payload).payload;
    this.#sinks.event(session, cleanText(type, this.#redactor), session?.seq, cleaned);
    return "written";
  }
}

function deltaKind(kind: number): "message.delta" | "reasoning.delta" {
  return kind === messageDelta ? "message.delta" : "reasoning.delta";
}
