import { useEffect, useState } from "preact/hooks";
import { pageClock } from "./clock.ts";
import type { Depth, RoomModel } from "./room-model.ts";
import type { Store } from "./store.ts";

/** The time, told anew every second: for ages. */
export function useNow(): number {
  const [now, setNow] = useState(() => pageClock.now());
  useEffect(() => pageClock.every(1_000, () => setNow(pageClock.now())), []);
  return now;
}

/** The room of an id, followed to this depth while it is looked at; undefined while it is not known. */
export function useRoom(store: Store, roomId: string, depth: Depth): RoomModel | undefined {
  const room = store.rooms.value.find(({ id }) => id === roomId);
  void room?.version.value;
  useEffect(() => {
    if (room !== undefined) void store.watch(room, depth);
  }, [room, room?.depth]);
  return room;
}
