import {
  requestScope,
  RoomtapError,
  type ErrorCode,
  type LiveSession,
  type OpenRequest,
  type Refused,
  type Session,
} from "../../core/index.ts";
import { denial, judgeAnswer, judgeUse, lacksScope, maySee, type Use } from "../../rooms/index.ts";
import type { Calling } from "./rpc-table.ts";

/*
 * Which session a call means, whether the caller may know that it is there, and whether it may be used so. All calls that
 * name a session, or a request of one, come by here, so that there is one place to decide it.
 */

/**
 * The open session of a runtime id, for a caller that may use it so.
 * @throws RoomtapError `unknown_session` also of one that the caller may not see; to an `admin`, of a hidden session,
 * `room_session`; `shutting_down`; and why it may not be used so
 */
export function liveSession(id: string, use: Use, calling: Calling): LiveSession {
  const live = seenSession(id, calling);
  mayUse(live.session, use, calling);
  return live;
}

/** The open session of a runtime id, for a caller that may see it. @throws RoomtapError as `liveSession` */
export function seenSession(id: string, calling: Calling): LiveSession {
  const { host } = calling;
  const live = host.sessions.byRuntimeId(id);
  if (live === undefined || !canSee(live.session, calling)) throw unknownSession(id, calling);
  host.sessions.use(live);
  return live;
}

/** Open sessions that are there for the caller, the one unused for longest first. */
export function seenLive(calling: Calling): readonly LiveSession[] {
  return calling.host.sessions.live.filter(({ session }) => canSee(session, calling));
}

/** Those of `seenLive` that a list shows: of a session of others it tells, so that it needs `read`, also when attached. */
export function listedLive(calling: Calling): readonly LiveSession[] {
  const { client, host } = calling;
  const caller = host.callerOf(client);
  const isShown = ({ session }: LiveSession): boolean =>
    client.holds("read") || host.seated.standing(session, caller) === "owner";
  return seenLive(calling).filter(isShown);
}

/** Whether the session is there for the caller, in lists and by name. */
export function canSee(session: Session, { client, host }: Calling): boolean {
  return maySee(host.seated.stance(session, host.callerOf(client)));
}

/** To be asked again by who has waited since. @throws RoomtapError why the session may not be used so */
export function mayUse(session: Session, use: Use, { client, host }: Calling): void {
  const refused = judgeUse(use, host.seated.stance(session, host.callerOf(client)));
  if (refused !== null) throw errorOf(refused);
}

/** A request, as far as it decides who may know of it. */
type Known = Pick<OpenRequest, "session" | "method" | "coordinates">;

/** Whether a request is there for the caller: that of a session by the session, that of a room by the room. */
export function canSeeRequest({ session, coordinates }: Known, calling: Calling): boolean {
  if (!session.roomPlumbing) return canSee(session, calling);
  const { rooms } = calling.client;
  return rooms === null || (coordinates !== null && rooms.has(coordinates.room_id));
}

/**
 * Whether the caller may answer a request, which its scopes allow. For those of rooms there is nothing more to ask.
 * @throws RoomtapError why not; `unknown` when the request is not there for it
 */
export function mayAnswer(request: Known, unknown: RoomtapError, calling: Calling): void {
  const { session, method } = request;
  if (!canSeeRequest(request, calling)) throw unknown;
  if (session.roomPlumbing) return;
  const { client, host } = calling;
  const refused = judgeAnswer(host.seated.stance(session, host.callerOf(client)), requestScope(method));
  if (refused !== null) throw errorOf(refused);
}

/** Why an id leads to no session: the same for one that is not there and one that the caller may not see. */
export function unknownSession(id: string, { client, host }: Calling): RoomtapError {
  if (host.isHidden(id) && client.holds("admin")) {
    return new RoomtapError("room_session", "this session is a room's own: it takes no clients and no prompts");
  }
  const session = host.session(id);
  const isOwn = session !== undefined && host.seated.standing(session, host.callerOf(client)) === "owner";
  // It cannot be resumed either.
  if (isOwn && host.sessions.isClosed) return new RoomtapError("shutting_down", "the host is closing");
  const { refused, message } = denial("unknown_session");
  return new RoomtapError(refused, message, isOwn ? { data: { stored_session_id: session.durableId } } : {});
}

/** To be asked by what is anybody's by its scope, for what is the owner's alone. @throws RoomtapError `insufficient_scope` */
export function needsRead({ client }: Pick<Calling, "client">): void {
  if (!client.holds("read")) throw errorOf(lacksScope("read"));
}

/** What was not refused. @throws RoomtapError of the refusal */
export function taken<Given extends object>(given: Given): Exclude<Given, Refused> {
  if ("refused" in given) throw errorOf(given as unknown as Refused<ErrorCode>);
  return given as Exclude<Given, Refused>;
}

/**
 * Attaches a client to a session, from its present head on.
 * @param options.held it gets nothing until it joins behind a reply
 * @throws RoomtapError `too_many_sessions`, `room_session`; `closed` when the connection has gone
 */
export function attach(
  { client, host }: Calling,
  session: Session,
  options: { readonly held?: boolean } = {},
): "attached" | "already" {
  const result = host.fanOut.attach(client, session, options);
  if (result === "attached" || result === "already") return result;
  throw new RoomtapError(result, `the connection was not attached: ${result}`);
}

/**
 * Attaches a connection of the owner. Gives what is then to be told, behind the reply.
 * @throws RoomtapError as `attach`
 */
export function attachOwner(
  live: LiveSession,
  { client, host }: Calling,
  options: { readonly held?: boolean } = {},
): { readonly isNew: boolean; readonly tell: () => void } {
  const isNew = attach({ client, host }, live.session, options) === "attached";
  return { isNew, tell: host.seated.seatOwner(live, host.callerOf(client)) };
}

function errorOf({ refused, message, data }: Refused): RoomtapError {
  return new RoomtapError(refused, message, data === undefined ? {} : { data });
}
