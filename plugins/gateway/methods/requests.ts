import { z } from "zod";
import {
  approvalEntries,
  RoomtapError,
  type AnswerResult,
  type RequestOutcome,
  type Session,
} from "../../../core/index.ts";
import { canSeeRequest, liveSession, mayAnswer, unknownSession } from "../access.ts";
import type { GatewayHost } from "../host.ts";
import { defineMethod, type Call, type Method } from "../rpc-table.ts";
import { defineRoomChange } from "./room-change.ts";
import { roomId } from "./room-shapes.ts";

const sessionId = z.string().min(1).max(512);
const requestId = z.string().min(1).max(128);
const outcomeSchema = z.looseObject({ outcome: z.string() });

/** Questions of agents, and what people answer. */
export const requestMethods: readonly Method[] = [
  defineMethod({
    name: "clarify.lock",
    summary: "Answers one of several questions; it may be changed until all have an answer.",
    params: z.object({ request_id: requestId, question_id: z.string(), answer: z.string() }),
    result: z.object({
      status: z.enum(["ok", "already_resolved"]),
      remaining: z.array(z.string()),
      outcome: outcomeSchema.optional(),
    }),
    errors: ["unknown_question", "unknown_request", "not_attached", "viewer_cannot_send"],
    handler: ({ request_id, question_id, answer }, call) => {
      const { client, host } = call;
      const { requests } = host;
      const known = requests.known(request_id);
      if (known !== undefined) {
        const { session, coordinates } = known;
        mayAnswer({ session, coordinates, method: "clarify" }, unknownRequest(), call);
      }
      // Of other requests, whose scope may be another one, nothing is told here.
      if (known !== undefined && known.method !== "clarify") throw unknownQuestion(request_id, question_id);
      const locked = requests.lock(request_id, question_id, answer, client.origin);
      switch (locked.status) {
        case "unknown_request":
          throw unknownRequest();
        case "invalid_answer":
          throw invalidAnswer();
        case "unknown_question":
          throw unknownQuestion(request_id, question_id);
        case "ok":
          return { status: locked.status, remaining: [...locked.remaining] };
        case "already_resolved":
          return { status: locked.status, remaining: [], outcome: locked.outcome };
      }
    },
  }),
  defineMethod({
    name: "request.answer",
    summary: "Answers a request by its exact id; the first answer stands.",
    params: z.object({ id: requestId, result: z.unknown() }),
    result: z.object({ status: z.enum(["ok", "already_resolved"]), outcome: outcomeSchema.optional() }),
    errors: ["unknown_request", "not_attached", "viewer_cannot_send"],
    // Only the scope of the request itself decides who may answer it.
    scopeCase: ({ id }, calling) => {
      const known = typeof id === "string" ? calling.host.requests.known(id) : undefined;
      return known !== undefined && canSeeRequest(known, calling) ? known.method : undefined;
    },
    handler: ({ id, result }, call) => {
      const { client, host } = call;
      const known = host.requests.known(id);
      if (known !== undefined) mayAnswer(known, unknownRequest(), call);
      return answered(id, host.requests.answer(id, { result }, client.origin));
    },
  }),
  defineMethod({
    name: "approval.pending",
    summary: "Approvals of a session that wait, oldest first.",
    params: z.object({ session_id: sessionId }),
    result: z.object({ approvals: z.array(z.looseObject({ request_id: z.string() })) }),
    errors: ["unknown_session", "not_attached"],
    handler: ({ session_id }, call) => {
      const { session } = liveSession(session_id, "watch", call);
      // Who only views is asked nothing.
      const open = call.host.mayAnswer(call.client, session, "approval") ? call.host.requests.open(session) : [];
      return { approvals: approvalEntries(open).map((entry) => ({ ...entry })) };
    },
  }),
  defineMethod({
    name: "approval.received",
    summary: "Says that an approval is shown to somebody.",
    params: z.object({ session_id: sessionId, request_id: requestId.optional() }),
    result: z.object({ acknowledged: z.boolean() }),
    errors: ["request_id_required"],
    handler: ({ session_id, request_id }, { client, host }) => {
      if (request_id === undefined) throw requestIdRequired();
      const request = host.requests.find(request_id);
      const isOfSession = request !== undefined && request.session === host.session(session_id);
      return { acknowledged: isOfSession && host.mayAnswer(client, request.session, request.method) };
    },
  }),
  defineMethod({
    name: "approval.respond",
    summary: "Answers one approval by its id, or all that wait in a session and offer the choice.",
    params: z.object({
      session_id: sessionId,
      choice: z.string().default("deny"),
      request_id: requestId.optional(),
      all: z.boolean().optional(),
    }),
    result: z.object({
      resolved: z.number(),
      status: z.enum(["ok", "already_resolved"]),
      outcome: outcomeSchema.optional(),
    }),
    errors: [
      "unknown_session",
      "not_attached",
      "viewer_cannot_send",
      "request_id_required",
      "invalid_choice",
      "unknown_request",
    ],
    handler: ({ session_id, choice, request_id, all }, call) => {
      const session = respondedSession(session_id, request_id, call);
      const result = call.host.requests.respond({ session, request_id, all, choice }, call.client.origin);
      switch (result.status) {
        case "request_id_required":
          throw requestIdRequired();
        case "invalid_choice":
          throw new RoomtapError("invalid_choice", `the approval does not offer "${choice}"`);
        case "unknown_request":
          throw unknownRequest();
        default:
          return { resolved: result.resolved, status: result.status, ...told(result.outcome) };
      }
    },
  }),
  defineRoomChange({
    name: "groups.approve",
    summary: "Answers an approval of a room member; member, task, generation and request are all named exactly.",
    params: z.object({
      room_id: roomId,
      member_id: z.string(),
      task_id: z.string(),
      execution_generation: z.int(),
      request_id: requestId,
      choice: z.string(),
    }),
    result: z.object({
      approved: z.boolean(),
      result: z.object({ resolved: z.number(), status: z.string(), outcome: outcomeSchema.optional() }),
    }),
    errors: ["unknown_room", "not_pending", "invalid_choice"],
    handler: async ({ choice, request_id, ...place }, { client, host }) => {
      await host.rooms.find(place.room_id);
      const request = pendingApproval(host, request_id, place);
      const result = host.requests.respond({ session: request.session, request_id, choice }, client.origin);
      if (result.status === "invalid_choice") {
        throw new RoomtapError("invalid_choice", `the approval does not offer "${choice}"`);
      }
      if (!("resolved" in result)) throw notPending(request_id);
      const { status, resolved, outcome } = result;
      return { approved: outcome?.outcome === "answered", result: { resolved, status, ...told(outcome) } };
    },
  }),
];

