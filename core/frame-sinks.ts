import { messageOf, type Report } from "./errors.ts";
import type { Frame, JsonObject, RequestFrame } from "./frames.ts";
import type { Session } from "./sessions.ts";

/**
 * Where numbered frames go: replay and clients. It must return at once, write no frame itself, and change nothing of what
 * it was handed.
 */
export type FrameSink = (frame: Frame, session: Session | null) => void;

/** The sinks of a seam. One that throws is reported once and stops neither the others nor the producer. */
export class FrameSinks {
  readonly #report: Report;
  readonly #sinks = new Set<FrameSink>();
  readonly #faulty = new WeakSet<FrameSink>();

  constructor(report: Report) {
    this.#report = report;
  }

  /** Without sinks no frame has to be built. */
  get isEmpty(): boolean {
    return this.#sinks.size === 0;
  }

  add(sink: FrameSink): () => void {
    this.#sinks.add(sink);
    return () => this.#sinks.delete(sink);
  }

  /** @param seq undefined for an event of no session */
  event(session: Session | null, type: string, seq: number | undefined, payload: JsonObject | undefined): void {
    if (this.isEmpty) return;
    this.#send(
      {
        jsonrpc: "2.0",
        method: "event",
        params: {
          type,
          ...(session === null ? {} : { session_id: session.runtimeId, seq }),
          ...(payload === undefined ? {} : { payload }),
        },
      },
      session,
    );
  }

  request(session: Session | null, frame: RequestFrame): void {
    this.#send(frame, session);
  }

  #send(frame: Frame, session: Session | null): void {
    for (const sink of this.#sinks) {
      try {
        sink(frame, session);
      } catch (fault) {
        if (this.#faulty.has(sink)) continue;
        this.#faulty.add(sink);
        this.#report({ code: "frame_sink_threw", message: `a frame sink threw: ${messageOf(fault)}`, cause: fault });
      }
    }
  }
}
