import type { Clock, IdSource } from "./clock.ts";
import { createEmitter, type Emitter } from "./emitter.ts";
import { messageOf, type Report } from "./errors.ts";
import type { Execution } from "./execution.ts";
import type { JsonObject } from "./frames.ts";
import { KeptOutcomes, type KeptOutcome } from "./kept-outcomes.ts";
import { requestFrame, WaitingRequest, type OpenRequest, type RaisedQuestion } from "./open-request.ts";
import { tellRequestEnd } from "./request-end.ts";
import type { Answered, RequestOutcome } from "./runner.ts";
import type { Seam } from "./seam.ts";
import type { Session } from "./sessions.ts";
import { WaitingRequests } from "./waiting-requests.ts";

/** What listeners in process are told. */
export interface RequestEvents extends Record<string, unknown> {
  readonly opened: OpenRequest;
  readonly resolved: { readonly request: OpenRequest; readonly outcome: RequestOutcome };
}

/** The life of requests: each is opened, waits, and ends once, in one place, whatever ends it. */
export class RequestKeeper {
  readonly events: Emitter<RequestEvents>;
  /** Each says whether somebody has a request before them who did not answer it. */
  readonly presenters = new Set<(request: OpenRequest) => boolean>();
  readonly #seam: Seam;
  readonly #clock: Clock;
  readonly #ids: IdSource;
  readonly #waiting = new WaitingRequests();
  readonly #outcomes: KeptOutcomes;

  constructor(parts: { readonly seam: Seam; readonly clock: Clock; readonly ids: IdSource; readonly report: Report }) {
    this.#seam = parts.seam;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#outcomes = new KeptOutcomes(parts.clock);
    this.events = createEmitter((fault) => {
      // Whoever was to be told knows nothing of it; requests can be listed and answered all the same.
      const message = `a listener to requests failed: ${messageOf(fault)}`;
      parts.report({ code: "request_listener_threw", message, cause: fault });
    });
  }

  /** Whether one more call of the session may wait. */
  hasRoom(session: Session): boolean {
    this.#sweep();
    return this.#waiting.hasRoom(session);
  }

  /** The request that an equal question joins. */
  equalTo(likeness: string | null, session: Session): WaitingRequest | undefined {
    return this.#waiting.equalTo(likeness, session);
  }

  /** Those that wait, oldest first: of an execution, of a session, or all. */
  of(owner?: Execution | Session): readonly WaitingRequest[] {
    this.#sweep();
    return this.#waiting.of(owner);
  }

  /** The request of this id, its own or that of the approval, if it still waits: one whose time is over expires here. */
  current(id: string): WaitingRequest | undefined {
    const request = this.#waiting.find(id);
    if (request === undefined || !this.#isDue(request)) return request;
    this.#expire(request);
    return undefined;
  }

  /** How a request ended, as long as that is kept. */
  outcomeOf(id: string): KeptOutcome | undefined {
    return this.#outcomes.of(id);
  }

  /** Puts the question and gives its one outcome. */
  open(raised: RaisedQuestion, lifetimeMs: number): Promise<Answered> {
    const id = `srq-${this.#ids.hex(6)}`;
    const request_id = raised.method === "approval" ? `apr-${this.#ids.hex(6)}` : null;
    const created_at = this.#clock.now();
    const expires_at = lifetimeMs < Infinity ? created_at + lifetimeMs : null;
    const dueAt = this.#clock.monotonic() + lifetimeMs;
    const request = new WaitingRequest(raised, { id, request_id }, { created_at, expires_at, dueAt });
    return new Promise((settle) => {
      request.waiters.push({ toolId: raised.toolId, settle });
      request.stopTimer = this.#clock.after(lifetimeMs, () => this.#expire(request));
      this.#waiting.add(request);
      this.#seam.writeJson(requestFrame(request), raised.execution, expires_at);
      this.events.emit("opened", request);
    });
  }

  /** The one place where a request ends; without effect on one that has ended. */
  resolve(request: WaitingRequest, outcome: RequestOutcome, result?: JsonObject): void {
    if (!this.#waiting.delete(request)) return;
    request.stopTimer();
    this.#outcomes.keep(request, outcome);
    const isShown = [...this.presenters].some((isShownBy) => isShownBy(request));
    tellRequestEnd(this.#seam, request, outcome, isShown);
    this.events.emit("resolved", { request, outcome });
    request.settle(outcome, result);
  }

  #sweep(): void {
    for (const request of this.#waiting.of()) if (this.#isDue(request)) this.#expire(request);
  }

  #isDue(request: WaitingRequest): boolean {
    return this.#clock.monotonic() >= request.dueAt;
  }

  #expire(request: WaitingRequest): void {
    this.resolve(request, { outcome: "expired", reason: "timeout", by: null });
  }
}
