import { approvalChoices, choicesOf } from "./approval-question.ts";
import { ApprovalRules, approvedCall, type ApprovedCall } from "./approval-rules.ts";
import type { Clock, IdSource, Undo } from "./clock.ts";
import { RoomtapError, type Report } from "./errors.ts";
import type { Execution } from "./execution.ts";
import type { JsonObject } from "./frames.ts";
import type { CancelWord, OpenRequest, RaisedQuestion, WaitingRequest } from "./open-request.ts";
import { limits } from "./options.ts";
import type { AnswerResult, ApprovalResponse, LockResult, RequestAnswer, RespondResult } from "./request-answers.ts";
import { writeRequestEvent } from "./request-end.ts";
import { RequestKeeper, type RequestEvents } from "./request-keeper.ts";
import { requestKind, type Reading } from "./request-table.ts";
import type { Answered, Question, RequestOutcome } from "./runner.ts";
import type { Seam } from "./seam.ts";
import type { Session } from "./sessions.ts";
import { toolIdOf } from "./stamp.ts";

/** What requests are made of. */
export interface ServerRequestsParts {
  readonly seam: Seam;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Hears of listeners that threw, and of approval rules that could not be kept. */
  readonly report: Report;
  /** Told of what was answered to a question for a secret, before its agent is. It must not throw. */
  readonly onSecret?: ((secret: string) => void) | undefined;
}

/** The choices that make a rule, the wider one first. */
const ruleWords = ["always", "session"] as const;

/**
 * Questions of agents to people. Each has exactly one outcome, decided in one place: the first answer, the expiry, or the
 * end of its turn (I9); later answers learn which it was. Equal approvals of a session are one request: its outcome is that
 * of each call. Bounds: 32 calls that wait per session, 1,024 requests per process, 64 Ki characters of command and of
 * description (more can only be denied), 1,024 outcomes kept for 10 minutes.
 */
export class ServerRequests {
  /** What was approved for longer than one call. */
  readonly rules: ApprovalRules;
  readonly #seam: Seam;
  readonly #onSecret: (secret: string) => void;
  readonly #keeper: RequestKeeper;
  #refusedAnswers = 0;
  #refusedQuestions = 0;

  constructor(parts: ServerRequestsParts) {
    this.#seam = parts.seam;
    this.#onSecret = parts.onSecret ?? (() => undefined);
    this.rules = new ApprovalRules(parts.report);
    this.#keeper = new RequestKeeper(parts);
  }

  /**
   * Tells of each request right behind its frame (`opened`; a listener may answer at once), and of its one outcome
   * (`resolved`). A listener that throws or rejects is reported. Undone by what it returns.
   */
  on<Name extends "opened" | "resolved">(name: Name, listener: (event: RequestEvents[Name]) => unknown): Undo {
    return this.#keeper.events.on(name, listener);
  }

  /**
   * Asks, when a request was answered, whether somebody else has it before them: then it is withdrawn as well.
   * @param isShown must not throw
   */
  presentBy(isShown: (request: OpenRequest) => boolean): Undo {
    const { presenters } = this.#keeper;
    presenters.add(isShown);
    return () => void presenters.delete(isShown);
  }

  /** Answers that had no effect: they came too late, named no request that is known, or did not fit it. */
  get refusedAnswers(): number {
    return this.#refusedAnswers;
  }

  /** Questions that nobody was asked: by no known method, without a text, too large, or at a bound. */
  get refusedQuestions(): number {
    return this.#refusedQuestions;
  }

