import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { JsonObject } from "../../core/index.ts";
import type { Closed } from "./raw-socket.ts";

/** A message as it came, and what is read of it. */
export interface Came extends JsonObject {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: CameParams;
  readonly result?: JsonObject;
  readonly error?: CameError;
}

/** Params of an event or of a request. */
export interface CameParams extends JsonObject {
  readonly type?: string;
  readonly session_id?: string;
  readonly seq?: number;
  readonly origin?: string;
  readonly turn?: { readonly id: string; readonly source: JsonObject };
  readonly payload?: JsonObject;
}

/** A refusal of a call. */
export interface CameError extends JsonObject {
  readonly code: number;
  readonly message: string;
  readonly data: JsonObject & { readonly reason: string };
}

/** A connection that collects all that comes, and says only what the test has it say. */
export class HostClient {
  readonly ws: WebSocket;
  /** All that came, in order, `gateway.ready` first. */
  readonly came: Came[] = [];
  readonly closed: Promise<Closed>;
  #calls = 0;
  #isClosed = false;
  readonly #waiting = new Set<() => void>();

  constructor(url: string) {
    this.ws = new WebSocket(url);
    this.ws.on("message", (data: Buffer) => {
      this.came.push(JSON.parse(data.toString()) as Came);
      this.#wake();
    });
    this.ws.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      this.ws.on("close", (code, reason) => {
        this.#isClosed = true;
        resolve({ code, reason: reason.toString() });
        this.#wake();
      });
    });
    onTestFinished(() => this.ws.terminate());
  }

  /** Payload of `gateway.ready`. */
  get ready(): JsonObject {
    return this.came[0]?.params?.payload ?? {};
  }

  get origin(): string {
    return String(this.ready["origin"]);
  }

  /** Params of the events that came, in order; of one type, if it is named. Not `gateway.ready`. */
  events(type?: string): readonly CameParams[] {
    return this.came
      .slice(1)
      .flatMap(({ method, params }) =>
        method === "event" && params !== undefined && (type === undefined || params.type === type) ? [params] : [],
      );
  }

  /** Server requests that came. */
  requests(): readonly Came[] {
    return this.came.filter(({ method, id }) => id !== undefined && method !== undefined);
  }

  /** A word per message: the type of an event, `<- id` of a reply, `? method` of a request. `gateway.ready` is left out. */
  told(): readonly string[] {
    return this.came.slice(1).map(({ id, method, params }) => {
      if (method === "event") return String(params?.type);
      return method === undefined ? `<- ${String(id)}` : `? ${method}`;
    });
  }

  send(message: unknown): void {
    this.ws.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** Calls and gives the whole reply. @param id default `c1`, `c2`, ... */
  async ask(method: string, params: JsonObject = {}, id: string | number = `c${++this.#calls}`): Promise<Came> {
    const from = this.came.length;
    this.send({ jsonrpc: "2.0", id, method, params });
    return this.message((came) => came.id === id && came.method === undefined, from);
  }

  /** The result of a call that is not refused. */
  async call(method: string, params: JsonObject = {}): Promise<JsonObject> {
    const { result, error } = await this.ask(method, params);
    if (result === undefined) throw new Error(`${method} was refused: ${JSON.stringify(error)}`);
    return result;
  }

  /** Number and word of a call that is refused. */
  async refused(method: string, params: JsonObject = {}): Promise<readonly [code: number, reason: string]> {
    const { error, result } = await this.ask(method, params);
    if (error === undefined) throw new Error(`${method} was not refused: ${JSON.stringify(result)}`);
    return [error.code, error.data.reason];
  }

  /** The first message from this place on that is so, now or once it comes. */
  async message(isIt: (came: Came) => boolean, from = 0): Promise<Came> {
    for (let place = from; ; place++) {
      while (place >= this.came.length) await this.#next();
      const came = this.came[place];
      if (came !== undefined && isIt(came)) return came;
    }
  }

  /** Params of the event of this type, the first or a later one, now or once it comes. @param nth 0 is the first */
  async event(type: string, nth = 0): Promise<CameParams> {
    await this.#until(() => this.events(type).length > nth);
    const event = this.events(type)[nth];
    if (event === undefined) throw new RangeError(`no ${type}`);
    return event;
  }

  /** The event of this type that is so, now or once it comes. */
  async eventWhere(type: string, isIt: (event: CameParams) => boolean): Promise<CameParams> {
    const { params } = await this.message((came) => came.params?.type === type && isIt(came.params));
    return params ?? {};
  }

  /** The first server request of this method, or a later one, now or once it comes. */
  async request(method: string, nth = 0): Promise<Came & { readonly id: string }> {
    const asked = (): readonly Came[] => this.requests().filter((came) => came.method === method);
    await this.#until(() => asked().length > nth);
    return asked()[nth] as Came & { readonly id: string };
  }

  /** Resolves when all that the host had queued for this client before has come. */
  async settled(): Promise<void> {
    await this.ask("gateway.ping", {}, `p${++this.#calls}`);
  }

  /** Drops the connection, as a cable that is pulled out. */
  async drop(): Promise<void> {
    this.ws.terminate();
    await this.closed;
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.#next();
  }

  #next(): Promise<void> {
    if (this.#isClosed) throw new Error(`the socket closed before it came; there came ${this.told().join(", ")}`);
    return new Promise((resolve) => void this.#waiting.add(resolve));
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const go of waiting) go();
  }
}
