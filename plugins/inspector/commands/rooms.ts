import type { Output } from "../../output.ts";
import { oneLine } from "../../terminal-text.ts";
import type { LookOptions } from "../look-options.ts";
import { withLog } from "../open-log.ts";

/** Lists the rooms of a database: a line each, or one JSON list. */
export async function roomsCommand({ db, json }: LookOptions, { out, note }: Output): Promise<number> {
  return withLog(db, async (log) => {
    const rooms = [];
    for (const { room_id, name, revision, members } of await log.rooms()) {
      const { seq: rows } = await log.head(room_id);
      const waiting = (await log.inbox(room_id)).filter(({ owed }) => owed.length > 0).length;
      rooms.push({ room_id, name, revision, rows, waiting_posts: waiting, members });
    }
    if (json) {
      await out(JSON.stringify(rooms));
      return 0;
    }
    for (const { room_id, name, rows, waiting_posts, members } of rooms) {
      const handles = members.map(({ handle }) => `@${handle}`).join(" ");
      const waiting = waiting_posts === 0 ? "" : `  waiting posts: ${waiting_posts}`;
      await out(`${room_id}  ${oneLine(name)}  rows: ${rows}  ${handles}${waiting}`);
    }
    if (rooms.length === 0) note(`${db} holds no rooms`);
    return 0;
  });
}