  /**
   * Opens a request for a turn, joins an equal one, or finds it approved before, and gives its one outcome. Never rejects:
   * at a bound (`too_many_requests`), for a turn that has ended (`interrupted`), and when its method is unknown or its
   * params make no question of it (`no_handler`), it is cancelled at once and nobody hears of it.
   * @param lifetimeMs above 0, up to Infinity; default: as `requestTable` has it
   * @throws RoomtapError `invalid_params` for a lifetime that is not above 0
   */
  ask(execution: Execution, question: Question, lifetimeMs?: number): Promise<Answered> {
    if (lifetimeMs !== undefined && !(lifetimeMs > 0)) {
      throw new RoomtapError("invalid_params", `a lifetime is above 0 ms, got ${lifetimeMs}`);
    }
    if (execution.sealed) return Promise.resolve(cancelled("interrupted"));
    const raised = this.#raise(execution, question);
    if (raised === null) return this.#refuse("no_handler");
    const { session } = execution;
    const rule = this.#ruleFor(session, raised.call, raised.shown);
    if (rule !== null) {
      this.#mention(raised);
      return Promise.resolve(byRule(rule));
    }
    if (!this.#keeper.hasRoom(session)) return this.#refuse("too_many_requests");
    const equal = this.#keeper.equalTo(raised.likeness, session);
    if (equal === undefined) return this.#keeper.open(raised, lifetimeMs ?? raised.kind.lifetimeMs);
    this.#mention(raised);
    return new Promise((settle) => equal.waiters.push({ toolId: raised.toolId, settle }));
  }

  /**
   * Answers by exact id, the `srq-` one or the approval's own. `ok` is said only when a waiter took the answer. An approval
   * without a choice, or with one that it does not offer, is denied.
   * @param by the origin of who answers; null when the host does
   */
  answer(id: string, answer: RequestAnswer, by: string | null): AnswerResult {
    const request = this.#keeper.current(id);
    if (request === undefined) return this.#late(id);
    const { kind, shown } = request.raised;
    const { result = answer.choice === undefined ? undefined : { [kind.textKey]: answer.choice } } = answer;
    const reading = kind.read(result, shown);
    if (reading === null) {
      this.#refusedAnswers++;
      return { status: "invalid_answer" };
    }
    const outcome = this.#conclude(request, reading, by, answer.reason);
    if (reading.all === true && reading.choice !== undefined) this.#answerAll(request.session, reading.choice, by);
    return { status: "ok", outcome };
  }

  /** Answers one approval by its exact id, or all that wait in a session. There is no "oldest". */
  respond(response: ApprovalResponse, by: string | null): RespondResult {
    const { session, request_id, all = false, choice = "deny" } = response;
    if (!approvalChoices.some((word) => word === choice)) return { status: "invalid_choice" };
    const known = request_id === undefined ? undefined : this.known(request_id);
    if (all) {
      const within = session ?? known?.session;
      if (within === undefined) return { status: "unknown_request" };
      const resolved = this.#answerAll(within, choice, by);
      return resolved === 0 ? { status: "already_resolved", resolved } : { status: "ok", resolved };
    }
    if (request_id === undefined) return { status: "request_id_required" };
    const isElsewhere = session !== null && known?.session !== session;
    if (known?.method !== "approval" || isElsewhere) return { status: "unknown_request" };
    const request = this.#keeper.current(request_id);
    if (request !== undefined && !choicesOf(request.params).includes(choice)) return { status: "invalid_choice" };
    const result = this.answer(request_id, { choice }, by);
    if (!("outcome" in result)) return { status: "unknown_request" };
    const { outcome } = result;
    return result.status === "ok"
      ? { status: "ok", resolved: 1, outcome }
      : { status: "already_resolved", resolved: 0, outcome };
  }

  /**
   * Answers one of several questions. It may be changed until each has an answer: the last one resolves the request.
   * @param id the `srq-` one
   */
  lock(id: string, questionId: string, answer: string, by: string | null): LockResult {
    const request = this.#keeper.current(id);
    if (request === undefined) {
      const late = this.#late(id);
      return "outcome" in late ? { ...late, remaining: [] } : late;
    }
    if (answer.length > limits.maxAnswerUnits) return { status: "invalid_answer" };
    const { locks, execution, method } = request;
    if (locks === null || !locks.lock(questionId, answer)) return { status: "unknown_question" };
    const { remaining } = locks;
    if (remaining.length === 0) {
      this.#conclude(request, { result: { answers: {} } }, by);
      return { status: "ok", remaining };
    }
    const { payload } = this.#seam.clean({ id: request.id, method, answers: locks.answers });
    request.answers = payload["answers"] as JsonObject;
    writeRequestEvent(this.#seam, execution, "request.update", payload);
    return { status: "ok", remaining };
  }

  /** Open requests, oldest first, of one execution, of one session or of all. */
  open(of?: Execution | Session): readonly OpenRequest[] {
    return this.#keeper.of(of);
  }

  /** The open request of this id, its own or that of the approval. */
  find(id: string): OpenRequest | undefined {
    return this.#keeper.current(id);
  }

  /** What decides who may answer or hear of a request, open or resolved; undefined when its id names none. */
  known(id: string): Pick<OpenRequest, "method" | "session" | "coordinates"> | undefined {
    return this.#keeper.current(id) ?? this.#keeper.outcomeOf(id);
  }

  /** Ends one request without an answer. False when it is not open. */
  cancel(id: string, reason: CancelWord): boolean {
    const request = this.#keeper.current(id);
    if (request === undefined) return false;
    this.#keeper.resolve(request, cancelled(reason));
    return true;
  }

  /** Ends all open requests of an execution or of a session, oldest first. Returns how many there were. */
  cancelAll(of: Execution | Session, reason: CancelWord): number {
    const open = this.#keeper.of(of);
    for (const request of open) this.#keeper.resolve(request, cancelled(reason));
    return open.length;
  }

  /** null for what is no question. */
  #raise(execution: Execution, question: Question): RaisedQuestion | null {
    // An agent may be anybody's JavaScript.
    if (typeof question !== "object" || question === null) return null;
    const method = this.#seam.word(question.method);
    const kind = requestKind(method);
    const { payload } = this.#seam.clean(question.params);
    const shown = kind?.show(payload, execution.session.roomPlumbing) ?? null;
    if (kind === undefined || shown === null) return null;
    if (method !== "approval") return { execution, kind, method, shown, call: null, likeness: null, toolId: undefined };
    const call = approvedCall(shown);
    const likeness = call === null ? null : JSON.stringify([call.tool_name, call.command, choicesOf(shown)]);
    return { execution, kind, method, shown, call, likeness, toolId: toolIdOf(shown) };
  }

  #refuse(reason: CancelWord): Promise<Answered> {
    this.#refusedQuestions++;
    return Promise.resolve(cancelled(reason));
  }

