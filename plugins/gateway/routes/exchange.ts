import type { ServerResponse } from "node:http";
import { limits, messageOf, RoomtapError, type Clock, type Undo } from "../../../core/index.ts";
import type { Identity } from "../credentials.ts";
import type { HttpHeaders } from "../http-answer.ts";
import type { RouteAnswer } from "./route-answer.ts";

/** So much of a body that is there as a whole goes out at once. */
const pieceBytes = 65_536;

/** What an exchange is made of. */
export interface ExchangeParts {
  readonly response: ServerResponse;
  readonly isHead: boolean;
  readonly clock: Clock;
  /** Whose it is; null: nobody's. */
  readonly identity: Identity | null;
  /** Aborted when the route has gone. */
  readonly removed: AbortSignal;
  /** Called once, when the answer was taken or nobody waits for it any more. */
  readonly onEnd: () => void;
}

/** How sending an answer went: `ended` when somebody was told to stop, or has gone; `stalled` when nothing was taken. */
export type Sent = "sent" | "ended" | "stalled" | { readonly fault: string; readonly cause?: unknown };

/**
 * One request to a route, from when it was let in until its answer was taken. Its signal is aborted when whoever asked has gone,
 * the route has, or the gateway ends it; then nothing more is asked of the plugin.
 */
export class Exchange {
  readonly identity: Identity | null;
  readonly #parts: ExchangeParts;
  readonly #controller = new AbortController();
  readonly #undos: Undo[] = [];

  constructor(parts: ExchangeParts) {
    const { response, removed, clock, identity, onEnd } = parts;
    this.identity = identity;
    this.#parts = parts;
    const onRemoved = (): void => this.end();
    removed.addEventListener("abort", onRemoved);
    this.#undos.push(() => removed.removeEventListener("abort", onRemoved));
    if (identity?.expiresAt !== undefined) {
      this.#undos.push(clock.after(Math.max(0, identity.expiresAt - clock.now()), () => this.end()));
    }
    response.once("close", () => {
      for (const undo of this.#undos) undo();
      if (!response.writableFinished) this.end();
      onEnd();
    });
    if (removed.aborted || response.destroyed) this.end();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends it: what was begun is cut, so that nobody takes it for the whole. */
  end(): void {
    if (this.signal.aborted) return;
    this.#controller.abort(new RoomtapError("closed", "the request is over"));
    if (this.#parts.response.headersSent) this.#parts.response.destroy();
  }

  /** What `run` gives; `ended` when it is over before, `late` when that takes longer than `timeoutMs`. Rejects as `run`. */
  async within<Value>(
    run: () => Value | Promise<Value>,
    timeoutMs: number,
  ): Promise<{ readonly value: Value } | "ended" | "late"> {
    const { signal } = this;
    if (signal.aborted) return "ended";
    let undo: Undo = () => undefined;
    const over = new Promise<"ended" | "late">((resolve) => {
      const onAbort = (): void => resolve("ended");
      const stopTimer =
        timeoutMs === Infinity ? () => undefined : this.#parts.clock.after(timeoutMs, () => resolve("late"));
      signal.addEventListener("abort", onAbort);
      undo = () => {
        stopTimer();
        signal.removeEventListener("abort", onAbort);
      };
    });
    try {
      return await Promise.race([(async () => ({ value: await run() }))(), over]);
    } finally {
      undo();
    }
  }

  /** Sends an answer; the next piece is asked for when the reader has taken the one before. Never rejects. */
  async send({ status, headers, body }: RouteAnswer, more: HttpHeaders): Promise<Sent> {
    const { response, isHead } = this.#parts;
    if (this.signal.aborted) {
      discardBody(body);
      return "ended";
    }
    const length =
      body instanceof Uint8Array && status !== 204 && status !== 304 ? { "content-length": body.length } : {};
    response.writeHead(status, { ...headers, ...more, ...length });
    if (isHead) {
      discardBody(body);
      return this.#finish();
    }
    if (body instanceof Uint8Array) return this.#sendBytes(body);
    // A reader of a stream is told at once that it has begun.
    response.flushHeaders();
    return this.#sendPieces(body);
  }

  async #sendBytes(bytes: Uint8Array): Promise<Sent> {
    for (let from = 0; from < bytes.length; from += pieceBytes) {
      const failed = await this.#write(bytes.subarray(from, from + pieceBytes));
      if (failed !== null) return failed;
    }
    return this.#finish();
  }

  async #sendPieces(body: AsyncIterable<string | Uint8Array>): Promise<Sent> {
    let iterator: AsyncIterator<unknown> | undefined;
    try {
      const pieces = body[Symbol.asyncIterator]();
      iterator = pieces;
      for (;;) {
        const next = await this.within(() => pieces.next(), Infinity);
        if (next === "ended" || next === "late") return "ended";
        if (next.value.done === true) {
          iterator = undefined;
          return await this.#finish();
        }
        const piece: unknown = next.value.value;
        if (typeof piece !== "string" && !(piece instanceof Uint8Array)) {
          return this.#cut(`body: expected pieces of text or bytes, got ${piece === null ? "null" : typeof piece}`);
        }
        const failed = piece.length === 0 ? null : await this.#write(piece);
        if (failed !== null) return failed;
      }
    } catch (cause) {
      // One that was told to end may do so by throwing.
      if (this.signal.aborted) return "ended";
      iterator = undefined;
      return this.#cut(`body: ${messageOf(cause)}`, cause);
    } finally {
      if (iterator !== undefined) giveBack(iterator);
    }
  }

  #cut(fault: string, cause?: unknown): Sent {
    this.#parts.response.destroy();
    return { fault, cause };
  }

  async #write(piece: string | Uint8Array): Promise<"ended" | "stalled" | null> {
    const { response } = this.#parts;
    if (this.signal.aborted) return "ended";
    if (response.write(piece)) return null;
    return this.#taken("drain");
  }

  /** All was handed over: waits until it is taken. */
  async #finish(): Promise<Sent> {
    const { response } = this.#parts;
    if (this.signal.aborted) return "ended";
    const taken = this.#taken("finish");
    response.end();
    return (await taken) ?? "sent";
  }

  async #taken(event: "drain" | "finish"): Promise<"ended" | "stalled" | null> {
    const { response } = this.#parts;
    let onTaken = (): void => undefined;
    const taken = new Promise<void>((resolve) => (onTaken = resolve));
    response.once(event, onTaken);
    const result = await this.within(() => taken, limits.mailboxStallMs);
    response.off(event, onTaken);
    if (result === "ended") return "ended";
    if (result !== "late") return null;
    response.destroy();
    return "stalled";
  }
}

/** Of an answer that is not sent: an iterable is told so. */
export function discardBody(body: unknown): void {
  try {
    if (body instanceof Uint8Array || typeof body !== "object" || body === null) return;
    const iterator = (body as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator]?.();
    if (iterator !== undefined) giveBack(iterator);
  } catch {
    // Whatever it is, nothing is read from it.
  }
}

/** Not waited for: one that waits for something itself ends when that is over. */
function giveBack(iterator: AsyncIterator<unknown>): void {
  void (async () => iterator.return?.())().catch(() => undefined);
}
