import { onTestFinished } from "vitest";
import {
  createRedactor,
  FanOut,
  RequestDelivery,
  systemClock,
  systemIds,
  Tap,
  type Client,
  type Clock,
  type Notice,
} from "../../core/index.ts";
import type { Held } from "../../rooms/index.ts";
import {
  createGateway,
  gatewayTable,
  RpcTable,
  type Audit,
  type Gateway,
  type GatewayHost,
  type GatewayOptions,
  type HostRoutes,
  type Method,
  type Response,
  type TransportHost,
} from "../../plugins/gateway/index.ts";
import { RouteTable } from "../../plugins/route-table.ts";
import { RawSocket } from "./raw-socket.ts";

/** What the transport's own methods need. */
export type SmallHost = TransportHost & Pick<GatewayHost, "fanOut" | "delivery">;

/** A host without rooms and agents: sessions are there, whoever drives them. */
export class TestHost implements SmallHost {
  readonly clock: Clock;
  readonly ids = systemIds;
  readonly notices: Notice[] = [];
  readonly redactor = createRedactor();
  readonly epoch = "epoch-1";
  readonly tap: Tap;
  readonly fanOut: FanOut;
  readonly delivery: RequestDelivery;
  readonly answers: Response[] = [];
  /** Routes of plugins, and the faults that were told of them. */
  readonly table = new RouteTable();
  readonly faults: string[] = [];
  readonly routes: HostRoutes = {
    match: (method, pathname) => this.table.match(method, pathname),
    fault: (plugin, message) => void this.faults.push(`${plugin}: ${message}`),
  };
  /** The audit trail, a line each. */
  readonly trail: string[] = [];
  /** Connections that stand, in order of arrival. */
  readonly clients: Client[] = [];

  constructor(clock: Clock = systemClock) {
    this.clock = clock;
    this.tap = new Tap({
      clock,
      redactor: this.redactor,
      activity: { listening: false, push: () => undefined },
      report: this.report,
    });
    this.fanOut = new FanOut({ seam: this.tap.seam, clock, mayReceive: () => true });
    this.delivery = new RequestDelivery({
      requests: this.tap.requests,
      audience: this.fanOut,
      mayAnswer: () => true,
    });
  }

  readonly audit: Audit = (outcome, what, fields) =>
    void this.trail.push(`${what} ${outcome} ${JSON.stringify(fields)}`);

  readonly report = (notice: Notice): void => void this.notices.push(notice);

  arrived(client: Client, resumed: readonly Held[]): void {
    this.clients.push(client);
    this.fanOut.connect(client);
    for (const { session } of resumed) {
      this.fanOut.settle(session);
      this.fanOut.attach(client, session, { after: session.seq });
    }
  }

  left(client: Client): readonly Held[] {
    this.clients.splice(this.clients.indexOf(client), 1);
    return this.fanOut.disconnect(client).map((session) => ({ session, role: "owner" }));
  }

  owns(): boolean {
    return false;
  }

  changed(): void {
    // Whoever may do what is nothing to it.
  }

  answered(_client: Client, response: Response): void {
    this.answers.push(response);
  }
}

export interface OpenGatewayOptions extends GatewayOptions {
  readonly clock?: Clock;
  readonly methods?: readonly Method<SmallHost>[];
  /** Default: 127.0.0.1. */
  readonly host?: string;
}

/** A gateway that listens on a port of its own. */
export interface OpenGateway {
  readonly gateway: Gateway;
  readonly host: TestHost;
  readonly port: number;
  /** With the token in it. */
  readonly url: string;
  /** A socket that is let in: its `gateway.ready` was read. */
  readonly connect: (query?: string) => Promise<RawSocket>;
}

export async function openGateway(options: OpenGatewayOptions = {}): Promise<OpenGateway> {
  const { clock, methods = [], host: bindHost, ...rest } = options;
  const host = new TestHost(clock);
  const table = new RpcTable<SmallHost>([...transportMethods(), ...methods]);
  const gateway = createGateway({ host, table }, withToken(rest));
  onTestFinished(() => gateway.close());
  const { port } = await gateway.listen({ port: 0, ...(bindHost === undefined ? {} : { host: bindHost }) });
  const url = `ws://127.0.0.1:${port}/api/ws?token=${gateway.token}`;
  return {
    gateway,
    host,
    port,
    url,
    async connect(query = "") {
      const socket = new RawSocket(url + query);
      await socket.next();
      return socket;
    },
  };
}

/** The same options, with the token of the tests where nothing else says who may come. */
export function withToken(options: GatewayOptions = {}): GatewayOptions {
  return options.auth === undefined ? { token: "gw-test-token-0123456789", ...options } : options;
}

/** Those that every connection has. */
function transportMethods(): readonly Method<SmallHost>[] {
  const names = ["gateway.ping", "client.capabilities", "session.events.stats"];
  return gatewayTable.list().filter(({ name }) => names.includes(name));
}
