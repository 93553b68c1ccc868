import type { IncomingMessage } from "node:http";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import { limits, messageOf, ResumeTokens, type Session } from "../../core/index.ts";
import type { Welcome } from "./addresses.ts";
import type { CloseWord } from "./close-codes.ts";
import { Connection, type ConnectionLimits } from "./connection.ts";
import { Counts } from "./counts.ts";
import type { Authenticate, Identity } from "./credentials.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { TransportHost } from "./host.ts";
import { AddressRates, Tally, type AddressBounds } from "./limits.ts";
import { readyText } from "./ready.ts";
import { SocketServer, type Link } from "./sockets.ts";
import { credentialOf, judgeRequest, readUpgrade, refuseUpgrade, type Upgrade } from "./upgrade.ts";

/** How many may come, and how often. */
export interface ReceptionLimits extends ConnectionLimits, Omit<AddressBounds, "maxAddresses"> {
  readonly maxConnections: number;
  readonly maxConnectionsPerPrincipal: number;
  readonly maxPendingPerAddress: number;
}

/** What a reception is made of. */
export interface ReceptionParts<Host extends TransportHost> {
  readonly host: Host;
  readonly dispatcher: Dispatcher<Host>;
  readonly authenticate: Authenticate;
  readonly limits: ReceptionLimits;
}

/** A server whose upgrades are received, and who is welcome there. */
export interface Entrance {
  readonly server: Server;
  readonly welcome: Welcome;
}

/** A connection that was let in, and what of it one that comes back may take over. */
interface Seat<Host extends TransportHost> {
  readonly connection: Connection<Host>;
  readonly origin: string;
  /** What it was attached to when it closed. */
  attached: readonly Session[];
}

/**
 * Lets connections in, gate by gate: path, how many have not shown who they are, rate, Host and Origin, credential, how
 * many there are. A refusal behind the first two accepts the socket and closes it with a code, without a frame: a client
 * that is refused before sees no code.
 */
export class Reception<Host extends TransportHost> {
  readonly counts = new Counts();
  readonly #parts: ReceptionParts<Host>;
  readonly #sockets: SocketServer;
  readonly #tokens: ResumeTokens<Seat<Host>>;
  readonly #rates: AddressRates;
  /** Sockets that were not let in, by address. */
  readonly #pending = new Tally();
  /** Connections that were let in, by principal. */
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
    this.#rates = new AddressRates(clock, { ...parts.limits, maxAddresses: limits.maxAddresses });
  }

  /** Connections that were let in and have not begun to close. */
  get size(): number {
    return this.#seated.total;
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
    if (this.#pending.of(upgrade.address) >= this.#parts.limits.maxPendingPerAddress) {
      this.counts.add("too_many_pending");
      refuseUpgrade(socket, 429);
      return;
    }
    this.#sockets.accept(request, socket, head, (link) => void this.#admit(upgrade, welcome, link));
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

  async #admit(upgrade: Upgrade, welcome: Welcome, link: Link): Promise<void> {
    const { host, dispatcher } = this.#parts;
    const release = this.#pending.add(upgrade.address);
    const onEnd = (): void => {
      release();
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#onEmpty?.();
    };
    const connection = new Connection({
      link,
      host,
      dispatcher,
      limits: this.#parts.limits,
      counts: this.counts,
      onEnd,
    });
    this.#connections.add(connection);
    const identity = await this.#judge(upgrade, welcome);
    if (connection.isClosing) return;
    const refusal = typeof identity === "string" ? identity : this.#seat(connection, identity, upgrade);
    if (refusal === null) release();
    else connection.close(refusal);
  }

  async #judge(upgrade: Upgrade, welcome: Welcome): Promise<Identity | CloseWord> {
    if (this.#isClosed) return "shutting_down";
    if (!upgrade.isLoopback && !this.#rates.admit(upgrade.address)) return "upgrade_rate";
    const stranger = judgeRequest(upgrade.request, upgrade.boundHost, welcome);
    if (stranger !== null) return stranger;
    const identity = await this.#identify(upgrade);
    if (typeof identity === "string" && !upgrade.isLoopback) this.#rates.failed(upgrade.address);
    return identity;
  }

  async #identify(upgrade: Upgrade): Promise<Identity | CloseWord> {
    const credential = credentialOf(upgrade);
    if (typeof credential === "string") return credential;
    try {
      return await this.#parts.authenticate(credential);
    } catch (fault) {
      const message = `a credential could not be checked: ${messageOf(fault)}`;
      this.#parts.host.report({ code: "internal", message, cause: fault });
      return "internal_error";
    }
  }

  /** The last gate, and the first frame. Null when it was let in. */
  #seat(connection: Connection<Host>, identity: Identity, { query }: Upgrade): CloseWord | null {
    const { host } = this.#parts;
    const resumeToken = query.get("resume");
    const previous = resumeToken === null ? undefined : this.#tokens.holder(resumeToken, identity);
    const freed = previous === undefined || previous.connection.isClosing ? 0 : 1;
    if (!this.#hasRoom(identity.principal, freed)) return "connection_limit";
    if (resumeToken !== null) this.#tokens.redeem(resumeToken, identity);
    // Its end is told in this step: from here on nothing of it is its own.
    previous?.connection.close("replaced");
    const origin = previous?.origin ?? `c-${host.ids.hex(16)}`;
    const seat: Seat<Host> = { connection, origin, attached: [] };
    const token = this.#tokens.issue(seat, identity);
    const unseat = this.#seated.add(identity.principal);
    connection.open({
      identity,
      origin,
      ready: readyText(host.epoch, { origin, resumeToken: token, resumed: previous !== undefined }),
      advertises: previous?.connection.client?.advertises ?? false,
      resumed: previous?.attached ?? [],
      onLeft: (attached) => {
        seat.attached = attached;
        unseat();
        this.#tokens.drop(token);
      },
    });
    return null;
  }

  #hasRoom(principal: string, freed: number): boolean {
    const { maxConnections, maxConnectionsPerPrincipal } = this.#parts.limits;
    const { total } = this.#seated;
    return total - freed < maxConnections && this.#seated.of(principal) - freed < maxConnectionsPerPrincipal;
  }
}
