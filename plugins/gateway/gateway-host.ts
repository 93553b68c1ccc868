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
  type SessionHost,
  type Tap,
} from "../../core/index.ts";
import type { Observers } from "../../observers/index.ts";
import {
  judgeAnswer,
  mayWatch,
  missingScope,
  scopeOf,
  type Caller,
  type Held,
  type RoomHost,
  type SeatedSessions,
  type SeatEvents,
  type Sitter,
} from "../../rooms/index.ts";
import type { PluginControl } from "../plugin-control.ts";
import { noAudit, type Audit } from "./audit.ts";
import type { LeaveCause } from "./close-codes.ts";
import type { GatewayHost, HostRoutes, Response } from "./host.ts";
import { mayReceive } from "./may-receive.ts";
import { endedType, roomOf } from "./room-access.ts";
import { RoomSubscriptions } from "./room-subscriptions.ts";

/** What a host offers to its gateways. */
export interface GatewayHostParts {
  readonly tap: Tap;
  readonly fanOut: FanOut;
  readonly sessions: SessionHost;
  readonly seated: SeatedSessions;
  readonly rooms: RoomHost;
  readonly observers: Observers;
  readonly plugins: PluginControl;
  readonly agents: ReadonlyMap<string, Runner>;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly redactor: Redactor;
  readonly report: Report;
  /** Routes of plugins. */
  readonly routes?: HostRoutes | undefined;
  /** Names of the methods that are served. */
  readonly methods: () => readonly string[];
  /** A connection has gone, or may do less: what only connections could do is to be done without them. */
  readonly onLeft: () => void;
  /** Default: nothing is written down. */
  readonly audit?: Audit | undefined;
}

/**
 * A fan-out that asks who may receive what: the scopes of a client, and what it is in the session.
 * @param parts.seated known when the first client comes
 */
export function scopedFanOut(parts: { tap: Tap; clock: Clock; seated: () => SeatedSessions }): FanOut {
  const { tap, clock, seated } = parts;
  return new FanOut({
    seam: tap.seam,
    clock,
    mayReceive: (client, session, frame) =>
      mayReceive(client, frame, session === null ? null : seated().standing(session, sitterOf(client))),
  });
}

function sitterOf({ id, principal }: Client): Sitter {
  return { client_id: id, principal };
}

/** Behind these ends of a connection nobody is waited for: it had no right to be there any more. */
const endedFor: ReadonlySet<LeaveCause> = new Set(["token_expired", "credentials_rotated", "revoked"]);

/** What all gateways of a host share: the connections, and what each of them reaches. */
export class HostOfGateways implements GatewayHost {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly redactor: Redactor;
  readonly report: Report;
  readonly audit: Audit;
  readonly epoch: string;
  readonly routes: HostRoutes | undefined;
  readonly fanOut: FanOut;
  readonly sessions: SessionHost;
  readonly seated: SeatedSessions;
  readonly requests: ServerRequests;
  readonly delivery: RequestDelivery;
  readonly rooms: RoomHost;
  readonly observers: Observers;
  readonly plugins: PluginControl;
  readonly agents: ReadonlyMap<string, Runner>;
  readonly gatewayId: string;
  readonly subscriptions = new RoomSubscriptions();
  readonly #parts: GatewayHostParts;
  readonly #clients = new Set<Client>();
  /** Of connections that stand and were asked about. */
  readonly #gone = new Map<Client, AbortController>();

