import type { Fenced, LeaseLost } from "../lease-row.ts";
import type { ChangeRefused, Refused } from "../log.ts";
import type { RoomState } from "./rooms-table.ts";
import type { Tables } from "./tables.ts";

/** Whether the caller's lease is the room's. One that was given back is nobody's, whatever its generation. */
export function holdsLease(room: RoomState, { lease_generation }: Fenced): boolean {
  return room.is_leased === 1 && room.lease_generation === lease_generation;
}

export function leaseLost(room: RoomState | undefined, { room_id, lease_generation }: Fenced): LeaseLost {
  const generation = room?.lease_generation ?? 0;
  const state = room?.is_leased === 1 ? `held in generation ${generation}` : `free, last of generation ${generation}`;
  const message = `the lease of room ${room_id} is ${state}; the caller has generation ${lease_generation}`;
  return { status: "lease_lost", message, generation };
}

export function disbanded(roomId: string): Refused<"room_disbanded"> {
  return { status: "room_disbanded", message: `room ${roomId} was disbanded` };
}

type FencedRoom =
  | { readonly room: RoomState; readonly refusal: undefined }
  | { readonly room: undefined; readonly refusal: ChangeRefused };

/** The room, for the holder of its lease; or why it may change nothing there. */
export function fencedRoom(tables: Tables, fenced: Fenced): FencedRoom {
  const room = tables.rooms.state(fenced.room_id);
  if (room === undefined) return { room, refusal: leaseLost(room, fenced) };
  if (room.disbanded_at !== null) return { room: undefined, refusal: disbanded(fenced.room_id) };
  if (!holdsLease(room, fenced)) return { room: undefined, refusal: leaseLost(room, fenced) };
  return { room, refusal: undefined };
}
