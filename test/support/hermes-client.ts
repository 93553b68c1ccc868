import { systemClock, type Clock, type Undo } from "../../core/index.ts";

/** What the client uses of the platform's WebSocket; that of `ws` has it. */
interface PlatformSocket {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
  addEventListener(type: "error", listener: () => void): void;
}

type Fields = Readonly<Record<string, unknown>>;

/** An event's params, as handlers get them. */
export interface HermesEvent extends Fields {
  readonly type: string;
  readonly session_id?: string;
  readonly seq?: number;
  readonly payload?: Fields;
}

/** A question. A handler gives its result, or `false` when it leaves it to the next handler. */
export interface HermesRequest {
  readonly id: string;
  readonly method: string;
  readonly params: Fields;
  /** It came out of a reply's `open_requests`. */
  readonly replayed: boolean;
}

/** The server's refusal of a call. */
export class HermesCallError extends Error {
  override readonly name = "HermesCallError";
  readonly code: unknown;
  readonly data: unknown;

  constructor({ code, message, data }: Fields) {
    super(String(message));
    this.code = code;
    this.data = data;
  }
}

/** The end of a connection, with its close code where there was one. */
export class HermesClosedError extends Error {
  override readonly name = "HermesClosedError";
  readonly code: number | null;
  readonly reason: string;
  /** 4401: whoever is asked must log in again. */
  readonly loginAgain: boolean;

  constructor(message: string, code: number | null, reason = "") {
    super(message);
    this.code = code;
    this.reason = reason;
    this.loginAgain = code === 4401;
  }
}

interface Pending {
  readonly method: string;
  readonly params: Fields;
  readonly resolve: (result: unknown) => void;
  readonly reject: (fault: Error) => void;
  readonly stopTimer: Undo;
}

const [handshakeMs, beatMs, silenceMs, replayMs] = [15_000, 15_000, 45_000, 10_000];

/**
 * A client of the gateway as the wire's other users have it: it knows `seq` as a watermark per session and nothing else of
 * replay, sees no hole in live frames, does not sort out live doubles, and never reconnects by itself. It is no more lenient
 * than they are.
 */
export class HermesClient {
  state: "idle" | "connecting" | "open" | "closed" | "error" = "idle";
  /** Payload of the last `gateway.ready`. */
  ready: Fields = {};
  /** The highest number seen, by session. */
  readonly watermarks = new Map<string, number>();
  /** Resolves when what this connection replays was handed out. */
  replayed: Promise<void> = Promise.resolve();
  readonly #clock: Clock;
  readonly #open: (url: string) => PlatformSocket;
  readonly #handlers: { readonly type: string; readonly run: (event: HermesEvent) => void }[] = [];
  readonly #requestHandlers: ((request: HermesRequest) => unknown)[] = [];
  readonly #pending = new Map<string, Pending>();
  /** Live frames of sessions that are being replayed. */
  readonly #barriers = new Map<string, HermesEvent[]>();
  readonly #timers = new Set<Undo>();
  #socket: PlatformSocket | null = null;
  #epoch: string | null = null;
  #requests = 0;
  #beats = 0;
  #heardAt = 0;
  #handshake: { readonly resolve: () => void; readonly reject: (fault: Error) => void } | null = null;

  /** @param Socket the platform's WebSocket, for instance that of `ws` */
  constructor(Socket: new (url: string) => PlatformSocket, clock: Clock = systemClock) {
    this.#open = (url) => new Socket(url);
    this.#clock = clock;
  }

  /** May be called again after a drop, on the same object; a resume token stands in the URL. */
  connect(url: string): Promise<void> {
    this.state = "connecting";
    this.#requests = 0;
    this.#beats = 0;
    const socket = this.#open(url);
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      if (this.#socket === socket) this.#heard(data);
    });
    socket.addEventListener("close", ({ code, reason }) => {
      if (this.#socket === socket)
        this.#lost(new HermesClosedError(`closed ${code} ${reason}`, code, reason), "closed");
    });
    socket.addEventListener("error", () => undefined);
    this.#after(handshakeMs, () => this.#lost(new HermesClosedError("no gateway.ready in time", null), "error"));
    return new Promise((resolve, reject) => {
      this.#handshake = { resolve, reject };
    });
  }

  /** `*` gets every event, unknown types included. */
  on(type: string, run: (event: HermesEvent) => void): void {
    this.#handlers.push({ type, run });
  }

  onRequest(handler: (request: HermesRequest) => unknown): void {
    this.#requestHandlers.push(handler);
  }

  request(method: string, params: Fields = {}, timeoutMs = 120_000): Promise<unknown> {
    const socket = this.#socket;
    if (this.state !== "open" || socket === null) return Promise.reject(new HermesClosedError("not connected", null));
    const id = `r${++this.#requests}`;
    return new Promise((resolve, reject) => {
      const stopTimer = this.#after(timeoutMs, () => {
        this.#pending.delete(id);
        reject(new Error(`${method}: no reply in time`));
      });
      this.#pending.set(id, { method, params, resolve, reject, stopTimer });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  close(): void {
    this.#socket?.close(1000);
    this.#lost(new HermesClosedError("closed here", 1000), "closed");
  }

