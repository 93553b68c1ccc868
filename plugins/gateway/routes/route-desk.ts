import type { IncomingMessage, ServerResponse } from "node:http";
import { errorTable, limits, messageOf, RoomtapError, type JsonObject } from "../../../core/index.ts";
import { missingScope } from "../../../rooms/index.ts";
import type { RouteRequest } from "../../plugin.ts";
import type { Auth, Rotation } from "../auth.ts";
import type { Counts } from "../counts.ts";
import { hasSameRights, type Identity } from "../credentials.ts";
import type { Gates, Visitor } from "../gates.ts";
import type { RouteFound, TransportHost } from "../host.ts";
import {
  crossOrigin,
  refusalHeaders,
  sendJson,
  sendMayAsk,
  statusOfRefusal,
  type HttpRefusal,
} from "../http-answer.ts";
import { Tally } from "../limits.ts";
import type { Door } from "../ticket-desk.ts";
import { requestCredential, targetOf, visitorOf } from "../upgrade.ts";
import { discardBody, Exchange } from "./exchange.ts";
import { routeAnswer } from "./route-answer.ts";
import { readBody, routeRequest } from "./route-request.ts";

/** What the desk works with. */
export interface RouteDeskParts {
  readonly host: Pick<TransportHost, "clock" | "redactor" | "report" | "audit" | "routes">;
  readonly auth: Auth;
  readonly gates: Gates;
  readonly counts: Counts;
  readonly isClosed: () => boolean;
}

/** A request that is the desk's. */
interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: URL;
  readonly match: RouteFound | readonly string[];
  readonly door: Door;
  readonly visitor: Visitor;
}

/** Why it is not answered by its plugin. */
interface Refused {
  readonly refused: HttpRefusal;
  readonly message: string;
  readonly data?: JsonObject;
}

/** One that may come in; a preflight was answered already. */
type Admitted = { readonly found: RouteFound; readonly identity: Identity | null; readonly body: string } | "answered";

/**
 * Answers requests to routes of plugins, gate by gate: how many of the address are not through yet, lock-out, Host and Origin,
 * credential, scope, how many are open, body; then the plugin. There are no cookies, so nothing rides along.
 */
export class RouteDesk {
  readonly #parts: RouteDeskParts;
  readonly #open = new Set<Exchange>();
  /** Open ones by principal, and by address those of nobody. */
  readonly #callers = new Tally();
  #onEmpty: () => void = () => undefined;

  constructor(parts: RouteDeskParts) {
    this.#parts = parts;
  }

  /** Requests that are not over. */
  get size(): number {
    return this.#open.size;
  }

  /** False when the request is for no plugin: then nothing was done with it. */
  handle(request: IncomingMessage, response: ServerResponse, door: Door): boolean {
    const target = targetOf(request);
    const match = target && this.#parts.host.routes?.match(request.method ?? "", target.pathname);
    if (!target || !match) return false;
    void this.#serve({ request, response, target, match, door, visitor: visitorOf(request, door.boundHost) });
    return true;
  }

  /**
   * Ends what rests on rights that are not what they were: whoever asks again has those of now.
   * @param revokes false: what rests on a credential that has gone stays
   */
  review({ before, after }: Rotation, revokes: boolean): void {
    for (const exchange of this.#open) {
      const { identity } = exchange;
      if (identity === null) continue;
      const current = after.current(identity);
      const hasGone = current === null && before.current(identity) !== null;
      if (hasGone ? revokes : current !== null && !hasSameRights(identity, current)) exchange.end();
    }
  }

