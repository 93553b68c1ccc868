/** What a client uses of a socket: that of a browser, and that of `ws`, have it. */
export interface SocketLike {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** Ends the connection without a word; a browser's socket has none. */
  terminate?(): void;
  addEventListener(type: "open", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
  addEventListener(type: "error", listener: (event: object) => void): void;
}

/** Opens sockets. `headers` is what a browser's own constructor cannot send. */
export type SocketConstructor = new (
  url: string,
  protocols: string[],
  options: { readonly headers: { readonly [name: string]: string } },
) => SocketLike;

/** Where to connect and who asks. */
export interface Address {
  readonly url: string;
  readonly token: string | undefined;
  /** In place of a token: good for this attempt alone. */
  readonly ticket?: string | undefined;
  /** Whether sockets can send headers. */
  readonly sendsHeaders: boolean;
  /** Of the last `gateway.ready`; null before the first. */
  readonly resumeToken: string | null;
}

/** What the socket's constructor is given. */
export interface Dial {
  readonly url: string;
  readonly protocols: string[];
  readonly headers: { readonly [name: string]: string };
}

/** What the server selects when a ticket travels as a subprotocol beside it. */
const subprotocol = "hermes-gateway-v1";

/**
 * The URL, the subprotocols and the headers of an attempt. A token travels in a header where that can be, a ticket as a
 * subprotocol, which browsers can send: URLs end up in logs. Pure.
 * @throws TypeError for a URL that is none
 */
export function dialOf({ url, token, ticket, sendsHeaders, resumeToken }: Address): Dial {
  const target = new URL(url);
  const headers: Record<string, string> = {};
  const protocols = ticket === undefined ? [] : [subprotocol, `hermes-gateway-ticket.${ticket}`];
  if (ticket !== undefined) return { url: withResume(target, resumeToken), protocols, headers };
  if (token !== undefined && sendsHeaders) headers["Authorization"] = `Bearer ${token}`;
  else if (token !== undefined) target.searchParams.set("token", token);
  return { url: withResume(target, resumeToken), protocols, headers };
}

function withResume(target: URL, resumeToken: string | null): string {
  if (resumeToken !== null) target.searchParams.set("resume", resumeToken);
  return target.href;
}

/** @throws TypeError for a URL that is none, or of another protocol */
export function checkUrl(url: string): void {
  const { protocol } = new URL(url);
  if (protocol !== "ws:" && protocol !== "wss:") throw new TypeError(`expected a URL of ws: or wss:, got ${protocol}`);
}

/**
 * The platform's own, which sends no headers.
 * @throws TypeError where there is none
 */
export function platformSocket(): SocketConstructor {
  if (typeof globalThis.WebSocket === "function") return globalThis.WebSocket;
  throw new TypeError("this platform has no WebSocket; give one as `WebSocket`, for instance that of roomtap");
}
