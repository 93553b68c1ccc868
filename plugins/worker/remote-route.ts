import type { RouteRequest, RouteResponse } from "../plugin.ts";
import type { Seat, Sitter } from "./seats.ts";
import { present } from "./present.ts";

/**
 * Has a worker answer a request.
 * @throws RoomtapError `plugin_lost`, and what the route throws
 */
export async function askRoute(id: string, seat: Seat, { signal, ...request }: RouteRequest): Promise<RouteResponse> {
  const sitter = present(id, seat);
  const { registration, guest } = sitter;
  const { json, stream, body, ...rest } = await guest.line.call("request", { registration, request }, signal);
  return {
    ...rest,
    ...(json === undefined ? {} : { json: JSON.parse(json) as unknown }),
    ...(stream === undefined ? (body === undefined ? {} : { body }) : { body: piecesOf(sitter, stream, signal) }),
  };
}

/** A body whose pieces the worker makes when they are asked for. It ends there when its reader or `signal` ends it. */
function piecesOf({ guest }: Sitter, body: number, signal: AbortSignal): AsyncIterable<string | Uint8Array> {
  const stop = (): void => guest.line.note("stop", { body });
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for (;;) {
          const next = await guest.line.call("pull", { body }, signal);
          if (next.done) return;
          yield next.piece;
        }
      } finally {
        signal.removeEventListener("abort", stop);
        stop();
      }
    },
  };
}
