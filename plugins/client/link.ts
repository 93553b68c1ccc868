import { CallError, LinkError, type LinkReason } from "./errors.ts";
import { clientLimits } from "./options.ts";
import type { ClientClock } from "./platform.ts";
import type { SocketLike } from "./socket.ts";
import { isJson, readMessage, type Inbound, type Json, type WireEvent, type WireRequest } from "./wire.ts";

/** What the first frame of a connection says. A flag that is absent is unknown. */
export interface Ready {
  /** The life of the server's numbers. */
  readonly epoch: string;
  /** Id of this connection on the turns that it claims; null when the server names none. */
  readonly origin: string | null;
  /** The id is that of the connection before, and its sessions are attached again. */
  readonly resumed: boolean;
  readonly resumeToken: string | null;
  readonly heartbeat: boolean;
  readonly capabilities: Json;
}

/** How a connection ended. */
export interface Down {
  readonly error: LinkError;
  /** How long it stood after `gateway.ready`; 0 when it never came so far. */
  readonly stoodMs: number;
  /** The largest message that was not answered. */
  readonly largest: Sent | null;
}

/** A call that was sent. */
export interface Sent {
  readonly method: string;
  readonly bytes: number;
  /** It is a post, which goes out again when its reply is lost. */
  readonly isPost: boolean;
}

/** How a call is sent. */
export interface CallOptions {
  readonly timeoutMs: number;
  readonly isPost?: boolean;
  /** Called with the result before the next frame is looked at, and before the promise resolves. */
  readonly onResult?: (result: unknown) => void;
}

/** Who is told of a connection. All are called in the order in which the server sent. */
export interface LinkListener {
  onReady(ready: Ready): void;
  onEvent(event: WireEvent): void;
  onRequest(request: WireRequest): void;
  /** A message that is no frame, after the handshake: it is passed over. */
  onUnreadable(): void;
  /** Once; nothing follows. */
  onDown(down: Down): void;
}

/** Bounds in time of a connection. */
export interface LinkTimes {
  readonly handshakeMs: number;
  readonly heartbeatMs: number;
  readonly silenceMs: number;
  readonly closeMs: number;
}

/** A call that waits for its reply. */
interface Waiting {
  readonly sent: Sent;
  readonly stopTimer: () => void;
  readonly succeed: (result: unknown) => void;
  readonly fail: (error: CallError | LinkError) => void;
}

/** One connection, from the dial to its end: handshake, heartbeat, calls. It never comes back; its owner dials anew. */
export class Link {
  readonly #socket: SocketLike;
  readonly #clock: ClientClock;
  readonly #times: LinkTimes;
  readonly #listener: LinkListener;
  readonly #waiting = new Map<string, Waiting>();
  readonly #timers = new Set<() => void>();
  readonly #closed = deferred();
  #stage: "handshake" | "open" | "down" = "handshake";
  #calls = 0;
  #beats = 0;
  #openedAt = 0;
  #heardAt = 0;

