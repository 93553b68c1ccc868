import { clientLimits } from "./options.ts";
import { byteLength } from "./link.ts";
import { isJson, type Json, type WireEvent, type WireRequest } from "./wire.ts";

/** A question as a handler gets it. */
export interface RequestCall<Params = Json> {
  /** `srq-` and 12 hex digits. */
  readonly id: string;
  readonly method: string;
  readonly params: Params;
  /** It was open before this connection: it comes out of a reply, and may have been shown before. */
  readonly replayed: boolean;
  /** Aborted when the question needs no answer any more: somebody answered, it expired, its turn ended. */
  readonly signal: AbortSignal;
}

/** Gives the answer as the method wants it, or `declined`. What it throws declines as well. */
export type RequestHandler<Params = Json> = (call: RequestCall<Params>) => unknown;

/** What a handler returns when the question is not shown here: others may still answer. */
export const declined: unique symbol = Symbol("declined");

/** JSON-RPC errors by which a client takes itself out of a question. */
const refusals = {
  noHandler: { code: -32601, message: "no handler" },
  failed: { code: -32603, message: "the handler failed" },
  notShown: { code: -32004, message: "not shown here" },
} as const;

/** What a request table needs of its client. */
export interface RequestParts {
  /** Sends an answer over the connection that stands now, if one does. */
  readonly answer: (id: string, answer: { readonly result: unknown } | { readonly error: object }) => void;
  readonly problem: (code: string, message: string, cause?: unknown) => void;
}

/**
 * The questions that handlers of this client are busy with. A question outlives the connection it came by: when it is
 * delivered again its handler is not called a second time, and the answer leaves by the connection that stands then.
 */
export class RequestTable {
  readonly #parts: RequestParts;
  readonly #handlers = new Map<string, RequestHandler>();
  readonly #running = new Map<string, { readonly sessionId: unknown; readonly stop: AbortController }>();
  /** Ids answered on this connection: a reply that was on its way may still list them. */
  #answered = new Set<string>();

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  get hasHandlers(): boolean {
    return this.#handlers.size > 0;
  }

  /** @param method a method of the server's questions, or `*` for those that have no handler of their own */
  handle(method: string, handler: RequestHandler): () => void {
    if (this.#handlers.has(method)) throw new TypeError(`${method} has a handler already`);
    this.#handlers.set(method, handler);
    return () => {
      if (this.#handlers.get(method) === handler) this.#handlers.delete(method);
    };
  }

  /** A question by frame. */
  open(request: WireRequest): void {
    this.#start(request, false);
  }

  /** A connection stands: what was answered on the one before may have been lost, and may be asked again. */
  connected(): void {
    this.#answered = new Set();
  }

  /** A reply lists the open questions of a session: handlers get those they have not, and what is not listed is over. */
  listed(sessionId: string, openRequests: unknown): void {
    if (!Array.isArray(openRequests)) return;
    const listed: readonly WireRequest[] = openRequests.flatMap((entry: unknown) => {
      if (!isJson(entry) || typeof entry["id"] !== "string" || typeof entry["method"] !== "string") return [];
      return [{ id: entry["id"], method: entry["method"], params: isJson(entry["params"]) ? entry["params"] : {} }];
    });
    const ids = new Set(listed.map(({ id }) => id));
    for (const [id, running] of [...this.#running]) {
      if (running.sessionId === sessionId && !ids.has(id)) this.#end(id);
    }
    for (const request of listed) if (!this.#answered.has(request.id)) this.#start(request, true);
  }

  /** An event of the `request.*` family: what it ends needs no answer any more. */
  onEvent({ type, payload }: WireEvent): void {
    if (type !== "request.cancel" && type !== "request.resolved") return;
    if (typeof payload?.["id"] === "string") this.#end(payload["id"]);
  }

  /** The server's life, or this client's, is over, and with it every question. */
  endAll(): void {
    for (const id of [...this.#running.keys()]) this.#end(id);
  }

  #start({ id, method, params }: WireRequest, replayed: boolean): void {
    if (this.#running.has(id)) return;
    const handler = this.#handlers.get(method) ?? this.#handlers.get("*");
    if (handler === undefined) return this.#reply(id, { error: refusals.noHandler });
    const stop = new AbortController();
    this.#running.set(id, { sessionId: params["session_id"], stop });
    // The handler is entered before this returns; what it throws is met like what it rejects with.
    const answer = new Promise<unknown>((resolve) => {
      resolve(handler({ id, method, params, replayed, signal: stop.signal }));
    });
    answer.then(
      (result) => this.#finish(id, stop, result === declined ? { error: refusals.notShown } : { result: result ?? {} }),
      (fault: unknown) => {
        const isWanted = this.#finish(id, stop, { error: refusals.failed });
        if (isWanted) this.#parts.problem("handler_threw", `the handler of ${method} failed`, fault);
      },
    );
  }

  /** Sends the answer, unless the question ended meanwhile. */
  #finish(id: string, stop: AbortController, answer: { result: unknown } | { error: object }): boolean {
    if (this.#running.get(id)?.stop !== stop) return false;
    this.#running.delete(id);
    this.#reply(id, answer);
    return true;
  }

  #reply(id: string, answer: { readonly result: unknown } | { readonly error: object }): void {
    this.#answered.add(id);
    const [oldest] = this.#answered;
    if (this.#answered.size > clientLimits.maxAnsweredIds && oldest !== undefined) this.#answered.delete(oldest);
    if ("result" in answer && byteLength(JSON.stringify(answer)) > clientLimits.maxMessageBytes - 64) {
      this.#parts.problem("payload_too_large", `the answer to ${id} is larger than a server takes`);
      return this.#parts.answer(id, { error: refusals.failed });
    }
    this.#parts.answer(id, answer);
  }

  #end(id: string): void {
    const running = this.#running.get(id);
    this.#running.delete(id);
    running?.stop.abort();
  }
}
