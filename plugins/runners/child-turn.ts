import {
  cleanPayload,
  limits,
  makeCoordinates,
  noRedaction,
  type Answered,
  type Question,
  type RunnerFrame,
  type Turn,
  type WriteResult,
} from "../../core/index.ts";
import type { HostLink } from "./child-link.ts";
import type { ToChild } from "./child-messages.ts";

type TurnFields = Extract<ToChild, { type: "run" }>["turn"];

/** Questions of all turns of a child that wait for their answers. */
export class ChildQuestions {
  readonly #link: HostLink;
  readonly #open = new Map<number, (answered: Answered) => void>();
  #asked = 0;

  constructor(link: HostLink) {
    this.#link = link;
  }

  /** Has the host ask; of what is no question, or too large to be one, it makes the same as of any runner's. */
  ask(key: number, question: unknown): Promise<Answered> {
    if (this.#open.size >= limits.maxOpenRequests) {
      return Promise.resolve({ outcome: "cancelled", reason: "too_many_requests", by: null });
    }
    const ask = ++this.#asked;
    return new Promise((resolve) => {
      this.#open.set(ask, resolve);
      const isSent = this.#link.send({ type: "ask", key, ask, question: questionOf(question) });
      if (!isSent) this.#link.send({ type: "ask", key, ask, question: null });
    });
  }

  answer(ask: number, answered: Answered): void {
    this.#open.get(ask)?.(answered);
    this.#open.delete(ask);
  }
}

/** A turn as a runner in a child sees it: what it emits and asks goes to the host. */
export class ChildTurn {
  readonly turn: Turn;
  readonly #key: number;
  readonly #link: HostLink;
  readonly #stop = new AbortController();
  #hasEnded = false;

  constructor(key: number, fields: TurnFields, link: HostLink, questions: ChildQuestions) {
    this.#key = key;
    this.#link = link;
    const { coordinates } = fields;
    this.turn = {
      ...fields,
      coordinates: coordinates === null ? null : makeCoordinates(coordinates),
      signal: this.#stop.signal,
      emit: (frame) => this.#emit(frame),
      ask: (question) => questions.ask(key, question),
    };
  }

  stop(reason: string): void {
    this.#stop.abort(reason);
  }

  /** Its runner has ended it: what comes now is late. */
  end(): void {
    this.#hasEnded = true;
  }

  /** What is late or no frame is relayed as well: the host counts it. */
  #emit(frame: unknown): WriteResult {
    const key = this.#key;
    const clean = frameOf(frame);
    const isSent = clean !== null && this.#link.send({ type: "frame", key, frame: clean });
    if (!isSent) this.#link.send({ type: "frame", key, frame: null });
    if (this.#hasEnded) return "late_frame";
    return isSent ? "written" : "invalid_frame";
  }
}

/** A frame as JSON has it; null for what is none. A runner may be anybody's JavaScript: getters may throw. */
function frameOf(frame: unknown): RunnerFrame | null {
  try {
    const { type, payload } = frame as RunnerFrame;
    if (typeof type !== "string" || type === "") return null;
    return payload === undefined ? { type } : { type, payload: cleanPayload(payload, noRedaction).payload };
  } catch {
    return null;
  }
}

function questionOf(question: unknown): Question | null {
  try {
    const { method, params } = question as Question;
    return typeof method === "string" ? { method, params: cleanPayload(params, noRedaction).payload } : null;
  } catch {
    return null;
  }
}
