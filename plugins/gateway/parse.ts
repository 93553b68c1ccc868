import { limits, type ErrorCode, type JsonObject } from "../../core/index.ts";
import type { Response } from "./host.ts";

/** The id of a call: echoed with value and type. 1 and "1" are two ids. */
export type RpcId = string | number | null;

/** A call; without an id it is carried out and never answered, also on error. */
export interface RpcCall {
  readonly kind: "call";
  readonly id: RpcId | undefined;
  readonly method: string;
  /** As it came; null when it was no object. */
  readonly params: JsonObject | null;
}

/** What is no call: told to its sender under `id`, if that is known and no call's. */
export interface RpcRefusal {
  readonly kind: "refused";
  readonly id: RpcId;
  readonly code: ErrorCode;
  readonly message: string;
}

/** One message of a client. `nothing` is white space; `stray` a response whose id is no string. */
export type Parsed =
  | RpcCall
  | RpcRefusal
  | { readonly kind: "response"; readonly response: Response }
  | { readonly kind: "nothing" | "stray" };

/** Reads a message. Never throws; nesting is counted before anything recurses. */
export function parseMessage(text: string): Parsed {
  const trimmed = text.trim();
  if (trimmed === "") return { kind: "nothing" };
  if (isDeeperThan(trimmed, limits.maxPayloadDepth)) {
    return refused(null, "too_deep", `nesting above ${limits.maxPayloadDepth}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch {
    // The parser's own words quote what was sent.
    return refused(null, "parse_error", "the message is not JSON");
  }
  if (Array.isArray(value)) return refused(null, "invalid_request", "batches are not supported: send one object");
  if (!isObject(value)) return refused(null, "invalid_request", "the message is not an object");
  return readObject(value);
}

/** What is said of a message above the size that is read, and the socket stays. */
export function tooLarge(bytes: number): RpcRefusal {
  return refused(null, "payload_too_large", `a message of ${bytes} bytes; at most ${limits.maxInboundBytes}`);
}

function readObject(value: JsonObject): Parsed {
  const isAnswer = Object.hasOwn(value, "result") || Object.hasOwn(value, "error");
  const id = Object.hasOwn(value, "id") ? value["id"] : undefined;
  if (!Object.hasOwn(value, "method") && isAnswer) return readResponse(id, value);
  if (id !== undefined && !isRpcId(id)) {
    return refused(null, "invalid_request", "an id is a string, a safe integer or null");
  }
  const known = id ?? null;
  if (isAnswer) return refused(known, "invalid_request", "a message has a method, or a result or error");
  if (Object.hasOwn(value, "jsonrpc") && value["jsonrpc"] !== "2.0") {
    return refused(known, "invalid_request", 'jsonrpc is not "2.0"');
  }
  const method = Object.hasOwn(value, "method") ? value["method"] : undefined;
  if (typeof method !== "string") return refused(known, "invalid_request", "method is not a string");
  return { kind: "call", id, method, params: readParams(value) };
}

function readParams(value: JsonObject): JsonObject | null {
  const params = Object.hasOwn(value, "params") ? value["params"] : undefined;
  if (params === undefined || params === null) return {};
  return isObject(params) ? params : null;
}

function readResponse(id: unknown, value: JsonObject): Parsed {
  if (typeof id !== "string") return { kind: "stray" };
  return {
    kind: "response",
    response: {
      id,
      ...(Object.hasOwn(value, "error") ? { error: value["error"] } : { result: value["result"] }),
    },
  };
}

function refused(id: RpcId, code: ErrorCode, message: string): RpcRefusal {
  return { kind: "refused", id, code, message };
}

function isRpcId(id: unknown): id is RpcId {
  return id === null || typeof id === "string" || Number.isSafeInteger(id);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Whether arrays and objects nest deeper than `limit`, brackets in strings apart. One pass, no recursion. */
function isDeeperThan(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at);
    else if (code === openBrace || code === openBracket) {
      if (++depth > limit) return true;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  return false;
}

/** Where the string that begins at `start` ends: its closing quote, or behind the text. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}
