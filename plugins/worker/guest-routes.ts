import { estimateBytes, limits, RoomtapError } from "../../core/index.ts";
import type { RouteRequest, RouteResponse } from "../plugin.ts";
import type { RouteRegistration } from "../services.ts";
import type { GuestBodies } from "./guest-bodies.ts";
import type { RouteReply } from "./messages.ts";

/**
 * Has a route answer a request, and gives its answer as plain data.
 * @param signal aborted when whoever asked has gone before the answer
 * @throws what the route throws; RoomtapError `result_too_large`
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
    throw new RoomtapError("invalid_params", `expected { status?, headers?, json? or body? }, got ${typeof response}`);
  }
  const { status, headers, json, body } = response;
  const text = json === undefined ? undefined : JSON.stringify(json);
  const whole = typeof body === "string" || body instanceof Uint8Array ? body : undefined;
  const size = (text?.length ?? 0) + (whole?.length ?? 0) + estimateBytes(headers);
  if (size > limits.maxWorkerCallBytes) {
    const why = `an answer of more than ${limits.maxWorkerCallBytes} bytes; stream it, as an iterable`;
    throw new RoomtapError("result_too_large", why);
  }
  const iterable = body !== undefined && whole === undefined ? (body as AsyncIterable<string | Uint8Array>) : undefined;
  return {
    ...(status === undefined ? {} : { status }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(text === undefined ? {} : { json: text }),
    ...(whole === undefined ? {} : { body: typeof whole === "string" ? whole : whole.slice() }),
    ...(iterable === undefined ? {} : { stream: bodies.open(iterable, controller) }),
  };
}
