import { RoomtapError, systemClock } from "../../core/index.ts";
import { openSqliteLogReader, type RoomRecord, type SqliteLogReader } from "../../rooms/index.ts";

/** Opens the database to look at it, calls `use`, and closes it whatever happens. */
export async function withLog<Result>(db: string, use: (log: SqliteLogReader) => Promise<Result>): Promise<Result> {
  const log = await openSqliteLogReader({ file: db, clock: systemClock });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

/** @throws RoomtapError `unknown_room`, naming the rooms of the database */
export async function roomOf(log: SqliteLogReader, roomId: string): Promise<RoomRecord> {
  const room = await log.room(roomId);
  if (room !== undefined) return room;
  const known = (await log.rooms()).map(({ room_id }) => room_id).join(", ");
  throw new RoomtapError(
    "unknown_room",
    `no room ${roomId} in ${log.file}; its rooms: ${known === "" ? "none" : known}`,
  );
}
