import { RoomtapError } from "../../core/index.ts";
import type { SocketConstructor } from "../client/index.ts";
import { jsonOption, type CommandParts, type OptionSpec } from "../command.ts";
import type { RemoteOptions } from "./remote.ts";

/** What each command that talks to a server takes. */
export interface RemoteFlags {
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** What such a command works with. */
export interface RemoteParts extends CommandParts {
  /** Opens sockets; takes headers, as that of `ws` does. */
  readonly WebSocket: SocketConstructor;
}

/** The options of each command that talks to a server. */
export const remoteOptions: readonly OptionSpec[] = [
  { flags: "--url <url>", about: "the server (default: ROOMTAP_URL, else the one that runs on this machine)" },
  { flags: "--token <token>", about: "what it asks for (default: ROOMTAP_TOKEN, else as that server left it)" },
  jsonOption,
];

/**
 * Where a command connects to. A token among the arguments is seen by whoever may list processes: the environment's is not.
 * @throws RoomtapError `invalid_params` for a token that never arrives
 */
export function remoteOf(
  { url, token, json = false }: RemoteFlags,
  { environment, WebSocket }: Pick<RemoteParts, "environment" | "WebSocket">,
): RemoteOptions {
  // A variable that is empty says as little as one that is not there.
  const given = {
    url: url ?? (environment["ROOMTAP_URL"] || undefined),
    token: token ?? (environment["ROOMTAP_TOKEN"] || undefined),
  };
  checkToken(given.token, token === undefined ? "ROOMTAP_TOKEN" : "--token");
  return { ...given, urlName: url === undefined ? "ROOMTAP_URL" : "--url", json, WebSocket };
}

/** What does not fit into a header never arrives. */
function checkToken(token: string | undefined, name: string): void {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return;
  throw new RoomtapError("invalid_params", `${name}: expected printable characters without a space`);
}
