import type { Client } from "./client.ts";
import type { Undo } from "./clock.ts";
import type { RequestFrame } from "./frames.ts";
import { requestFrame, type OpenRequest } from "./open-request.ts";
import type { ServerRequests } from "./server-requests.ts";
import type { Session } from "./sessions.ts";

/** A connection, as far as questions need it. */
export interface RequestClient {
  /** By which it is named as the one who answered; null when it has no name. */
  readonly origin: string | null;
  /** Whether it said that it takes server requests. */
  readonly advertises: boolean;
}

/** Who is there for a session: a `FanOut` of clients. */
export interface RequestAudience<Peer extends RequestClient> {
  attached(session: Session): readonly Peer[];
  /** Queues a request for each behind all that left the session so far, and gives those that it reached. Never throws. */
  request(clients: readonly Peer[], session: Session, frame: RequestFrame): readonly Peer[];
}

/** What a delivery is made of. */
export interface RequestDeliveryParts<Peer extends RequestClient> {
  readonly requests: ServerRequests;
  readonly audience: RequestAudience<Peer>;
  /** Whether it may answer requests of this method: by its scopes, and by what it is in the session, attached or not. */
  readonly mayAnswer: (client: Peer, session: Session, method: string) => boolean;
}

/** A client's answer to a request. It gets no reply. */
export interface ResponseFrame {
  readonly id: unknown;
  readonly result?: unknown;
  /** Present when the client declines, whatever the code. */
  readonly error?: unknown;
}

/**
 * What became of a response. `taken`: it decided the request. `declined`: the request goes on without this client, or has
 * ended because nobody else was asked. `late`: it names no open request. `refused`: this client may not answer it.
 */
export type ResponseFate = "taken" | "declined" | "late" | "refused";

/** Whom a request was put before. Those that have left the session, or may not answer any more, are forgotten. */
interface Shown<Peer> {
  readonly request: OpenRequest;
  readonly clients: Set<Peer>;
}

/**
 * Puts the questions of ordinary sessions before clients, and takes their response frames. Asked are attached clients that
 * may answer and take server requests. When the last one asked declines, and when clients are there that may answer and none
 * of them takes server requests, a request ends, `no_handler`. When the last one leaves, and when nobody is there who may
 * answer, it waits and is listed. Requests of hidden sessions are listed only.
 *
 * A client that attaches is given what is open in its reply and counts as asked; one that says later that it takes server
 * requests is asked then what it was not given before, and nothing twice.
 */
export class RequestDelivery<Peer extends RequestClient = Client> {
  readonly #requests: ServerRequests;
  readonly #audience: RequestAudience<Peer>;
  readonly #mayAnswer: RequestDeliveryParts<Peer>["mayAnswer"];
  readonly #shown = new Map<string, Shown<Peer>>();
  readonly #undo: readonly Undo[];
  #lateAnswers = 0;
  #refusedAnswers = 0;

