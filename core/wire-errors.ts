import type { ErrorEntry } from "./host-errors.ts";

/** Codes of what only a session, or a client of a gateway, is refused with. */
export const wireErrors = {
  agent_mismatch: {
    meaning: "The session exists and belongs to another agent.",
    remedy: "Name its own agent, or choose another session id.",
    exit: 2,
  },
  agent_unavailable: {
    meaning: "No agents are configured, or none of this name, or the agent of the session could not be started.",
    remedy: "Correct `agents` in the config, or see that the agent's program runs by itself.",
    exit: 1,
  },
  already_bound: {
    meaning: "The client owns, or is a member of, another session.",
    remedy: "Leave that one first, or attach with another connection.",
    exit: 1,
  },
  cursor_ahead: {
    meaning: "The position is above the last row of the room's log.",
    remedy: "Read from a position that the log has given, or from 0.",
    exit: 2,
  },
  driver_unavailable: {
    meaning: "The room is in the database, and no host here drives it.",
    remedy: "Ask the host that drives it, or open it here.",
    exit: 1,
  },
  empty_text: {
    meaning: "A correction without text.",
    remedy: "Send some text.",
    exit: 2,
  },
  history_expired: {
    meaning: "The room was disbanded more than 90 days ago: its log is not given out any more.",
    remedy: "Look into a copy of the database, if one was kept.",
    exit: 1,
  },
  insufficient_scope: {
    meaning: "The connection's credential lacks a scope; `required_scope` names it.",
    remedy: "Connect with a credential that has it.",
    exit: 3,
  },
  invalid_choice: {
    meaning: "The approval does not offer this choice.",
    remedy: "Choose one of the request's `choices`.",
    exit: 2,
  },
  invalid_request: {
    meaning: "A message of a client is no valid JSON-RPC 2.0 request.",
    remedy:
      "Send one object with a method, an id that is a string, a safe integer or null, and params that are an object.",
    exit: 2,
  },
  invalid_role: {
    meaning: "A role is none of owner, member, viewer.",
    remedy: "Attach as member or as viewer.",
    exit: 2,
  },
  invalid_visibility: {
    meaning: "A visibility is none of private, shared, read_only.",
    remedy: "Use one of the three. Nothing was changed.",
    exit: 2,
  },
  is_owner: {
    meaning: "The owner of a session cannot attach to it as an observer.",
    remedy: "Use session.resume or session.activate.",
    exit: 1,
  },
  method_not_allowed: {
    meaning: "The path is there for other methods of HTTP; `allow` lists them.",
    remedy: "Use one of them.",
    exit: 2,
  },
  not_attached: {
    meaning: "The client is not attached to the session.",
    remedy: "Attach first, with session.attach.",
    exit: 1,
  },
  not_granted: {
    meaning:
      "A principal or a plugin asks for what it was not granted: whole payloads, the reasoning of members, approvals.",
    remedy: "Ask without it, or have it granted: to the credential, or in the plugin's entry of the config.",
    exit: 2,
  },
  not_owner: {
    meaning: "Only the owner of the session may do this.",
    remedy: "Ask its owner.",
    exit: 3,
  },
  not_pending: {
    meaning: "The request does not wait for this member's attempt.",
    remedy: "Read the room's state and name an open request of it.",
    exit: 1,
  },
  not_supported: {
    meaning: "The agent cannot be corrected while it runs.",
    remedy: "Wait for the turn to end, or interrupt it and ask again.",
    exit: 1,
  },
  observer_rebind: {
    meaning: "A client that observes a session cannot take it over.",
    remedy: "Go on as an observer, or start a session of your own.",
    exit: 1,
  },
  observers_full: {
    meaning: "The session has 32 observers.",
    remedy: "Wait until one of them has left.",
    exit: 1,
  },
  owner_role: {
    meaning: "Nobody can attach as the owner.",
    remedy: "Attach as member or as viewer.",
    exit: 2,
  },
  parse_error: {
    meaning: "A message of a client is not JSON.",
    remedy: "Send one JSON object per message.",
    exit: 2,
  },
  payload_too_large: {
    meaning: "A message of a client has more than 1 MiB.",
    remedy: "Send less. Above 2 MiB the connection is closed.",
    exit: 2,
  },
  plugin_timeout: {
    meaning: "A route of a plugin gave no answer within 30 s.",
    remedy: "Try again later; `roomtap plugin list` tells how the plugin fares.",
    exit: 1,
  },
  queue_full: {
    meaning: "32 prompts, or 1 MiB of them, wait in the session.",
    remedy: "Wait until some have run. Nothing was stored.",
    exit: 1,
  },
  rate_limited: {
    meaning: "The connection makes more calls than its rate allows.",
    remedy: "Wait for `retry_after_ms`, then go on slower.",
    exit: 1,
  },
  request_id_required: {
    meaning: "An approval must be named: there is no oldest one.",
    remedy: "Give its `request_id`, or `all: true`.",
    exit: 2,
  },
  request_timeout: {
    meaning: "The body of a request did not come within 30 s.",
    remedy: "Send it again, on a better line or in pieces.",
    exit: 1,
  },
  result_too_large: {
    meaning: "The result would have more than 4 MiB.",
    remedy: "Ask for less at a time.",
    exit: 2,
  },
  room_session: {
    meaning: "A hidden session of a room takes no clients and no prompts.",
    remedy: "Use the methods of the room.",
    exit: 2,
  },
  runner_failed: {
    meaning: "The agent failed when it was corrected.",
    remedy: "The message has what it said; the turn goes on or has ended.",
    exit: 1,
  },
  runner_lost: {
    meaning: "The agent's process ended before the turn began.",
    remedy: "Submit again.",
    exit: 1,
  },
  session_private: {
    meaning: "The session is private.",
    remedy: "Ask its owner to share it.",
    exit: 3,
  },
  session_read_only: {
    meaning: "The session is open to viewers only.",
    remedy: "Attach as viewer.",
    exit: 3,
  },
  shutting_down: {
    meaning: "The host is about to stop.",
    remedy: "Connect again later.",
    exit: 1,
  },
  too_deep: {
    meaning: "A message of a client nests deeper than 64.",
    remedy: "Send it flatter.",
    exit: 2,
  },
  too_many_calls: {
    meaning: "64 calls of the connection wait for their replies.",
    remedy: "Wait for some of them.",
    exit: 1,
  },
  too_many_sessions: {
    meaning: "The database holds 65,536 sessions, or one connection or principal as many as it may.",
    remedy: "Close sessions that are no longer needed, or start a new database.",
    exit: 1,
  },
  too_many_subscriptions: {
    meaning: "The connection is subscribed to 64 rooms.",
    remedy: "End one of the subscriptions, or use another connection.",
    exit: 1,
  },
  unknown_method: {
    meaning: "The gateway has no such method.",
    remedy: "`roomtap schema` lists the methods.",
    exit: 2,
  },
  unknown_question: {
    meaning: "The request has no question of this id.",
    remedy: "Name one of its `questions`.",
    exit: 2,
  },
  unknown_route: {
    meaning: "The plugin has no route of this path.",
    remedy: "`roomtap plugin list` shows its routes.",
    exit: 2,
  },
  unknown_session: {
    meaning: "There is no such session for this caller.",
    remedy: "Resume it by its stored id; session.list has those that the caller may see.",
    exit: 2,
  },
  viewer_cannot_send: {
    meaning: "A viewer changes nothing in a session.",
    remedy: "Attach as member, if the session is shared.",
    exit: 3,
  },
} as const satisfies Record<string, ErrorEntry>;
