import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { AddressInfo, Server } from "node:net";
import type { Duplex } from "node:stream";
import { isLoopback, judgeApproach, peerAddress, type Welcome } from "./addresses.ts";
import { presentedCredential, type Credential } from "./credentials.ts";
import type { CloseWord } from "./close-codes.ts";

/** Where the gateway answers. */
export const socketPath = "/api/ws";

/** Headers that a proxy leaves behind: a request with one has another peer than the socket says. */
const proxyHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/** An upgrade as the gates see it. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly query: URLSearchParams;
  /** Of the peer, as rates count it. */
  readonly address: string;
  /** The address the server is bound to; "" for one that is none. */
  readonly boundHost: string;
  readonly isLoopback: boolean;
}

/** Reads what an upgrade says; null when its target is not the gateway's, or cannot be read. */
export function readUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): Upgrade | null {
  const url = targetOf(request);
  if (url?.pathname !== socketPath) return null;
  const boundHost = boundHostOf(server);
  const peer = request.socket.remoteAddress;
  return {
    request,
    socket,
    head,
    query: url.searchParams,
    address: peerAddress(peer),
    boundHost,
    isLoopback: isLoopback(boundHost) && isLoopback(peer ?? ""),
  };
}

/** The address a server is bound to; "" while it is none, or a path in the file system. */
export function boundHostOf(server: Server): string {
  const bound: AddressInfo | string | null = server.address();
  return bound === null || typeof bound === "string" ? "" : bound.address;
}

/** The second gate, for upgrades and for requests alike: which names and pages may come at all. */
export function judgeRequest(request: IncomingMessage, boundHost: string, welcome: Welcome): CloseWord | null {
  const { host, origin } = request.headers;
  const isEncrypted = (request.socket as TLSSocket).encrypted === true;
  return judgeApproach({ host, origin, isEncrypted, boundHost, localAddress: request.socket.localAddress }, welcome);
}

/** The third gate: the one credential that the upgrade presents. */
export function credentialOf({ request, query, isLoopback: isLocal }: Upgrade): Credential | CloseWord {
  return presentedCredential({
    authorization: request.headers.authorization,
    protocols: request.headers["sec-websocket-protocol"],
    query,
    allowsQueryToken: isLocal && proxyHeaders.every((name) => request.headers[name] === undefined),
  });
}

/** Answers an upgrade that does not become a socket: before it only HTTP has words. */
export function refuseUpgrade(socket: Duplex, status: 400 | 404 | 429): void {
  const words = { 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests" };
  // A peer that has gone meanwhile misses nothing.
  socket.on("error", () => undefined);
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${words[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function targetOf({ url = "" }: IncomingMessage): URL | null {
  // Only a path: another server's address, and `*`, are no target of ours.
  return url.startsWith("/") && !url.startsWith("//") && URL.canParse(url, "http://gateway")
    ? new URL(url, "http://gateway")
    : null;
}
