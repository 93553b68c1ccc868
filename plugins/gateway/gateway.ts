import type { IncomingMessage, Server as HttpServer, ServerResponse } from "node:http";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf, RoomtapError, type Undo } from "../../core/index.ts";
import type { Welcome } from "./addresses.ts";
import { parseAuth, type AuthConfig, type AuthOptions } from "./auth-config.ts";
import { Auth } from "./auth.ts";
import { checkBind } from "./bind-check.ts";
import { Counts, type Counted } from "./counts.ts";
import type { CredentialSet } from "./credential-set.ts";
import { Dispatcher } from "./dispatcher.ts";
import { authOf, boundsOf, type GatewayOptions } from "./gateway-options.ts";
import { Gates } from "./gates.ts";
import type { TransportHost } from "./host.ts";
import { Reception, type Who } from "./reception.ts";
import type { RpcTable } from "./rpc-table.ts";
import { RouteDesk } from "./routes/route-desk.ts";
import { createOwnServer, listen, type Address, type Listening } from "./server.ts";
import { TicketDesk } from "./ticket-desk.ts";
import { boundHostOf } from "./upgrade.ts";

/** What a gateway serves. */
export interface GatewayParts<Host extends TransportHost> {
  readonly host: Host;
  readonly table: RpcTable<Host>;
}

/** Serves clients over WebSocket, and routes of plugins over HTTP, on one server or several. */
export interface Gateway extends AsyncDisposable {
  /** The one token that lets in, given or made: a secret. "" when several do, or another credential. */
  readonly token: string;
  /** Whether the token was made here, because no credential was given: nobody else knows it yet. */
  readonly isTokenMade: boolean;
  /** Connections that stand. */
  readonly connections: number;
  /** How often something was refused, or a connection ended, for the given reason. */
  count(word: Counted): number;
  /**
   * Answers upgrades of `/api/ws` on somebody else's server, until it is undone; what stands by then stays. Other paths
   * are answered with 404, unless somebody else listens for upgrades too.
   * @throws RoomtapError `invalid_config` when the server is open to other machines and the credentials or `allowedOrigins`
   * are not fit for that; `closed`. A server that listens later is judged then: the gateway leaves it, and reports why.
   */
  attach(server: Server): Undo;
  /**
   * Answers a request for a ticket, or to a route of a plugin, on somebody else's server: to be called by what listens for
   * requests there, before it reads the body. False when the request is for something else, which nothing was done with.
   */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  /**
   * Listens on a server of its own.
   * @throws RoomtapError `invalid_config` as `attach`, `listen_failed`
   */
  listen(address: Address): Promise<Listening>;
  /**
   * A link that opens a page of the server as the one token would, once, within ten minutes: its ticket stands in the
   * fragment, which no server is sent. Without such a token the link alone.
   * @param http where the server is, as `listen` gives it
   */
  link(http: string): Promise<string>;
  /**
   * Takes other credentials, while connections stand. A key that is absent changes nothing, nor does an empty list of
   * tokens, which is reported. Connections whose credential has gone are closed with 4401 `credentials_rotated`, unless
   * `revokeOnRotation` is false; those whose scopes, rooms or grants have changed have the new ones at once.
   * @returns how many were closed
   * @throws RoomtapError `invalid_config` for a config that could not be started with; then nothing has changed
   */
  reload(auth: AuthOptions | undefined): number;
  /**
   * Ends connections with 4410 `revoked`, and none comes back by its resume token; of a principal also what routes of plugins
   * still send it. @returns how many connections there were
   */
  revoke(who: Who): number;
  /** Ends all connections with 1001 `shutting_down`, and what routes still send, and stops listening. Safe to call twice. */
  close(): Promise<void>;
}

/** @throws RoomtapError `invalid_config` for a bound that is none, and for credentials that are none */
export function createGateway<Host extends TransportHost>(
  parts: GatewayParts<Host>,
  options: GatewayOptions = {},
): Gateway {
  return new WebSocketGateway(parts, options);
}

type AuthKeys = Pick<AuthConfig, "allowedHosts" | "allowedOrigins" | "revokeOnRotation">;

class WebSocketGateway<Host extends TransportHost> implements Gateway {
  readonly #host: Host;
  readonly #auth: Auth;
  readonly #reception: Reception<Host>;
  readonly #desk: TicketDesk;
  readonly #routes: RouteDesk;
  readonly #counts = new Counts();
  #settings: AuthKeys;
  /** Servers that are listened to, with the names that they go by besides those of the settings. */
  readonly #servers = new Map<Server, readonly string[]>();
  readonly #undos = new Set<Undo>();
  readonly #ownServers = new Set<HttpServer>();
  #closing: Promise<void> | null = null;