  #heard(data: unknown): void {
    this.#heardAt = this.#clock.monotonic();
    const message = parse(data);
    if (this.state === "connecting") {
      const params = message?.["method"] === "event" ? (message["params"] as Fields | undefined) : undefined;
      if (params?.["type"] === "gateway.ready") this.#isReady(params as HermesEvent);
      else this.#lost(new HermesClosedError("what came first was no gateway.ready", null), "error");
      return;
    }
    if (message === null) return;
    const { id, method, params } = message;
    const isEvent = method === "event" && typeof (params as Fields | undefined)?.["type"] === "string";
    if (isEvent) this.#live(params as HermesEvent);
    else if (method === undefined && id !== undefined) this.#reply(message);
    else if (typeof id === "string" && typeof method === "string" && method !== "event") {
      void this.#ask({ id, method, params: (params ?? {}) as Fields, replayed: false });
    }
  }

  #isReady(event: HermesEvent): void {
    this.#stopTimers();
    this.ready = event.payload ?? {};
    this.#barriers.clear();
    for (const session of this.watermarks.keys()) this.#barriers.set(session, []);
    this.state = "open";
    this.request("client.capabilities", { server_requests: true }).catch(() => undefined);
    if (this.ready["heartbeat"] === true) this.#beat();
    const epoch = this.ready["replay_epoch"];
    if (epoch !== this.#epoch) {
      this.watermarks.clear();
      this.#barriers.clear();
    }
    this.#epoch = typeof epoch === "string" ? epoch : null;
    this.replayed = this.#replayAll();
    this.#dispatch(event);
    this.#handshake?.resolve();
    this.#handshake = null;
  }

  async #replayAll(): Promise<void> {
    await Promise.all([...this.watermarks].map(([session, seq]) => this.#replay(session, seq)));
  }

  async #replay(session: string, lastSeen: number): Promise<void> {
    try {
      await this.request("session.events.since", { session_id: session, last_seen: lastSeen }, replayMs);
    } catch {
      // A replay that fails is none; what was parked follows.
    }
    this.#lower(session);
  }

  /** Hands out what was parked, and parks no more. */
  #lower(session: string): void {
    const parked = this.#barriers.get(session) ?? [];
    this.#barriers.delete(session);
    for (const event of parked) this.#above(event);
  }

  #live(event: HermesEvent): void {
    const { session_id, seq } = event;
    const parked = session_id === undefined ? undefined : this.#barriers.get(session_id);
    if (parked !== undefined) return void parked.push(event);
    if (session_id !== undefined && typeof seq === "number") this.watermarks.set(session_id, seq);
    this.#dispatch(event);
  }

  /** A replayed or parked event: only above the watermark. */
  #above(event: HermesEvent): void {
    const { session_id, seq } = event;
    if (typeof event.type !== "string") return;
    if (session_id !== undefined && typeof seq === "number") {
      if (seq <= (this.watermarks.get(session_id) ?? 0)) return;
      this.watermarks.set(session_id, seq);
    }
    this.#dispatch(event);
  }

  #dispatch(event: HermesEvent): void {
    for (const { type, run } of this.#handlers) if (type === event.type || type === "*") run(event);
  }

  #reply(message: Fields): void {
    const pending = this.#pending.get(String(message["id"]));
    // A heartbeat's reply has nobody who waits.
    if (pending === undefined || typeof message["id"] !== "string") return;
    this.#pending.delete(message["id"]);
    pending.stopTimer();
    if ("error" in message) return pending.reject(new HermesCallError(message["error"] as Fields));
    const result = message["result"];
    if (typeof result === "object" && result !== null) this.#read(pending, result as Fields);
    pending.resolve(result);
  }

  /** What it reads of a reply: replayed events, the epoch beside them, open questions; nothing else. */
  #read({ method, params }: Pending, result: Fields): void {
    if (method === "session.events.since" && Array.isArray(result["events"]) && result["epoch"] === this.#epoch) {
      for (const event of result["events"] as readonly HermesEvent[]) this.#above(event);
      this.#lower(String(params["session_id"]));
    }
    if (!Array.isArray(result["open_requests"])) return;
    for (const request of result["open_requests"] as readonly Omit<HermesRequest, "replayed">[]) {
      void this.#ask({ ...request, replayed: true });
    }
  }

  async #ask(request: HermesRequest): Promise<void> {
    const socket = this.#socket;
    const { id } = request;
    const answer = (body: Fields): void => socket?.send(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    try {
      for (const handler of this.#requestHandlers) {
        const result = await handler(request);
        if (result !== false) return answer({ result });
      }
      answer({ error: { code: -32601, message: `no handler for ${request.method}` } });
    } catch (fault) {
      answer({ error: { code: -32603, message: String(fault) } });
    }
  }

  #beat(): void {
    this.#after(beatMs, () => {
      if (this.#clock.monotonic() - this.#heardAt >= silenceMs) {
        this.#socket?.close();
        return this.#lost(new HermesClosedError("silent for too long", null), "closed");
      }
      this.#socket?.send(
        JSON.stringify({ jsonrpc: "2.0", id: `heartbeat-${++this.#beats}`, method: "gateway.ping", params: {} }),
      );
      this.#beat();
    });
  }

  #lost(fault: HermesClosedError, state: "closed" | "error"): void {
    const wasConnecting = this.state === "connecting";
    const socket = this.#socket;
    this.#socket = null;
    this.#stopTimers();
    this.state = state;
    if (wasConnecting) socket?.close();
    this.#handshake?.reject(fault);
    this.#handshake = null;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(fault);
  }

  #after(delayMs: number, run: () => void): Undo {
    const stop = this.#clock.after(delayMs, () => {
      this.#timers.delete(undo);
      run();
    });
    const undo = (): void => {
      this.#timers.delete(undo);
      stop();
    };
    this.#timers.add(undo);
    return undo;
  }

  #stopTimers(): void {
    for (const stop of [...this.#timers]) stop();
  }
}

/** An object, or null for what is none: an array and broken JSON included. */
function parse(data: unknown): Fields | null {
  try {
    const value: unknown = JSON.parse(String(data));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
  } catch {
    return null;
  }
}
