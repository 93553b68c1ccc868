import type { RequestEntry } from "../core/index.ts";
import type { LogRow, RoomSnapshot } from "../rooms/index.ts";
import type { Permit } from "./permit.ts";

/** A request as a plugin may see it: without the permission, of an approval what names it and no text. */
export function visibleRequest(request: RequestEntry, permit: Permit): RequestEntry {
  const isWhole = permit.payload !== "meta" && (request.method !== "approval" || permit.grants.includes("approvals"));
  if (isWhole) return request;
  const { id, request_id, method, tool_id, expires_at, coordinates } = request;
  return {
    ...{ id, method, expires_at, coordinates },
    ...(request_id === undefined ? {} : { request_id }),
    ...(tool_id === undefined ? {} : { tool_id }),
  };
}

/** The state of a room as a plugin may see it: at level `meta` without what was streamed. */
export function visibleState(state: RoomSnapshot, permit: Permit): RoomSnapshot {
  const open_requests = state.open_requests.map((request) => visibleRequest(request, permit));
  if (permit.payload !== "meta") return { ...state, open_requests };
  return { ...state, open_requests, attempts: state.attempts.map((attempt) => ({ ...attempt, text: "" })) };
}

/** A row as a plugin may see it: at level `meta` without the texts of posts and answers. */
export function visibleRow(row: LogRow, permit: Permit): LogRow {
  if (permit.payload !== "meta") return row;
  if (row.kind === "turn.settled") return { ...row, payload: { ...row.payload, text: "", error: null } };
  const input = row.payload.input.map((item) => ("text" in item ? { ...item, text: "", attachments: [] } : item));
  return { ...row, payload: { ...row.payload, input } };
}
