import { onTestFinished } from "vitest";
import { createRoomtap, type Notice, type Roomtap, type RoomtapOptions } from "../../index.ts";
import type { Gateway, GatewayOptions } from "../../plugins/index.ts";
import { DrivenAgent } from "./driven-agent.ts";
import { HostClient } from "./host-client.ts";
import { withToken } from "./open-gateway.ts";

export { DrivenAgent, type DrivenTurn } from "./driven-agent.ts";
export { HostClient, type Came, type CameParams } from "./host-client.ts";

/** Without a word everything is by default: in memory, no rooms, one driven agent called `default`. */
export interface OpenHostOptions extends Partial<RoomtapOptions> {
  readonly gateway?: GatewayOptions | undefined;
  /** Default: one that is free. */
  readonly port?: number | undefined;
}

/** A whole host with a gateway that listens, closed with the test. */
export interface OpenHost {
  readonly tap: Roomtap;
  readonly gateway: Gateway;
  /** The agent called `default`, where none was given. */
  readonly agent: DrivenAgent;
  readonly port: number;
  /** With the token in it. */
  readonly url: string;
  readonly notices: readonly Notice[];
  /**
   * A client that was let in and greeted.
   * @param options.resume token of the connection that it goes on for
   * @param options.token what it shows in place of the gateway's own
   * @param options.asks whether it says that it takes server requests; its reply is awaited then
   */
  readonly connect: (options?: {
    readonly resume?: string;
    readonly token?: string;
    readonly asks?: boolean;
  }) => Promise<HostClient>;
  /** Closes it before the test ends; agents are given no time. */
  readonly close: () => Promise<void>;
}

export async function openHost(options: OpenHostOptions = {}): Promise<OpenHost> {
  const { gateway: gatewayOptions, port: wanted = 0, ...given } = options;
  const notices: Notice[] = [];
  const agent = new DrivenAgent();
  const report = (notice: Notice): void => void notices.push(notice);
  const tap = await createRoomtap({ db: ":memory:", rooms: [], agents: { default: agent }, report, ...given });
  const close = (): Promise<void> => tap.close({ graceMs: 0 });
  onTestFinished(close);
  const gateway = tap.openGateway(withToken(gatewayOptions));
  const { port } = await gateway.listen({ port: wanted });
  const url = `ws://127.0.0.1:${port}/api/ws?token=${gateway.token}`;
  return {
    ...{ tap, gateway, agent, port, url, notices, close },
    async connect({ resume, token, asks = false } = {}) {
      const shown = `ws://127.0.0.1:${port}/api/ws?token=${token ?? gateway.token}`;
      const client = new HostClient(resume === undefined ? shown : `${shown}&resume=${resume}`);
      await client.message(() => true);
      if (asks) await client.call("client.capabilities", { server_requests: true });
      return client;
    },
  };
}

/** A new session, and the client that made it attached to it. */
export async function newSession(
  client: HostClient,
  given: { readonly title?: string; readonly agent_id?: string } = {},
): Promise<{ readonly session_id: string; readonly stored_session_id: string }> {
  const { session_id, stored_session_id } = await client.call("session.create", { ...given });
  return { session_id: String(session_id), stored_session_id: String(stored_session_id) };
}

/** A and B, both attached to one idle session of A's. */
export async function openPair(
  host: OpenHost,
): Promise<{ readonly a: HostClient; readonly b: HostClient; readonly session_id: string }> {
  const [a, b] = [await host.connect(), await host.connect()];
  const { session_id } = await newSession(a);
  await b.call("session.activate", { session_id });
  return { a, b, session_id };
}