  constructor({ host, table }: GatewayParts<Host>, options: GatewayOptions) {
    const limits = boundsOf(options);
    const auth = authOf(options);
    this.#host = host;
    const { allowedHosts, allowedOrigins } = options;
    this.#settings = settingsOf(auth, { allowedHosts, allowedOrigins });
    const { clock, ids, redactor, report, audit } = host;
    this.#auth = new Auth({ clock, ids, redactor, report, limits, auth, authenticate: options.authenticate });
    const gates = new Gates({ clock, report, audit, limits, auth: this.#auth });
    const parts = { auth: this.#auth, gates, counts: this.#counts };
    this.#reception = new Reception({ ...parts, host, dispatcher: new Dispatcher(table, host), limits });
    const isClosed = (): boolean => this.#reception.isClosed;
    this.#desk = new TicketDesk({ ...parts, audit, ticketMs: limits.ticketMs }, isClosed);
    this.#routes = new RouteDesk({ ...parts, host, isClosed });
  }

  get token(): string {
    return this.#auth.token;
  }

  get isTokenMade(): boolean {
    return this.#auth.isMade;
  }

  get connections(): number {
    return this.#reception.size;
  }

  count(word: Counted): number {
    return this.#counts.of(word);
  }

  attach(server: Server): Undo {
    this.#checkOpen();
    if (server.listening) this.#checkBind(boundHostOf(server));
    const leave = this.#receiveFrom(server, []);
    // Each time: it may listen elsewhere later.
    const onListening = (): void => {
      try {
        this.#checkBind(boundHostOf(server));
      } catch (fault) {
        undo();
        this.#host.report({ code: "invalid_config", message: messageOf(fault), cause: fault });
      }
    };
    const undo = (): void => {
      server.off("listening", onListening);
      this.#undos.delete(undo);
      leave();
    };
    this.#undos.add(undo);
    server.on("listening", onListening);
    return undo;
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const port = request.socket.localPort;
    const server = [...this.#servers.keys()].find((each) => portOf(each) === port);
    // On a server that it was not attached to, only names that are listed are known.
    const boundHost = server === undefined ? "" : boundHostOf(server);
    const door = { boundHost, welcome: this.#welcome(server) };
    return this.#desk.handle(request, response, door) || this.#routes.handle(request, response, door);
  }

  async listen({ port, host = "127.0.0.1" }: Address): Promise<Listening> {
    this.#checkOpen();
    this.#checkBind(host);
    const server = createOwnServer({
      handle: (request, response) => this.handle(request, response),
      welcome: () => this.#welcome(server),
    });
    const undo = this.#receiveFrom(server, [host]);
    try {
      const listening = await listen(server, port, host);
      this.#checkOpen();
      this.#ownServers.add(server);
      return listening;
    } catch (fault) {
      undo();
      // It listens already when the gateway was closed meanwhile.
      server.close();
      throw fault;
    }
  }

  async link(http: string): Promise<string> {
    const ticket = await this.#auth.mintLink();
    return ticket === null ? `${http}/` : `${http}/#ticket=${ticket}`;
  }

  reload(given: AuthOptions | undefined): number {
    if (given === undefined) return 0;
    if (this.#auth.isForeign) {
      throw new RoomtapError("invalid_config", "auth: this gateway asks a function of its own who comes");
    }
    const auth = parseAuth(given);
    const settings = settingsOf(auth, this.#settings);
    const after = this.#auth.next(auth);
    for (const server of this.#servers.keys()) {
      if (server.listening) this.#checkBind(boundHostOf(server), { after, settings });
    }
    const rotation = this.#auth.adopt(auth, after);
    this.#settings = settings;
    const revokes = settings.revokeOnRotation ?? true;
    const revoked = this.#reception.rotate(rotation, revokes);
    this.#routes.review(rotation, revokes);
    this.#host.audit("granted", "reload of credentials", { revoked });
    return revoked;
  }

  revoke(who: Who): number {
    if ("principal" in who) this.#routes.revoke(who.principal);
    return this.#reception.revoke(who);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const undo of this.#undos) undo();
    const servers = [...this.#ownServers];
    this.#ownServers.clear();
    const closed = servers.map((server) => new Promise((resolve) => void server.close(resolve)));
    await Promise.all([this.#reception.close(), this.#routes.close()]);
    for (const server of servers) server.closeAllConnections();
    await Promise.all(closed);
  }

  /** @throws RoomtapError `closed` */
  #checkOpen(): void {
    if (this.#closing !== null) throw new RoomtapError("closed", "the gateway is closed");
  }

  /** @param next what is to become of it; by default it is as it is */
  #checkBind(host: string, next?: { readonly after: CredentialSet; readonly settings: AuthKeys }): void {
    const { after, settings } = next ?? { after: this.#auth.set, settings: this.#settings };
    const isMade = this.#auth.isMade && after === this.#auth.set;
    const guard = { isOpen: after.isOpen, weak: after.weak, isMade, allowedOrigins: settings.allowedOrigins };
    for (const message of checkBind(host, guard)) this.#host.report({ code: "weak_token", message });
  }

  #welcome(server: Server | undefined): Welcome {
    const names = server === undefined ? [] : (this.#servers.get(server) ?? []);
    const { allowedHosts = [], allowedOrigins } = this.#settings;
    return { allowedHosts: [...names, ...allowedHosts], allowedOrigins };
  }

  #receiveFrom(server: Server, names: readonly string[]): Undo {
    const entrance = { server, welcome: () => this.#welcome(server) };
    const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      this.#reception.receive(entrance, request, socket, head);
    };
    this.#servers.set(server, names);
    server.on("upgrade", onUpgrade);
    const undo = (): void => {
      server.off("upgrade", onUpgrade);
      this.#servers.delete(server);
      this.#undos.delete(undo);
    };
    this.#undos.add(undo);
    return undo;
  }
}

/** What a config says besides credentials; where it is silent, as before. */
function settingsOf(auth: AuthOptions, before: AuthKeys): AuthKeys {
  if (auth === "none") return before;
  const { allowedHosts, allowedOrigins, revokeOnRotation } = auth;
  return {
    allowedHosts: allowedHosts ?? before.allowedHosts,
    allowedOrigins: allowedOrigins ?? before.allowedOrigins,
    revokeOnRotation: revokeOnRotation ?? before.revokeOnRotation,
  };
}

function portOf(server: Server): number | undefined {
  const bound = server.address();
  return bound === null || typeof bound === "string" ? undefined : bound.port;
}
