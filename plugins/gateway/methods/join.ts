import { z } from "zod";
import {
  approvalEntries,
  type Client,
  type JsonObject,
  type LiveSession,
  type SessionSnapshot,
} from "../../../core/index.ts";
import { attach, liveSession, taken, unknownSession } from "../access.ts";
import type { GatewayHost } from "../host.ts";
import { atReply, defineMethod, type AtReply, type Call, type Method } from "../rpc-table.ts";

const sessionId = z.string().min(1).max(512);
const lastSeen = z.int().min(0);

/**
 * What a client that comes is told is as large as the ring, a page of the transcript, what waits and the questions that may
 * be open. To refuse it would leave the client outside.
 */
const boundedByItsParts = Infinity;

const openRequests = z.array(z.object({ id: z.string(), method: z.string(), params: z.looseObject({}) }));

const snapshotSchema = z.looseObject({
  session_id: z.string(),
  stored_session_id: z.string(),
  messages: z.array(z.looseObject({ role: z.string(), text: z.string() })),
  running: z.boolean(),
  open_requests: openRequests,
  watching: z.boolean(),
  epoch: z.string(),
  latest_seq: z.number(),
  truncated: z.boolean(),
});

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
    errors: ["unknown_session", "room_session", "too_many_sessions", "agent_unavailable"],
    handler: async ({ session_id, ...asked }, call) => {
      const { client, host } = call;
      const live = await host.sessions.resume(session_id, client.principal);
      if ("refused" in live && live.refused === "unknown_session") throw unknownSession(session_id, call);
      return join(taken(live), asked, call);
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
    errors: ["unknown_session", "room_session", "too_many_sessions"],
    handler: ({ session_id, ...asked }, call) => join(liveSession(session_id, call), asked, call),
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
        const session = host.session(session_id) ?? null;
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

interface Joining {
  readonly omit_messages: boolean;
  readonly last_seen?: number | undefined;
}

/**
 * The snapshot, and the caller attached behind it: what left the session up to that instant stands in the snapshot, and all
 * that leaves it later follows the reply, each once. What comes while the snapshot is read is held for the caller.
 */
async function join(live: LiveSession, asked: Joining, call: Call): Promise<AtReply<z.input<typeof snapshotSchema>>> {
  const { client, host } = call;
  const { session } = live;
  const watching = host.fanOut.isWatched(session, client);
  const isNew = attach(host, client, session, { held: true }) === "attached";
  try {
    // Whoever is attached already has what the snapshot covers before the reply.
    const onInstant = (): void => host.fanOut.settle(session);
    const snapshot = await live.snapshot({ omitMessages: asked.omit_messages, onInstant });
    return atReply(() => {
      const { last_seen } = asked;
      const truncated = last_seen !== undefined && host.fanOut.since(session, last_seen, client).truncated;
      const range = { after: last_seen ?? snapshot.latest_seq, head: snapshot.latest_seq };
      call.afterReply(() => host.fanOut.join(client, session, range));
      return shown(snapshot, { asked, watching, truncated, client, host, live });
    });
  } catch (fault) {
    if (isNew) host.fanOut.detach(client, session);
    throw fault;
  }
}

function shown(
  snapshot: SessionSnapshot,
  about: {
    readonly asked: Joining;
    readonly watching: boolean;
    readonly truncated: boolean;
    readonly client: Client;
    readonly host: GatewayHost;
    readonly live: LiveSession;
  },
): z.input<typeof snapshotSchema> {
  const { asked, watching, truncated, client, host, live } = about;
  const approvals = client.holds("approvals") ? approvalEntries(host.requests.open(live.session)) : [];
  return {
    ...snapshot,
    // What the turn has said so far comes with the frames that follow.
    inflight: asked.last_seen === undefined ? snapshot.inflight : null,
    messages: [...snapshot.messages] as (JsonObject & { role: string; text: string })[],
    pending_approval: approvals[0] ?? null,
    open_requests: [...host.delivery.openRequests(client, live.session)],
    watching,
    role: "owner",
    truncated,
  };
}
