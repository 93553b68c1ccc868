import type { IncomingMessage } from "node:http";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import { limits, ResumeTokens, type Undo } from "../../core/index.ts";
import type { Held } from "../../rooms/index.ts";
import type { Welcome } from "./addresses.ts";
import { whoIs } from "./audit.ts";
import type { Auth, Rotation } from "./auth.ts";
import type { CloseWord } from "./close-codes.ts";
import { Connection, type ConnectionLimits } from "./connection.ts";
import type { Counts } from "./counts.ts";
import { hasSameRights, type Identity } from "./credentials.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Gates } from "./gates.ts";
import type { TransportHost } from "./host.ts";
import { Tally } from "./limits.ts";
import { readyText } from "./ready.ts";
import { SocketServer, type Link } from "./sockets.ts";
import { credentialOf, readUpgrade, refuseUpgrade, type Upgrade } from "./upgrade.ts";

/** How many may stay. */
export interface ReceptionLimits extends ConnectionLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerPrincipal: number;
}

/** What a reception is made of. */
export interface ReceptionParts<Host extends TransportHost> {
  readonly host: Host;
  readonly dispatcher: Dispatcher<Host>;
  readonly auth: Auth;
  readonly gates: Gates;
  readonly counts: Counts;
  readonly limits: ReceptionLimits;
}

/** A server whose upgrades are received, and who is welcome there now. */
export interface Entrance {
  readonly server: Server;
  readonly welcome: () => Welcome;
}

/** A connection that was let in, and what of it one that comes back may take over. */
interface Seat<Host extends TransportHost> {
  readonly connection: Connection<Host>;
  readonly origin: string;
  identity: Identity;
  /** What it was attached to when it closed. */
  attached: readonly Held[];
}

/** Which connections are meant: one, or all of a principal. */
export type Who = { readonly origin: string } | { readonly principal: string };

/**
 * Lets connections in, gate by gate: path, how many have not shown who they are, rate, Host and Origin, credential, how
 * many there are. A refusal behind the first two accepts the socket and closes it with a code, without a frame: a client
 * that is refused before sees no code.
 */
export class Reception<Host extends TransportHost> {
  readonly #parts: ReceptionParts<Host>;
  readonly #sockets: SocketServer;
  readonly #tokens: ResumeTokens<Seat<Host>>;
  /** Connections that were let in, in order, and how many of each principal. */
  readonly #seats = new Set<Seat<Host>>();
  readonly #seated = new Tally();
  /** All that have not ended, let in or not. */
  readonly #connections = new Set<Connection<Host>>();
  #onEmpty: (() => void) | null = null;
  #isClosed = false;

  constructor(parts: ReceptionParts<Host>) {
    const { clock, ids } = parts.host;
    this.#parts = parts;
    this.#sockets = new SocketServer(clock);
    this.#tokens = new ResumeTokens({ clock, ids });
  }

