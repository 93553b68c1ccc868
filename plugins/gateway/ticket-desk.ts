import type { IncomingMessage, ServerResponse } from "node:http";
import type { Welcome } from "./addresses.ts";
import type { Audit } from "./audit.ts";
import type { Auth } from "./auth.ts";
import type { CloseWord } from "./close-codes.ts";
import type { Counts } from "./counts.ts";
import { presentedCredential } from "./credentials.ts";
import type { Gates } from "./gates.ts";
import { crossOrigin, refusalHeaders, sendJson, sendMayAsk, statusOfRefusal } from "./http-answer.ts";
import { judgeRequest, targetOf, visitorOf } from "./upgrade.ts";

/** Where tickets are made. */
export const ticketPath = "/api/auth/ws-ticket";

/** What a desk is made of. */
export interface TicketDeskParts {
  readonly auth: Auth;
  readonly gates: Gates;
  readonly counts: Counts;
  readonly audit: Audit;
  /** How long a ticket is good. */
  readonly ticketMs: number;
}

/** A server that a request came to, and who is welcome there. */
export interface Door {
  readonly boundHost: string;
  readonly welcome: Welcome;
}

/**
 * Makes tickets over HTTP: `POST /api/auth/ws-ticket` with a bearer gives `{ticket, expires_in}`. A page of another origin
 * that is allowed may ask as well; there are no cookies, so nothing rides along.
 */
export class TicketDesk {
  readonly #parts: TicketDeskParts;
  readonly #isClosed: () => boolean;

  constructor(parts: TicketDeskParts, isClosed: () => boolean) {
    this.#parts = parts;
    this.#isClosed = isClosed;
  }

  /** False when the request is for something else: then nothing was done with it. */
  handle(request: IncomingMessage, response: ServerResponse, door: Door): boolean {
    if (targetOf(request)?.pathname !== ticketPath) return false;
    if (request.method === "POST") void this.#make(request, response, door);
    else if (request.method === "OPTIONS") this.#mayAsk(request, response, door);
    else sendJson(response, 405, { error: "method_not_allowed" }, { allow: "POST" });
    return true;
  }

  /** A browser asks whether it may before it asks with a credential. */
  #mayAsk(request: IncomingMessage, response: ServerResponse, { boundHost, welcome }: Door): void {
    const stranger = judgeRequest(request, boundHost, welcome);
    if (stranger !== null) return this.#refuse(request, response, stranger);
    sendMayAsk(request, response, { methods: ["POST"], headers: ["authorization", "content-type"] });
  }

  /** Never rejects. */
  async #make(request: IncomingMessage, response: ServerResponse, { boundHost, welcome }: Door): Promise<void> {
    const { auth, gates, audit, ticketMs } = this.#parts;
    if (this.#isClosed()) return sendJson(response, 503, { error: "shutting_down" });
    const visitor = visitorOf(request, boundHost);
    const release = gates.enter(visitor.address);
    if (release === null) return this.#refuse(request, response, "too_many_pending");
    const identity = await gates.judge(visitor, () => bearerOf(request), { welcome, knock: "ticket" });
    release();
    if (typeof identity === "string") return this.#refuse(request, response, identity);
    const ticket = auth.mint(identity, request.headers.origin ?? null);
    const { principal } = identity;
    audit(ticket === null ? "refused" : "granted", "ticket", { principal, address: visitor.address });
    if (ticket === null) return this.#refuse(request, response, "too_many_tickets");
    sendJson(response, 200, { ticket, expires_in: Math.floor(ticketMs / 1_000) }, crossOrigin(request));
  }

  #refuse(
    request: IncomingMessage,
    response: ServerResponse,
    word: CloseWord | "too_many_pending" | "too_many_tickets",
  ): void {
    this.#parts.counts.add(word);
    sendJson(response, statusOfRefusal(word), { error: word }, refusalHeaders(request, word));
  }
}

function bearerOf({ headers: { authorization } }: IncomingMessage): ReturnType<typeof presentedCredential> {
  return presentedCredential({
    authorization,
    protocols: undefined,
    query: new URLSearchParams(),
    allowsQueryToken: false,
  });
}
