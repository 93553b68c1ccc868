import { z } from "zod";
import { approvalEntries, type JsonObject, type LiveSession, type SessionSnapshot } from "../../core/index.ts";
import type { Role } from "../../rooms/index.ts";
import { needsRead, unknownSession } from "./access.ts";
import { atReply, type AtReply, type Call } from "./rpc-table.ts";

/** What a client is told when it comes to a session. */
export const snapshotSchema = z.looseObject({
  session_id: z.string(),
  stored_session_id: z.string(),
  messages: z.array(z.looseObject({ role: z.string(), text: z.string() })),
  running: z.boolean(),
  open_requests: z.array(z.object({ id: z.string(), method: z.string(), params: z.looseObject({}) })),
  watching: z.boolean(),
  role: z.enum(["owner", "member", "viewer"]),
  epoch: z.string(),
  latest_seq: z.number(),
  truncated: z.boolean(),
});

/**
 * The bound of what a client that comes is told: it is as large as the ring, a page of the transcript, what waits and the
 * questions that may be open. To refuse it would leave the client outside.
 */
export const boundedByItsParts = Infinity;

/** How a client wants to come. */
export interface Joining {
  readonly omit_messages: boolean;
  readonly last_seen?: number | undefined;
}

/** A client that is attached, and gets nothing yet. */
export interface Arrival {
  /** Whether it was not attached before. */
  readonly isNew: boolean;
  /** Tells the others, behind the reply. */
  readonly tell: () => void;
  /** Takes its seat away again: it was told nothing. */
  readonly undo?: () => void;
}

/**
 * The snapshot, and the caller attached behind it: what left the session up to that instant stands in the snapshot, and all
 * that leaves it later follows the reply, each once. What comes while the snapshot is read is held for the caller. One that
 * is sent away meanwhile gets none.
 * @param arrive attaches the caller
 */
export async function join(
  live: LiveSession,
  asked: Joining,
  call: Call,
  arrive: (options: { readonly held: true }) => Arrival,
): Promise<AtReply<z.input<typeof snapshotSchema>>> {
  const { client, host } = call;
  const { session } = live;
  const watching = host.fanOut.isWatched(session, client);
  const { isNew, tell, undo } = arrive({ held: true });
  const leave = (): void => {
    if (isNew) host.fanOut.detach(client, session);
    if (!live.isClosed) undo?.();
  };
  try {
    // Whoever is attached already has what the snapshot covers before the reply.
    const onInstant = (): void => host.fanOut.settle(session);
    const snapshot = await live.snapshot({ omitMessages: asked.omit_messages, onInstant });
    return atReply(() => {
      const role = host.seated.standing(session, host.callerOf(client));
      if (role === "none") throw unknownSession(session.runtimeId, call);
      if (role !== "owner" && !client.holds("read")) {
        leave();
        needsRead(call);
      }
      const { last_seen } = asked;
      const truncated = last_seen !== undefined && host.fanOut.since(session, last_seen, client).truncated;
      const range = { after: last_seen ?? snapshot.latest_seq, head: snapshot.latest_seq };
      call.afterReply(() => host.fanOut.join(client, session, range));
      call.afterReply(tell);
      return shown(snapshot, { live, asked, watching, truncated, role }, call);
    });
  } catch (fault) {
    leave();
    throw fault;
  }
}

function shown(
  snapshot: SessionSnapshot,
  about: {
    readonly live: LiveSession;
    readonly asked: Joining;
    readonly watching: boolean;
    readonly truncated: boolean;
    readonly role: Role;
  },
  { client, host }: Call,
): z.input<typeof snapshotSchema> {
  const {
    live: { session },
    asked,
    watching,
    truncated,
    role,
  } = about;
  const approvals = host.mayAnswer(client, session, "approval") ? approvalEntries(host.requests.open(session)) : [];
  return {
    ...snapshot,
    // What the turn has said so far comes with the frames that follow.
    inflight: asked.last_seen === undefined ? snapshot.inflight : null,
    messages: [...snapshot.messages] as (JsonObject & { role: string; text: string })[],
    pending_approval: approvals[0] ?? null,
    open_requests: [...host.delivery.openRequests(client, session)],
    watching,
    role,
    truncated,
  };
}
