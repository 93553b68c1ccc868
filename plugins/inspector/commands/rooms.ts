import { RoomtapError } from "../../../core/index.ts";
import type { RoomRecord, SqliteLogReader } from "../../../rooms/index.ts";
import type { Output } from "../../output.ts";
import { jsonText, oneLine, terminalText } from "../../terminal-text.ts";
import type { LookOptions } from "../look-options.ts";
import { withLog } from "../open-log.ts";

/** Lists the rooms of a database: a line each, or one JSON list. 4: one of them is damaged. */
export async function roomsCommand({ db, json }: LookOptions, { out, note }: Output): Promise<number> {
  return withLog(db, async (log) => {
    const rooms: Entry[] = [];
    for (const roomId of await log.roomIds()) rooms.push(await entryOf(log, roomId));
    if (json) await out(jsonText(rooms));
    else for (const room of rooms) await out(lineOf(room));
    if (rooms.length === 0) note(`${db} holds no rooms`);
    const isDamaged = rooms.some((room) => "problem" in room);
    if (isDamaged) note("a room is damaged: roomtap verify says more, and a backup of the file has it");
    return isDamaged ? 4 : 0;
  });
}

interface ReadableRoom extends Pick<RoomRecord, "room_id" | "name" | "revision" | "members"> {
  readonly rows: number;
  readonly waiting_posts: number;
}

type Entry = ReadableRoom | { readonly room_id: string; readonly problem: string };

/** One damaged room does not hide the others. */
async function entryOf(log: SqliteLogReader, roomId: string): Promise<Entry> {
  try {
    const room = await log.room(roomId);
    if (room === undefined) return { room_id: roomId, problem: "nothing is found under its id" };
    const { room_id, name, revision, members } = room;
    const { seq: rows } = await log.head(room_id);
    const waiting = (await log.inbox(room_id)).filter(({ owed }) => owed.length > 0).length;
    return { room_id, name, revision, rows, waiting_posts: waiting, members };
  } catch (fault) {
    if (!(fault instanceof RoomtapError) || fault.code !== "log_corrupt") throw fault;
    return { room_id: roomId, problem: fault.message };
  }
}

function lineOf(room: Entry): string {
  if ("problem" in room) return `${oneLine(room.room_id)}  damaged: ${oneLine(room.problem)}`;
  const { room_id, name, rows, waiting_posts, members } = room;
  const handles = members.map(({ handle }) => `@${handle}`).join(" ");
  const waiting = waiting_posts === 0 ? "" : `  waiting posts: ${waiting_posts}`;
  return terminalText(`${room_id}  ${oneLine(name)}  rows: ${rows}  ${handles}${waiting}`);
}
