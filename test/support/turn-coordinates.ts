import type { Coordinates, Turn } from "../../core/index.ts";

/**
 * The coordinates of a turn of a room.
 * @throws Error for a turn of an ordinary session, which has none
 */
export function coordinatesOf({ turn_id, coordinates }: Turn): Coordinates {
  if (coordinates === null) throw new Error(`${turn_id} is no turn of a room`);
  return coordinates;
}
