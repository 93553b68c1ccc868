import type { ActivityEvent, ActivityKind, ActivityPayloads } from "./activity.ts";
import { kindIndex, type Attempt } from "./attempt.ts";
import { cleanPayload, type Cleaned } from "./clean.ts";
import type { Clock } from "./clock.ts";
import { cutPayload, envelopeBytes } from "./cut.ts";
import type { DeltaStream } from "./delta-stream.ts";
import type { EventFrame, Frame, JsonObject, RequestFrame } from "./frames.ts";
import { consumerDefaults, limits } from "./options.ts";
import type { Redactor } from "./redact.ts";
import type { WriteResult } from "./runner.ts";
import type { Session, SessionRegistry } from "./sessions.ts";
import { isStampedType, nameOf, requestOpened, stampTable, toolCompleted, toolIdOf, toolStarted } from "./stamp.ts";

/** Where activity goes: the queues of the consumers. It runs no plugin code before it returns (I5). */
export interface ActivitySink {
  /** False: nobody listens, and no event is built. */
  readonly listening: boolean;
  /**
   * @param kind the kind's number in the table of kinds
   * @param bytes estimate of the event, see `envelopeBytes`
   */
  push(event: ActivityEvent, attempt: Attempt, kind: number, bytes: number): void;
}

/** Where numbered frames go: replay and clients. It must return at once and keep nothing of its caller's. */
export type FrameSink = (frame: Frame, session: Session | null) => void;

type Refusal = Exclude<WriteResult, "written" | "held">;

const messageDelta = number("message.delta");
const reasoningDelta = number("reasoning.delta");

/**
 * The one door every frame leaves by (I1): redact, number, stamp, hand on. It never throws at its caller, never waits and
 * runs no plugin code, so its cost does not depend on who listens or how slow they are (I5).
 */
export class Seam {
  readonly #clock: Clock;
  readonly #sessions: SessionRegistry;
  readonly #redactor: Redactor;
  readonly #activity: ActivitySink;
  readonly #frames = new Set<FrameSink>();
  readonly #refused = new Map<Refusal, number>();
  #unserialisable = 0;
  #at = 0;
  #atIsRead = false;

  constructor(parts: {
    readonly clock: Clock;
    readonly sessions: SessionRegistry;
    readonly redactor: Redactor;
    readonly activity: ActivitySink;
  }) {
    this.#clock = parts.clock;
    this.#sessions = parts.sessions;
    this.#redactor = parts.redactor;
    this.#activity = parts.activity;
  }

  /** Frames refused so far, by reason: `late_frame`, `unknown_session`, ... */
  refused(reason: Refusal): number {
    return this.#refused.get(reason) ?? 0;
  }

  /** Payloads that were no JSON and left as `{"unserialisable": true}`. */
  get unserialisable(): number {
    return this.#unserialisable;
  }

