import { createHash } from "node:crypto";
import {
  isId,
  RoomtapError,
  type Author,
  type Client,
  type EventFrame,
  type Frame,
  type JsonObject,
} from "../../core/index.ts";
import type { Grant } from "../../observers/index.ts";
import type { RoomHost, RoomPage, RoomPageRequest, RoomRecord } from "../../rooms/index.ts";

/*
 * Which rooms are there for a connection. A principal may have been granted some of them only: then the others do not exist
 * for it, in calls, in lists and in what it is told.
 */

/**
 * Why a call cannot mean the room that it names; null: as far as rooms go, it can. It is said before anything is looked up,
 * so it tells nothing of what there is. Of params that nobody has checked.
 */
export function unseenRoom(client: Client, method: string, { room_id }: JsonObject): RoomtapError | null {
  // To end a subscription that there is not is no error, whatever the room.
  if (!/^(groups|rooms)\./.test(method) || method === "rooms.unsubscribe") return null;
  return typeof room_id === "string" && !client.knowsRoom(room_id) ? unknownRoom(room_id) : null;
}

/** A page of those rooms that are there for the client. */
export async function roomPage(rooms: RoomHost, client: Client, page: RoomPageRequest): Promise<RoomPage> {
  if (client.rooms === null) return rooms.page(page);
  const { include_disbanded, limit = Infinity, offset = 0 } = page;
  const seen: RoomRecord[] = [];
  for (let from: number | null = 0; from !== null;) {
    const next: RoomPage = await rooms.page({ include_disbanded, offset: from });
    seen.push(...next.rooms.filter(({ room_id }) => client.knowsRoom(room_id)));
    from = next.next_offset;
  }
  const end = offset + limit;
  return { rooms: seen.slice(offset, end), next_offset: end < seen.length ? end : null };
}

/** Why a client may not be told of a room, or not so much; null when it may. */
export function feedRefusal(client: Client, roomId: string, grants: readonly Grant[]): RoomtapError | null {
  if (!client.holds("read")) {
    return new RoomtapError("insufficient_scope", "this needs the scope read", { data: { required_scope: "read" } });
  }
  if (!client.knowsRoom(roomId)) return unknownRoom(roomId);
  const missing = grants.find((grant) => !(grant === "approvals" ? client.holds(grant) : client.grants.has(grant)));
  if (missing === undefined) return null;
  return new RoomtapError("not_granted", `this connection has no grant "${missing}"`, { data: { grant: missing } });
}

/** Whether an event of no session may reach the client, as far as rooms go. */
export function seesRoomOf(client: Client, { type, payload }: EventFrame["params"]): boolean {
  if (client.rooms === null) return true;
  const named = roomNamed(type, payload);
  // A gap may stand for so much that it names nothing.
  return named === null || client.knowsRoom(named);
}

/** The room that an event of a subscription tells of; null: it is none, or names none. */
export function roomOf(frame: Frame): string | null {
  return "id" in frame ? null : roomNamed(frame.params.type, frame.params.payload);
}

function roomNamed(type: string, payload: JsonObject | undefined): string | null {
  if (!type.startsWith("room.") || type === endedType) return null;
  const { room_id, coordinates } = (payload ?? {}) as { room_id?: unknown; coordinates?: { room_id?: unknown } | null };
  const named = room_id ?? coordinates?.room_id;
  return typeof named === "string" ? named : null;
}

/** Tells a client that it is subscribed no more. */
export const endedType = "room.unsubscribed";

/** A principal as the author of a post. Logs take ids only: of any other name they keep a digest, and show the name. */
export function authorOf(principal: string): Author {
  // Without the narrowing of `isId`, which would leave no other text.
  const isPlain: boolean = isId(principal);
  if (isPlain) return { kind: "person", id: principal };
  const id = `p-${createHash("sha256").update(principal).digest("hex").slice(0, 32)}`;
  return { kind: "person", id, display_name: principal.slice(0, 64).toWellFormed() };
}

function unknownRoom(roomId: string): RoomtapError {
  return new RoomtapError("unknown_room", `there is no room ${roomId}`);
}
