import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { AddressInfo, Server } from "node:net";
import type { Duplex } from "node:stream";
import { isLoopback, judgeApproach, peerAddress, type Welcome } from "./addresses.ts";
import { credentialKeys, presentedCredential, type Credential } from "./credentials.ts";
import type { CloseWord } from "./close-codes.ts";
import type { Visitor } from "./gates.ts";

/** Where the gateway answers. */
export const socketPath = "/api/ws";

/** Headers that a proxy leaves behind: a request with one has another peer than the socket says. */
const proxyHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/** An upgrade as the gates see it. */
export interface Upgrade extends Visitor {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly query: URLSearchParams;
}

/** Reads what an upgrade says; null when its target is not the gateway's, or cannot be read. */
export function readUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): Upgrade | null {
  const url = targetOf(request);
  if (url?.pathname !== socketPath) return null;
  return { ...visitorOf(request, boundHostOf(server)), socket, head, query: url.searchParams };
}

/** Who asks, by the socket that a request came on. */
export function visitorOf(request: IncomingMessage, boundHost: string): Visitor {
  const peer = request.socket.remoteAddress;
  const isBoth = isLoopback(boundHost) && isLoopback(peer ?? "");
  const isProxied = proxyHeaders.some((name) => request.headers[name] !== undefined);
  return { request, address: peerAddress(peer), boundHost, isLoopback: isBoth, isLocal: isBoth && !isProxied };
}

/** The address a server is bound to; "" while it is none, or a path in the file system. */
export function boundHostOf(server: Server): string {
  const bound: AddressInfo | string | null = server.address();
  return bound === null || typeof bound === "string" ? "" : bound.address;
}

/** The second gate, for upgrades and for requests alike: which names and pages may come at all. */
export function judgeRequest(request: IncomingMessage, boundHost: string, welcome: Welcome): CloseWord | null {
  const { host, origin } = request.headers;
  if (isRepeated(request, "host")) return "host_not_allowed";
  if (isRepeated(request, "origin")) return "origin_not_allowed";
  const isEncrypted = (request.socket as TLSSocket).encrypted === true;
  return judgeApproach({ host, origin, isEncrypted, boundHost, localAddress: request.socket.localAddress }, welcome);
}

/** The third gate: the one credential that the upgrade presents. */
export function credentialOf({ request, query, isLocal }: Upgrade): Credential | CloseWord {
  if (isRepeated(request, "authorization")) return "credential_ambiguous";
  return presentedCredential({
    authorization: request.headers.authorization,
    protocols: request.headers["sec-websocket-protocol"],
    query,
    allowsQueryToken: isLocal,
  });
}

/** The one credential of a request, and whether it shows any at all. Like an upgrade's, but for the subprotocols. */
export function requestCredential(
  { request, isLocal }: Visitor,
  query: URLSearchParams,
): { readonly credential: Credential | CloseWord; readonly isShown: boolean } {
  const { authorization } = request.headers;
  const isShown = authorization !== undefined || credentialKeys.some((key) => query.has(key));
  if (isRepeated(request, "authorization")) return { credential: "credential_ambiguous", isShown };
  const head = { authorization, protocols: undefined, query, allowsQueryToken: isLocal };
  return { credential: presentedCredential(head), isShown };
}

/** Answers an upgrade that does not become a socket: before it only HTTP has words. */
export function refuseUpgrade(socket: Duplex, status: 400 | 404 | 429): void {
  const words = { 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests" };
  // A peer that has gone meanwhile misses nothing.
  socket.on("error", () => undefined);
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${words[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** Where a request goes; null when that is no path. */
export function targetOf({ url = "" }: IncomingMessage): URL | null {
  // Only a path: another server's address, and `*`, are no target of ours.
  if (!url.startsWith("/") || url.startsWith("//") || !URL.canParse(url, "http://gateway")) return null;
  const target = new URL(url, "http://gateway");
  // As it stands: what becomes ours only when it is tidied up may have slipped past somebody who reads it otherwise.
  return /^[^?#]*/.exec(url)?.[0] === target.pathname ? target : null;
}

/** Node keeps the first of several, and a proxy before it may have gone by another. */
function isRepeated({ rawHeaders }: IncomingMessage, header: string): boolean {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === header).length > 1;
}
