import type { Board } from "./board.ts";
import { emptyBoard } from "./board.ts";
import { CallError, type Client, type RoomListener, type RoomRequest, type RoomStateEntry } from "../client/index.ts";
import { reduceEntry } from "./members.ts";
import { reduceEvent } from "./reduce.ts";
import { reduceRow } from "./rows.ts";
import { seed, type Seed, type SeedAttempt } from "./seed.ts";

/** Rows that are read behind the last turns: those of so many turns of each member. */
const turnsBefore = 4;

/** A room of a server, as its board. */
export interface FollowedRoom {
  /** As it is now. */
  readonly board: Board;
  /** Resolves when no more of the room comes: it was refused, or it is closed. Never while all goes well. */
  readonly ended: Promise<CallError>;
  close(): Promise<void>;
}

/**
 * Subscribes to a room and keeps its board, over reconnects: what was missed meanwhile is unseen on it. Resolves when it shows
 * what there is.
 * @param onChange called at each change
 * @throws CallError `unknown_room`, and what the server refuses with
 */
export async function followRoom(client: Client, room_id: string, onChange: () => void): Promise<FollowedRoom> {
  let board = emptyBoard(room_id);
  let end: (error: CallError) => void = () => undefined;
  const ended = new Promise<CallError>((resolve) => (end = resolve));
  const set = (next: Board): void => {
    if (next === board) return;
    board = next;
    onChange();
  };
  const listener: RoomListener = {
    onState: (state, attempts) => set(seed(board, seedOf(state, attempts), { events: "behind" })),
    onRow: (row) => set(reduceRow(board, row)),
    onActivity: (event) => set(reduceEvent(board, event)),
    onMember: (entry) => set(reduceEntry(board, entry)),
    onEnd: (error) => end(error),
  };
  const state = await client.call("rooms.state", { room_id });
  const rows = 2 * turnsBefore * Math.max(1, state.room.roster.length);
  const subscription = await subscribe(client, { room_id, since_seq: Math.max(0, latestOf(state) - rows) }, listener);
  return {
    get board() {
      return board;
    },
    ended,
    close: () => subscription.close(),
  };
}

/** With the reasoning, if the caller was granted it: what is withheld then is told as such. */
async function subscribe(client: Client, request: RoomRequest, listener: RoomListener) {
  try {
    return await client.subscribeRoom({ ...request, reasoning: true }, listener);
  } catch (fault) {
    if (!(fault instanceof CallError) || fault.reason !== "not_granted") throw fault;
    return client.subscribeRoom(request, listener);
  }
}

function latestOf({ log }: RoomStateEntry): number {
  const isLog = typeof log === "object" && log !== null && "latest_seq" in log;
  return isLog && typeof log.latest_seq === "number" ? log.latest_seq : 0;
}

function seedOf(state: RoomStateEntry, attempts: readonly unknown[]): Seed {
  // The client's types say less of an attempt than the wire does: tools and requests as a snapshot has them.
  return { ...state, attempts: attempts as readonly SeedAttempt[] };
}
