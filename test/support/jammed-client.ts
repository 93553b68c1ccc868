import { once } from "node:events";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Roomtap } from "../../index.ts";
import type { Gateway, GatewayOptions } from "../../plugins/index.ts";
import { HostClient, type OpenHost } from "./open-host.ts";
import { turnsOfLoop, until } from "./turns-of-loop.ts";

const token = "gw-other-token-0123456789";
/** Beyond what the buffers of two sockets and the bound of held replies take together. */
const fillingReplies = 40;

/** A second gateway of a host, on a server whose sockets the test can look at. */
export interface WatchedGateway {
  readonly gateway: Gateway;
  readonly url: string;
  /** @param shown default: the gateway's own */
  connect(shown?: string): Promise<HostClient>;
  /**
   * Lets a client read no more, and fills its line until nothing goes out any more. Replies fill it, which count apart from
   * frames: for those there is as much room as ever.
   * @param read stops the client's reading
   * @param fill has it ask for a reply of a mebibyte
   */
  jam(read: { pause(): void }, fill: (session_id: string, nth: number) => void): Promise<void>;
}

/** @param options.principal who is jammed: its replies are of a session of its own. Default `local` */
export async function watchedGateway(
  { tap }: Pick<OpenHost, "tap">,
  options: { readonly gateway?: GatewayOptions; readonly principal?: string } = {},
): Promise<WatchedGateway> {
  const server = createServer();
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const gateway = tap.openGateway(options.gateway ?? { token });
  gateway.attach(server);
  const url = `ws://127.0.0.1:${port}/api/ws?token=${token}`;
  return {
    gateway,
    url,
    async connect(shown = token) {
      const client = new HostClient(url.replace(token, shown));
      await client.message(() => true);
      return client;
    },
    async jam(read, fill) {
      const session_id = await longSession(tap, options.principal ?? "local");
      const socket = sockets.at(-1);
      if (socket === undefined) throw new Error("nobody has connected");
      read.pause();
      for (let reply = 0; reply < fillingReplies; reply++) fill(session_id, reply);
      let [stands, waiting] = [0, 0];
      await until(() => {
        stands = socket.writableLength === waiting && waiting > 0 ? stands + 1 : 0;
        waiting = socket.writableLength;
        return stands === 50;
      }, 50_000);
      await turnsOfLoop(1);
    },
  };
}

/** A session whose history is a mebibyte; its runtime id. */
async function longSession({ sessions }: Roomtap, principal: string): Promise<string> {
  const messages = [{ role: "user" as const, text: "x".repeat(1_000_000) }];
  const live = await sessions.create({ owner: { client_id: null, principal }, messages });
  if ("refused" in live) throw new Error(live.message);
  return live.session.runtimeId;
}
