import {
  FanOut,
  RequestDelivery,
  requestScope,
  type Client,
  type Clock,
  type IdSource,
  type JsonObject,
  type Redactor,
  type Report,
  type Runner,
  type ServerRequests,
  type Session,
  type SessionEnd,
  type SessionHost,
  type Tap,
} from "../../core/index.ts";
import type { Observers } from "../../observers/index.ts";
import type { RoomHost } from "../../rooms/index.ts";
import type { GatewayHost, Response } from "./host.ts";
import { mayReceive } from "./may-receive.ts";
import { RoomSubscriptions } from "./room-subscriptions.ts";

/** What a host offers to its gateways. */
export interface GatewayHostParts {
  readonly tap: Tap;
  readonly fanOut: FanOut;
  readonly sessions: SessionHost;
  readonly owners: SessionOwners;
  readonly rooms: RoomHost;
  readonly observers: Observers;
  readonly agents: ReadonlyMap<string, Runner>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly redactor: Redactor;
  readonly report: Report;
  /** Names of the methods that are served. */
  readonly methods: () => readonly string[];
  /** A connection has gone: what only connections could do is to be done without them. */
  readonly onLeft: () => void;
}

/** Whose the sessions are that were opened in this process: also behind their end, for their last frames. */
export class SessionOwners {
  readonly #principals = new WeakMap<Session, string>();

  /** From now on it knows what is opened. */
  follow(sessions: SessionHost): void {
    sessions.on("opened", ({ live }) => this.#principals.set(live.session, live.record.owner.principal));
  }

  /** Whether the client is of the principal that owns the session. */
  owns({ principal }: Client, session: Session): boolean {
    return this.#principals.get(session) === principal;
  }
}

/** A fan-out that asks the scopes of its clients who may receive what. */
export function scopedFanOut(parts: { tap: Tap; clock: Clock; owners: SessionOwners }): FanOut {
  const { tap, clock, owners } = parts;
  return new FanOut({
    seam: tap.seam,
    clock,
    mayReceive: (client, session, frame) => mayReceive(client, frame, session !== null && owners.owns(client, session)),
  });
}

/** What all gateways of a host share: the connections, and what each of them reaches. */
export class HostOfGateways implements GatewayHost {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly redactor: Redactor;
  readonly report: Report;
  readonly epoch: string;
  readonly fanOut: FanOut;
  readonly sessions: SessionHost;
  readonly requests: ServerRequests;
  readonly delivery: RequestDelivery;
  readonly rooms: RoomHost;
  readonly observers: Observers;
  readonly agents: ReadonlyMap<string, Runner>;
  readonly gatewayId: string;
  readonly subscriptions = new RoomSubscriptions();
  readonly #parts: GatewayHostParts;
  readonly #clients = new Set<Client>();

  constructor(parts: GatewayHostParts) {
    const { tap, fanOut, sessions } = parts;
    this.#parts = parts;
    this.clock = parts.clock;
    this.ids = parts.ids;
    this.redactor = parts.redactor;
    this.report = parts.report;
    this.epoch = tap.sessions.epoch;
    this.gatewayId = `gw-${this.epoch}`;
    this.fanOut = fanOut;
    this.sessions = sessions;
    this.requests = tap.requests;
    this.rooms = parts.rooms;
    this.observers = parts.observers;
    this.agents = parts.agents;
    const may = (client: Client, _session: Session, method: string): boolean => client.holds(requestScope(method));
    this.delivery = new RequestDelivery({ requests: tap.requests, audience: fanOut, mayAnswer: may });
    sessions.on("closed", ({ live, runtimeId, reason }) => this.#reclaim(live.session, runtimeId, reason));
  }

  /** Whether somebody is connected who may answer approvals of rooms. */
  get hasApprover(): boolean {
    return [...this.#clients].some((client) => !client.isClosed && client.holds("approvals"));
  }

  arrived(client: Client, resumed: readonly Session[]): void {
    this.#clients.add(client);
    this.fanOut.connect(client);
    for (const session of resumed) {
      // Closed meanwhile, or at its bound: the client learns it when it asks.
      if (this.sessions.byStoredId(session.durableId) === undefined) continue;
      // It has what was open before, and asks for the rest: so it counts as asked.
      if (this.fanOut.attach(client, session) === "attached") this.delivery.openRequests(client, session);
    }
  }

  left(client: Client): readonly Session[] {
    this.#clients.delete(client);
    this.subscriptions.end(client);
    const sessions = this.fanOut.disconnect(client);
    this.#parts.onLeft();
    return sessions;
  }

  owns(client: Client, method: string, { session_id }: JsonObject): boolean {
    // Lists hold what the caller may see.
    if (method === "session.list" || method === "session.active_list") return true;
    if (typeof session_id !== "string") return false;
    const session = this.sessions.byStoredId(session_id)?.session ?? this.session(session_id);
    return session !== undefined && this.#parts.owners.owns(client, session);
  }

  answered(client: Client, response: Response): void {
    this.delivery.response(client, response);
  }

  session(runtimeId: string): Session | undefined {
    return this.#parts.tap.sessions.byRuntimeId(runtimeId);
  }

  isHidden(id: string): boolean {
    const { sessions } = this.#parts.tap;
    return (sessions.byRuntimeId(id) ?? sessions.byDurableId(id))?.roomPlumbing === true;
  }

  methods(): readonly string[] {
    return this.#parts.methods();
  }

  /** Those who are attached learn that the session was closed, behind its last frame. */
  #reclaim(session: Session, runtimeId: string, end: SessionEnd): void {
    this.fanOut.settle(session);
    const clients = this.fanOut.attached(session);
    const reason = end === "closed" ? "owner_left" : end;
    const payload = { session_id: runtimeId, stored_session_id: session.durableId, reason };
    this.fanOut.toClients(clients, "session.reclaimed", payload);
    for (const client of clients) this.fanOut.leave(client, session);
  }
}
