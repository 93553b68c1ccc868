import { limits, RoomtapError } from "../../core/index.ts";
import type { Piece } from "./messages.ts";
import { ownBytes } from "./own-bytes.ts";

/** A body whose pieces are asked for one by one. */
interface OpenBody {
  readonly pieces: AsyncIterator<string | Uint8Array>;
  /** Of the request: aborted when nobody reads on. */
  readonly controller: AbortController;
  /** What did not fit into the last piece. */
  rest: Uint8Array | null;
}

/** The streamed bodies of a plugin's routes. Nothing of one is made before it is asked for. */
export class GuestBodies {
  readonly #open = new Map<number, OpenBody>();
  #opened = 0;

  /**
   * @param controller of the request; if that is over already, so is the body
   * @throws RoomtapError `too_many_calls`
   */
  open(body: AsyncIterable<string | Uint8Array>, controller: AbortController): number {
    if (this.#open.size >= limits.maxWorkerCalls) {
      controller.abort();
      throw new RoomtapError("too_many_calls", `${limits.maxWorkerCalls} bodies are open, and no more can be`);
    }
    const id = ++this.#opened;
    this.#open.set(id, { pieces: body[Symbol.asyncIterator](), controller, rest: null });
    if (controller.signal.aborted) this.stop(id);
    else controller.signal.addEventListener("abort", () => this.stop(id), { once: true });
    return id;
  }

  /** The next piece; what the body throws ends it. */
  async pull(id: number): Promise<Piece> {
    const body = this.#open.get(id);
    if (body === undefined) return { done: true };
    if (body.rest !== null) return { done: false, piece: cut(body, body.rest) };
    try {
      const next = await body.pieces.next();
      if (next.done !== true) return { done: false, piece: pieceOf(body, next.value) };
    } catch (fault) {
      this.#open.delete(id);
      throw fault;
    }
    this.#open.delete(id);
    return { done: true };
  }

  /** Nobody reads on. */
  stop(id: number): void {
    const body = this.#open.get(id);
    if (body === undefined) return;
    this.#open.delete(id);
    body.controller.abort();
    // What a body throws at its end is nobody's any more.
    void (async () => body.pieces.return?.())().catch(() => undefined);
  }

  stopAll(): void {
    for (const id of [...this.#open.keys()]) this.stop(id);
  }
}

const utf8 = new TextEncoder();

function pieceOf(body: OpenBody, piece: unknown): string | Uint8Array {
  if (typeof piece === "string") {
    return piece.length * 3 <= limits.maxWorkerPieceBytes ? piece : cut(body, utf8.encode(piece));
  }
  if (piece instanceof Uint8Array) return cut(body, piece);
  throw new RoomtapError("invalid_params", `expected pieces of text or bytes, got ${typeof piece}`);
}

/** Its beginning; what is left waits for the next pull. A view is copied: only its own bytes go over the port. */
function cut(body: OpenBody, bytes: Uint8Array): Uint8Array {
  const most = limits.maxWorkerPieceBytes;
  body.rest = bytes.length > most ? bytes.subarray(most) : null;
  return ownBytes(bytes, most);
}
