import { Connection, type ClientState } from "./connection.ts";
import { CallError, type LinkError } from "./errors.ts";
import { EventHandlers, type EventFor, type EventPattern } from "./events.ts";
import type { CallOptions, Down, Link, Ready } from "./link.ts";
import { Listeners } from "./listeners.ts";
import type { MethodName, ParamsOf, ResultOf } from "./methods.ts";
import { clientDefaults } from "./options.ts";
import { Outbox } from "./outbox.ts";
import { patientCalls } from "./patient-call.ts";
import { platformChance, platformClock, type Chance, type ClientClock } from "./platform.ts";
import { RequestTable, type RequestHandler, type RequestParts } from "./requests.ts";
import type { Resync } from "./restore.ts";
import type { CloseVerdict } from "./retry.ts";
import type { RoomListener, RoomRequest } from "./room-feed.ts";
import { RoomFeeds, type RoomSubscription } from "./room-feeds.ts";
import { SessionKeeper } from "./session-keeper.ts";
import { checkUrl, platformSocket, type SocketConstructor } from "./socket.ts";
import type { Json } from "./wire.ts";

/** What a client is made with. */
export interface ClientOptions {
  /** `ws://HOST:PORT/api/ws`, or `wss:`. */
  readonly url: string;
  /**
   * What the server knows the caller by. It travels in a header where `WebSocket` is given, else in the URL, which servers
   * take on loopback only.
   */
  readonly token?: string | undefined;
  /**
   * Gets a ticket, in place of a token: asked before each attempt, for a ticket lets in once. A page that others serve has no
   * other way, since it can send no headers; its own server gets one from `POST /api/auth/ws-ticket`.
   */
  readonly ticket?: (() => Promise<string>) | undefined;
  /**
   * Opens sockets; it takes `{ headers }` as its third argument, as that of `ws` does, which `roomtap` hands on. Default:
   * the platform's own, which Node has from 22 on.
   */
  readonly WebSocket?: SocketConstructor | undefined;
  /** Whether a dropped connection is made again; default true. */
  readonly reconnect?: boolean | undefined;
  /** Times other than `clientDefaults`, in ms. */
  readonly times?: Partial<{ readonly [Name in keyof typeof clientDefaults]: number }> | undefined;
  readonly clock?: ClientClock | undefined;
  readonly chance?: Chance | undefined;
}

/** Something that went wrong and that no promise tells. */
export interface Problem {
  /** `handler_threw`, `unreadable_message`, `session_lost`, `message_dropped`, `room_ended`, `payload_too_large`, `not_asked`. */
  readonly code: string;
  readonly message: string;
  readonly cause?: unknown;
}

/** A post to a room. `event_id` is its idempotency key; without one it gets one. */
export type RoomPost = ParamsOf<"groups.send">["payload"] & { readonly room_id: string; readonly event_id?: string };

/** How a call is made. */
export interface CallSettings {
  /** How long its reply may take; default `callTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A connection to a server that mends itself: after a drop it comes back, attaches its sessions and rooms again, and hands
 * out what was missed, each frame once and in order. Where that cannot be it says so, with what stands now.
 */
export class Client {
  readonly #clock: ClientClock;
  readonly #chance: Chance;
  readonly #times: typeof clientDefaults;
  readonly #connection: Connection;
  readonly #keeper: SessionKeeper;
  readonly #rooms: RoomFeeds;
  readonly #requests: RequestTable;
  readonly #outbox: Outbox;
  readonly #problems = new Listeners<Problem>(() => undefined);
  readonly #states = new Listeners<ClientState>((cause) => this.#threw("a listener of states", cause));
  readonly #ends = new Listeners<LinkError>((cause) => this.#threw("a listener of ends", cause));
  readonly #resyncs = new Listeners<Resync>((cause) => this.#threw("a listener of resyncs", cause));
  readonly #events = new EventHandlers((type, cause) => this.#threw(`a handler of ${type}`, cause));

