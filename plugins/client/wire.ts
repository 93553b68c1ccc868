/** An object as JSON has it. */
export type Json = { readonly [key: string]: unknown };

/** An event as the server sends it, without its envelope. `seq` is there if and only if `session_id` is. */
export interface WireEvent {
  readonly type: string;
  readonly session_id?: string;
  readonly seq?: number;
  /** Who claimed the turn that runs: the id of a connection, `auto_continue`, `host`. */
  readonly origin?: string;
  readonly turn?: { readonly id: string; readonly source: Json };
  readonly payload?: Json;
}

/** A question of the server. */
export interface WireRequest {
  /** `srq-` and 12 hex digits. */
  readonly id: string;
  readonly method: string;
  readonly params: Json;
}

/** What a message from the server is. */
export type Inbound =
  | { readonly kind: "result"; readonly id: string | number; readonly result: unknown }
  | { readonly kind: "error"; readonly id: string | number | null; readonly error: WireError }
  | { readonly kind: "event"; readonly event: WireEvent }
  | { readonly kind: "request"; readonly request: WireRequest }
  | { readonly kind: "unreadable" };

/** The error of a reply. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data: Json;
}

/** Whether a value is an object and no list. */
export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a message. What is none of the four kinds is `unreadable`. Pure. */
export function readMessage(data: unknown): Inbound {
  const message = parse(data);
  if (!isJson(message)) return { kind: "unreadable" };
  const { id, method, params } = message;
  if (method === "event") {
    const event = readEvent(params);
    return event === null ? { kind: "unreadable" } : { kind: "event", event };
  }
  if (typeof method === "string") {
    // A question is named by a string: a number is an id of ours.
    if (typeof id !== "string") return { kind: "unreadable" };
    return { kind: "request", request: { id, method, params: isJson(params) ? params : {} } };
  }
  if (isJson(message["error"])) {
    return { kind: "error", id: isId(id) ? id : null, error: readError(message["error"]) };
  }
  return isId(id) && "result" in message ? { kind: "result", id, result: message["result"] } : { kind: "unreadable" };
}

/**
 * An event's params, live or replayed; null when they are none. The number is read from the envelope alone, never from the
 * payload, and only beside a session.
 */
export function readEvent(params: unknown): WireEvent | null {
  if (!isJson(params) || typeof params["type"] !== "string") return null;
  const { session_id, seq } = params;
  if (session_id === undefined) return params["seq"] === undefined ? (params as unknown as WireEvent) : null;
  const isNumbered = typeof session_id === "string" && typeof seq === "number" && Number.isSafeInteger(seq) && seq > 0;
  return isNumbered ? (params as unknown as WireEvent) : null;
}

function readError({ code, message, data }: Json): WireError {
  return {
    code: typeof code === "number" ? code : 0,
    message: typeof message === "string" ? message : "an error without a message",
    data: isJson(data) ? data : {},
  };
}

function isId(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function parse(data: unknown): unknown {
  if (typeof data !== "string") return undefined;
  try {
    return JSON.parse(data) as unknown;
  } catch {
    // No JSON: the caller says what that means where it stands.
    return undefined;
  }
}
