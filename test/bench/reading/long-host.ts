import { createRoomtap, systemClock, type Roomtap } from "../../../index.ts";
import { limits } from "../../../core/index.ts";
import { openSqliteLog, rosterDigest, type SqliteRoomLog } from "../../../rooms/index.ts";
import { sessionOf } from "../../support/session-records.ts";
import { says } from "../../support/held-runner.ts";
import { talkers, writeTalk } from "../talk.ts";

/** The room with many rows, and the session with a long transcript. */
export const longRoom = "room-0000";
export const longSession = "session-0000";

export const rowsOfLongRoom = 50_000;
export const rooms = 1_000;
export const sessions = 1_000;
const messagesOfLongSession = 10_000;
const together = 100;

export const roomId = (index: number): string => `room-${String(index).padStart(4, "0")}`;

/** Writes a database as of a host that has run for long: most of its rooms were disbanded. */
export async function writeLongLife(file: string): Promise<void> {
  const log = await openSqliteLog({ file, clock: systemClock });
  await writeTalk(log, longRoom, rowsOfLongRoom);
  // Those that are disbanded come first: so there are never too many.
  await inGroups(rooms - limits.maxRooms, (index) => writeRoom(log, roomId(rooms - 1 - index), true));
  await inGroups(limits.maxRooms - 1, (index) => writeRoom(log, roomId(index + 1), false));
  await inGroups(sessions, (index) => writeSession(log, index));
  await log.close();
}

/** A host that drives the rooms that are left, with nothing to do in them. */
export function openLongHost(file: string): Promise<Roomtap> {
  const runner = { ...says("done"), kind: "acp" };
  const members = talkers.map(({ handle }) => ({ handle, runner }));
  return createRoomtap({
    db: file,
    rooms: Array.from({ length: limits.maxRooms }, (_, index) => ({ room_id: roomId(index), members })),
    agents: { default: runner },
  });
}

async function writeRoom(log: SqliteRoomLog, room_id: string, isDisbanded: boolean): Promise<void> {
  await log.putRoom({ room_id, name: `Room ${room_id}`, members: talkers, roster_digest: rosterDigest(talkers) });
  if (!isDisbanded) return;
  const mark = { boot_id: "", pid_namespace: "", pid: 1, started: "" };
  const { lease } = await log.claimLease({ seen: await log.lease(room_id), holder: "bench", process: mark });
  await log.disband({ room_id, lease_generation: lease.generation });
}

async function writeSession(log: SqliteRoomLog, index: number): Promise<void> {
  const session_id = `session-${String(index).padStart(4, "0")}`;
  const count = index === 0 ? messagesOfLongSession : 2;
  const record = sessionOf(session_id, {
    title: `Session ${index}`,
    preview: "a question that somebody asked, in the words in which it was asked, cut to what lists show",
    message_count: count,
    last_activity: 1_000 + index,
  });
  const messages = Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    text: `${at} ${"the quick brown fox jumps over the lazy dog ".repeat(24)}`,
    timestamp: at,
  }));
  await log.sessions.put(record, messages);
}

/** So many at once, because what is asked for in one tick is one commit. */
async function inGroups(count: number, run: (index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += together) {
    await Promise.all(Array.from({ length: Math.min(together, count - from) }, (_, index) => run(from + index)));
  }
}
