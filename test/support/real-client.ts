import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createRoomtap, type Roomtap, type RoomtapOptions } from "../../index.ts";
import { createClient, type Client, type ClientOptions } from "../../plugins/client/index.ts";
import { HermesClient } from "./hermes-client.ts";
import { HeldRunner } from "./held-runner.ts";

const token = "gw-test-token-0123456789";

/** A host that listens on a port of its own, with one agent and one room whose turns the test ends. */
export interface RealServer {
  readonly tap: Roomtap;
  readonly runner: HeldRunner;
  readonly port: number;
  readonly url: string;
  readonly token: string;
  /** Ends it, and opens another on the same port and database: another life. */
  restart(): Promise<RealServer>;
}

export async function realServer(options: Partial<RoomtapOptions> = {}): Promise<RealServer> {
  const folder = mkdtempSync(join(tmpdir(), "roomtap-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return openServer(join(folder, "room.db"), 0, options);
}

async function openServer(db: string, at: number, options: Partial<RoomtapOptions>): Promise<RealServer> {
  const runner = new HeldRunner();
  const tap = await createRoomtap({
    db,
    agents: { default: runner },
    rooms: [{ room_id: "r1", members: [{ handle: "a", runner }] }],
    report: () => undefined,
    ...options,
  });
  onTestFinished(() => tap.close({ graceMs: 0 }));
  const { ws: url, port } = await tap.openGateway({ token }).listen({ port: at });
  const restart = async (): Promise<RealServer> => {
    await tap.close({ graceMs: 0 });
    return openServer(db, port, options);
  };
  return { tap, runner, port, url, token, restart };
}

/** A client over a real socket, and what drops that socket without a word. */
export interface RealClient {
  readonly client: Client;
  readonly drop: () => void;
}

/** Connected; it comes back at once after a drop. */
export async function realClient(
  { url }: Pick<RealServer, "url">,
  options: Partial<ClientOptions> = {},
): Promise<RealClient> {
  const sockets: WebSocket[] = [];
  class Socket extends WebSocket {
    constructor(...given: ConstructorParameters<typeof WebSocket>) {
      super(...given);
      sockets.push(this);
    }
  }
  const client = createClient({
    url,
    token,
    WebSocket: Socket,
    times: { firstRetryMs: 1, maxRetryMs: 50 },
    ...options,
  });
  onTestFinished(() => client.close());
  await client.connect();
  return { client, drop: () => sockets.at(-1)?.terminate() };
}

/** The test client of the wire, connected, and what drops its socket. */
export async function realHermes({
  url,
}: RealServer): Promise<{ readonly client: HermesClient; readonly drop: () => void; readonly url: string }> {
  const sockets: WebSocket[] = [];
  class Socket extends WebSocket {
    constructor(address: string) {
      super(address);
      sockets.push(this);
    }
  }
  const client = new HermesClient(Socket);
  onTestFinished(() => client.close());
  const address = `${url}?token=${token}`;
  await client.connect(address);
  return { client, drop: () => sockets.at(-1)?.terminate(), url: address };
}
