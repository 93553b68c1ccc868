import { LinkError } from "./errors.ts";
import { Link, type CallOptions, type Down, type LinkListener, type LinkTimes, type Ready } from "./link.ts";
import type { Chance, ClientClock } from "./platform.ts";
import { Backoff, verdictOf, type CloseVerdict, type RetryOptions } from "./retry.ts";
import { dialOf, type SocketConstructor, type SocketLike } from "./socket.ts";
import type { Json } from "./wire.ts";

/**
 * `idle`: not connected yet, or the first attempt failed. `connecting`: an attempt runs. `open`: `gateway.ready` has come.
 * `waiting`: dropped, the next attempt comes by itself. `ended`: closed here, or for a reason that another attempt would
 * meet again.
 */
export type ClientState = "idle" | "connecting" | "open" | "waiting" | "ended";

/** Where to connect, with what. */
export interface ConnectionOptions {
  readonly url: string;
  readonly token: string | undefined;
  /** Gets what lets one attempt in; asked before each. */
  readonly ticket: (() => Promise<string>) | undefined;
  readonly WebSocket: SocketConstructor;
  readonly sendsHeaders: boolean;
  readonly reconnect: boolean;
  readonly clock: ClientClock;
  readonly chance: Chance;
  readonly times: LinkTimes & RetryOptions;
}

/** Who is told of a connection that is kept up. */
export interface ConnectionListener extends Pick<LinkListener, "onEvent" | "onRequest" | "onUnreadable"> {
  /** A connection stands. The promise resolves when what was missed has been made good; it rejects only with faults. */
  onReady(ready: Ready, link: Link): Promise<void>;
  /** A connection ended; calls that waited reject right afterwards. */
  onDown(down: Down, verdict: CloseVerdict): void;
  /** No attempt follows by itself. */
  onEnd(error: LinkError): void;
  onState(state: ClientState): void;
}

