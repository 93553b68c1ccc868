import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { messageOf, RoomtapError } from "../../core/index.ts";
import type { Welcome } from "./addresses.ts";
import { boundHostOf, judgeRequest, socketPath } from "./upgrade.ts";

/** Where a server of the gateway's own listens. */
export interface Address {
  /** 0: any that is free. */
  readonly port: number;
  /** Default: 127.0.0.1. */
  readonly host?: string;
}

/** Where clients find it. */
export interface Listening {
  readonly http: string;
  readonly ws: string;
  readonly port: number;
}

/** What is asked about a request to a server of the gateway's own. */
export interface OwnServerParts {
  /** Answers it; false when it is for nothing that is there. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => boolean;
  readonly welcome: () => Welcome;
}

/** A server that has no pages: whoever is welcome is told 404, anybody else 403. */
export function createOwnServer({ handle, welcome }: OwnServerParts): Server {
  const server = createServer((request, response) => {
    if (handle(request, response)) return;
    const isWelcome = judgeRequest(request, boundHostOf(server), welcome()) === null;
    response.writeHead(isWelcome ? 404 : 403, { "content-type": "text/plain; charset=utf-8" });
    response.end(isWelcome ? "not found\n" : "forbidden\n");
  });
  return server;
}

/**
 * Starts to listen.
 * @throws RoomtapError `listen_failed`
 */
export async function listen(server: Server, port: number, host: string): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (fault) => {
      reject(
        new RoomtapError("listen_failed", `cannot listen at ${host}:${port}: ${messageOf(fault)}`, { cause: fault }),
      );
    });
    server.listen({ port, host }, resolve);
  });
  const bound = server.address();
  const boundPort = bound === null || typeof bound === "string" ? port : bound.port;
  const authority = `${host.includes(":") ? `[${host}]` : host}:${boundPort}`;
  return { http: `http://${authority}`, ws: `ws://${authority}${socketPath}`, port: boundPort };
}
