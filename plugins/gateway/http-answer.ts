import type { IncomingMessage, ServerResponse } from "node:http";
import type { ErrorCode } from "../../core/index.ts";
import { closeCodes, type CloseWord } from "./close-codes.ts";

/** Headers of an answer, by name in lower case. */
export type HttpHeaders = Readonly<Record<string, string>>;

/** Why a request over HTTP is refused. */
export type HttpRefusal = CloseWord | ErrorCode | "too_many_pending" | "too_many_tickets";

/** Said before it is known whether a page of this origin may read it. */
const unseen: ReadonlySet<HttpRefusal> = new Set([
  "too_many_pending",
  "upgrade_rate",
  "host_not_allowed",
  "origin_not_allowed",
]);

/** HTTP has numbers of its own. */
const ofCloseCode: Readonly<Record<number, number>> = { 1001: 503, 4401: 401, 4403: 403, 4429: 429 };

const ofWord: Partial<Record<HttpRefusal, number>> = {
  cursor_ahead: 400,
  too_deep: 400,
  insufficient_scope: 403,
  not_granted: 403,
  method_not_allowed: 405,
  request_timeout: 408,
  duplicate_id: 409,
  stale_generation: 409,
  task_open: 409,
  not_pending: 409,
  not_retryable: 409,
  room_disbanded: 409,
  room_retired: 409,
  history_expired: 410,
  payload_too_large: 413,
  text_too_large: 413,
  inbox_full: 429,
  queue_full: 429,
  rate_limited: 429,
  closed: 503,
  driver_unavailable: 503,
  log_busy: 503,
  log_full: 503,
  plugin_lost: 503,
  shutting_down: 503,
  plugin_timeout: 504,
  quota_exceeded: 507,
  room_full: 507,
};

/** Families of words. */
const ofFamily: readonly (readonly [RegExp, number])[] = [
  [/^unknown_/, 404],
  [/^invalid_/, 400],
  [/_conflict$/, 409],
  [/^too_many_/, 429],
];

/** The status of an answer that refuses for this reason; 500 for a fault. */
export function statusOfRefusal(word: HttpRefusal): number {
  const stated = ofWord[word];
  if (stated !== undefined) return stated;
  if (word in closeCodes) return ofCloseCode[closeCodes[word as CloseWord]] ?? 500;
  return ofFamily.find(([family]) => family.test(word))?.[1] ?? 500;
}

/** What goes along with a refusal. */
export function refusalHeaders(request: IncomingMessage, word: HttpRefusal): HttpHeaders {
  const status = statusOfRefusal(word);
  return {
    ...(unseen.has(word) ? {} : crossOrigin(request)),
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...(status === 429 ? { "retry-after": "60" } : {}),
  };
}

/** What lets a page of an origin that is allowed read the answer. */
export function crossOrigin({ headers: { origin } }: IncomingMessage): HttpHeaders {
  return origin === undefined ? {} : { "access-control-allow-origin": origin, vary: "origin" };
}

/** A browser asks whether it may before it asks with a credential; its page's origin was found to be allowed. */
export function sendMayAsk(
  request: IncomingMessage,
  response: ServerResponse,
  { methods, headers }: { readonly methods: readonly string[]; readonly headers: readonly string[] },
): void {
  response.writeHead(204, {
    ...crossOrigin(request),
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": headers.join(", "),
    "access-control-max-age": "600",
  });
  response.end();
}

/** Answers with JSON that nobody keeps. */
export function sendJson(response: ServerResponse, status: number, body: object, headers: HttpHeaders = {}): void {
  response.writeHead(status, { ...headers, "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}
