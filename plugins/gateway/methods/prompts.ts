import { z } from "zod";
import { RoomtapError, type JsonObject, type LiveSession, type MaySend } from "../../../core/index.ts";
import { judgeUse } from "../../../rooms/index.ts";
import { attachOwner, liveSession, taken } from "../access.ts";
import { atReply, defineMethod, type Call, type Method } from "../rpc-table.ts";

const sessionId = z.string().min(1).max(512);

/** What people send to a session. */
export const promptMethods: readonly Method[] = [
  defineMethod({
    name: "prompt.submit",
    summary:
      "Sends a prompt: it starts a turn, corrects the one that runs, or waits. A caller of the owner's is attached.",
    params: z.object({
      session_id: sessionId,
      text: z.union([z.string(), z.array(z.looseObject({ type: z.string() })).min(1)]),
      attachments: z.array(z.unknown()).max(64).optional(),
      display_kind: z.string().max(64).optional(),
      queued: z.boolean().optional(),
      message_id: z.string().min(1).max(256).optional(),
      submission_ref: z
        .string()
        .regex(/^[\x20-\x7e]{1,64}$/)
        .optional(),
    }),
    result: z.looseObject({
      status: z.enum(["streaming", "redirected", "steered", "queued", "duplicate"]),
      turn_id: z.string().optional(),
      submission: z.looseObject({ input_id: z.string(), disposition: z.string() }),
    }),
    errors: [
      "unknown_session",
      "room_session",
      "not_attached",
      "viewer_cannot_send",
      "queue_full",
      "idempotency_conflict",
      "agent_unavailable",
      "runner_lost",
    ],
    handler: async ({ session_id, ...prompt }, call) => {
      const { client, host } = call;
      const live = liveSession(session_id, "send", call);
      const isOwner = host.seated.standing(live.session, host.callerOf(client)) === "owner";
      // Before the claim: who claims a turn sees all of it.
      if (isOwner) call.afterCall(attachOwner(live, call).tell);
      const { result, begin } = taken(await live.submit(prompt, client.origin, maySend(live, call)));
      return atReply(() => {
        call.afterReply(begin);
        // The reply lists none.
        call.afterReply(() => host.delivery.present(client, live.session));
        return { ...result, submission: { ...result.submission } };
      });
    },
  }),
  ...(["steer", "redirect"] as const).map((kind) =>
    defineMethod({
      name: `session.${kind}`,
      summary:
        kind === "steer"
          ? "Adds a text to what the running turn does."
          : "Has the running turn do something else instead.",
      params: z.object({ session_id: sessionId, text: z.string() }),
      result: z.object({ status: z.enum(["redirected", "queued", "rejected"]), text: z.string() }),
      errors: ["empty_text", "unknown_session", "not_attached", "viewer_cannot_send", "not_supported", "runner_failed"],
      handler: async ({ session_id, text }, call) => {
        if (text.trim() === "") throw new RoomtapError("empty_text", "a correction needs a text");
        const live = liveSession(session_id, "send", call);
        const { origin } = call.client;
        const { result, begin } = taken(await live.correct({ kind, text }, origin, maySend(live, call)));
        call.afterReply(begin);
        return { ...result };
      },
    }),
  ),
  defineMethod({
    name: "session.interrupt",
    summary: "Asks the turn that runs to stop and withdraws its questions; what waits runs next.",
    params: z.object({ session_id: sessionId, expected_hosted_task_id: z.string().optional() }),
    result: z.object({ status: z.enum(["interrupted", "not_interrupted"]) }),
    errors: ["unknown_session", "not_attached", "viewer_cannot_send"],
    handler: ({ session_id, expected_hosted_task_id }, call) => {
      const { result, begin } = liveSession(session_id, "send", call).interrupt(expected_hosted_task_id);
      call.afterReply(begin);
      return { ...(result as JsonObject & typeof result) };
    },
  }),
];

/** What it may do now: it may have been sent away, or made a viewer, while its call waited. */
function maySend({ session }: LiveSession, { client, host }: Call): MaySend {
  return () => judgeUse("send", host.seated.stance(session, host.callerOf(client)));
}