  /** A call that is first heard of in an approval is opened, although nobody is asked anew. */
  #mention({ execution, toolId, shown }: RaisedQuestion): void {
    if (toolId !== undefined) this.#seam.mentionTool(execution, toolId, shown["tool_name"]);
  }

  /** How far a call was approved before, if the approval offers that. */
  #ruleFor(session: Session, call: ApprovedCall | null, shown: JsonObject): "session" | "always" | null {
    if (call === null) return null;
    const offered = choicesOf(shown);
    return ruleWords.find((word) => offered.includes(word) && this.rules.covers(word, session, call)) ?? null;
  }

  #late(
    id: string,
  ):
    | { readonly status: "already_resolved"; readonly outcome: RequestOutcome }
    | { readonly status: "unknown_request" } {
    this.#refusedAnswers++;
    const kept = this.#keeper.outcomeOf(id);
    return kept === undefined ? { status: "unknown_request" } : { status: "already_resolved", outcome: kept.outcome };
  }

  #answerAll(session: Session, choice: string, by: string | null): number {
    let resolved = 0;
    for (const { id, method, params } of this.#keeper.of(session)) {
      // A rule that the one before left may have resolved it.
      const request = this.#keeper.current(id);
      if (method !== "approval" || request === undefined || !choicesOf(params).includes(choice)) continue;
      this.#conclude(request, { choice }, by);
      resolved++;
    }
    return resolved;
  }

  /** Ends a request by an answer, and with it those that a rule which it leaves answers too. */
  #conclude(request: WaitingRequest, reading: Reading, by: string | null, reason?: string): RequestOutcome {
    const { session, locks, raised } = request;
    const { choice, result } = reading;
    const outcome: RequestOutcome = {
      outcome: choice === "deny" ? "denied" : "answered",
      ...(choice === undefined ? {} : { choice }),
      ...(reason === undefined ? {} : { reason }),
      by: by === null ? null : { origin: by },
    };
    const value = result?.["value"];
    if (raised.kind.isSecret && typeof value === "string") this.#onSecret(value);
    const answers = result?.["answers"] as JsonObject | undefined;
    this.#keeper.resolve(request, outcome, locks === null ? result : { answers: locks.over(answers) });
    const rule = ruleWords.find((word) => word === choice);
    if (rule !== undefined && raised.call !== null) {
      this.rules.add(rule, session, raised.call);
      this.#applyRules();
    }
    return outcome;
  }

  #applyRules(): void {
    for (const request of this.#keeper.of()) {
      const rule = this.#ruleFor(request.session, request.raised.call, request.params);
      if (rule !== null) this.#keeper.resolve(request, byRule(rule));
    }
  }
}

function byRule(choice: "session" | "always"): RequestOutcome {
  return { outcome: "answered", choice, reason: "rule", by: null };
}

function cancelled(reason: CancelWord): RequestOutcome {
  return { outcome: "cancelled", reason, by: null };
}