/** Keeps one connection up: dials, and dials again after a drop, until it is closed or told to stay away. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #listener: ConnectionListener;
  readonly #backoff: Backoff;
  #state: ClientState = "idle";
  #link: Link | null = null;
  #resumeToken: string | null = null;
  #hasStood = false;
  #isClosed = false;
  #stopRetry = (): void => undefined;
  #waiters: { readonly resolve: (ready: Ready) => void; readonly reject: (error: unknown) => void }[] = [];
  #ready: Ready | null = null;
  #isUpToDate = false;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    this.#options = options;
    this.#listener = listener;
    this.#backoff = new Backoff(options.times);
  }

  get state(): ClientState {
    return this.#state;
  }

  /** What the connection that stands said first; null while none stands. */
  get ready(): Ready | null {
    return this.#ready;
  }

  /**
   * Resolves once a connection stands and what was missed has been made good. The first attempt is the caller's: it rejects
   * when that fails. Later ones are made again by themselves.
   */
  connect(): Promise<Ready> {
    if (this.#isClosed) return Promise.reject(new LinkError("closed", "the client was closed", { mayRetry: false }));
    if (this.#ready !== null && this.#isUpToDate) return Promise.resolve(this.#ready);
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.#state !== "connecting" && this.#state !== "open") this.#dial();
    });
  }

  call(method: string, params: Json, options: CallOptions): Promise<unknown> {
    if (this.#link !== null) return this.#link.call(method, params, options);
    return Promise.reject(new LinkError("not_connected", `${method}: no connection stands`));
  }

  answer(id: string, answer: { readonly result: unknown } | { readonly error: object }): void {
    this.#link?.answer(id, answer);
  }

  /** Ends it for good. Resolves when the socket is closed. */
  async close(): Promise<void> {
    const link = this.#link;
    this.#isClosed = true;
    this.#stopRetry();
    this.#finish(new LinkError("closed", "the client was closed", { mayRetry: false }));
    link?.drop("closed", "the client was closed");
    await link?.closed;
  }

  #dial(): void {
    this.#stopRetry();
    this.#enter("connecting");
    const { ticket } = this.#options;
    if (ticket === undefined) return this.#open(undefined);
    // What was asked for before the client was closed lets nobody in any more.
    const unlessClosed = (next: () => void): void => {
      if (this.#state === "connecting") next();
    };
    Promise.resolve()
      .then(ticket)
      .then(
        (value) => unlessClosed(() => this.#open(value)),
        (cause: unknown) => unlessClosed(() => this.#notOpened(`no ticket was to be had: ${String(cause)}`)),
      );
  }

  /** It was not even tried. */
  #notOpened(why: string): void {
    this.#down({ error: new LinkError("unreachable", why), stoodMs: 0, largest: null });
  }

  #open(ticket: string | undefined): void {
    const { url, token, sendsHeaders, WebSocket, clock, times } = this.#options;
    const dial = dialOf({ url, token, ticket, sendsHeaders, resumeToken: this.#resumeToken });
    let socket: SocketLike;
    try {
      socket = new WebSocket(dial.url, dial.protocols, { headers: dial.headers });
    } catch (cause) {
      // A platform may refuse before it tries, an insecure address on a secure page for instance.
      return this.#notOpened(`the socket cannot be opened: ${String(cause)}`);
    }
    const link: Link = new Link(
      socket,
      this.#ears(() => link),
      clock,
      times,
    );
    this.#link = link;
  }

  /** What a link tells; of one that is no longer the present one nothing is heard. */
  #ears(link: () => Link): LinkListener {
    const isPresent = (): boolean => this.#link === link();
    const { onEvent, onRequest, onUnreadable } = this.#listener;
    return {
      onReady: (ready) => void (isPresent() && this.#stands(link(), ready)),
      onEvent: (event) => void (isPresent() && onEvent.call(this.#listener, event)),
      onRequest: (request) => void (isPresent() && onRequest.call(this.#listener, request)),
      onUnreadable: () => void (isPresent() && onUnreadable.call(this.#listener)),
      onDown: (down) => void (isPresent() && this.#down(down)),
    };
  }

  #stands(link: Link, ready: Ready): void {
    this.#ready = ready;
    this.#isUpToDate = false;
    this.#resumeToken = ready.resumeToken;
    this.#hasStood = true;
    this.#enter("open");
    this.#listener.onReady(ready, link).then(
      () => {
        if (this.#link !== link) return;
        this.#isUpToDate = true;
        const waiters = this.#waiters;
        this.#waiters = [];
        for (const { resolve } of waiters) resolve(ready);
      },
      // A connection that cannot be brought up to date is of no use; the next one starts over.
      (fault: unknown) => link.drop("dropped", `what was missed could not be read: ${String(fault)}`),
    );
  }

  #down(down: Down): void {
    this.#link = null;
    this.#ready = null;
    const { closeCode, closeReason, reason, message } = down.error;
    const verdict = verdictOf(closeCode);
    this.#backoff.ended(down.stoodMs);
    this.#listener.onDown(down, verdict);
    if (this.#state === "ended") return;
    if (!verdict.comesBack || !this.#options.reconnect) {
      return this.#finish(new LinkError(reason, message, { closeCode, closeReason, mayRetry: verdict.comesBack }));
    }
    if (!this.#hasStood) return this.#failFirst(down.error);
    this.#enter("waiting");
    const waitMs = Math.max(verdict.waitMs, this.#backoff.next(this.#options.chance.unit()));
    this.#stopRetry = this.#options.clock.after(waitMs, () => this.#dial());
  }

  #failFirst(error: LinkError): void {
    this.#enter("idle");
    this.#reject(error);
  }

  #finish(error: LinkError): void {
    if (this.#state === "ended") return;
    this.#enter("ended");
    this.#listener.onEnd(error);
    this.#reject(error);
  }

  #reject(error: LinkError): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(error);
  }

  #enter(state: ClientState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#listener.onState(state);
  }
}
