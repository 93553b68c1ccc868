import type { Json, SocketConstructor, SocketLike } from "../../plugins/client/index.ts";

/** A message that a client sent. */
export interface SentMessage {
  readonly id?: string;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
  readonly error?: Json;
}

/** Gives the result of a call, or throws what `refuse` makes; undefined leaves it without a reply. */
export type Answers = { [method: string]: (params: Json, socket: FakeSocket) => unknown };

class Refusal extends Error {
  override readonly name = "Refusal";
  readonly error: Json;

  constructor(error: Json) {
    super(String(error["message"]));
    this.error = error;
  }
}

/** What an answer throws to refuse its call. */
export function refuse(code: number, reason: string, data: Json = {}): Refusal {
  return new Refusal({ code, message: reason, data: { reason, ...data } });
}

type Listener = (event: { readonly data: unknown; readonly code: number; readonly reason: string }) => void;

/** The server's end of one connection: everything happens at once, in the order in which it is called. */
export class FakeSocket implements SocketLike {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly sent: SentMessage[] = [];
  /** How the client ended it; null while it has not. */
  closedWith: number | null = null;
  terminated = false;
  readonly #listeners: { readonly type: string; readonly listener: Listener }[] = [];
  readonly #answers: Answers;

  constructor(url: string, headers: Readonly<Record<string, string>>, answers: Answers) {
    this.url = new URL(url);
    this.headers = headers;
    this.#answers = answers;
  }

  // Each kind of listener takes some fields of one and the same event.
  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.push({ type, listener: listener as Listener });
  }

  send(text: string): void {
    const message = JSON.parse(text) as SentMessage;
    this.sent.push(message);
    const { id, method, params = {} } = message;
    if (id === undefined || method === undefined) return;
    const answer = this.#answers[method];
    if (answer === undefined) return;
    try {
      const result = answer(params, this);
      if (result !== undefined) this.reply(id, result);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      this.say({ jsonrpc: "2.0", id, error: fault.error });
    }
  }

  /** The client closes; the server agrees, unless it is `lost`. */
  close(code = 1000): void {
    this.closedWith ??= code;
  }

  terminate(): void {
    this.terminated = true;
  }

  /** Sends a message, any value or text. */
  say(message: unknown): void {
    this.#tell("message", { data: typeof message === "string" ? message : JSON.stringify(message) });
  }

  ready(payload: Json = {}): void {
    this.event("gateway.ready", {
      payload: { replay_epoch: "e1", origin: "c-1", resume_token: "t1", resumed: false, heartbeat: true, ...payload },
    });
  }

  event(type: string, params: Json = {}): void {
    this.say({ jsonrpc: "2.0", method: "event", params: { type, ...params } });
  }

  /** A delta of a session whose text is its number. */
  frame(sessionId: string, seq: number): void {
    this.event("message.delta", { session_id: sessionId, seq, payload: { text: String(seq) } });
  }

  ask(id: string, method: string, params: Json): void {
    this.say({ jsonrpc: "2.0", id, method, params });
  }

  reply(id: string, result: unknown): void {
    this.say({ jsonrpc: "2.0", id, result });
  }

  /** Refuses the call, as a server does. */
  fail(id: string, code: number, reason: string): void {
    this.say({ jsonrpc: "2.0", id, error: refuse(code, reason).error });
  }

  /** Ends the connection with a close frame; without a code it is lost. */
  end(code = 1006, reason = ""): void {
    this.#tell("close", { code, reason });
  }

  /** The calls of a method, in order. */
  calls(method: string): readonly SentMessage[] {
    return this.sent.filter((message) => message.method === method);
  }

  /** The id of the last call of a method. */
  lastId(method: string): string {
    return this.calls(method).at(-1)?.id ?? "none";
  }

  #tell(type: string, about: { readonly data?: unknown; readonly code?: number; readonly reason?: string }): void {
    const event = { data: undefined, code: 0, reason: "", ...about };
    for (const { type: wanted, listener } of this.#listeners) if (wanted === type) listener(event);
  }
}

/** A server in memory: hands out sockets and remembers them. `answers` may be changed at any time. */
export interface FakeGateway {
  readonly WebSocket: SocketConstructor;
  readonly sockets: FakeSocket[];
  readonly answers: Answers;
  /** The latest socket. */
  readonly socket: FakeSocket;
}

export function fakeGateway(answers: Answers = {}): FakeGateway {
  const sockets: FakeSocket[] = [];
  class Socket extends FakeSocket {
    constructor(url: string, _protocols: string[], options: { readonly headers: Readonly<Record<string, string>> }) {
      super(url, options.headers, answers);
      sockets.push(this);
    }
  }
  return {
    WebSocket: Socket,
    sockets,
    answers,
    get socket() {
      const last = sockets.at(-1);
      if (last === undefined) throw new Error("nobody has dialled");
      return last;
    },
  };
}