  /** Hands every frame that leaves, numbered, to `sink`; undone by what it returns. */
  addFrameSink(sink: FrameSink): () => void {
    this.#frames.add(sink);
    return () => this.#frames.delete(sink);
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
      if (named !== session.runtimeId && (named === undefined || this.#sessions.byRuntimeId(named) !== session)) {
        return this.refuse("unknown_session");
      }
      if ("id" in frame) return this.#writeRequest(frame, attempt);
      switch (frame.params.type) {
        case "message.delta":
          return this.#writeDelta(attempt, attempt.message, messageDelta, frame.params.payload);
        case "reasoning.delta":
          return this.#writeDelta(attempt, attempt.reasoning, reasoningDelta, frame.params.payload);
        default:
          this.flush(attempt);
          return this.#writeOther(attempt, frame);
      }
    } catch {
      // A frame whose own getters throw: nothing was numbered yet, and a producer is never thrown at.
      return this.refuse("invalid_frame");
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
    const index = number(kind);
    const n = options.numbered === false ? null : attempt.count(index);
    if (!this.#activity.listening) return;
    const whole =
      options.bytes <= consumerDefaults.maxBytes ? null : cutPayload(payload as JsonObject, consumerDefaults.maxBytes);
    const event = {
      v: 1,
      coordinates: attempt.coordinates,
      kind,
      n,
      seq: options.seq ?? null,
      at: this.#tickTime(),
      payload: whole === null ? payload : whole.payload,
      ...(whole === null ? {} : { truncated: whole.truncated }),
    } as ActivityEvent;
    this.#activity.push(event, attempt, index, envelopeBytes + Math.min(options.bytes, consumerDefaults.maxBytes));
  }

  /** Ends an open call in the host's name: `interrupted` at the end of the attempt, `denied` after a refusal. */
  endTool(attempt: Attempt, toolId: string, outcome: "interrupted" | "denied" | "timeout"): void {
    if (attempt.tool(toolId) !== "open") return;
    this.flush(attempt);
    this.#writeOther(attempt, {
      jsonrpc: "2.0",
      method: "event",
      params: { type: "tool.complete", session_id: attempt.session.runtimeId, payload: { tool_id: toolId, outcome } },
    });
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
    for (let rest = text; rest !== "";) {
      const part = rest.length <= limits.maxDeltaUnits ? rest : firstPart(rest);
      rest = part.length === rest.length ? "" : rest.slice(part.length);
      const offset = stream.units;
      stream.release(part);
      const seq = ++attempt.session.seq;
      const n = attempt.count(kind);
      if (this.#frames.size > 0) this.#sendDelta(attempt, kind, seq, part);
      if (!this.#activity.listening) continue;
      this.#activity.push(
        {
          v: 1,
          coordinates: attempt.coordinates,
          kind: kind === messageDelta ? "message.delta" : "reasoning.delta",
          n,
          seq,
          at: this.#atIsRead ? this.#at : this.#tickTime(),
          payload: { text: part, offset },
        },
        attempt,
        kind,
        envelopeBytes + part.length,
      );
    }
  }

  #sendDelta(attempt: Attempt, kind: number, seq: number, text: string): void {
    const type = kind === messageDelta ? "message.delta" : "reasoning.delta";
    this.#send(attempt.session, type, seq, { text });
  }

