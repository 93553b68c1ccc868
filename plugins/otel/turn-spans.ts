import type { ActivityEvent, Coordinates, EventOf } from "../../core/index.ts";
import type { Context, Link, Span, SpanContext } from "./api.ts";
import { AttemptSpan, type SpanParts } from "./attempt-span.ts";
import { turnAttributes } from "./attributes.ts";
import type { OtelSettings } from "./config.ts";
import { Known } from "./known.ts";

/** Tasks whose last attempt is known, and traces that turns are put into, each; the oldest is forgotten. */
const maxKnown = 4_096;

/** What is known of an attempt when its span begins. */
interface Beginning {
  readonly coordinates: Coordinates;
  readonly at: number;
  /** How the member is called; null when nobody knows. */
  readonly name?: string | null | undefined;
  /** The post that opened its discussion; null when its start was not told. */
  readonly discussion?: string | null | undefined;
}

/** Spans of turns and of their tool calls, made from events. */
export class TurnSpans {
  readonly #parts: SpanParts;
  readonly #settings: OtelSettings;
  readonly #open: Known<AttemptSpan>;
  /** The last attempt at each task, for links. */
  readonly #attempts = new Known<SpanContext>(maxKnown);
  readonly #roots = new Known<Span>(maxKnown);

  constructor(parts: SpanParts, settings: OtelSettings) {
    this.#parts = parts;
    this.#settings = settings;
    this.#open = new Known(settings.maxOpenTurns);
  }

  /** @param name how the event's member is called; null when nobody knows */
  on(event: ActivityEvent, name: string | null = null): void {
    switch (event.kind) {
      case "turn.started":
        return this.#started(event, name);
      case "turn.settled": {
        const { duration_ms } = event.payload;
        this.#of(event, event.at - (duration_ms ?? 0)).settled(event);
        return this.#open.delete(keyOf(event.coordinates));
      }
      case "tool.started":
        return this.#of(event).toolStarted(event);
      case "tool.completed":
        return this.#of(event).toolCompleted(event);
      case "request.opened":
      case "request.resolved":
      case "turn.error":
        return this.#note(event);
      case "gap":
        return this.#gap(event);
      default:
        return undefined;
    }
  }

  /** Ends all that is open. */
  end(at: number): void {
    for (const attempt of this.#open.values()) attempt.broken(at, "interrupted");
  }

  #started(event: EventOf<"turn.started">, name: string | null): void {
    const { coordinates, at, payload } = event;
    this.#begin({ coordinates, at, name, discussion: payload.discussion.message_id }).started(event);
  }

  #note(event: EventOf<"request.opened"> | EventOf<"request.resolved"> | EventOf<"turn.error">): void {
    const attempt = this.#of(event);
    if (event.kind === "turn.error") {
      const { message, reason } = event.payload;
      return attempt.note(event.kind, event.at, {
        ...(reason === undefined ? {} : { "roomtap.reason": reason }),
        ...(this.#parts.content ? { "exception.message": message } : {}),
      });
    }
    const { id, method } = event.payload;
    attempt.note(event.kind, event.at, {
      "roomtap.request.id": id,
      "roomtap.request.method": method,
      ...(event.kind === "request.resolved" ? { "roomtap.request.outcome": event.payload.outcome } : {}),
    });
  }

  /** An attempt whose end was lost has ended by now, and nobody knows how. */
  #gap({ coordinates, payload, at }: EventOf<"gap">): void {
    const { dropped, kinds } = payload;
    if (dropped === 0) return;
    if (coordinates === null) return this.#open.values().forEach((attempt) => attempt.mayLack());
    const attempt = this.#of({ coordinates, at });
    attempt.lost(dropped);
    if (kinds["turn.settled"] === undefined) return;
    attempt.broken(at, "outcome_unknown");
    this.#open.delete(keyOf(coordinates));
  }

  /** The attempt of an event; of one whose start was not told a span begins here. */
  #of({ coordinates, at }: { readonly coordinates: Coordinates; readonly at: number }, startedAt = at): AttemptSpan {
    return this.#open.get(keyOf(coordinates)) ?? this.#begin({ coordinates, at: startedAt });
  }

  #begin({ coordinates, at, name = null, discussion = null }: Beginning): AttemptSpan {
    const { task_id } = coordinates;
    const earlier = this.#attempts.get(task_id);
    const links: readonly Link[] =
      earlier === undefined ? [] : [{ context: earlier, attributes: { "roomtap.link": "earlier_attempt" } }];
    const span = this.#parts.tracer.startSpan(
      name === null ? "invoke_agent" : `invoke_agent ${name}`,
      {
        attributes: {
          ...turnAttributes(coordinates, name, this.#settings),
          ...(discussion === null ? { "roomtap.start_unknown": true } : {}),
        },
        links: [...links],
        startTime: new Date(at),
      },
      this.#parentOf(coordinates, discussion, at),
    );
    const attempt = new AttemptSpan({ span, startedAt: at }, this.#parts);
    this.#attempts.set(task_id, span.spanContext());
    this.#open.set(keyOf(coordinates), attempt)?.broken(at, "interrupted");
    return attempt;
  }

  /**
   * The trace of a discussion or a room begins with a span of no length: when they are over nobody says, and one that is
   * held open would be lost with its process.
   */
  #parentOf({ room_id, thread_id }: Coordinates, discussion: string | null, at: number): Context {
    const { api, tracer } = this.#parts;
    const { parent } = this.#settings;
    const isInTrace = parent === "room" || (parent === "discussion" && discussion !== null);
    if (!isInTrace) return api.ROOT_CONTEXT;
    const key = parent === "room" ? room_id : JSON.stringify([room_id, discussion]);
    let root = this.#roots.get(key);
    if (root === undefined) {
      const attributes = {
        "roomtap.room_id": room_id,
        ...(parent === "room" ? {} : { "roomtap.thread_id": thread_id, "roomtap.discussion_id": discussion ?? "" }),
      };
      root = tracer.startSpan(`${parent} ${room_id}`, { attributes, startTime: new Date(at) }, api.ROOT_CONTEXT);
      root.end(new Date(at));
      this.#roots.set(key, root);
    }
    return api.trace.setSpan(api.ROOT_CONTEXT, root);
  }
}

function keyOf({ turn_id, execution_generation }: Coordinates): string {
  return `${turn_id} ${execution_generation}`;
}
