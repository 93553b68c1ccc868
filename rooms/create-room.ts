import { RoomtapError } from "../core/index.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { RoomLog } from "./log.ts";
import type { DefinedRoster, RoomDefinition } from "./room-definition.ts";
import type { RoomRecord } from "./room-record.ts";

/** A room as it stands in the database, and whether it was made just now. */
export interface StoredRoom {
  readonly record: RoomRecord;
  readonly isNew: boolean;
}

/**
 * The room as it stands in the database; made when it is not there. A later roster is set under its lease.
 * @throws RoomtapError `room_retired`, `too_many_rooms`, `invalid_params` for an id that is none
 */
export async function storeRoom(
  log: RoomLog,
  { room_id, name = room_id }: RoomDefinition,
  content: DefinedRoster["content"],
): Promise<StoredRoom> {
  const result = await log.putRoom({ room_id, name, ...content, expected_revision: 0 });
  if ("room" in result) return { record: result.room, isNew: true };
  if (result.status === "room_disbanded") {
    throw new RoomtapError("room_retired", `room ${room_id} was disbanded, and its id is never used again`);
  }
  const record = result.status === "revision_conflict" ? await log.room(room_id) : undefined;
  if (record !== undefined) return { record, isNew: false };
  throw new RoomtapError(result.status, result.message);
}

/** Whether a room has the name and the members that a definition gives. */
export function isSameRoom(
  record: RoomRecord,
  { room_id, name = room_id }: RoomDefinition,
  { members }: DefinedRoster["content"],
): boolean {
  return record.name === name && canonicalJson(record.members) === canonicalJson(members);
}
