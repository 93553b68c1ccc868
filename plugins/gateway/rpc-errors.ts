import { errorTable, RoomtapError, type ErrorCode, type JsonObject, type Redactor } from "../../core/index.ts";
import type { RpcId } from "./parse.ts";

/** An error as a client is told it. `data.reason` is always there; `message` is for people. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: JsonObject & { readonly reason: ErrorCode };
}

/** The number of a word wherever no method has its own. A word that is missing here never leaves the process. */
const numbers: Partial<Record<ErrorCode, number>> = {
  parse_error: -32700,
  invalid_request: -32600,
  too_deep: -32600,
  payload_too_large: -32600,
  duplicate_id: -32600,
  unknown_method: -32601,
  invalid_params: -32602,
  internal: -32603,
  unknown_session: 4001,
  empty_text: 4002,
  unknown_question: 4002,
  request_id_required: 4006,
  invalid_choice: 4007,
  not_supported: 4010,
  result_too_large: 4013,
  unknown_request: 4014,
  queue_full: 4090,
  idempotency_conflict: 4091,
  room_session: 4122,
  driver_unavailable: 4123,
  rate_limited: 4290,
  too_many_calls: 4290,
  insufficient_scope: 4300,
  session_private: 4301,
  session_read_only: 4302,
  owner_role: 4303,
  is_owner: 4303,
  already_bound: 4304,
  observer_rebind: 4305,
  invalid_visibility: 4306,
  invalid_role: 4307,
  viewer_cannot_send: 4308,
  not_owner: 4309,
  observers_full: 4310,
  too_many_sessions: 4310,
  not_attached: 4311,
  runner_failed: 5000,
  runner_lost: 5019,
  agent_unavailable: 5032,
  shutting_down: 5035,
  log_full: 5070,
  log_busy: 5071,
  log_unavailable: 5071,
  log_corrupt: 5071,
};

/** What a word of the process is called on the wire, where it has another name there. */
const wireWords: Partial<Record<ErrorCode, ErrorCode>> = { closed: "shutting_down", log_read_only: "log_unavailable" };

/** Methods that act on a room have a number for what was refused and one for what failed in the server. */
const roomNumbers: ReadonlyMap<string, { readonly refused: number; readonly failed: number }> = new Map([
  ["groups.capabilities", { refused: 5109, failed: 5109 }],
  ["groups.list", { refused: 5110, failed: 5110 }],
  ["groups.create", { refused: 4110, failed: 5111 }],
  ["groups.send", { refused: 4111, failed: 5112 }],
  ["groups.log", { refused: 4112, failed: 5113 }],
  ["groups.disband", { refused: 4113, failed: 5114 }],
  ["groups.state", { refused: 4114, failed: 5115 }],
  ["groups.stop", { refused: 4115, failed: 5116 }],
  ["groups.rename", { refused: 4117, failed: 5117 }],
  ["groups.retry", { refused: 4115, failed: 5118 }],
  ["groups.approve", { refused: 4115, failed: 5119 }],
]);
const otherRoomNumbers = { refused: 4130, failed: 5130 };

const roomRefusals: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "unknown_room",
  "room_disbanded",
  "room_conflict",
  "room_retired",
  "room_full",
  "inbox_full",
  "invalid_roster",
  "too_many_rooms",
  "too_many_subscriptions",
  "idempotency_conflict",
  "text_too_large",
  "cursor_ahead",
  "history_expired",
  "unknown_task",
  "unknown_member",
  "unknown_turn",
  "unknown_message",
  "task_open",
  "not_retryable",
  "not_pending",
  "not_granted",
  "stale_generation",
  "revision_conflict",
  "invalid_choice",
  "log_corrupt",
]);

const roomFailures: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "log_full",
  "log_busy",
  "log_unavailable",
  "lease_lost",
  "internal",
]);

/** What is said of plugins, and by them. */
const pluginNumbers: Partial<Record<ErrorCode, number>> = {
  unknown_plugin: 4140,
  unknown_command: 4140,
  invalid_plugin: 4141,
  invalid_config: 4141,
  unknown_kind: 4141,
  not_granted: 4142,
  missing_dependency: 4143,
  dependency_cycle: 4143,
  too_many_consumers: 4144,
  too_many_routes: 4144,
  too_many_commands: 4144,
  quota_exceeded: 4144,
  plugin_failed: 5140,
  plugin_lost: 5140,
};

function pluginNumber(method: string, word: ErrorCode): number | undefined {
  // Who turns a plugin on is told what its setup threw.
  if (word === "plugin_failed" && method !== "plugins.run") return 4145;
  // A command may hand on what it was refused about a room.
  return pluginNumbers[word] ?? (roomRefusals.has(word) ? 4146 : roomFailures.has(word) ? 5141 : undefined);
}

/** Refusals that tell of a client that tries what it may not: of those a connection has only so many. */
export const denials: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "insufficient_scope",
  "viewer_cannot_send",
  "not_owner",
]);

/**
 * The number and the word for a code of the process, as `method` tells it. A code that has no number is a fault of
 * roomtap's to the client.
 */
export function rpcNumber(method: string, code: ErrorCode): { readonly number: number; readonly reason: ErrorCode } {
  const word = wireWords[code] ?? code;
  const room = isRoomMethod(method) ? (roomNumbers.get(method) ?? otherRoomNumbers) : undefined;
  if (room !== undefined && roomRefusals.has(word)) return { number: room.refused, reason: word };
  if (room !== undefined && roomFailures.has(word)) return { number: room.failed, reason: word };
  const number = (isPluginMethod(method) ? pluginNumber(method, word) : undefined) ?? numbers[word];
  if (number !== undefined) return { number, reason: word };
  return { number: room?.failed ?? -32603, reason: "internal" };
}

/**
 * What a client is told of a fault. Texts of exceptions never leave: a refusal has its message, with secrets masked;
 * what failed in the server only the meaning of its code.
 */
export function rpcErrorOf(method: string, fault: unknown, redactor: Redactor): RpcError {
  const code = fault instanceof RoomtapError ? fault.code : "internal";
  const { number, reason } = rpcNumber(method, code);
  const isRefusal =
    fault instanceof RoomtapError &&
    reason === code &&
    (number < 5000 || code === "agent_unavailable") &&
    code !== "internal";
  return {
    code: number,
    message: isRefusal ? redactor.text(fault.message).toWellFormed() : errorTable[reason].meaning,
    data: { ...(isRefusal ? fault.data : {}), reason },
  };
}

/** Whether the fault is roomtap's own, or the server's: the operator has to hear of it. */
export function isFault({ data: { reason } }: RpcError): boolean {
  return reason === "internal";
}

/** The text of an error reply. */
export function errorText(id: RpcId, error: RpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

function isPluginMethod(method: string): boolean {
  return method.startsWith("plugins.");
}

function isRoomMethod(method: string): boolean {
  return method.startsWith("groups.") || method.startsWith("rooms.");
}
