import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../core/index.ts";
import type { PluginCaller, RouteRequest } from "../../plugin.ts";
import { credentialKeys, type Identity } from "../credentials.ts";
import type { RouteFound } from "../host.ts";

/** What came of reading a body: its text, or why there is none. `gone`: nobody waits for an answer. */
export type BodyRead =
  | { readonly text: string }
  | { readonly refused: "payload_too_large" | "request_timeout" | "invalid_request" | "gone" };

/** Of a reading, what is not known here. */
export interface BodyBounds {
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** Reads a body as UTF-8. What is too large or too slow is not read to its end. Never rejects. */
export async function readBody(request: IncomingMessage, bounds: BodyBounds): Promise<BodyRead> {
  const { maxBytes } = bounds;
  // Somebody who read it before us has left nothing.
  if (request.readableEnded) return { text: "" };
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return { refused: "payload_too_large" };
  const read = await readChunks(request, bounds);
  if (typeof read === "string") return { refused: read };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(read) };
  } catch {
    // Another encoding, or a part of a character.
    return { refused: "invalid_request" };
  }
}

function readChunks(
  request: IncomingMessage,
  { clock, maxBytes, timeoutMs }: BodyBounds,
): Promise<Buffer | "payload_too_large" | "request_timeout" | "gone"> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (result: Buffer | "payload_too_large" | "request_timeout" | "gone"): void => {
      stopTimer();
      request.off("data", onData).off("end", onEnd).off("close", onGone).off("error", onGone).pause();
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > maxBytes) finish("payload_too_large");
      else chunks.push(chunk);
    };
    const onEnd = (): void => finish(Buffer.concat(chunks));
    const onGone = (): void => finish("gone");
    const stopTimer = clock.after(timeoutMs, () => finish("request_timeout"));
    request.on("data", onData).on("end", onEnd).on("close", onGone).on("error", onGone);
  });
}

/** Headers that hold credentials: no plugin sees them. */
const withheld: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "sec-websocket-protocol",
]);

/** A request as a plugin is given it: without any credential, wherever that stood. */
export function routeRequest(
  request: IncomingMessage,
  given: {
    readonly target: URL;
    readonly found: RouteFound;
    readonly identity: Identity | null;
    readonly body: string;
    readonly signal: AbortSignal;
  },
): RouteRequest {
  const { target, found, identity, body, signal } = given;
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    withheld.has(name) || value === undefined ? [] : [[name, typeof value === "string" ? value : value.join(", ")]],
  );
  const keys: readonly string[] = credentialKeys;
  return {
    method: request.method ?? "GET",
    path: found.path,
    params: found.params,
    query: Object.fromEntries([...target.searchParams].filter(([key]) => !keys.includes(key))),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body,
    caller: identity === null ? null : callerOf(identity),
    signal,
  };
}

function callerOf({ principal, scopes, rooms, grants }: Identity): PluginCaller {
  return { principal, scopes, rooms: rooms ?? null, grants };
}
