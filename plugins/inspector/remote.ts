import { errorTable, RoomtapError, type ErrorCode } from "../../core/index.ts";
import { CallError, createClient, LinkError, type Client, type SocketConstructor } from "../client/index.ts";
import { findServers, runtimeFolder, type LocalServer } from "./local-server.ts";
import { remedyOf } from "./remedies.ts";
import { leadsTo, parseServerUrl } from "./server-url.ts";

/** What every command that talks to a server is given. */
export interface RemoteOptions {
  /** `ws://HOST:PORT/api/ws`; without it the one server of this user on this machine. */
  readonly url?: string | undefined;
  /** The option or variable that `url` comes from, for messages; default `--url`. */
  readonly urlName?: string | undefined;
  readonly token?: string | undefined;
  /** Print JSON and nothing else. */
  readonly json: boolean;
  /** Opens sockets; takes headers, as that of `ws` does. */
  readonly WebSocket: SocketConstructor;
  /** Where servers of this machine leave their entries; default: the runtime folder of the user. */
  readonly runtimeFolder?: string | undefined;
}

/**
 * Connects, calls `use`, closes. With `reconnect` a drop is mended; without it the command ends with its connection.
 * @throws RoomtapError `invalid_params` for a URL that leads to no server, `not_connected`, what the server refused with, or
 * `call_failed` for a refusal that is not known here
 */
export async function withServer<Value>(
  options: RemoteOptions,
  note: (line: string) => void,
  use: (client: Client, url: string) => Promise<Value>,
  { reconnect = false }: { readonly reconnect?: boolean } = {},
): Promise<Value> {
  const address = addressOf(options, note);
  const { url } = address;
  const client = createClient({ ...address, WebSocket: options.WebSocket, reconnect });
  client.onProblem(({ message }) => note(`note: ${message}`));
  try {
    await client.connect();
    return await use(client, url);
  } catch (fault) {
    throw await told(fault, url, client);
  } finally {
    await client.close();
  }
}

/** Rooms that an error names, and how long it may take to learn them. */
const maxListedRooms = 20;
const listTimeoutMs = 5_000;

interface Address {
  readonly url: string;
  readonly token: string | undefined;
}

function addressOf(options: RemoteOptions, note: (line: string) => void): Address {
  const { url, urlName = "--url", token, runtimeFolder: given } = options;
  const target = url === undefined ? null : parseServerUrl(url, urlName);
  if (target !== null && token !== undefined) return { url: target.href, token };
  const { servers, gone } = findServers(given ?? runtimeFolder(process.env));
  for (const { process: mark, url: old } of gone) note(`the server at ${old} (process ${mark.pid}) is gone`);
  const tokenOf = (server: LocalServer | undefined): string | undefined => server?.token || undefined;
  if (target !== null) {
    // Where the server itself says that it listens: its token goes nowhere else.
    const found = servers.find((server) => leadsTo(target, server.url));
    return { url: found?.url ?? target.href, token: tokenOf(found) };
  }
  const [server, ...others] = servers;
  if (server === undefined) {
    const remedy = "Start one with `roomtap up --config FILE --port 0`, or name one elsewhere with --url and --token.";
    throw new RoomtapError("not_connected", "no server of yours runs on this machine", { remedy });
  }
  if (others.length > 0) {
    const remedy = "Name one of them with --url.";
    throw new RoomtapError("not_connected", `several servers run here: ${listed(servers)}`, { remedy });
  }
  return { url: server.url, token: token ?? tokenOf(server) };
}

function listed(servers: readonly LocalServer[]): string {
  return servers.map(({ url, db }) => `${url} (${db})`).join(", ");
}

/** The error of the command for what a client met. */
async function told(fault: unknown, url: string, client: Client): Promise<unknown> {
  if (fault instanceof LinkError) {
    if (fault.reason === "payload_too_large")
      return new RoomtapError("payload_too_large", fault.message, { cause: fault });
    const remedy = remedyOf(fault);
    return new RoomtapError("not_connected", `${shownUrl(url)}: ${fault.message}`, {
      cause: fault,
      ...(remedy === undefined ? {} : { remedy }),
    });
  }
  if (!(fault instanceof CallError)) return fault;
  if (fault.reason === "unknown_room") return unknownRoom(fault, client);
  const isKnown = (reason: string): reason is ErrorCode => Object.hasOwn(errorTable, reason);
  if (isKnown(fault.reason)) return new RoomtapError(fault.reason, fault.message, { cause: fault });
  return new RoomtapError("call_failed", `${fault.message} (${fault.code} ${fault.reason})`, { cause: fault });
}

/** A URL without what may be a credential. */
function shownUrl(url: string): string {
  return url.split("?")[0] ?? "";
}

/** Names the rooms that are there. */
async function unknownRoom(fault: CallError, client: Client): Promise<RoomtapError> {
  const list = client.call("groups.list", { limit: maxListedRooms }, { timeoutMs: listTimeoutMs });
  const page = await list.catch(() => null);
  // A caller may be refused the list as well.
  if (page === null)
    return new RoomtapError("unknown_room", fault.message, { cause: fault, remedy: "Name another one." });
  const names = page.rooms.map(({ room_id }) => room_id);
  if (page.next_offset !== null) names.push("...");
  const message = `${fault.message}; the server's rooms: ${names.length === 0 ? "none" : names.join(", ")}`;
  const remedy = names.length === 0 ? "Give the server a config with rooms." : "Name one of them.";
  return new RoomtapError("unknown_room", message, { cause: fault, remedy });
}
