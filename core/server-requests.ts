import type { ActivityPayloads } from "./activity.ts";
import type { Attempt } from "./attempt.ts";
import type { Clock, IdSource, Undo } from "./clock.ts";
import { createEmitter, type Emitter } from "./emitter.ts";
import { messageOf, RoomtapError, type Report } from "./errors.ts";
import type { JsonObject } from "./frames.ts";
import { limits } from "./options.ts";
import type { Question, RequestOutcome } from "./runner.ts";
import { mask } from "./secret-rules.ts";
import type { Seam } from "./seam.ts";
import { toolIdOf } from "./stamp.ts";
import { cutUnits } from "./utf8.ts";

/** Why a request ended without an answer. */
export type CancelWord =
  | "timeout"
  | "interrupted"
  | "session_closed"
  | "shutdown"
  | "no_handler"
  | "too_many_requests"
  | "runner_lost";

/** A question that waits, with what is needed to answer it by exact id. */
export interface OpenRequest {
  readonly id: string;
  readonly request_id: string;
  readonly method: string;
  readonly attempt: Attempt;
  /** As it left the seam: redacted. */
  readonly params: JsonObject;
}

/** What became of an answer. Only `ok` had an effect; `already_resolved` tells the outcome that stands. */
export type AnswerResult =
  | { readonly status: "ok" | "already_resolved"; readonly outcome: RequestOutcome }
  | { readonly status: "unknown_request" };

/** What listeners in process are told. */
export interface RequestEvents extends Record<string, unknown> {
  readonly opened: OpenRequest;
  readonly resolved: { readonly request: OpenRequest; readonly outcome: RequestOutcome };
}

/** A call that waits for the outcome of a request. */
interface Waiter {
  readonly toolId: string | undefined;
  readonly settle: (outcome: RequestOutcome) => void;
}

interface Waiting extends OpenRequest {
  readonly choices: readonly string[];
  /** What an equal question has, too; null when none is equal. */
  readonly likeness: string | null;
  /** At least one: each equal question that was asked meanwhile is one more. */
  readonly waiters: Waiter[];
  /** Monotonic ms; Infinity when it never expires. */
  readonly dueAt: number;
  readonly stopTimer: Undo;
}

/** What a member of a room may be answered; a wider scope is a rule of the room that has to be stored first. */
const roomChoices = ["once", "deny"] as const;

/** Fields of an approval that reach people. Nothing else that an agent puts beside its question does. */
const approvalFields = ["tool_name", "command", "description"] as const;

/**
 * Questions of agents to people. Each has exactly one outcome, decided in one place: the first answer, the expiry, or the
 * end of its attempt (I9); later answers learn which it was. Equal questions of a session, for one tool and command, are
 * one request: its outcome is that of each call. Bounds: 32 calls that wait per session, 1,024 requests per process, 64 Ki
 * characters of command and of description (more can only be denied), 1,024 outcomes kept for 10 minutes.
 */
export class ServerRequests {
  readonly #seam: Seam;
  readonly #clock: Clock;
  readonly #ids: IdSource;
  readonly #events: Emitter<RequestEvents>;
  readonly #waiting = new Map<string, Waiting>();
  readonly #outcomes = new Map<string, { readonly outcome: RequestOutcome; readonly at: number }>();
  #refusedAnswers = 0;

