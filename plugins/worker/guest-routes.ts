import { estimateBytes, limits, RoomtapError } from "../../core/index.ts";
import type { RouteRequest, RouteResponse } from "../plugin.ts";
import type { RouteRegistration } from "../services.ts";
import type { GuestBodies } from "./guest-bodies.ts";
import type { RouteReply } from "./messages.ts";
import { ownBytes } from "./own-bytes.ts";

/**
 * Has a route answer a request, and gives its answer as plain data. A stream that comes when nobody waits any more is ended.
 * @param signal aborted when whoever asked has gone before the answer
 * @throws what the route throws; RoomtapError `plugin_failed` for what is no answer, `result_too_large`
 */
export async function answerRequest(
  { handler }: RouteRegistration,
  request: Omit<RouteRequest, "signal">,
  signal: AbortSignal,
  bodies: GuestBodies,
): Promise<RouteReply> {
  // It outlives the call: a streamed body is read behind the answer.
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return replyOf(await handler({ ...request, signal: controller.signal }), controller, bodies);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function replyOf(response: RouteResponse, controller: AbortController, bodies: GuestBodies): RouteReply {
  if (typeof response !== "object" || response === null) {
    throw noAnswer(`expected { status?, headers?, json? or body? }, got ${typeof response}`);
  }
  // The plugin's types promise more than its code may keep.
  const { status, headers, json, body } = response as { readonly [field: string]: unknown };
  if (status !== undefined && typeof status !== "number")
    throw noAnswer(`status: expected a number, got ${typeof status}`);
  const text = json === undefined ? undefined : textOf(json);
  const own = headers === undefined ? undefined : headersOf(headers);
  const whole = typeof body === "string" || body instanceof Uint8Array ? body : undefined;
  const size = (text?.length ?? 0) + (whole?.length ?? 0) + estimateBytes(own);
  if (size > limits.maxWorkerCallBytes) {
    const why = `an answer of more than ${limits.maxWorkerCallBytes} bytes; stream it, as an iterable`;
    throw new RoomtapError("result_too_large", why);
  }
  return {
    ...(status === undefined ? {} : { status }),
    ...(own === undefined ? {} : { headers: own }),
    ...(text === undefined ? {} : { json: text }),
    ...(whole === undefined ? {} : { body: typeof whole === "string" ? whole : ownBytes(whole) }),
    ...(body === undefined || whole !== undefined ? {} : { stream: bodies.open(iterableOf(body), controller) }),
  };
}

function textOf(json: unknown): string {
  const text = JSON.stringify(json) as string | undefined;
  if (text === undefined) throw noAnswer("json: expected a value that JSON has");
  return text;
}

function headersOf(given: unknown): Record<string, string> {
  if (typeof given !== "object" || given === null) throw noAnswer("headers: expected an object");
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== "string") throw noAnswer(`headers: ${name}: expected a text, got ${typeof value}`);
    headers[name] = value;
  }
  return headers;
}

function iterableOf(body: unknown): AsyncIterable<string | Uint8Array> {
  if (typeof body === "object" && body !== null && Symbol.asyncIterator in body) {
    return body as AsyncIterable<string | Uint8Array>;
  }
  throw noAnswer(`body: expected a text, bytes or an async iterable, got ${body === null ? "null" : typeof body}`);
}

/** The plugin's mistake, not that of whoever asked. */
function noAnswer(why: string): RoomtapError {
  return new RoomtapError("plugin_failed", why);
}