  /** Connections that were let in and have not begun to close. */
  get size(): number {
    return this.#seats.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes an upgrade. Another path than the gateway's is left alone when somebody else listens for upgrades. */
  receive({ server, welcome }: Entrance, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const upgrade = readUpgrade(server, request, socket, head);
    if (upgrade === null) {
      if (server.listenerCount("upgrade") === 1) refuseUpgrade(socket, 404);
      return;
    }
    if (request.method !== "GET") {
      refuseUpgrade(socket, 400);
      return;
    }
    const release = this.#parts.gates.enter(upgrade.address);
    if (release === null) {
      this.#parts.counts.add("too_many_pending");
      refuseUpgrade(socket, 429);
      return;
    }
    // A malformed one never becomes a link.
    let isLinked = false;
    this.#sockets.accept(request, socket, head, (link) => {
      isLinked = true;
      void this.#admit(upgrade, welcome(), link, release);
    });
    if (!isLinked) release();
  }

  /**
   * Brings connections up to date with credentials that have changed. Those whose credential has gone are closed, and have
   * no way back; the others have from now on what theirs gives.
   * @param revokes false: those whose credential has gone stay
   * @returns how many were closed
   */
  rotate({ before, after }: Rotation, revokes: boolean): number {
    const hasGone = (identity: Identity): boolean =>
      before.current(identity) !== null && after.current(identity) === null;
    this.#tokens.revoke(({ holder: { identity } }) => hasGone(identity));
    const gone = [...this.#seats].filter(({ identity }) => hasGone(identity));
    for (const seat of this.#seats) {
      const identity = after.current(seat.identity);
      if (identity !== null) this.#change(seat, identity);
    }
    if (!revokes) return 0;
    for (const { connection } of gone) connection.close("credentials_rotated");
    return gone.length;
  }

  /** Ends connections with 4410, without a way back. @returns how many there were */
  revoke(who: Who): number {
    const isMeant = ({ origin, identity: { principal } }: Seat<Host>): boolean =>
      "origin" in who ? origin === who.origin : principal === who.principal;
    this.#tokens.revoke(({ holder }) => isMeant(holder));
    const meant = [...this.#seats].filter(isMeant);
    for (const { connection } of meant) connection.close("revoked");
    return meant.length;
  }

  /** Closes all connections, and resolves when the last socket has ended: a second later at most. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const allEnded = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    for (const connection of this.#connections) connection.close("shutting_down");
    if (this.#connections.size > 0) await allEnded;
  }

  async #admit(upgrade: Upgrade, welcome: Welcome, link: Link, release: Undo): Promise<void> {
    const { host, dispatcher, counts, gates } = this.#parts;
    const onEnd = (): void => {
      release();
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#onEmpty?.();
    };
    const connection = new Connection({ link, host, dispatcher, limits: this.#parts.limits, counts, onEnd });
    this.#connections.add(connection);
    const identity = this.#isClosed
      ? "shutting_down"
      : await gates.judge(upgrade, () => credentialOf(upgrade), { welcome, knock: "connection" });
    if (connection.isClosing) return;
    if (typeof identity === "string") return connection.close(identity);
    const reason = this.#seat(connection, identity, upgrade);
    if (reason === null) return release();
    host.audit("refused", "connection", { reason, principal: identity.principal, address: upgrade.address });
    connection.close(reason);
  }

  /** The last gate, and the first frame. Null when it was let in. */
  #seat(connection: Connection<Host>, shown: Identity, { query, address, request }: Upgrade): CloseWord | null {
    const { host, auth } = this.#parts;
    // Credentials may have changed while this one was looked at.
    const identity = auth.current(shown);
    if (typeof identity === "string") return identity;
    const resumeToken = query.get("resume");
    const previous = resumeToken === null ? undefined : this.#tokens.holder(resumeToken, identity);
    const freed = previous === undefined || previous.connection.isClosing ? 0 : 1;
    if (!this.#hasRoom(identity.principal, freed)) return "connection_limit";
    if (resumeToken !== null) this.#tokens.redeem(resumeToken, identity);
    // Its end is told in this step: from here on nothing of it is its own.
    previous?.connection.close("replaced");
    const origin = previous?.origin ?? `c-${host.ids.hex(16)}`;
    const seat: Seat<Host> = { connection, origin, identity, attached: [] };
    const token = this.#tokens.issue(seat, identity);
    const unseat = this.#seated.add(identity.principal);
    this.#seats.add(seat);
    const { principal, scopes, rooms = null, label = null } = identity;
    const resumed = previous !== undefined;
    host.audit("granted", "connection", { client_id: origin, principal, scopes, rooms, by: label, address, resumed });
    connection.open({
      identity,
      origin,
      ready: readyText(host.epoch, { origin, resumeToken: token, resumed }),
      advertises: previous?.connection.client?.advertises ?? false,
      resumed: previous?.attached ?? [],
      // With what its credential gives when it is asked for; for the same page alone.
      mintTicket: () => auth.mint(seat.identity, request.headers.origin ?? null, limits.resumeTokenMs),
      onLeft: (attached, cause) => {
        seat.attached = attached;
        unseat();
        this.#seats.delete(seat);
        this.#tokens.drop(token);
        host.audit("ended", "connection", { ...whoIs({ origin, principal }), reason: cause });
      },
    });
    return null;
  }

  #change(seat: Seat<Host>, identity: Identity): void {
    if (hasSameRights(seat.identity, identity)) return;
    seat.identity = identity;
    seat.connection.change(identity);
    const { principal, scopes, rooms = null, grants } = identity;
    this.#parts.host.audit("granted", "rights", { client_id: seat.origin, principal, scopes, rooms, grants });
  }

  #hasRoom(principal: string, freed: number): boolean {
    const { maxConnections, maxConnectionsPerPrincipal } = this.#parts.limits;
    const { total } = this.#seated;
    return total - freed < maxConnections && this.#seated.of(principal) - freed < maxConnectionsPerPrincipal;
  }
}
