import { z } from "zod";
import { limits, shownMessage, type JsonObject, type ListedSession, type StoredMessage } from "../../../core/index.ts";
import { visibilityOf, type Standing } from "../../../rooms/index.ts";
import { attachOwner, canSee, listedLive, liveSession, mayUse, taken } from "../access.ts";
import { atReply, defineMethod, type Calling, type Method } from "../rpc-table.ts";

const sessionId = z.string().min(1).max(512);

const messageSchema = z.looseObject({ role: z.string(), text: z.string() });

/** What a client may give as the beginning of a transcript. Other keys are left out. */
const firstMessages = z
  .array(
    z.object({
      role: z.enum(["user", "assistant", "system", "tool"]),
      text: z.string(),
      timestamp: z.number().optional(),
      display_kind: z.string().optional(),
      name: z.string().optional(),
      context: z.string().optional(),
    }),
  )
  .max(limits.maxSnapshotMessages);

const page = { limit: z.int().min(1).max(1_000).default(100), offset: z.int().min(0).default(0) };

const detail = z.string().max(limits.maxSessionDetailUnits);

const listSchema = z.object({
  sessions: z.array(z.looseObject({ id: z.string() })),
  next_offset: z.number().nullable(),
});

/** Making, listing, naming and closing sessions. */
export const sessionMethods: readonly Method[] = [
  defineMethod({
    name: "session.create",
    summary: "A new session with one of the host's agents; the caller is attached to it.",
    params: z.object({
      agent_id: z.string().optional(),
      title: z.string().max(limits.maxTitleUnits).nullish(),
      cwd: detail.optional(),
      model: detail.optional(),
      provider: detail.optional(),
      messages: firstMessages.optional(),
      visibility: z.string().default("private"),
      close_on_disconnect: z.boolean().default(false),
    }),
    result: z.looseObject({ session_id: z.string(), stored_session_id: z.string(), role: z.literal("owner") }),
    errors: ["invalid_visibility", "too_many_sessions", "agent_unavailable"],
    handler: async ({ visibility: word, messages, ...given }, call) => {
      const { client, host, afterReply } = call;
      const visibility = visibilityOf(word);
      const owner = { client_id: client.origin, principal: client.principal };
      const live = taken(
        await host.sessions.create({ ...given, messages: messages as StoredMessage[], visibility, owner }),
      );
      const kept = await live.history({ limit: limits.maxSnapshotMessages, maxBytes: limits.maxSnapshotBytes });
      return atReply(() => {
        const { session, record } = live;
        attachOwner(live, call);
        afterReply(() => host.delivery.present(client, session));
        return {
          session_id: session.runtimeId,
          stored_session_id: record.session_id,
          message_count: record.message_count,
          messages: kept.messages.map(shown),
          info: live.info,
          visibility,
          role: "owner" as const,
        };
      });
    },
  }),
  defineMethod({
    name: "session.close",
    summary: "Closes a session: its turn is interrupted, what waits runs when it is resumed.",
    params: z.object({ session_id: sessionId }),
    result: z.object({ closed: z.boolean(), left: z.literal(true).optional() }),
    errors: ["not_owner"],
    handler: ({ session_id }, call) => {
      const { host } = call;
      const live = host.sessions.byRuntimeId(session_id);
      if (live === undefined || !canSee(live.session, call)) return { closed: false };
      mayUse(live.session, "manage", call);
      // In effect at once; that its turn has ended may take the runner's grace.
      call.afterReply(() => void host.sessions.close(live, "owner_left"));
      return { closed: true, left: true as const };
    },
  }),
  defineMethod({
    name: "session.history",
    summary: "A session's transcript, the last messages before a position.",
    params: z.object({
      session_id: sessionId,
      limit: z.int().min(1).max(limits.maxSnapshotMessages).default(limits.maxSnapshotMessages),
      before: z.int().min(0).optional(),
    }),
    result: z.object({ count: z.number(), messages: z.array(messageSchema), messages_omitted: z.number() }),
    errors: ["unknown_session", "not_attached", "result_too_large"],
    handler: async ({ session_id, limit, before }, call) => {
      const live = liveSession(session_id, "watch", call);
      const { messages, first } = await live.history({ before, limit, maxBytes: limits.maxSnapshotBytes });
      return atReply(() => {
        mayUse(live.session, "watch", call);
        return { count: messages.length, messages: messages.map(shown), messages_omitted: first };
      });
    },
  }),
  defineMethod({
    name: "session.status",
    summary: "What a session is doing.",
    params: z.object({ session_id: sessionId }),
    result: z.object({
      status: z.string(),
      running: z.boolean(),
      turn_started_at: z.number().nullable(),
      queued: z.number(),
    }),
    errors: ["unknown_session", "not_attached"],
    handler: ({ session_id }, call) => {
      const { status, turnId, turnStartedAt, record } = liveSession(session_id, "watch", call);
      return { status, running: turnId !== null, turn_started_at: turnStartedAt, queued: record.queue.length };
    },
  }),
  defineMethod({
    name: "session.usage",
    summary: "Figures of the session's turns since it was opened; null while none reported any.",
    params: z.object({ session_id: sessionId }),
    result: z.object({ usage: z.record(z.string(), z.number()).nullable() }),
    errors: ["unknown_session", "not_attached"],
    handler: ({ session_id }, call) => {
      const { usage } = liveSession(session_id, "watch", call);
      return { usage: usage === null ? null : { ...usage } };
    },
  }),
  defineMethod({
    name: "session.title",
    summary: "Reads a session's title, or gives it another one.",
    params: z.object({ session_id: sessionId, title: z.string().optional() }),
    result: z.object({ title: z.string().nullable() }),
    errors: ["unknown_session", "not_attached", "not_owner"],
    handler: async ({ session_id, title }, call) => {
      const live = liveSession(session_id, title === undefined ? "watch" : "retitle", call);
      if (title === undefined) return { title: live.record.title };
      const { result, begin } = await live.setTitle(title);
      call.afterReply(begin);
      return result;
    },
  }),
  defineMethod({
    name: "session.list",
    summary:
      "Sessions that the caller may see, the last active first: its own, and those of others while they are open.",
    params: z.object(page),
    result: listSchema,
    handler: async (asked, call) => {
      const { client, host } = call;
      const others = listedLive(call).map(({ record }) => record.session_id);
      const of = client.holds("admin") ? undefined : { principal: client.principal, others };
      const { sessions, next_offset } = await host.sessions.list({ ...asked, of });
      return { sessions: sessions.map((each) => listed(each, call)), next_offset };
    },
  }),
  defineMethod({
    name: "session.active_list",
    summary: "Open sessions that the caller may see, the one used last first.",
    params: z.object(page),
    result: listSchema,
    handler: ({ limit, offset }, call) => {
      const live = listedLive(call).toReversed();
      const sessions = live
        .slice(offset, offset + limit)
        .map((each) => listed({ record: each.record, live: each }, call));
      return { sessions, next_offset: offset + limit < live.length ? offset + limit : null };
    },
  }),
];

function shown(message: StoredMessage): JsonObject & { role: string; text: string } {
  const { role, text, ...rest } = shownMessage(message);
  return { role: String(role), text: String(text), ...rest };
}

/** What the caller is in a session, open or not; undefined: it is not attached. */
function roleIn({ record, live }: ListedSession, { client, host }: Calling): Standing | undefined {
  if (record.owner.principal === client.principal) return "owner";
  const standing = live === undefined ? "none" : host.seated.standing(live.session, host.callerOf(client));
  return standing === "none" ? undefined : standing;
}

function listed(session: ListedSession, calling: Calling): JsonObject & { id: string } {
  const { record, live } = session;
  const role = roleIn(session, calling);
  const { session_id, title, preview, message_count, created_at, visibility } = record;
  return {
    id: session_id,
    title,
    preview,
    message_count,
    started_at: created_at,
    ...(live === undefined ? {} : { resolved_id: live.session.runtimeId }),
    visibility,
    ...(role === undefined ? {} : { role }),
  };
}
