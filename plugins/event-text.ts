import { coordinatesText, type ActivityEvent } from "../core/index.ts";

/** JSON of an event, on one line. Its coordinates are serialised once per attempt. */
export function eventText(event: ActivityEvent): string {
  const { v, coordinates, ...rest } = event;
  const prefix = coordinates === null ? "null" : coordinatesText(coordinates);
  return `{"v":${v},"coordinates":${prefix},${JSON.stringify(rest).slice(1)}`;
}
