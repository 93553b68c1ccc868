import type { IncomingMessage, Server as HttpServer } from "node:http";
import type { Server } from "node:net";
import type { Duplex } from "node:stream";
import { gatewayDefaults, limits, messageOf, RoomtapError, secretToken, type Undo } from "../../core/index.ts";
import type { Welcome } from "./addresses.ts";
import type { Counted } from "./counts.ts";
import { checkBind, oneToken, type Authenticate } from "./credentials.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { TransportHost } from "./host.ts";
import { Reception, type ReceptionLimits } from "./reception.ts";
import type { RpcTable } from "./rpc-table.ts";
import { createOwnServer, listen, type Address, type Listening } from "./server.ts";
import { boundHostOf } from "./upgrade.ts";

/** What a gateway serves. */
export interface GatewayParts<Host extends TransportHost> {
  readonly host: Host;
  readonly table: RpcTable<Host>;
}

/** How a gateway is set up; every bound of `gatewayDefaults` can be set as well. */
export interface GatewayOptions extends Partial<ReceptionLimits> {
  /** What clients must show. Without one a token is made, which is as good as any. */
  readonly token?: string | undefined;
  /** Says who a credential stands for, in place of the one token. */
  readonly authenticate?: Authenticate | undefined;
  /** Names, besides that of the bind, under which the gateway may be asked for. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Origins whose pages may connect: scheme, host and port. Default: the server's own. A bind that other machines can
   * reach has to name them, if only as an empty list.
   */
  readonly allowedOrigins?: readonly string[] | undefined;
}

/** Serves clients over WebSocket, on one server or several. */
export interface Gateway extends AsyncDisposable {
  /** What clients show when nothing else says who they are. A secret. */
  readonly token: string;
  /** Connections that stand. */
  readonly connections: number;
  /** How often something was refused, or a connection ended, for the given reason. */
  count(word: Counted): number;
  /**
   * Answers upgrades of `/api/ws` on somebody else's server, until it is undone; what stands by then stays. Other paths
   * are answered with 404, unless somebody else listens for upgrades too.
   * @throws RoomtapError `invalid_config` when the server is open to other machines and the token or `allowedOrigins` is
   * not fit for that; `closed`. A server that listens later is judged then: the gateway leaves it, and reports why.
   */
  attach(server: Server): Undo;
  /**
   * Listens on a server of its own.
   * @throws RoomtapError `invalid_config` as `attach`, `listen_failed`
   */
  listen(address: Address): Promise<Listening>;
  /** Ends all connections with 1001 `shutting_down` and stops listening. Safe to call twice. */
  close(): Promise<void>;
}

/** @throws RoomtapError `invalid_config` for a bound that is none */
export function createGateway<Host extends TransportHost>(
  parts: GatewayParts<Host>,
  options: GatewayOptions = {},
): Gateway {
  return new WebSocketGateway(parts, options);
}

class WebSocketGateway<Host extends TransportHost> implements Gateway {
  readonly token: string;
  readonly #host: Host;
  readonly #options: GatewayOptions;
  readonly #reception: Reception<Host>;
  readonly #undos = new Set<Undo>();
  readonly #ownServers = new Set<HttpServer>();
  #closing: Promise<void> | null = null;

  constructor({ host, table }: GatewayParts<Host>, options: GatewayOptions) {
    this.#host = host;
    this.#options = options;
    this.token = options.token ?? secretToken(host.ids);
    // A shorter one is no literal: it would mask words of people.
    if (this.token.length >= limits.minLiteralUnits) host.redactor.addLiterals([this.token]);
    this.#reception = new Reception({
      host,
      dispatcher: new Dispatcher(table, host),
      authenticate: options.authenticate ?? oneToken(this.token),
      limits: boundsOf(options),
    });
  }

  get connections(): number {
    return this.#reception.size;
  }

  count(word: Counted): number {
    return this.#reception.counts.of(word);
  }

  attach(server: Server): Undo {
    this.#checkOpen();
    if (server.listening) this.#checkBind(boundHostOf(server));
    const undo = this.#receiveFrom(server, []);
    if (!server.listening) {
      server.once("listening", () => {
        try {
          this.#checkBind(boundHostOf(server));
        } catch (fault) {
          undo();
          this.#host.report({ code: "invalid_config", message: messageOf(fault), cause: fault });
        }
      });
    }
    return undo;
  }

  async listen({ port, host = "127.0.0.1" }: Address): Promise<Listening> {
    this.#checkOpen();
    this.#checkBind(host);
    const server = createOwnServer(this.#welcome([host]));
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
    await this.#reception.close();
    for (const server of servers) server.closeAllConnections();
    await Promise.all(closed);
  }

  /** @throws RoomtapError `closed` */
  #checkOpen(): void {
    if (this.#closing !== null) throw new RoomtapError("closed", "the gateway is closed");
  }

  #checkBind(host: string): void {
    const { allowedOrigins } = this.#options;
    const warning = checkBind({ host, token: this.token, allowedOrigins });
    if (warning !== null) this.#host.report({ code: "weak_token", message: warning });
  }

  #welcome(names: readonly string[]): Welcome {
    const { allowedHosts = [], allowedOrigins } = this.#options;
    return { allowedHosts: [...names, ...allowedHosts], allowedOrigins };
  }

  #receiveFrom(server: Server, names: readonly string[]): Undo {
    const entrance = { server, welcome: this.#welcome(names) };
    const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      this.#reception.receive(entrance, request, socket, head);
    };
    server.on("upgrade", onUpgrade);
    const undo = (): void => {
      server.off("upgrade", onUpgrade);
      this.#undos.delete(undo);
    };
    this.#undos.add(undo);
    return undo;
  }
}

/** The bounds, each checked: a gateway with a wrong one does not start. */
function boundsOf(options: GatewayOptions): ReceptionLimits {
  const bounds: Record<string, number> = {};
  for (const [name, byDefault] of Object.entries(gatewayDefaults)) {
    const value = options[name as keyof typeof gatewayDefaults] ?? byDefault;
    const least = name === "pingIntervalMs" ? 0 : 1;
    if (!(value >= least)) {
      throw new RoomtapError("invalid_config", `${name}: expected a number of at least ${least}, got ${value}`);
    }
    bounds[name] = value;
  }
  return bounds as unknown as ReceptionLimits;
}
