import { messageOf, RoomtapError } from "../../core/index.ts";

/** Where servers answer. */
const socketPath = "/api/ws";

/**
 * The URL of a server, as somebody gave it. Another path would be answered with 404, of which a socket tells nothing.
 * @param name of the option or variable that holds it, for the message; what stands behind the path may be a secret
 * @throws RoomtapError `invalid_params`
 */
export function parseServerUrl(text: string, name: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch (fault) {
    throw new RoomtapError("invalid_params", `${name}: ${messageOf(fault)}`, { cause: fault });
  }
  const { protocol, host, pathname } = url;
  if (protocol !== "ws:" && protocol !== "wss:") {
    throw new RoomtapError("invalid_params", `${name}: expected a URL of ws: or wss:, got ${protocol}`);
  }
  if (!pathname.endsWith(socketPath)) {
    const whole = `${protocol}//${host}${socketPath}`;
    throw new RoomtapError(
      "invalid_params",
      `${name}: expected the path ${socketPath}, as in ${whole}, got ${pathname}`,
    );
  }
  return url;
}

/** Whether a URL leads to the server that listens at `listening`: `localhost` is each loopback address. */
export function leadsTo(url: URL, listening: string): boolean {
  if (!URL.canParse(listening) || url.search !== "") return false;
  const other = new URL(listening);
  const isSamePlace = url.protocol === other.protocol && url.port === other.port && url.pathname === other.pathname;
  return isSamePlace && isSameHost(url.hostname, other.hostname);
}

function isSameHost(a: string, b: string): boolean {
  return a === b || ((a === "localhost" || b === "localhost") && isLoopbackName(a) && isLoopbackName(b));
}

function isLoopbackName(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}