  /** Ends what is open of a principal. */
  revoke(principal: string): void {
    for (const exchange of this.#open) if (exchange.identity?.principal === principal) exchange.end();
  }

  /** Ends all that is open; resolves when it is over, a second later at most. */
  async close(): Promise<void> {
    for (const exchange of this.#open) exchange.end();
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const stopTimer = this.#parts.host.clock.after(limits.closeGraceMs, resolve);
      this.#onEmpty = () => {
        stopTimer();
        resolve();
      };
    });
  }

  /** Never rejects. */
  async #serve(asked: Asked): Promise<void> {
    try {
      const { gates } = this.#parts;
      const release = gates.enter(asked.visitor.address);
      if (release === null) return this.#refuse(asked, refusal("too_many_pending"));
      const admitted = await this.#admit(asked).finally(release);
      if (admitted === "answered") return;
      if ("refused" in admitted) this.#refuse(asked, admitted);
      else await this.#answer(asked, admitted);
    } catch (fault) {
      this.#parts.host.report({ code: "internal", message: `a route failed: ${messageOf(fault)}`, cause: fault });
      this.#refuse(asked, refusal("internal"));
    }
  }

  async #admit(asked: Asked): Promise<Admitted | Refused> {
    const { request, match } = asked;
    if (this.#parts.isClosed()) return refusal("shutting_down");
    if ("route" in match) return this.#admitTo(match, asked);
    const stranger = this.#stranger(asked);
    if (stranger !== null) return refusal(stranger);
    if (match.length === 0) return refusal("unknown_route");
    if (request.method !== "OPTIONS") return { ...refusal("method_not_allowed"), data: { allow: [...match] } };
    const headers = ["authorization", "content-type", "last-event-id"];
    sendMayAsk(request, asked.response, { methods: match, headers });
    return "answered";
  }

  async #admitTo(found: RouteFound, asked: Asked): Promise<Admitted | Refused> {
    const identity = await this.#identify(found, asked);
    if (typeof identity === "string") return refusal(identity);
    const denied = this.#denied(found, identity, asked);
    if (denied !== null) return denied;
    const { clock } = this.#parts.host;
    const bounds = { clock, maxBytes: limits.maxRouteBodyBytes, timeoutMs: limits.routeBodyMs };
    const read = await readBody(asked.request, bounds);
    if ("refused" in read) return read.refused === "gone" ? "answered" : bodyRefusal(read.refused);
    if (this.#parts.isClosed()) return refusal("shutting_down");
    // Credentials may have changed while the body came.
    const current = identity && this.#parts.auth.current(identity);
    if (typeof current === "string") return refusal(current);
    return this.#denied(found, current, asked) ?? { found, identity: current, body: read.text };
  }

  /** Who asks; null for nobody, where anybody may. */
  async #identify(found: RouteFound, asked: Asked): Promise<Identity | null | HttpRefusal> {
    const { gates } = this.#parts;
    const { visitor, request, target, door } = asked;
    const { credential, isShown } = requestCredential(visitor, target.searchParams);
    if (found.route.options.scope === "public" && !isShown) return this.#stranger(asked);
    // A page of another site makes a browser ask without saying where from; it has no credential, and may need none here.
    if (!isShown && isCrossSite(request)) {
      gates.refused(visitor, "origin_not_allowed", "route");
      return "origin_not_allowed";
    }
    return gates.judge(visitor, () => credential, { welcome: door.welcome, knock: "route" });
  }

  /** Why it may not come, whoever it is. */
  #stranger({ visitor, door }: Asked): HttpRefusal | null {
    const stranger = this.#parts.gates.admits(visitor, { welcome: door.welcome, knock: "route" });
    if (stranger !== null) this.#parts.gates.refused(visitor, stranger, "route");
    return stranger;
  }

  #denied({ plugin, route }: RouteFound, identity: Identity | null, { visitor, target }: Asked): Refused | null {
    const about = { plugin, path: target.pathname, principal: identity?.principal ?? null, address: visitor.address };
    const deny = (refused: Refused): Refused => {
      this.#parts.host.audit("refused", "route", { reason: refused.refused, ...about, ...refused.data });
      return refused;
    };
    const { scope } = route.options;
    if (scope !== "public") {
      const missing = missingScope(scope, { scopes: new Set(identity?.scopes), isOwner: false });
      if (missing !== null) {
        const message = `this needs the scope ${missing}`;
        return deny({ refused: "insufficient_scope", message, data: { required_scope: missing } });
      }
    }
    const { maxRouteRequests, maxRouteRequestsPerCaller } = limits;
    const own = this.#callers.of(callerKey(identity, visitor));
    const isFull = this.#open.size >= maxRouteRequests || own >= maxRouteRequestsPerCaller;
    return isFull ? deny(refusal("connection_limit")) : null;
  }

  async #answer(asked: Asked, { found, identity, body }: Exclude<Admitted, "answered">): Promise<void> {
    const { request, response, target, visitor } = asked;
    const { clock } = this.#parts.host;
    const isHead = request.method === "HEAD";
    const release = this.#callers.add(callerKey(identity, visitor));
    const onEnd = (): void => {
      release();
      this.#open.delete(exchange);
      if (this.#open.size === 0) this.#onEmpty();
    };
    const exchange = new Exchange({ response, isHead, clock, identity, removed: found.removed, onEnd });
    // One that has gone already tells of no further end.
    if (response.closed) return onEnd();
    this.#open.add(exchange);
    const given = routeRequest(request, { target, found, identity, body, signal: exchange.signal });
    const refused = await this.#handOver(found, given, { exchange, asked });
    if (refused !== null) this.#refuse(asked, refused);
  }

  /** Asks the plugin and sends what it gives; gives why nothing was sent. */
  async #handOver(
    found: RouteFound,
    given: RouteRequest,
    { exchange, asked }: { readonly exchange: Exchange; readonly asked: Asked },
  ): Promise<Refused | null> {
    const { plugin, route } = found;
    const where = `route ${given.method} ${asked.target.pathname}`;
    let answered: Promise<unknown> = Promise.resolve();
    let made: { readonly value: unknown } | "ended" | "late";
    try {
      made = await exchange.within(() => {
        const result = Promise.resolve(route.handler(given));
        answered = result;
        return result;
      }, limits.routeAnswerMs);
    } catch (fault) {
      return exchange.signal.aborted ? this.#ended(found) : this.#failed(plugin, where, fault);
    }
    if (made === "late" || made === "ended") {
      // What it gives in the end is told that nobody reads it.
      answered.then((late) => discardBody(bodyIn(late))).catch(() => undefined);
      if (made === "ended") return this.#ended(found);
      exchange.end();
      this.#fault(plugin, `${where}: no answer within ${limits.routeAnswerMs} ms`);
      return refusal("plugin_timeout");
    }
    const answer = readAnswer(made.value);
    if (typeof answer === "string") {
      this.#fault(plugin, `${where}: ${answer}`);
      discardBody(bodyIn(made.value));
      return refusal("plugin_failed");
    }
    const sent = await exchange.send(answer, crossOrigin(asked.request));
    if (sent === "stalled") this.#parts.counts.add("slow_consumer");
    else if (typeof sent === "object") this.#fault(plugin, `${where}: ${sent.fault}`, sent.cause);
    return sent === "ended" ? this.#ended(found) : null;
  }

  /** Of one that was ended before its answer; who has left reads none. */
  #ended({ removed }: RouteFound): Refused {
    return refusal(removed.aborted && !this.#parts.isClosed() ? "plugin_lost" : "shutting_down");
  }

  /** What the caller is told of what a handler threw: a refusal whole, of a fault nothing. */
  #failed(plugin: string, where: string, fault: unknown): Refused {
    const code = fault instanceof RoomtapError ? fault.code : "plugin_failed";
    const isRefusal = fault instanceof RoomtapError && statusOfRefusal(code) < 500;
    if (!isRefusal) {
      this.#fault(plugin, `${where}: ${messageOf(fault)}`, fault);
      return refusal(code === "internal" ? "plugin_failed" : code);
    }
    const message = this.#parts.host.redactor.text(fault.message).toWellFormed();
    return { refused: code, message, ...(fault.data === undefined ? {} : { data: fault.data }) };
  }

  /** That its worker ended was told when it did: those who ask meanwhile make no further fault of it. */
  #fault(plugin: string, message: string, cause?: unknown): void {
    if (cause instanceof RoomtapError && cause.code === "plugin_lost") return;
    this.#parts.host.routes?.fault(plugin, message, cause);
  }

  #refuse({ request, response, match }: Asked, { refused, message, data }: Refused): void {
    if (response.headersSent || response.destroyed) return;
    this.#parts.counts.add(refused);
    const status = statusOfRefusal(refused);
    const isAllowed = status === 405 && !("route" in match);
    if (!request.complete) this.#letGo(request);
    sendJson(
      response,
      status,
      { error: refused, message, ...(status === 405 ? {} : data) },
      {
        ...refusalHeaders(request, refused),
        ...(isAllowed ? { allow: match.join(", ") } : {}),
      },
    );
  }

  /** Reads on for a moment, and keeps nothing: on a line that is cut at once the answer may be lost. */
  #letGo(request: IncomingMessage): void {
    const stopTimer = this.#parts.host.clock.after(limits.closeGraceMs, () => request.socket.destroy());
    request
      .on("error", () => undefined)
      .once("end", stopTimer)
      .once("close", stopTimer)
      .resume();
  }
}