  #writeOther(attempt: Attempt, frame: EventFrame): WriteResult {
    const { type, payload } = frame.params;
    const toolId = toolIdOf(payload);
    if (type === "tool.start" || type === "tool.complete") {
      if (toolId === undefined) return this.refuse("invalid_frame");
      const state = attempt.tool(toolId);
      if (state === "ended") return this.refuse(type === "tool.start" ? "duplicate_start" : "duplicate_end");
      const cleaned = this.#clean(payload);
      if (type === "tool.start")
        return state === "open" ? this.refuse("duplicate_start") : this.#startTool(attempt, toolId, cleaned);
      if (state === "unknown") {
        const { name } = cleaned.payload;
        const opened = this.#startTool(
          attempt,
          toolId,
          this.#clean({ tool_id: toolId, ...(name === undefined ? {} : { name }) }),
        );
        if (opened !== "written") return opened;
      }
      return this.#completeTool(attempt, toolId, cleaned);
    }
    const seq = ++attempt.session.seq;
    const stamped = isStampedType(type);
    if (!stamped && this.#frames.size === 0) return "written";
    const cleaned = this.#clean(payload ?? {});
    this.#send(attempt.session, type, seq, payload === undefined ? undefined : cleaned.payload);
    if (stamped) {
      const { kind, payload: select } = stampTable[type];
      this.publish(attempt, kind, select(cleaned.payload), { seq, bytes: cleaned.bytes });
    }
    return "written";
  }

  #startTool(attempt: Attempt, toolId: string, cleaned: Cleaned): WriteResult {
    const name = nameOf(cleaned.payload, toolId);
    if (!attempt.openTool({ tool_id: toolId, name, startedAt: this.#clock.monotonic() }))
      return this.refuse("invalid_frame");
    const seq = ++attempt.session.seq;
    this.#send(attempt.session, "tool.start", seq, cleaned.payload);
    this.publish(attempt, "tool.started", toolStarted(cleaned.payload, name), { seq, bytes: cleaned.bytes });
    return "written";
  }

  #completeTool(attempt: Attempt, toolId: string, cleaned: Cleaned): WriteResult {
    const tool = attempt.endTool(toolId);
    if (tool === undefined) return this.refuse("duplicate_end");
    const payload = toolCompleted(cleaned.payload, tool, this.#clock.monotonic());
    const seq = ++attempt.session.seq;
    const { name, outcome } = payload;
    if (this.#frames.size > 0) this.#send(attempt.session, "tool.complete", seq, { ...cleaned.payload, name, outcome });
    this.publish(attempt, "tool.completed", payload, { seq, bytes: cleaned.bytes });
    return "written";
  }

  #writeRequest(frame: RequestFrame, attempt: Attempt): WriteResult {
    this.flush(attempt);
    const toolId = toolIdOf(frame.params);
    if (toolId !== undefined && attempt.tool(toolId) === "unknown") {
      const name = frame.params["tool_name"];
      this.#startTool(attempt, toolId, this.#clean({ tool_id: toolId, ...(name === undefined ? {} : { name }) }));
    }
    const cleaned = this.#clean(frame.params);
    const clean = { ...frame, params: { ...cleaned.payload, session_id: attempt.session.runtimeId } };
    for (const sink of this.#frames) sink(clean, attempt.session);
    const expiresAt = typeof frame.params["expires_at"] === "number" ? frame.params["expires_at"] : null;
    this.publish(attempt, "request.opened", requestOpened(clean, expiresAt), { bytes: cleaned.bytes });
    return "written";
  }

  /** A frame of no attempt: the host's own, or of a session outside rooms. It is numbered and passes. */
  #writeOutside(frame: Frame): WriteResult {
    const named = frame.params.session_id;
    const session = named === undefined ? null : this.#sessions.byRuntimeId(named);
    if (session === undefined) return this.refuse("unknown_session");
    if ("id" in frame) {
      const clean = { ...frame, params: { ...this.#clean(frame.params).payload, session_id: frame.params.session_id } };
      for (const sink of this.#frames) sink(clean, session);
      return "written";
    }
    const { type, payload } = frame.params;
    if (session !== null) session.seq++;
    if (this.#frames.size === 0) return "written";
    const cleaned = payload === undefined ? undefined : this.#clean(payload).payload;
    this.#send(session, type, session?.seq, cleaned);
    return "written";
  }

  #send(session: Session | null, type: string, seq: number | undefined, payload: JsonObject | undefined): void {
    if (this.#frames.size === 0) return;
    const frame: EventFrame = {
      jsonrpc: "2.0",
      method: "event",
      params: {
        type,
        ...(session === null ? {} : { session_id: session.runtimeId, seq }),
        ...(payload === undefined ? {} : { payload }),
      },
    };
    for (const sink of this.#frames) sink(frame, session);
  }

  #clean(payload: unknown): Cleaned {
    const cleaned = cleanPayload(payload, this.#redactor);
    if (cleaned.problem !== null) this.#unserialisable++;
    return cleaned;
  }

  /** Counts a frame that had no effect. */
  refuse(reason: Refusal): Refusal {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    return reason;
  }

  /** Wall time, read once per turn of the event loop. */
  #tickTime(): number {
    if (!this.#atIsRead) {
      this.#at = this.#clock.now();
      this.#atIsRead = true;
      this.#clock.defer(() => {
        this.#atIsRead = false;
      });
    }
    return this.#at;
  }
}

/** The longest beginning of at most 8,192 units that ends between two code points. */
function firstPart(text: string): string {
  const last = text.charCodeAt(limits.maxDeltaUnits - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limits.maxDeltaUnits - 1 : limits.maxDeltaUnits);
}

function number(kind: ActivityKind): number {
  return kindIndex.get(kind) ?? 0;
}
