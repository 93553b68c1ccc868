import {
  Client,
  FanOut,
  Mailbox,
  requestScope,
  RequestDelivery,
  type Answered,
  type Execution,
  type Frame,
  type JsonObject,
  type RequestOutcome,
  type Scope,
  type Session,
} from "../../core/index.ts";
import { openBus, type Bus, type BusOptions } from "./bus.ts";
import { lines, TestOutlet } from "./fan-out.ts";

/** A connection that keeps what it is sent. */
export class Peer {
  readonly client: Client;
  readonly #outlet: TestOutlet;
  readonly #desk: RequestDesk;

  constructor(desk: RequestDesk, client: Client, outlet: TestOutlet) {
    this.#desk = desk;
    this.client = client;
    this.#outlet = outlet;
  }

  /** All frames that reached it. */
  get frames(): readonly Frame[] {
    this.#desk.turn();
    return this.#outlet.frames;
  }

  /** Each request as its method, each event of a request as its type and reason or outcome. */
  get words(): readonly string[] {
    return this.frames.flatMap((frame) => {
      if ("id" in frame) return [frame.method];
      const { type, payload } = frame.params;
      return type.startsWith("request.") ? [wordOf(type, payload)] : [];
    });
  }

  /** Ids of the requests that it was sent as frames. */
  get asked(): readonly string[] {
    return this.frames.flatMap((frame) => ("id" in frame ? [frame.id] : []));
  }

  /** What a reply to it lists. */
  listed(session: Session): readonly string[] {
    return this.#desk.delivery.openRequests(this.client, session).map(({ id }) => id);
  }

  answer(id: unknown, result: unknown): string {
    return this.#desk.delivery.response(this.client, { id, result });
  }

  decline(id: string, code = -32601): string {
    return this.#desk.delivery.response(this.client, { id, error: { code, message: "no" } });
  }

  attach(session: Session): void {
    this.#desk.fanOut.attach(this.client, session, { after: session.seq });
  }

  leave(): void {
    this.client.mailbox.close();
    this.#desk.fanOut.disconnect(this.client);
  }
}

/** Ordinary sessions, their requests and connections without sockets, on a clock that stands still. */
export class RequestDesk {
  readonly bus: Bus;
  readonly fanOut: FanOut;
  readonly delivery: RequestDelivery;
  #peers = 0;
  #turns = 0;

  constructor(options: BusOptions = {}) {
    this.bus = openBus(options);
    const { clock, tap } = this.bus;
    this.fanOut = new FanOut({
      seam: tap.seam,
      clock,
      mayReceive: (client, _, frame) => client.holds(scopeOf(frame)),
    });
    this.delivery = new RequestDelivery({
      requests: tap.requests,
      audience: this.fanOut,
      mayAnswer: (client, _, method) => client.holds(requestScope(method)),
    });
  }

  get requests(): Bus["tap"]["requests"] {
    return this.bus.tap.requests;
  }

  /** A turn of an ordinary session. */
  claim(durableId = "D"): Execution {
    const session = this.bus.tap.sessions.open(durableId, { roomPlumbing: false });
    return this.bus.tap.claim(session, { id: `t-${++this.#turns}`, source: { kind: "unknown" } });
  }

  /** A connection, attached to the session if there is one. */
  connect(session: Session | null, options: { advertises?: boolean; scopes?: readonly Scope[] } = {}): Peer {
    const { advertises = true, scopes = ["read", "write", "approvals"] } = options;
    const origin = String.fromCharCode("A".charCodeAt(0) + this.#peers++);
    const outlet = new TestOutlet(true);
    const mailbox = new Mailbox({ outlet, encoding: lines, clock: this.bus.clock });
    const client = new Client({ origin, principal: "local", scopes, mailbox });
    client.advertises = advertises;
    this.fanOut.connect(client);
    const peer = new Peer(this, client, outlet);
    if (session !== null) peer.attach(session);
    return peer;
  }

  /** Asks, and gives the id of the request that is open by it. */
  ask(execution: Execution, method: string, params: JsonObject = {}, lifetimeMs?: number): Asked {
    const outcome = this.requests.ask(execution, { method, params }, lifetimeMs);
    return { id: this.requests.open(execution).at(-1)?.id ?? "", outcome };
  }

  /** Lets the event loop turn until nothing is left to do. */
  turn(): void {
    while (this.bus.clock.tick() > 0);
  }
}

export interface Asked {
  readonly id: string;
  readonly outcome: Promise<Answered>;
}

/** A desk whose test has not ended. */
export function openDesk(options: BusOptions = {}): RequestDesk {
  return new RequestDesk(options);
}

/** What ends a request that nobody answered. */
export function cancelled(reason: string): RequestOutcome {
  return { outcome: "cancelled", reason, by: null };
}

/** An event as its type and why or how it ended. */
export function wordOf(type: string, payload: object | undefined): string {
  const { reason, outcome } = (payload ?? {}) as { readonly reason?: string; readonly outcome?: string };
  return `${type} ${reason ?? outcome ?? ""}`.trim();
}

function scopeOf(frame: Frame): Scope {
  if ("id" in frame) return requestScope(frame.method);
  const { type, payload = {} } = frame.params;
  return type.startsWith("request.") ? requestScope(String(payload["method"])) : "read";
}
