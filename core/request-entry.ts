import type { ActivityPayloads } from "./activity.ts";
import type { Coordinates } from "./coordinates.ts";
import type { JsonObject } from "./frames.ts";
import { requestFrame, type OpenRequest } from "./open-request.ts";
import { requestOpened } from "./stamp.ts";

/** A request that waits, as lists show it: what `request.opened` told, and where its turn belongs. */
export type RequestEntry = ActivityPayloads["request.opened"] & {
  readonly coordinates: Coordinates | null;
  /** Of several questions, what was answered so far, by `qid`. */
  readonly answers?: JsonObject;
};

/** An approval that waits in a session, as `approval.pending` lists it. */
export interface ApprovalEntry {
  readonly request_id: string;
  readonly session_id: string;
  readonly tool_id?: string;
  readonly tool_name?: string;
  readonly command: string;
  readonly description: string;
  readonly choices: readonly string[];
  /** Wall ms. */
  readonly created_at: number;
  /** Wall ms; null when it never expires. */
  readonly expires_at: number | null;
}

/** The entry of an open request: a fixed list of fields, redacted. What is asked needs the scope of its method. */
export function requestEntry(request: OpenRequest): RequestEntry {
  const { coordinates, answers, expires_at } = request;
  const opened = requestOpened(requestFrame(request), expires_at);
  return { ...opened, coordinates, ...(answers === null ? {} : { answers }) };
}

/** The approvals among open requests. All of it needs the scope `approvals`. */
export function approvalEntries(requests: readonly OpenRequest[]): readonly ApprovalEntry[] {
  return requests.flatMap(({ request_id, params, session, created_at, expires_at }) => {
    if (request_id === null) return [];
    const { tool_id, tool_name, command = "", description = "", choices } = params;
    const call = { ...(tool_id === undefined ? {} : { tool_id }), ...(tool_name === undefined ? {} : { tool_name }) };
    const asked = { request_id, session_id: session.runtimeId, ...call, command, description, choices };
    // Fields of an approval are texts, as its own params have them.
    return [{ ...asked, created_at, expires_at } as ApprovalEntry];
  });
}
