import { z } from "zod";
import { attachOwner, liveSession, mayUse, needsRead, seenLive, taken, unknownSession } from "../access.ts";
import { boundedByItsParts, join, snapshotSchema } from "../joining.ts";
import { atReply, defineMethod, type Call, type Method } from "../rpc-table.ts";

const sessionId = z.string().min(1).max(512);
const lastSeen = z.int().min(0);

const openRequests = z.array(z.object({ id: z.string(), method: z.string(), params: z.looseObject({}) }));

/** How clients come to a session, and learn what they missed. */
export const joinMethods: readonly Method[] = [
  defineMethod({
    name: "session.resume",
    summary: "Opens a stored session, by its id or exact title, and attaches the caller.",
    params: z.object({
      session_id: sessionId,
      lazy: z.boolean().optional(),
      omit_messages: z.boolean().default(false),
      last_seen: lastSeen.optional(),
    }),
    result: snapshotSchema,
    maxResultBytes: boundedByItsParts,
    errors: [
      "unknown_session",
      "room_session",
      "not_attached",
      "observer_rebind",
      "too_many_sessions",
      "agent_unavailable",
    ],
    handler: async ({ session_id, ...asked }, call) => {
      const { client, host } = call;
      const live = await host.sessions.resume(session_id, client.principal);
      if ("refused" in live && live.refused === "unknown_session") throw notResumed(session_id, call);
      return join(taken(live), asked, call, (held) => attachOwner(taken(live), call, held));
    },
  }),
  defineMethod({
    name: "session.activate",
    summary: "Attaches the caller to an open session, by its runtime id.",
    params: z.object({
      session_id: sessionId,
      omit_messages: z.boolean().default(false),
      last_seen: lastSeen.optional(),
    }),
    result: snapshotSchema,
    maxResultBytes: boundedByItsParts,
    errors: ["unknown_session", "room_session", "not_attached", "observer_rebind", "too_many_sessions"],
    handler: ({ session_id, ...asked }, call) => {
      const live = liveSession(session_id, "join", call);
      return join(live, asked, call, (held) => attachOwner(live, call, held));
    },
  }),
  defineMethod({
    name: "session.events.since",
    summary: "What a session told above a number, as far as it is kept; attaches nothing.",
    params: z.object({ session_id: z.string(), last_seen: lastSeen.default(0) }),
    result: z.object({
      events: z.array(z.looseObject({ type: z.string() })),
      latest_seq: z.number(),
      truncated: z.boolean(),
      count: z.number(),
      epoch: z.string(),
      open_requests: openRequests,
    }),
    maxResultBytes: boundedByItsParts,
    paced: true,
    handler: ({ session_id, last_seen }, { client, host }) =>
      atReply(() => {
        const found = host.session(session_id);
        // To whoever is not there it tells what it tells of one that does not exist.
        const isThere = found !== undefined && host.seated.standing(found, host.callerOf(client)) !== "none";
        const session = isThere ? found : null;
        const { events, latest_seq, truncated } = host.fanOut.since(session, last_seen, client);
        return {
          events: [...events],
          latest_seq,
          truncated,
          count: events.length,
          epoch: host.epoch,
          open_requests: session === null ? [] : [...host.delivery.openRequests(client, session)],
        };
      }),
  }),
];

/** Why somebody has not resumed a session that is not its own. */
function notResumed(idOrTitle: string, call: Call): Error {
  needsRead(call);
  const others = seenLive(call).toReversed();
  const named =
    others.find(({ session, record }) => record.session_id === idOrTitle || session.runtimeIds.includes(idOrTitle)) ??
    others.find(({ record }) => record.title === idOrTitle);
  if (named !== undefined) mayUse(named.session, "join", call);
  return unknownSession(idOrTitle, call);
}
