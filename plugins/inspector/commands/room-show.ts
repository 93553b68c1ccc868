import { systemClock } from "../../../core/index.ts";
import type { RoomState } from "../../../rooms/index.ts";
import type { Output } from "../../output.ts";
import type { Style } from "../../style.ts";
import { withLog } from "../open-log.ts";
import { withServer, type RemoteOptions } from "../remote.ts";
import { liveRoomLines, roomJson, storedRoomLines } from "../room-lines.ts";
import { readStoredRoom } from "../stored-room.ts";

/** What `roomtap rooms show` is asked for. */
export interface RoomShowOptions {
  readonly room: string;
  readonly json: boolean;
  readonly style: Style;
}

/** Shows a room as a database has it. What members do now only the process that drives it knows, and that is said. */
export async function roomOfDatabase(
  { db, room, json, style }: RoomShowOptions & { readonly db: string },
  { out }: Output,
): Promise<number> {
  return withLog(db, async (log) => {
    const stored = await readStoredRoom(log, room);
    if (json) await out(roomJson(stored, "database"));
    else for (const line of storedRoomLines(stored, style)) await out(line);
    return 0;
  });
}

/** Shows a room as a server has it: record, members and what they do, threads, posts that wait, requests, who drives it. */
export async function roomOfServer(options: RoomShowOptions & RemoteOptions, { out, note }: Output): Promise<number> {
  return withServer(options, note, async (client) => {
    const reply = await client.call("rooms.state", { room_id: options.room });
    // What a server of this version answers; an older one lacks keys that later ones have.
    const state = reply as unknown as RoomState;
    if (options.json) await out(roomJson(state, "server"));
    else for (const line of liveRoomLines(state, options.style, systemClock.now())) await out(line);
    return 0;
  });
}