  constructor(socket: SocketLike, listener: LinkListener, clock: ClientClock, times: LinkTimes) {
    this.#socket = socket;
    this.#listener = listener;
    this.#clock = clock;
    this.#times = times;
    socket.addEventListener("message", ({ data }) => this.#heard(data));
    socket.addEventListener("close", ({ code, reason }) => this.#hasClosed(code, reason));
    // A close follows, which says all that can be told.
    socket.addEventListener("error", () => undefined);
    this.#after(times.handshakeMs, () =>
      this.drop("handshake_timeout", "the server did not say gateway.ready in time"),
    );
  }

  /** Whether `gateway.ready` has come and the connection stands. */
  get isOpen(): boolean {
    return this.#stage === "open";
  }

  /** Resolves when the socket is closed on both sides, or was given up. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Sends a call. Rejects with a `CallError` when the server refuses, with a `LinkError` when no reply comes. */
  call(method: string, params: Json, { timeoutMs, isPost = false, onResult }: CallOptions): Promise<unknown> {
    if (this.#stage !== "open")
      return Promise.reject(new LinkError("not_connected", `${method}: no connection stands`));
    const id = `r${++this.#calls}`;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const bytes = byteLength(text);
    if (bytes > clientLimits.maxMessageBytes) return Promise.reject(tooLarge(method, bytes));
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        this.#waiting.delete(id);
        reject(new LinkError("call_timeout", `${method}: no reply within ${timeoutMs} ms`));
      };
      const succeed = (result: unknown): void => {
        onResult?.(result);
        resolve(result);
      };
      this.#waiting.set(id, {
        sent: { method, bytes, isPost },
        stopTimer: this.#after(timeoutMs, expire),
        succeed,
        fail: reject,
      });
      this.#socket.send(text);
    });
  }

  /** Sends the answer to a question; nobody answers it. On a connection that has ended it is let go. */
  answer(id: string, answer: { readonly result: unknown } | { readonly error: object }): void {
    if (this.#stage === "open") this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }

  /** Ends the connection from here. The peer may be gone: nothing is waited for. */
  drop(reason: LinkReason, message: string): void {
    if (this.#stage === "down") return;
    try {
      this.#socket.close(1000, "closed");
    } catch {
      // A socket that was never opened, or is closing: there is nothing left to close.
    }
    this.#end(new LinkError(reason, message));
    const giveUp = this.#clock.after(this.#times.closeMs, () => {
      this.#socket.terminate?.();
      this.#closed.resolve();
    });
    void this.#closed.promise.then(giveUp);
  }

  #heard(data: unknown): void {
    if (this.#stage === "down") return;
    this.#heardAt = this.#clock.monotonic();
    const message = readMessage(data);
    if (this.#stage === "handshake") this.#shakeHands(message);
    else this.#take(message);
  }

  #shakeHands(message: Inbound): void {
    const ready = message.kind === "event" ? readReady(message.event) : null;
    if (ready === null) return this.drop("bad_handshake", "what came first was no gateway.ready");
    this.#stage = "open";
    this.#openedAt = this.#clock.monotonic();
    this.#stopTimers();
    this.#listener.onReady(ready);
    if (ready.heartbeat) this.#beat();
  }

  #take(message: Inbound): void {
    switch (message.kind) {
      case "event":
        return this.#listener.onEvent(message.event);
      case "request":
        return this.#listener.onRequest(message.request);
      case "unreadable":
        return this.#listener.onUnreadable();
      case "result":
        return this.#settle(message.id)?.succeed(message.result);
      case "error": {
        const waiting = this.#settle(message.id);
        return waiting?.fail(new CallError(waiting.sent.method, message.error));
      }
    }
  }

  /** The call that a reply belongs to. There is none for a heartbeat's, and for one that comes after its time. */
  #settle(id: string | number | null): Waiting | undefined {
    if (typeof id !== "string") return undefined;
    const waiting = this.#waiting.get(id);
    waiting?.stopTimer();
    this.#waiting.delete(id);
    return waiting;
  }

  #beat(): void {
    const { heartbeatMs, silenceMs } = this.#times;
    this.#after(heartbeatMs, () => {
      if (this.#clock.monotonic() - this.#heardAt >= silenceMs) {
        return this.drop("silent", `nothing was heard from the server for ${silenceMs} ms`);
      }
      const id = `heartbeat-${++this.#beats}`;
      this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "gateway.ping", params: {} }));
      this.#beat();
    });
  }

  #hasClosed(code: number, reason: string): void {
    this.#closed.resolve();
    // 1005 and 1006 are no codes that anybody sent.
    const closeCode = code === 1005 || code === 1006 ? null : code;
    if (closeCode === null && this.#stage === "handshake") {
      return this.#end(new LinkError("unreachable", "the server cannot be reached"));
    }
    const why = closeCode === null ? "the connection was lost" : `the server closed: ${closeCode} ${reason}`.trim();
    this.#end(
      new LinkError(closeCode === null ? "dropped" : "closed_by_server", why, { closeCode, closeReason: reason }),
    );
  }

  #end(error: LinkError): void {
    if (this.#stage === "down") return;
    const stoodMs = this.#stage === "open" ? this.#clock.monotonic() - this.#openedAt : 0;
    this.#stage = "down";
    this.#stopTimers();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    const largest = waiting.reduce<Sent | null>(
      (most, { sent }) => (most && most.bytes >= sent.bytes ? most : sent),
      null,
    );
    const { message, closeCode, closeReason } = error;
    for (const { sent, fail } of waiting) {
      fail(new LinkError("dropped", `${sent.method}: ${message}`, { closeCode, closeReason }));
    }
    this.#listener.onDown({ error, stoodMs, largest });
  }

  #after(delayMs: number, run: () => void): () => void {
    const stop = this.#clock.after(delayMs, () => {
      this.#timers.delete(stop);
      run();
    });
    this.#timers.add(stop);
    return () => {
      this.#timers.delete(stop);
      stop();
    };
  }

  #stopTimers(): void {
    for (const stop of this.#timers) stop();
    this.#timers.clear();
  }
}

/** A promise and what resolves it. */
function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** The refusal of a message that the server would not take. */
export function tooLarge(method: string, bytes: number): LinkError {
  const most = clientLimits.maxMessageBytes;
  return new LinkError("payload_too_large", `${method}: a message of ${bytes} bytes; a server takes ${most}`);
}

/** Bytes of a text in UTF-8. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function readReady({ type, payload }: WireEvent): Ready | null {
  if (type !== "gateway.ready" || payload === undefined) return null;
  const { replay_epoch, origin, resume_token, resumed, heartbeat, capabilities } = payload;
  if (typeof replay_epoch !== "string") return null;
  return {
    epoch: replay_epoch,
    origin: typeof origin === "string" ? origin : null,
    resumed: resumed === true,
    resumeToken: typeof resume_token === "string" ? resume_token : null,
    heartbeat: heartbeat === true,
    capabilities: isJson(capabilities) ? capabilities : {},
  };
}