  constructor(parts: GatewayHostParts) {
    const { tap, fanOut, sessions, seated } = parts;
    this.#parts = parts;
    this.clock = parts.clock;
    this.ids = parts.ids;
    this.redactor = parts.redactor;
    this.report = parts.report;
    this.audit = parts.audit ?? noAudit;
    this.epoch = tap.sessions.epoch;
    this.routes = parts.routes;
    this.gatewayId = `gw-${this.epoch}`;
    this.fanOut = fanOut;
    this.sessions = sessions;
    this.seated = seated;
    this.requests = tap.requests;
    this.rooms = parts.rooms;
    this.observers = parts.observers;
    this.plugins = parts.plugins;
    this.agents = parts.agents;
    this.delivery = new RequestDelivery({
      requests: tap.requests,
      audience: fanOut,
      mayAnswer: (client, session, method) => this.mayAnswer(client, session, method),
    });
    seated.on("dropped", (dropped) => this.#drop(dropped));
    seated.on("demoted", (demoted) => this.#demote(demoted));
    seated.on("closed", (closed) => this.#reclaim(closed));
  }

  /** Whether somebody is connected who may answer approvals of the room. */
  hasApprover(roomId: string): boolean {
    return [...this.#clients].some(
      (client) => !client.isClosed && client.holds("approvals") && client.knowsRoom(roomId),
    );
  }

  arrived(client: Client, resumed: readonly Held[]): void {
    this.#clients.add(client);
    this.fanOut.connect(client);
    for (const held of resumed) this.#comeBack(client, held);
  }

  left(client: Client, cause: LeaveCause): readonly Held[] {
    this.#clients.delete(client);
    this.#gone.get(client)?.abort();
    this.#gone.delete(client);
    this.subscriptions.end(client);
    this.fanOut.disconnect(client);
    const departure = cause === "replaced" ? cause : endedFor.has(cause) ? "ended" : "lost";
    const held = this.seated.leave(client.id, departure);
    this.#parts.onLeft();
    return held;
  }

  changed(client: Client): void {
    const over = this.subscriptions.review(client);
    const rooms = new Set<unknown>(over.map(({ room_id }) => room_id));
    // What waits there may rest on what it has no more.
    client.mailbox.retain(({ frame }, session) => session !== null || !rooms.has(roomOf(frame)));
    for (const ended of over) {
      this.fanOut.toClient(client, endedType, { ...ended, reason: "rights_changed" });
    }
    // It keeps its seats, and gets nothing of what waits there and is not for it any more.
    this.fanOut.review(client);
    this.delivery.changed(client);
    this.#parts.onLeft();
  }

  mayAnswer(client: Client, session: Session, method: string): boolean {
    const stance = this.seated.stance(session, this.callerOf(client));
    return judgeAnswer(stance, requestScope(method)) === null;
  }

  callerOf(client: Client): Caller {
    return { ...sitterOf(client), scopes: client.scopes };
  }

  owns(client: Client, method: string, { session_id }: JsonObject): boolean {
    // Lists hold what the caller may see; what is resumed may have to be read first.
    if (["session.list", "session.active_list", "session.resume"].includes(method)) return true;
    if (typeof session_id !== "string") return false;
    const session = this.sessions.byStoredId(session_id)?.session ?? this.session(session_id);
    return session !== undefined && this.seated.standing(session, sitterOf(client)) === "owner";
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

  goneSignal(client: Client): AbortSignal {
    const known = this.#gone.get(client) ?? new AbortController();
    if (this.#clients.has(client)) this.#gone.set(client, known);
    else known.abort();
    return known.signal;
  }

  methods(): readonly string[] {
    return this.#parts.methods();
  }

  /** Checked as if it came for the first time. What has become of the session otherwise the client learns when it asks. */
  #comeBack(client: Client, { session, role }: Held): void {
    const live = this.sessions.byStoredId(session.durableId);
    if (live === undefined) return;
    const caller = this.callerOf(client);
    const isOwner = this.seated.standing(session, caller) === "owner";
    if (!isOwner && missingScope(scopeOf("method", "session.attach"), { scopes: client.scopes, isOwner }) !== null)
      return;
    if (!isOwner && "refused" in this.seated.attach(live, caller, role)) return;
    if (this.fanOut.attach(client, session) !== "attached") {
      if (!isOwner) this.seated.unseat(live, client.id);
      return;
    }
    // It has what was open before, and asks for the rest: so it counts as asked.
    this.delivery.openRequests(client, session);
    if (isOwner) this.seated.seatOwner(live, caller)();
    else this.seated.tell(live, "attach");
  }

  /** From now on nothing of the session reaches the client, also of what waits in its line. */
  #drop({ session, client_id, reason }: SeatEvents["dropped"]): void {
    const client = this.#attached(session, client_id);
    if (client === undefined) return;
    this.fanOut.detach(client, session);
    this.fanOut.toClient(client, "session.detached", { session_id: session.runtimeId, reason });
  }

  /** A question that it was not handed yet is none for it any more. */
  #demote({ session, client_id }: SeatEvents["demoted"]): void {
    const client = this.#attached(session, client_id);
    if (client !== undefined) this.fanOut.review(client);
  }

  #attached(session: Session, clientId: string): Client | undefined {
    return this.fanOut.attached(session).find(({ id }) => id === clientId);
  }

  /** Those who are attached learn that the session was closed, behind its last frame. */
  #reclaim({ live: { session }, runtimeId, reason: end }: SeatEvents["closed"]): void {
    this.fanOut.settle(session);
    const clients = this.fanOut.attached(session);
    const reason = end === "closed" ? "owner_left" : end;
    if (reason === "owner_left" || reason === "ws_orphan_reap") {
      const observers = clients.filter((client) => this.seated.standing(session, sitterOf(client)) !== "owner");
      this.fanOut.toClients(observers, "session.detached", { session_id: runtimeId, reason: "owner_left" });
    }
    const payload = { session_id: runtimeId, stored_session_id: session.durableId, reason };
    const watching = clients.filter((client) => {
      return mayWatch({ scopes: client.scopes, standing: this.seated.standing(session, sitterOf(client)) });
    });
    this.fanOut.toClients(watching, "session.reclaimed", payload);
    for (const client of clients) this.fanOut.leave(client, session);
  }
}
