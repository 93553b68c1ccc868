import { isIP } from "node:net";

/**
 * Whether a name or address can only mean this machine: 127.0.0.0/8, ::1 in any spelling, their mapped forms, `localhost`.
 * Not 0.0.0.0, ::, private networks or any other name.
 */
export function isLoopback(host: string): boolean {
  const bare = bareHost(host);
  if (bare === "localhost") return true;
  switch (isIP(bare)) {
    case 4:
      return bare.startsWith("127.");
    case 6: {
      const written = new URL(`http://[${bare}]/`).hostname;
      return written === "[::1]" || /^\[::ffff:7f[0-9a-f]{2}:/.test(written);
    }
    default:
      return false;
  }
}

/** An address of a peer as rates count it: a mapped IPv4 address is that address. */
export function peerAddress(remote: string | undefined): string {
  return (remote ?? "unknown").replace(/^::ffff:(?=\d+\.)/i, "");
}

/** What an upgrade or a request says of where it goes and comes from, and what the server knows of it. */
export interface Approach {
  /** The header, as it came. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly isEncrypted: boolean;
  /** The address that the server is bound to, and that of its own end of this connection. */
  readonly boundHost: string;
  readonly localAddress: string | undefined;
}

/** Names and origins that are let in besides the server's own. */
export interface Welcome {
  readonly allowedHosts: readonly string[];
  /** Undefined: the server's own origin. `*` and `null` only if written out. */
  readonly allowedOrigins: readonly string[] | undefined;
}

/**
 * Whether the request may come in: null, or what is wrong. Checked on every bind and before the credential, so that a page
 * of somebody else, or a name that was made to point here, cannot use a browser that is on the inside.
 */
export function judgeApproach(approach: Approach, welcome: Welcome): "host_not_allowed" | "origin_not_allowed" | null {
  const own = urlOf(`http://${approach.host ?? ""}`);
  if (own === null || !isKnownHost(own, approach, welcome)) return "host_not_allowed";
  if (approach.origin === undefined) return null;
  return isKnownOrigin(approach.origin, own, approach, welcome) ? null : "origin_not_allowed";
}

function isKnownHost(
  own: URL,
  { boundHost, localAddress }: Approach,
  { allowedHosts, allowedOrigins }: Welcome,
): boolean {
  const name = bareHost(own.hostname);
  if (isLoopback(boundHost) && isLoopback(name)) return true;
  const listed = [
    ...allowedHosts.map(bareHost),
    ...(allowedOrigins ?? []).flatMap((origin) => {
      const url = urlOf(origin);
      return url === null ? [] : [bareHost(url.hostname)];
    }),
  ];
  if (listed.includes(name)) return true;
  return !isLoopback(boundHost) && (name === bareHost(boundHost) || name === peerAddress(localAddress));
}

function isKnownOrigin(origin: string, own: URL, { isEncrypted }: Approach, { allowedOrigins }: Welcome): boolean {
  if (allowedOrigins?.includes("*") === true) return true;
  if (origin === "null") return allowedOrigins?.includes("null") === true;
  const from = urlOf(origin)?.origin;
  if (from === undefined || from === "null") return false;
  if (allowedOrigins !== undefined) return allowedOrigins.some((entry) => urlOf(entry)?.origin === from);
  return from === urlOf(`${isEncrypted ? "https" : "http"}://${own.host}`)?.origin;
}

/** Whether a text is an origin and nothing more: scheme, host and port. */
export function isOrigin(text: string): boolean {
  const origin = urlOf(text)?.origin;
  return origin !== undefined && origin !== "null";
}

/** Without brackets and zone, in lower case. */
function bareHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/%.*$/, "");
}

/** A URL that is an origin and nothing more, or null. */
function urlOf(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isBare = url.pathname.length <= 1 && url.search === "" && url.hash === "" && url.username === "";
  return isBare ? url : null;
}
