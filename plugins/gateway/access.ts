import {
  RoomtapError,
  type Client,
  type ErrorCode,
  type LiveSession,
  type Refused,
  type Session,
} from "../../core/index.ts";
import type { GatewayHost } from "./host.ts";

/*
 * Which session a call means, and whether the caller may know that it is there. All calls that name a session come by here,
 * so that there is one place to decide it.
 */

/**
 * The open session of a runtime id.
 * @throws RoomtapError `unknown_session`; to an `admin`, of a hidden session, `room_session`; `shutting_down`
 */
export function liveSession(
  id: string,
  { client, host }: { readonly client: Client; readonly host: GatewayHost },
): LiveSession {
  const live = host.sessions.byRuntimeId(id);
  if (live === undefined) throw unknownSession(id, { client, host });
  host.sessions.use(live);
  return live;
}

/** Why an id leads to no session. */
export function unknownSession(
  id: string,
  { client, host }: { readonly client: Client; readonly host: GatewayHost },
): RoomtapError {
  const isHidden = host.isHidden(id);
  if (isHidden && client.holds("admin")) {
    return new RoomtapError("room_session", `session ${id} is a room's own: it takes no clients and no prompts`);
  }
  const stored = isHidden ? undefined : host.session(id)?.durableId;
  // It cannot be resumed either.
  if (stored !== undefined && host.sessions.isClosed) return new RoomtapError("shutting_down", "the host is closing");
  const known = stored === undefined ? {} : { data: { stored_session_id: stored } };
  return new RoomtapError("unknown_session", `no session ${id} is open; session.resume opens a stored one`, known);
}

/** What was not refused. @throws RoomtapError of the refusal */
export function taken<Given extends object>(given: Given): Exclude<Given, Refused> {
  if ("refused" in given) {
    const { refused, message } = given as unknown as Refused<ErrorCode>;
    throw new RoomtapError(refused, message);
  }
  return given as Exclude<Given, Refused>;
}

/**
 * Attaches a client to a session, from its present head on.
 * @param options.held it gets nothing until it joins behind a reply
 * @throws RoomtapError `too_many_sessions`, `room_session`; `closed` when the connection has gone
 */
export function attach(
  host: GatewayHost,
  client: Client,
  session: Session,
  options: { readonly held?: boolean } = {},
): "attached" | "already" {
  const result = host.fanOut.attach(client, session, options);
  if (result === "attached" || result === "already") return result;
  throw new RoomtapError(result, `the connection was not attached: ${result}`);
}