  constructor(options: ClientOptions) {
    checkUrl(options.url);
    this.#clock = options.clock ?? platformClock;
    this.#chance = options.chance ?? platformChance;
    this.#times = { ...clientDefaults, ...(options.times as typeof clientDefaults | undefined) };
    const problem = this.#problem.bind(this);
    const answer: RequestParts["answer"] = (id, reply) => this.#connection.answer(id, reply);
    this.#requests = new RequestTable({ answer, problem });
    this.#keeper = new SessionKeeper({
      requests: this.#requests,
      clock: this.#clock,
      handOut: (event) => this.#events.dispatch(event),
      resync: (resync) => this.#resyncs.tell(resync),
      problem,
    });
    this.#rooms = new RoomFeeds({ threw: (where, cause) => this.#threw(where, cause), problem });
    this.#outbox = new Outbox({
      call: (method, params) => this.#send(method, params, { isPost: true }),
      after: (delayMs, run) => void this.#clock.after(delayMs, run),
    });
    this.#connection = this.#connect(options);
  }

  get state(): ClientState {
    return this.#connection.state;
  }

  /** The id of this connection, which its turns carry as `origin`; null while none stands. */
  get origin(): string | null {
    return this.#connection.ready?.origin ?? null;
  }

  /** Posts that were not answered yet. */
  get waitingPosts(): number {
    return this.#outbox.waiting;
  }

  /**
   * Resolves once a connection stands and what was missed has been handed out. Rejects with a `LinkError` when the first
   * attempt fails, or when no other may follow; its `closeCode` and `closeReason` are the server's.
   */
  connect(): Promise<Ready> {
    return this.#connection.connect();
  }

  /**
   * Calls a method, over the connection that stands now. Rejects with a `CallError` when the server refuses, and with a
   * `LinkError` when no reply comes: it is not sent again by itself.
   */
  call<Method extends MethodName>(
    method: Method,
    params: ParamsOf<Method>,
    settings?: CallSettings,
  ): Promise<ResultOf<Method>>;
  call(method: string, params?: Json, settings?: CallSettings): Promise<unknown>;
  call(method: string, params: Json = {}, { timeoutMs }: CallSettings = {}): Promise<unknown> {
    const onResult = (result: unknown): void => this.#keeper.holdUntilSeen(method, result);
    return this.#send(method, params, { timeoutMs, onResult });
  }

  /**
   * Posts to a room. While no connection stands the post waits; posts are carried out once and in the order in which they
   * were made, over every reconnect.
   */
  post({ room_id, event_id = `e-${this.#chance.hex(16)}`, ...payload }: RoomPost): Promise<ResultOf<"groups.send">> {
    const params = { room_id, event_id, payload };
    return this.#outbox.add("groups.send", () => params) as Promise<ResultOf<"groups.send">>;
  }

  /** Submits a prompt, as `post` does a post. `message_id` is its idempotency key; without one it gets one. */
  submit(prompt: ParamsOf<"prompt.submit">): Promise<ResultOf<"prompt.submit">> {
    const { session_id, message_id = `p-${this.#chance.hex(16)}`, ...rest } = prompt;
    // After a restart of the server the session has another runtime id.
    const params = (): Json => ({ ...rest, message_id, session_id: this.#keeper.runtimeIdOf(session_id) });
    return this.#outbox.add("prompt.submit", params) as Promise<ResultOf<"prompt.submit">>;
  }

  /**
   * Follows a room: its rows by number, its activity by attempt, over every reconnect. A second call for the same room takes
   * the place of the first.
   */
  subscribeRoom(request: RoomRequest, listener: RoomListener): Promise<RoomSubscription> {
    return this.#rooms.add(request, listener);
  }

  /** Calls `handler` for each event of a type, a family such as `tool.*`, or `*`. Returns its undo. */
  on<Pattern extends EventPattern>(pattern: Pattern, handler: (event: EventFor<Pattern>) => void): () => void {
    return this.#events.add(pattern, handler);
  }

  /**
   * Answers the questions of a method, or with `*` those that have no handler of their own; one handler each. Only a client
   * that has a handler is asked at all. Returns its undo.
   */
  onRequest(method: string, handler: RequestHandler): () => void {
    const isFirst = !this.#requests.hasHandlers;
    const undo = this.#requests.handle(method, handler);
    if (isFirst && this.#connection.state === "open") this.#advertise();
    return undo;
  }

  /** Calls `listener` at each change of `state`. Returns its undo. */
  onState(listener: (state: ClientState) => void): () => void {
    return this.#states.add(listener);
  }

  /** Calls `listener` when no further attempt follows by itself, with the reason. Returns its undo. */
  onEnd(listener: (error: LinkError) => void): () => void {
    return this.#ends.add(listener);
  }

  /** Calls `listener` when the frames of a session do not go on without a hole. Returns its undo. */
  onResync(listener: (resync: Resync) => void): () => void {
    return this.#resyncs.add(listener);
  }

  /** Calls `listener` for what went wrong and no promise tells. Without a listener it is lost. Returns its undo. */
  onProblem(listener: (problem: Problem) => void): () => void {
    return this.#problems.add(listener);
  }

  /** Ends the connection for good; what waits rejects. Resolves when the socket is closed. Safe to call twice. */
  async close(): Promise<void> {
    this.#rooms.end();
    await this.#connection.close();
  }

  #connect({ url, token, ticket, WebSocket: given, reconnect = true }: ClientOptions): Connection {
    const options = {
      url,
      token,
      ticket,
      WebSocket: given ?? platformSocket(),
      sendsHeaders: given !== undefined,
      reconnect,
      clock: this.#clock,
      chance: this.#chance,
      times: this.#times,
    };
    return new Connection(options, {
      onReady: (ready, link) => this.#onReady(ready, link),
      onEvent: (event) => {
        this.#rooms.onEvent(event);
        this.#keeper.onEvent(event);
      },
      onRequest: (request) => this.#requests.open(request),
      onUnreadable: () => this.#problem("unreadable_message", "the server sent a message that is no frame"),
      onDown: (down, verdict) => this.#onDown(down, verdict),
      onEnd: (error) => {
        this.#outbox.end(error);
        this.#requests.endAll();
        this.#ends.tell(error);
      },
      onState: (state) => this.#states.tell(state),
    });
  }

  async #onReady(ready: Ready, link: Link): Promise<void> {
    if (this.#requests.hasHandlers) this.#advertise();
    const { replayTimeoutMs, callTimeoutMs } = this.#times;
    const timeoutMsOf = (method: string): number =>
      method === "session.events.since" ? replayTimeoutMs : callTimeoutMs;
    const note = this.#keeper.note.bind(this.#keeper);
    const call = patientCalls(link, this.#clock, timeoutMsOf, note);
    await Promise.all([this.#keeper.onReady(ready, call), this.#rooms.onReady(call)]);
    if (link.isOpen) this.#outbox.open();
  }

  #onDown({ error, largest }: Down, { blamesMessage }: CloseVerdict): void {
    this.#keeper.onDown();
    this.#rooms.onDown();
    this.#outbox.pause();
    if (!blamesMessage) return;
    const what = largest === null ? "a message" : `${largest.method}, ${largest.bytes} bytes,`;
    this.#problem("message_dropped", `the server took ${what} for a fault and is not sent it again: ${error.message}`);
    if (largest?.isPost === true) this.#outbox.dropFirst(error);
  }

  #advertise(): void {
    this.#send("client.capabilities", { server_requests: true }, {}).catch((fault: unknown) => {
      // A connection that ended is followed by one that is told anew.
      if (fault instanceof CallError) this.#problem("not_asked", fault.message, fault);
    });
  }

  #send(
    method: string,
    params: Json,
    { timeoutMs, isPost, onResult }: { readonly [Name in keyof CallOptions]?: CallOptions[Name] | undefined },
  ): Promise<unknown> {
    return this.#connection.call(method, params, {
      timeoutMs: timeoutMs ?? this.#times.callTimeoutMs,
      isPost: isPost ?? false,
      onResult: (result) => {
        this.#keeper.note(method, params, result);
        onResult?.(result);
      },
    });
  }

  #threw(where: string, cause: unknown): void {
    this.#problem("handler_threw", `${where} threw`, cause);
  }

  #problem(code: string, message: string, cause?: unknown): void {
    this.#problems.tell({ code, message, cause });
  }
}

/**
 * A client of the server at `url`; `connect` dials.
 * @throws TypeError for a URL that is none, and where the platform has no WebSocket and none was given
 */
export function createClient(options: ClientOptions): Client {
  return new Client(options);
}
