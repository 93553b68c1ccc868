import { validateHeaderName, validateHeaderValue } from "node:http";
import { messageOf } from "../../../core/index.ts";
import type { HttpHeaders } from "../http-answer.ts";

/** What is sent, piece by piece or whole. */
export type AnswerBody = Uint8Array | AsyncIterable<string | Uint8Array>;

/** An answer that can be sent as it is. */
export interface RouteAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: HttpHeaders;
  readonly body: AnswerBody;
}

/** Headers that say how an answer travels, which is the gateway's business. */
const reserved: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** With these there is no body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * What a plugin gave as an answer, with the headers that every answer has unless it says otherwise; or what is wrong with it, in
 * words. Pure.
 */
export function routeAnswer(given: unknown): RouteAnswer | string {
  if (typeof given !== "object" || given === null)
    return `expected an answer such as { json: {} }, got ${typeOf(given)}`;
  const { status = 200, headers = {}, json, body } = given as { readonly [field: string]: unknown };
  if (typeof status !== "number" || !Number.isInteger(status) || status < 200 || status > 599) {
    return `status: expected a whole number of 200 to 599, got ${typeof status === "number" ? status : typeOf(status)}`;
  }
  const own = headersOf(headers);
  if (typeof own === "string") return own;
  if (json !== undefined && body !== undefined) return "expected json or body, got both";
  const made = json === undefined ? bodyOf(body) : jsonOf(json);
  if (typeof made === "string") return made;
  if (bodiless.has(status) && made.type !== null) return `body: expected none with status ${status}`;
  return { status, headers: { ...defaultHeaders(own["content-type"] ?? made.type), ...own }, body: made.body };
}

function headersOf(given: unknown): HttpHeaders | string {
  if (typeof given !== "object" || given === null) return `headers: expected an object, got ${typeOf(given)}`;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase();
    if (reserved.has(key)) return `headers: ${key} is the gateway's own`;
    if (typeof value !== "string") return `headers: ${key}: expected a text, got ${typeOf(value)}`;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch (fault) {
      return `headers: ${messageOf(fault)}`;
    }
    headers[key] = value;
  }
  return headers;
}

interface MadeBody {
  /** null: there is none. */
  readonly type: string | null;
  readonly body: AnswerBody;
}

function jsonOf(json: unknown): MadeBody | string {
  try {
    const text = JSON.stringify(json) as string | undefined;
    if (text !== undefined) return { type: "application/json; charset=utf-8", body: Buffer.from(text) };
  } catch (fault) {
    return `json: ${messageOf(fault)}`;
  }
  return "json: expected a value that JSON has";
}

function bodyOf(body: unknown): MadeBody | string {
  if (body === undefined) return { type: null, body: new Uint8Array() };
  if (typeof body === "string") return { type: "text/plain; charset=utf-8", body: Buffer.from(body) };
  if (body instanceof Uint8Array) {
    // A plain view: what only looks like bytes throws here, and not while it is sent.
    const bytes = new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
    return { type: "application/octet-stream", body: bytes };
  }
  if (isIterable(body)) return { type: "application/octet-stream", body };
  return `body: expected a text, bytes or an async iterable, got ${typeOf(body)}`;
}

function isIterable(value: unknown): value is AsyncIterable<string | Uint8Array> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/**
 * Nothing is guessed from content, nothing is kept, and no address, which may hold a ticket, is handed on. A page runs what
 * comes from here, and stands in no frame.
 */
function defaultHeaders(type: string | null): HttpHeaders {
  return {
    ...(type === null ? {} : { "content-type": type }),
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    ...(type !== null && /^text\/html\b/i.test(type) ? pageHeaders : {}),
  };
}

const pageHeaders: HttpHeaders = {
  "content-security-policy":
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; " +
    "form-action 'self'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
};

function typeOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}
