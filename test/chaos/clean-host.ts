import { systemClock, systemIds, Tap, type Clock, type Notice } from "../../core/index.ts";
import { RoomHost, type SqliteRoomLog } from "../../rooms/index.ts";
import { chaosRooms, roomIds } from "./chaos-room.ts";
import type { Journal } from "./journal.ts";
import { coordinatesOf } from "../support/turn-coordinates.ts";

/** Far ahead, so that whatever is due later is due. */
const later: Clock = { ...systemClock, now: () => systemClock.now() + 3_600_000 };

/** Longer than any round takes. */
const patienceMs = 20_000;

/**
 * A host that nobody kills: takes over what the dead left, lets paused members answer, and closes when every accepted
 * post has had its turns. Gives what it had to report.
 */
export async function finishRound(log: SqliteRoomLog, journal: Journal, name: string): Promise<readonly string[]> {
  const faults: string[] = [];
  const report = ({ code, message }: Notice): void => void faults.push(`clean host: ${code} ${message}`);
  const rooms = chaosRooms({
    onCall: (turn) => {
      const { task_id, execution_generation } = coordinatesOf(turn);
      journal.note({ kind: "called", by: name, task_id, execution_generation });
    },
  });
  const tap = new Tap({ activity: { listening: false, push: () => undefined } });
  const host = await RoomHost.open({ log, tap, clock: later, ids: systemIds, report, rooms });
  for (const roomId of roomIds) await host.room(roomId).resume();
  let undo = (): void => undefined;
  const isLate = new Promise<boolean>((resolve) => (undo = systemClock.after(patienceMs, () => resolve(true))));
  if (await Promise.race([host.finish().then(() => false), isLate]))
    faults.push("the clean host does not come to an end");
  undo();
  await host.close();
  return faults;
}