  constructor(parts: RequestDeliveryParts<Peer>) {
    this.#requests = parts.requests;
    this.#audience = parts.audience;
    this.#mayAnswer = parts.mayAnswer;
    this.#undo = [
      parts.requests.on("opened", (request) => this.#opened(request)),
      parts.requests.on("resolved", ({ request }) => this.#shown.delete(request.id)),
      parts.requests.presentBy((request) => this.#asked(request).length > 0),
    ];
  }

  /** Response frames that named no open request: they came too late, or their id was never given out. */
  get lateAnswers(): number {
    return this.#lateAnswers;
  }

  /** Response frames of clients that may not answer what they named. */
  get refusedAnswers(): number {
    return this.#refusedAnswers;
  }

  /**
   * What a reply lists as `open_requests`: those of the session that the client may answer, oldest first, with what was
   * answered so far. An attached client counts as asked from here on.
   */
  openRequests(client: Peer, session: Session): readonly Pick<RequestFrame, "id" | "method" | "params">[] {
    return this.#openTo(client, session).map((request) => {
      if (this.#audience.attached(session).includes(client)) this.#shownTo(request).add(client);
      const { id, method, params } = requestFrame(request);
      return { id, method, params };
    });
  }

  /** Sends what is open in the session and was not put before the client yet: for an attachment whose reply lists nothing. */
  present(client: Peer, session: Session): void {
    if (!client.advertises) return;
    for (const request of this.#openTo(client, session)) this.#ask(request, [client]);
  }

  /** To be called when a client says that it takes server requests. */
  advertised(client: Peer): void {
    const sessions = new Set(this.#requests.open().map(({ session }) => session));
    for (const session of sessions) {
      if (this.#audience.attached(session).includes(client)) this.present(client, session);
    }
  }

  /** To be called when what a client may answer has changed: what it may not any more was never put before it. */
  changed(client: Peer): void {
    for (const { request, clients } of this.#shown.values()) {
      if (!this.#mayAnswer(client, request.session, request.method)) clients.delete(client);
    }
    this.advertised(client);
  }

  /**
   * Takes a client's response. The first answer wins. An error, and a result that does not fit, take the client out of those
   * asked; an approval answered with anything but a choice that it offers is denied.
   */
  response(client: Peer, frame: ResponseFrame): ResponseFate {
    const request = typeof frame.id === "string" ? this.#requests.find(frame.id) : undefined;
    if (request === undefined || request.id !== frame.id) {
      this.#lateAnswers++;
      return "late";
    }
    const { id, session, method } = request;
    if (session.roomPlumbing || !this.#mayAnswer(client, session, method)) {
      this.#refusedAnswers++;
      return "refused";
    }
    const shown = this.#shown.get(id)?.clients;
    const wasAsked = this.#asked(request).includes(client);
    // Not before anybody else learns of the answer: then it would be told that it is withdrawn, too.
    shown?.delete(client);
    if (frame.error === undefined && this.#answer(request, frame.result, client)) return "taken";
    if (wasAsked && this.#asked(request).length === 0) this.#requests.cancel(id, "no_handler");
    return "declined";
  }

  /** Delivers nothing from now on. */
  close(): void {
    for (const undo of this.#undo) undo();
    this.#shown.clear();
  }

  #answer({ id }: OpenRequest, result: unknown, { origin }: Peer): boolean {
    return this.#requests.answer(id, { result }, origin).status === "ok";
  }

  #opened(request: OpenRequest): void {
    const { id, session, method } = request;
    // Somebody in process has answered it already.
    if (session.roomPlumbing || this.#requests.find(id) === undefined) return;
    const able = this.#audience.attached(session).filter((client) => this.#mayAnswer(client, session, method));
    const asked = able.filter(({ advertises }) => advertises);
    if (able.length > 0 && asked.length === 0) this.#requests.cancel(id, "no_handler");
    else this.#ask(request, asked);
  }

  /** Sends the request to those of the clients that do not have it. One whose line is full is gone with that. */
  #ask(request: OpenRequest, clients: readonly Peer[]): void {
    const shown = this.#shownTo(request);
    const missing = clients.filter((client) => !shown.has(client));
    if (missing.length === 0) return;
    for (const client of this.#audience.request(missing, request.session, requestFrame(request))) shown.add(client);
  }

  #openTo(client: Peer, session: Session): readonly OpenRequest[] {
    if (session.roomPlumbing) return [];
    return this.#requests.open(session).filter(({ method }) => this.#mayAnswer(client, session, method));
  }

  #shownTo(request: OpenRequest): Set<Peer> {
    const shown = this.#shown.get(request.id) ?? { request, clients: new Set<Peer>() };
    this.#shown.set(request.id, shown);
    this.#forgetGone(shown);
    return shown.clients;
  }

  /** Who has the request before them, is still there, and has neither answered nor declined. */
  #asked(request: OpenRequest): readonly Peer[] {
    const shown = this.#shown.get(request.id);
    if (shown === undefined) return [];
    this.#forgetGone(shown);
    return [...shown.clients].filter(({ advertises }) => advertises);
  }

  #forgetGone({ request, clients }: Shown<Peer>): void {
    const attached = new Set(this.#audience.attached(request.session));
    const { session, method } = request;
    for (const client of clients) {
      if (!attached.has(client) || !this.#mayAnswer(client, session, method)) clients.delete(client);
    }
  }
}
