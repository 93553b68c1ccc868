import type { RequestEntry } from "../../../core/index.ts";
import type { RoomModel } from "./room-model.ts";
import type { Store } from "./store.ts";

/** Requests that wait in all rooms, oldest first as each room has them. */
export function openRequests(store: Store): readonly { readonly room: RoomModel; readonly request: RequestEntry }[] {
  return store.rooms.value.flatMap((room) => {
    void room.version.value;
    return room.requests.map((request) => ({ room, request }));
  });
}