  /** @param parts.report hears of listeners that threw */
  constructor(parts: { readonly seam: Seam; readonly clock: Clock; readonly ids: IdSource; readonly report: Report }) {
    this.#seam = parts.seam;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#events = createEmitter((fault) => {
      // Whoever was to be told knows nothing of it; requests can be listed and answered all the same.
      const message = `a listener to requests failed: ${messageOf(fault)}`;
      parts.report({ code: "request_listener_threw", message, cause: fault });
    });
  }

  /**
   * Tells of each request right behind its frame (`opened`; a listener may answer at once), and of its one outcome
   * (`resolved`). A listener that throws or rejects is reported. Undone by what it returns.
   */
  on<Name extends "opened" | "resolved">(name: Name, listener: (event: RequestEvents[Name]) => unknown): Undo {
    return this.#events.on(name, listener);
  }

  /** Answers that had no effect: they came too late, or named no request that is known. */
  get refusedAnswers(): number {
    return this.#refusedAnswers;
  }

  /**
   * Opens a request for an attempt, or joins an equal one, and gives its one outcome. Never rejects: at a bound, and for
   * an attempt that has ended, it is cancelled at once.
   * @throws RoomtapError `invalid_params` for a lifetime that is not above 0
   */
  ask(attempt: Attempt, question: Question, lifetimeMs: number = limits.approvalLifetimeMs): Promise<RequestOutcome> {
    if (!(lifetimeMs > 0)) throw new RoomtapError("invalid_params", `a lifetime is above 0 ms, got ${lifetimeMs}`);
    if (attempt.sealed) return Promise.resolve(cancelled("interrupted"));
    if (!this.#hasRoom(attempt)) return Promise.resolve(cancelled("too_many_requests"));
    const { payload } = this.#seam.clean(question.params);
    const { fields, choices } = asked(payload);
    const toolId = toolIdOf(payload);
    const method = this.#seam.word(question.method);
    const likeness = likenessOf(method, payload, choices);
    const equal = likeness === null ? undefined : this.#equalTo(likeness, attempt);
    if (equal !== undefined) return this.#join(equal, toolId);
    const id = `srq-${this.#ids.hex(6)}`;
    const request_id = `apr-${this.#ids.hex(6)}`;
    const expires_at = lifetimeMs < Infinity ? this.#clock.now() + lifetimeMs : null;
    const params = {
      session_id: attempt.session.runtimeId,
      request_id,
      ...fields,
      choices,
      ...(expires_at === null ? {} : { expires_at }),
    };
    return new Promise((settle) => {
      const dueAt = this.#clock.monotonic() + lifetimeMs;
      const stopTimer = this.#clock.after(lifetimeMs, () => void this.#expire(request));
      const waiters = [{ toolId, settle }];
      const told = { id, request_id, method, attempt, params };
      const request: Waiting = { ...told, choices, likeness, waiters, dueAt, stopTimer };
      this.#waiting.set(id, request);
      this.#seam.writeJson({ jsonrpc: "2.0", id, method, params }, attempt);
      this.#events.emit("opened", request);
    });
  }

  /**
   * Answers by exact id, the `srq-` one or the approval's own. `ok` is said only when a waiter took the answer. A choice
   * that was not offered is `deny`.
   * @param by the origin of who answers; null when the host does
   */
  answer(id: string, answer: { readonly choice?: unknown; readonly reason?: string }, by: string | null): AnswerResult {
    const request = this.#find(id);
    if (request !== undefined && this.#isDue(request)) this.#expire(request);
    if (request === undefined || !this.#waiting.has(request.id)) {
      this.#refusedAnswers++;
      this.#forgetOld();
      const known = this.#outcomes.get(id);
      return known === undefined
        ? { status: "unknown_request" }
        : { status: "already_resolved", outcome: known.outcome };
    }
    const choice = request.choices.find((word) => word === answer.choice) ?? "deny";
    const outcome: RequestOutcome = {
      outcome: choice === "deny" ? "denied" : "answered",
      choice,
      ...(answer.reason === undefined ? {} : { reason: answer.reason }),
      by: by === null ? null : { origin: by },
    };
    this.#resolve(request, outcome);
    return { status: "ok", outcome };
  }

  /** Open requests, oldest first, of one attempt or of all. */
  open(attempt?: Attempt): readonly OpenRequest[] {
    for (const request of this.#waiting.values()) if (this.#isDue(request)) this.#expire(request);
    const all = [...this.#waiting.values()];
    return attempt === undefined ? all : all.filter((request) => request.attempt === attempt);
  }

  /** Ends all open requests of an attempt, oldest first. Returns how many there were. */
  cancelAll(attempt: Attempt, reason: CancelWord): number {
    const open = this.open(attempt);
    for (const { id } of open) {
      const request = this.#waiting.get(id);
      if (request !== undefined) this.#resolve(request, cancelled(reason));
    }
    return open.length;
  }

  #hasRoom(attempt: Attempt): boolean {
    this.open();
    let ofSession = 0;
    for (const request of this.#waiting.values()) {
      if (request.attempt.session === attempt.session) ofSession += request.waiters.length;
    }
    return this.#waiting.size < limits.maxOpenRequests && ofSession < limits.maxOpenRequestsPerSession;
  }

  #equalTo(likeness: string, { session }: Attempt): Waiting | undefined {
    for (const request of this.#waiting.values()) {
      if (request.likeness === likeness && request.attempt.session === session) return request;
    }
    return undefined;
  }

  /** One more call waits for the request; a tool that is first heard of here is opened. */
  #join({ attempt, params, waiters }: Waiting, toolId: string | undefined): Promise<RequestOutcome> {
    if (toolId !== undefined) this.#seam.mentionTool(attempt, toolId, params["tool_name"]);
    return new Promise((settle) => waiters.push({ toolId, settle }));
  }

  #find(id: string): Waiting | undefined {
    const direct = this.#waiting.get(id);
    if (direct !== undefined || !id.startsWith("apr-")) return direct;
    for (const request of this.#waiting.values()) if (request.request_id === id) return request;
    return undefined;
  }

  #isDue(request: Waiting): boolean {
    return this.#clock.monotonic() >= request.dueAt;
  }

  #expire(request: Waiting): RequestOutcome {
    const known = this.#outcomes.get(request.id);
    if (known !== undefined) return known.outcome;
    const outcome: RequestOutcome = { outcome: "expired", reason: "timeout", by: null };
    this.#resolve(request, outcome);
    return outcome;
  }

  /** The one place where a request ends. */
  #resolve(request: Waiting, outcome: RequestOutcome): void {
    if (!this.#waiting.delete(request.id)) return;
    request.stopTimer();
    this.#remember(request, outcome);
    const { id, request_id, method, attempt } = request;
    if (outcome.outcome === "cancelled" || outcome.outcome === "expired") {
      this.#write(attempt, "request.cancel", { id, method, reason: outcome.reason });
    }
    // The reason is a text of whoever answered: it leaves like any other.
    const { payload, bytes } = this.#seam.clean({ id, request_id, method, ...outcome });
    this.#write(attempt, "request.resolved", payload);
    this.#seam.publish(attempt, "request.resolved", payload as unknown as ActivityPayloads["request.resolved"], {
      bytes,
    });
    for (const { toolId } of request.waiters) {
      if (toolId !== undefined && outcome.outcome === "denied") this.#seam.endTool(attempt, toolId, "denied");
      if (toolId !== undefined && outcome.outcome === "expired") this.#seam.endTool(attempt, toolId, "timeout");
    }
    this.#events.emit("resolved", { request, outcome });
    for (const { settle } of request.waiters) settle(outcome);
  }

  #write(attempt: Attempt, type: string, payload: JsonObject): void {
    const params = { type, session_id: attempt.session.runtimeId, payload };
    this.#seam.writeJson({ jsonrpc: "2.0", method: "event", params }, attempt);
  }

  #remember(request: Waiting, outcome: RequestOutcome): void {
    const at = this.#clock.monotonic();
    this.#outcomes.set(request.id, { outcome, at });
    this.#outcomes.set(request.request_id, { outcome, at });
    this.#forgetOld();
  }

  #forgetOld(): void {
    const oldest = this.#clock.monotonic() - limits.keptOutcomeMs;
    for (const [id, { at }] of this.#outcomes) {
      // Two ids name each outcome.
      if (at >= oldest && this.#outcomes.size <= limits.maxKeptOutcomes * 2) return;
      this.#outcomes.delete(id);
    }
  }
}

