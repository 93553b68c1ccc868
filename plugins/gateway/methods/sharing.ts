import { z } from "zod";
import { visibilities, type LiveSession } from "../../../core/index.ts";
import { visibilityOf, type ObserverRole } from "../../../rooms/index.ts";
import { attach, canSee, liveSession, mayUse, seenSession, taken, unknownSession } from "../access.ts";
import { boundedByItsParts, join, snapshotSchema, type Arrival } from "../joining.ts";
import { defineMethod, type Call, type Method } from "../rpc-table.ts";

const sessionId = z.string().min(1).max(512);

/** Who watches and who drives a session of somebody else. */
export const sharingMethods: readonly Method[] = [
  defineMethod({
    name: "session.attach",
    summary: "Attaches the caller to a session of somebody else, as member or viewer.",
    params: z.object({
      session_id: sessionId,
      role: z.string().default("viewer"),
      omit_messages: z.boolean().default(false),
      last_seen: z.int().min(0).optional(),
    }),
    // Without the scope `read` it holds no more than ids, role and visibility.
    result: snapshotSchema.partial().required({ session_id: true, stored_session_id: true, role: true }),
    maxResultBytes: boundedByItsParts,
    errors: [
      "unknown_session",
      "room_session",
      "invalid_role",
      "owner_role",
      "is_owner",
      "session_private",
      "session_read_only",
      "already_bound",
      "observers_full",
      "too_many_sessions",
    ],
    handler: ({ session_id, role, ...asked }, call) => {
      const live = openSession(session_id, call);
      if (call.client.holds("read")) return join(live, asked, call, (held) => observe(live, role, call, held));
      const arrival = observe(live, role, call, {});
      call.afterReply(arrival.tell);
      const { visibility, session_id: stored_session_id } = live.record;
      return { session_id: live.session.runtimeId, stored_session_id, visibility, role: arrival.role };
    },
  }),
  defineMethod({
    name: "session.detach",
    summary: "Detaches the caller, or an observer that the caller may send away.",
    params: z.object({ session_id: sessionId, client_id: z.string().min(1).max(512).optional() }),
    result: z.object({ detached: z.boolean() }),
    errors: ["unknown_session", "not_owner"],
    scopeCase: ({ client_id }, { client }) =>
      client_id === undefined || client_id === client.id ? undefined : "other",
    handler: ({ session_id, client_id }, call) => {
      const { client, host } = call;
      if (client_id === undefined || client_id === client.id) return { detached: leave(session_id, call) };
      const live = seenSession(session_id, call);
      mayUse(live.session, "manage", call);
      const detached = host.seated.sendAway(live, client_id, { isBarred: true });
      if (detached) call.afterReply(() => host.seated.tell(live, "detach"));
      return { detached };
    },
  }),
  defineMethod({
    name: "session.observers",
    summary: "Who is attached to a session: the owner, then observers in order of attaching.",
    params: z.object({ session_id: sessionId }),
    result: z.object({
      observers: z.array(
        z.object({
          client_id: z.string().nullable(),
          role: z.enum(["owner", "member", "viewer"]),
          connections: z.number(),
          since: z.number(),
        }),
      ),
    }),
    errors: ["unknown_session", "not_attached"],
    handler: ({ session_id }, call) => ({
      observers: [...call.host.seated.roster(liveSession(session_id, "watch", call))],
    }),
  }),
  defineMethod({
    name: "session.visibility",
    summary: "Opens a session to others, or closes it to them: in force when it is answered.",
    params: z.object({ session_id: sessionId, visibility: z.string() }),
    result: z.object({
      visibility: z.enum(visibilities),
      revoked: z.array(z.object({ client_id: z.string(), from: z.string(), to: z.string().nullable() })),
    }),
    errors: ["unknown_session", "invalid_visibility", "not_owner"],
    handler: async ({ session_id, visibility: word }, call) => {
      const live = seenSession(session_id, call);
      const visibility = visibilityOf(word);
      mayUse(live.session, "manage", call);
      const { result, begin } = await call.host.seated.setVisibility(live, visibility);
      call.afterReply(begin);
      return { visibility: result.visibility, revoked: [...result.revoked] };
    },
  }),
];

/** The open session of a runtime or a stored id, whoever may see it: to attach is to ask. */
function openSession(id: string, call: Call): LiveSession {
  const { host } = call;
  const live = host.sessions.byRuntimeId(id) ?? host.sessions.byStoredId(id);
  if (live === undefined) throw unknownSession(id, call);
  return live;
}

interface Observing extends Arrival {
  readonly role: ObserverRole;
}

/** Takes a seat, then the stream. @throws RoomtapError why not; then nothing has changed */
function observe(live: LiveSession, role: string, call: Call, options: { readonly held?: boolean }): Observing {
  const { client, host } = call;
  const { change, role: given } = taken(host.seated.attach(live, host.callerOf(client), role));
  const undo = (): void => {
    if (change === "attached") host.seated.unseat(live, client.id);
  };
  try {
    const isNew = attach(call, live.session, options) === "attached";
    host.sessions.use(live);
    const tell = (): void => {
      if (change !== "already") host.seated.tell(live, "attach");
    };
    return { isNew, tell, undo, role: given };
  } catch (fault) {
    undo();
    throw fault;
  }
}

/** The caller goes by itself. False when it was not attached as an observer. */
function leave(id: string, call: Call): boolean {
  const { client, host } = call;
  const live = host.sessions.byRuntimeId(id);
  if (live === undefined || !canSee(live.session, call) || !host.seated.detach(live, client.id)) return false;
  host.fanOut.detach(client, live.session);
  call.afterReply(() => host.seated.tell(live, "detach"));
  return true;
}