function answered(id: string, result: AnswerResult): { status: "ok" | "already_resolved"; outcome: RequestOutcome } {
  if (result.status === "unknown_request") throw unknownRequest();
  if (result.status === "invalid_answer") throw invalidAnswer();
  // The narrowing above leaves those that have an outcome.
  const { status, outcome } = result as Extract<AnswerResult, { outcome: RequestOutcome }>;
  return { status, outcome };
}

/** A stale runtime id is followed to the session that holds the request. */
function respondedSession(sessionIdGiven: string, request_id: string | undefined, call: Call): Session | null {
  const { host } = call;
  const live = host.sessions.byRuntimeId(sessionIdGiven);
  // Not into a room: there member, task and attempt are named as well.
  const holder = live !== undefined || request_id === undefined ? undefined : host.requests.known(request_id);
  const isFollowed = holder?.session.roomPlumbing === false;
  const session = isFollowed ? holder.session : liveSession(sessionIdGiven, "send", call).session;
  mayAnswer({ session, method: "approval", coordinates: null }, unknownSession(sessionIdGiven, call), call);
  return isFollowed ? null : session;
}

interface Place {
  readonly room_id: string;
  readonly member_id: string;
  readonly task_id: string;
  readonly execution_generation: number;
}

/** @throws RoomtapError `not_pending` when anything of it does not fit: then nothing changes */
function pendingApproval(host: GatewayHost, request_id: string, place: Place): { readonly session: Session } {
  const known = host.requests.known(request_id);
  const coordinates = known?.coordinates ?? null;
  const fits =
    coordinates !== null &&
    (["room_id", "member_id", "task_id", "execution_generation"] as const).every(
      (key) => coordinates[key] === place[key],
    );
  if (known === undefined || known.method !== "approval" || !fits) throw notPending(request_id);
  return known;
}

function told(outcome: RequestOutcome | undefined): { outcome?: RequestOutcome } {
  return outcome === undefined ? {} : { outcome };
}

/** The same for one that never was and one that the caller may not know of. */
function unknownRequest(): RoomtapError {
  return new RoomtapError("unknown_request", "no such request is known");
}

function unknownQuestion(id: string, questionId: string): RoomtapError {
  return new RoomtapError("unknown_question", `request ${id} has no question ${questionId}`);
}

function requestIdRequired(): RoomtapError {
  return new RoomtapError("request_id_required", 'name the approval by request_id, or say "all": true');
}

function invalidAnswer(): RoomtapError {
  return new RoomtapError("invalid_params", "result: the answer does not fit the question", {
    data: { path: "result" },
  });
}

function notPending(id: string): RoomtapError {
  return new RoomtapError("not_pending", `no approval ${id} of that member, task and attempt waits`);
}