/**
 * What equal questions have in common. Without a command nobody can tell what is asked; and two that are masked look
 * alike and may differ: nothing is equal to them.
 */
function likenessOf(method: string, { tool_name, command }: JsonObject, choices: readonly string[]): string | null {
  if (typeof command !== "string" || command.includes(mask)) return null;
  return JSON.stringify([method, tool_name, command, choices]);
}

function cancelled(reason: CancelWord): RequestOutcome {
  return { outcome: "cancelled", reason, by: null };
}

/** Of a question's params, what people get to see and may answer. */
function asked(params: JsonObject): { readonly fields: JsonObject; readonly choices: readonly string[] } {
  const fields: Record<string, string> = {};
  const toolId = toolIdOf(params);
  if (toolId !== undefined) fields["tool_id"] = toolId;
  let whole = true;
  for (const field of approvalFields) {
    const text = params[field];
    if (typeof text !== "string") continue;
    fields[field] = cutUnits(text, limits.maxApprovalTextUnits);
    whole &&= text.length <= limits.maxApprovalTextUnits;
  }
  // Nobody can agree to what nobody can read.
  return { fields, choices: whole ? offered(params["choices"]) : ["deny"] };
}

/** What may be answered: the agent's choices as far as a room allows them; `deny` always. */
function offered(choices: unknown): readonly string[] {
  if (!Array.isArray(choices)) return roomChoices;
  return roomChoices.filter((choice) => choice === "deny" || choices.includes(choice));
}
