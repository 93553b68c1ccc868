import { RoomtapError } from "../../core/index.ts";
import type { RoomRecord } from "../room-record.ts";
import type { Fenced } from "../lease-row.ts";
import type { RoomLog } from "../log.ts";
import { fencedRoom } from "./fence.ts";
import type { RenameAnswer } from "./renames-table.ts";
import type { Tables } from "./tables.ts";

type RenameResult = Awaited<ReturnType<RoomLog["rename"]>>;

/** Decides and carries out one change of a name inside a transaction. Each refusal comes before the first write. */
export function renameRoom(
  tables: Tables,
  rename: Fenced & { readonly event_id: string; readonly name: string },
  now: number,
): RenameResult {
  const { refusal } = fencedRoom(tables, rename);
  if (refusal !== undefined) return refusal;
  const { room_id, event_id, name } = rename;
  const first = tables.renames.answer(room_id, event_id);
  if (first === undefined) return { status: "renamed", room: carryOut(tables, rename, now) };
  if (first.name === name) return { status: "repeated", room: asAnswered(tables, room_id, first) };
  const message = `event ${event_id} gave room ${room_id} the name ${JSON.stringify(first.name)} before`;
  return { status: "idempotency_conflict", message };
}

function carryOut(
  tables: Tables,
  { room_id, event_id, name }: { readonly room_id: string; readonly event_id: string; readonly name: string },
  now: number,
): RoomRecord {
  const present = presentRoom(tables, room_id);
  if (present.name !== name) {
    tables.rooms.revise(room_id, name, present.revision + 1);
    tables.rooms.insertRoster(room_id, present.revision + 1, present.members, present.roster_digest);
  }
  const room = presentRoom(tables, room_id);
  tables.renames.insert(room_id, { event_id, name, revision: room.revision, renamed_at: now });
  return room;
}

/** The room with the name and the roster that it had then. */
function asAnswered(tables: Tables, roomId: string, { name, revision }: RenameAnswer): RoomRecord {
  return { ...presentRoom(tables, roomId), ...tables.rooms.rosterAt(roomId, revision), name, revision };
}

function presentRoom({ rooms }: Tables, roomId: string): RoomRecord {
  const room = rooms.room(roomId);
  if (room === undefined) throw new RoomtapError("internal", `room ${roomId} has a lease and is not there`);
  return room;
}
