import { once } from "node:events";
import { onTestFinished } from "vitest";
import { WebSocket, type ClientOptions } from "ws";

/** How a connection ended. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** One frame as it came: parsed, and no more. */
export type AnyFrame = Record<string, unknown>;

/** A WebSocket that does nothing by itself: what it sends and what it got is the test's affair. */
export class RawSocket {
  readonly ws: WebSocket;
  /** All that came so far. */
  readonly frames: AnyFrame[] = [];
  readonly closed: Promise<Closed>;
  #read = 0;
  #wake: () => void = () => undefined;

  constructor(url: string, options: ClientOptions & { readonly protocols?: string[] } = {}) {
    const { protocols = [], ...rest } = options;
    this.ws = new WebSocket(url, protocols, rest);
    this.ws.on("message", (data: Buffer) => {
      this.frames.push(JSON.parse(data.toString()) as AnyFrame);
      this.#wake();
    });
    this.ws.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      this.ws.on("close", (code, reason) => {
        resolve({ code, reason: reason.toString() });
        this.#wake();
      });
    });
    onTestFinished(() => this.ws.terminate());
  }

  /** The next frame that was not read yet. Rejects when the socket closes before it comes. */
  async next(): Promise<AnyFrame> {
    for (;;) {
      const frame = this.frames[this.#read];
      if (frame !== undefined) {
        this.#read++;
        return frame;
      }
      if (this.ws.readyState === WebSocket.CLOSED) throw new Error("the socket closed before the frame came");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The next frames, so many. */
  async take(count: number): Promise<AnyFrame[]> {
    const frames: AnyFrame[] = [];
    while (frames.length < count) frames.push(await this.next());
    return frames;
  }

  /** Sends a text as it is, anything else as JSON. */
  send(message: unknown): void {
    this.ws.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** Sends a call and gives the next frame, which has to be its reply. */
  async call(method: string, params: unknown = {}, id: string | number = "c1"): Promise<AnyFrame> {
    this.send({ jsonrpc: "2.0", id, method, params });
    return this.next();
  }

  /** Resolves when the handshake is over; before that nothing can be sent. */
  async opened(): Promise<void> {
    if (this.ws.readyState === WebSocket.CONNECTING) await once(this.ws, "open");
  }
}
