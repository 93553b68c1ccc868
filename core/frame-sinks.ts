import { messageOf, type Report } from "./errors.ts";
import type { Frame, JsonObject, RequestFrame } from "./frames.ts";
import type { Session } from "./sessions.ts";
import type { TurnMark } from "./turn-source.ts";

/**
 * Where numbered frames go: replay and clients. It must return at once, write no frame itself, and change nothing of what
 * it was handed.
 */
export type FrameSink = (frame: Frame, session: Session | null) => void;

interface Added {
  readonly sink: FrameSink;
  /** Whether it gets the frames of hidden sessions as well. */
  readonly hidden: boolean;
}

/** The sinks of a seam. One that throws is reported once and stops neither the others nor the producer. */
export class FrameSinks {
  readonly #report: Report;
  readonly #sinks = new Set<Added>();
  readonly #faulty = new WeakSet<FrameSink>();
  #takesHidden = false;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Whether anybody takes frames of the session: if not, none has to be built. */
  takes(session: Session | null): boolean {
    return session?.roomPlumbing === true ? this.#takesHidden : this.#sinks.size > 0;
  }

  /** @param options.hidden whether it gets the frames of hidden sessions as well */
  add(sink: FrameSink, options: { readonly hidden: boolean }): () => void {
    const added = { sink, hidden: options.hidden };
    this.#sinks.add(added);
    this.#count();
    return () => {
      this.#sinks.delete(added);
      this.#count();
    };
  }

  /**
   * @param seq undefined for an event of no session
   * @param mark of the turn that runs; null while none does
   */
  event(
    session: Session | null,
    mark: TurnMark | null,
    type: string,
    seq: number | undefined,
    payload: JsonObject | undefined,
  ): void {
    if (!this.takes(session)) return;
    this.#send(
      {
        jsonrpc: "2.0",
        method: "event",
        params: {
          type,
          ...(session === null ? {} : { session_id: session.runtimeId, seq }),
          ...mark,
          ...(payload === undefined ? {} : { payload }),
        },
      },
      session,
    );
  }

  request(session: Session | null, frame: RequestFrame): void {
    this.#send(frame, session);
  }

  #count(): void {
    this.#takesHidden = [...this.#sinks].some(({ hidden }) => hidden);
  }

  #send(frame: Frame, session: Session | null): void {
    for (const { sink, hidden } of this.#sinks) {
      if (session?.roomPlumbing === true && !hidden) continue;
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
