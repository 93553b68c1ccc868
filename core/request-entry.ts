import type { ActivityPayloads } from "./activity.ts";
import type { Coordinates } from "./coordinates.ts";
import type { OpenRequest } from "./server-requests.ts";
import { requestOpened } from "./stamp.ts";

/** A request that waits, as lists show it: what `request.opened` told, and where its turn belongs. */
export type RequestEntry = ActivityPayloads["request.opened"] & { readonly coordinates: Coordinates };

/** The entry of an open request: a fixed list of fields, redacted. Command and description need the scope `approvals`. */
export function requestEntry({ id, method, params, attempt }: OpenRequest): RequestEntry {
  const expiresAt = params["expires_at"];
  const frame = { jsonrpc: "2.0", id, method, params: { ...params, session_id: attempt.session.runtimeId } } as const;
  const opened = requestOpened(frame, typeof expiresAt === "number" ? expiresAt : null);
  return { ...opened, coordinates: attempt.coordinates };
}
