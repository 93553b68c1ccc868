import type { LeaseLost } from "./lease-row.ts";
import type { Refused } from "./log.ts";

const refusals = [
  "idempotency_conflict",
  "inbox_full",
  "invalid_roster",
  "lease_lost",
  "revision_conflict",
  "room_disbanded",
  "too_many_rooms",
] as const;

/** Why a change of a room was not made. */
export type Refusal = LeaseLost | Refused<Exclude<(typeof refusals)[number], "lease_lost">>;

/** Whether the log refused a change: nothing was written then. */
export function isRefusal(result: { readonly status: string }): result is Refusal {
  return refusals.some((word) => word === result.status);
}
