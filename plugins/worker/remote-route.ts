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
  const stop = (body: number | undefined): void => {
    if (body !== undefined) guest.line.note("stop", { body });
  };
  const asked = { registration, request };
  const reply = await guest.line.call("request", asked, signal, ({ stream }) => stop(stream));
  const { json, stream, body, ...rest } = reply;
  return {
    ...rest,
    ...(json === undefined ? {} : { json: JSON.parse(json) as unknown }),
    ...(stream === undefined ? (body === undefined ? {} : { body }) : { body: piecesOf(sitter, stream, signal) }),
  };
}

/**
 * A body whose pieces the worker makes when they are asked for. It ends there when its reader or `signal` ends it, also when
 * nothing of it was read.
 */
function piecesOf({ guest }: Sitter, body: number, signal: AbortSignal): AsyncIterable<string | Uint8Array> {
  const reading = new AbortController();
  const stop = (): void => {
    if (reading.signal.aborted) return;
    signal.removeEventListener("abort", stop);
    reading.abort(signal.reason);
    guest.line.note("stop", { body });
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const next = async (): Promise<IteratorResult<string | Uint8Array, undefined>> => {
    if (reading.signal.aborted) return over;
    try {
      const pulled = await guest.line.call("pull", { body }, reading.signal);
      if (!pulled.done) return { done: false, value: pulled.piece };
    } catch (fault) {
      stop();
      throw fault;
    }
    stop();
    return over;
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        stop();
        return over;
      },
    }),
  };
}

const over = { done: true, value: undefined } as const;
