import { RoomtapError } from "../core/index.ts";

/**
 * How many are wanted, of what a caller said; more than there may be are brought down to `most`.
 * @throws RoomtapError `invalid_params`
 */
export function pageLimit(limit: unknown, most: number): number {
  if (limit === undefined) return most;
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit >= 1) return Math.min(limit, most);
  const given = typeof limit === "number" ? limit : typeof limit;
  throw new RoomtapError("invalid_params", `limit: expected a whole number from 1, got ${given}`);
}