/** As `routeAnswer`; one that cannot even be read is the plugin's fault as well. */
function readAnswer(given: unknown): ReturnType<typeof routeAnswer> {
  try {
    return routeAnswer(given);
  } catch (fault) {
    return `it cannot be read: ${messageOf(fault)}`;
  }
}

function bodyIn(answer: unknown): unknown {
  try {
    return typeof answer === "object" && answer !== null && "body" in answer ? answer.body : undefined;
  } catch {
    return undefined;
  }
}

function callerKey(identity: Identity | null, { address }: Visitor): string {
  return identity === null ? `address ${address}` : `principal ${identity.principal}`;
}

/** As browsers say it; other programs say nothing. A page of an origin that is allowed names it as well. */
function isCrossSite({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  return headers.origin === undefined && (site === "cross-site" || site === "same-site");
}

const bodyMessages = {
  payload_too_large: `the body is above ${limits.maxRouteBodyBytes} bytes`,
  request_timeout: `the body did not come within ${limits.routeBodyMs} ms`,
  invalid_request: "the body is no UTF-8",
} as const;

function bodyRefusal(word: keyof typeof bodyMessages): Refused {
  return { refused: word, message: bodyMessages[word] };
}

/** With a message that tells nothing of the plugin. */
function refusal(word: HttpRefusal): Refused {
  const known: Readonly<Record<string, { readonly meaning: string } | undefined>> = errorTable;
  return {
    refused: word,
    message: known[word]?.meaning ?? messages[statusOfRefusal(word)] ?? "the request is refused",
  };
}

const messages: Readonly<Record<number, string>> = {
  401: "this needs a credential that is good: a bearer in the header, or a ticket",
  403: "requests by this name, or from this origin, are not let in",
  429: "too much is asked at once from here",
};
