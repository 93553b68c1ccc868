import { limits, RoomtapError } from "../../core/index.ts";
import { canonicalJson } from "../canonical-json.ts";
import type { Refused, RoomLog } from "../log.ts";
import type { Member, RoomRecord } from "../room-record.ts";
import { disbanded, holdsLease, leaseLost } from "./fence.ts";
import { countInbox } from "./inbox-bound.ts";
import type { Tables } from "./tables.ts";

export type RoomContent = Parameters<RoomLog["putRoom"]>[0];
export type PutRoomResult = Awaited<ReturnType<RoomLog["putRoom"]>>;

/** Decides and carries out one change of name and roster inside a transaction. Each refusal comes before the first write. */
export function putRoom(tables: Tables, content: RoomContent, now: number): PutRoomResult {
  const { room_id, name, members, roster_digest, expected_revision, lease_generation } = content;
  const { rooms } = tables;
  const present = rooms.room(room_id);
  if (present !== undefined && present.disbanded_at !== null) return disbanded(room_id);
  const isFenced = lease_generation !== undefined;
  if (isFenced) {
    const room = rooms.state(room_id);
    const fenced = { room_id, lease_generation };
    if (room === undefined || !holdsLease(room, fenced)) return leaseLost(room, fenced);
  }
  const revision = present?.revision ?? 0;
  if (expected_revision !== undefined && expected_revision !== revision) {
    const message = `room ${room_id} is at revision ${revision}, expected ${expected_revision}`;
    return { status: "revision_conflict", message };
  }
  if (present !== undefined && isEqual(present, content)) return { status: "unchanged", room: present };
  const taken = takenId(tables, present, members, room_id);
  if (taken !== undefined) return taken;
  if (present === undefined) {
    if (rooms.activeCount() >= limits.maxRooms) {
      return { status: "too_many_rooms", message: `a database holds at most ${limits.maxRooms} active rooms` };
    }
    rooms.insert(room_id, name, now);
  } else {
    rooms.revise(room_id, name, revision + 1);
    dropRemoved(tables, present, members, isFenced);
  }
  rooms.insertRoster(room_id, revision + 1, members, roster_digest);
  const room = rooms.room(room_id);
  if (room === undefined) throw new RoomtapError("internal", `room ${room_id} was stored and is not there`);
  return { status: "stored", room };
}

function isEqual(present: RoomRecord, { name, members, roster_digest }: RoomContent): boolean {
  const before = { name: present.name, members: present.members, roster_digest: present.roster_digest };
  return canonicalJson(before) === canonicalJson({ name, members, roster_digest });
}

/** Ids of removed members are not given to others. One that comes back under its handle is itself. */
function takenId(
  { rooms }: Tables,
  present: RoomRecord | undefined,
  members: readonly Member[],
  roomId: string,
): Refused<"invalid_roster"> | undefined {
  if (present === undefined) return undefined;
  const staying = new Set(present.members.map(({ member_id }) => member_id));
  for (const { member_id, handle } of members) {
    if (staying.has(member_id)) continue;
    const former = rooms.formerHandle(roomId, member_id);
    if (former === undefined || former.toLowerCase() === handle.toLowerCase()) continue;
    const message = `member id ${member_id} belonged to @${former}, who left room ${roomId}: give @${handle} another one`;
    return { status: "invalid_roster", message };
  }
  return undefined;
}

function dropRemoved(tables: Tables, present: RoomRecord, members: readonly Member[], isFenced: boolean): void {
  const { room_id, paused } = present;
  const staying = new Set(members.map(({ member_id }) => member_id));
  const stillPaused = paused.filter((memberId) => staying.has(memberId));
  if (stillPaused.length < paused.length) tables.rooms.setPaused(room_id, stillPaused);
  if (!isFenced) return;
  const left = tables.inbox.release(room_id, (memberId) => !staying.has(memberId));
  countInbox(tables, room_id, left);
}
