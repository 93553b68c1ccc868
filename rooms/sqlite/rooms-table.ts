import { z } from "zod";
import { idSchema } from "../../core/index.ts";
import type { Member, RoomRecord } from "../log.ts";
import type { SqliteDatabase } from "./database.ts";
import { parseStored } from "./stored-json.ts";

/** What an append or a post must know of its room. */
export interface RoomState {
  readonly revision: number;
  /** The number that the next post gets. */
  readonly next_number: number;
  readonly log_bytes: number;
  readonly open_turns: number;
  readonly inbox_posts: number;
  readonly inbox_bytes: number;
}

/** How much an append or a post adds to each; may be negative. */
export interface RoomDelta {
  readonly numbers: number;
  readonly log_bytes: number;
  readonly open_turns: number;
  readonly inbox_posts: number;
  readonly inbox_bytes: number;
}

const memberSchema = z.strictObject({
  member_id: idSchema,
  handle: z.string(),
  display_name: z.string(),
  runner_kind: z.string().nullable(),
});
const membersSchema = z.array(memberSchema);

type RawRoom = [room_id: string, name: string, revision: number, members: string, digest: string, created_at: number];

const roomQuery =
  "SELECT room_id, name, revision, members, roster_digest, created_at FROM rooms JOIN rosters USING (room_id, revision)";

/** Statements over rooms and rosters. Each is synchronous; the caller holds the transaction. */
export class RoomsTable {
  readonly #room;
  readonly #all;
  readonly #count;
  readonly #state;
  readonly #addToRoom;
  readonly #insert;
  readonly #revise;
  readonly #insertRoster;

  constructor(database: SqliteDatabase) {
    this.#room = database.prepare<[string], RawRoom>(`${roomQuery} WHERE room_id = ?`).raw();
    this.#all = database.prepare<[], RawRoom>(`${roomQuery} ORDER BY room_id`).raw();
    this.#count = database.prepare<[], number>("SELECT count(*) FROM rooms").pluck();
    this.#state = database.prepare<[string], RoomState>(
      "SELECT revision, next_number, log_bytes, open_turns, inbox_posts, inbox_bytes FROM rooms WHERE room_id = ?",
    );
    this.#addToRoom = database.prepare<[number, number, number, number, number, string]>(
      "UPDATE rooms SET next_number = next_number + ?, log_bytes = log_bytes + ?, open_turns = max(0, open_turns + ?)," +
        " inbox_posts = inbox_posts + ?, inbox_bytes = inbox_bytes + ? WHERE room_id = ?",
    );
    this.#insert = database.prepare<[string, string, number]>(
      "INSERT INTO rooms (room_id, name, revision, created_at) VALUES (?, ?, 1, ?)",
    );
    this.#revise = database.prepare<[string, number, string]>(
      "UPDATE rooms SET name = ?, revision = ? WHERE room_id = ?",
    );
    this.#insertRoster = database.prepare<[string, number, string, string]>(
      "INSERT INTO rosters (room_id, revision, members, roster_digest) VALUES (?, ?, ?, ?)",
    );
  }

  room(roomId: string): RoomRecord | undefined {
    const raw = this.#room.get(roomId);
    return raw && parseRoom(raw);
  }

  /** Ids are ASCII, so the order of their bytes is the order of their UTF-16 units. */
  all(): RoomRecord[] {
    return this.#all.all().map(parseRoom);
  }

  count(): number {
    return this.#count.get() ?? 0;
  }

  state(roomId: string): RoomState | undefined {
    return this.#state.get(roomId);
  }

  addToRoom(roomId: string, delta: RoomDelta): void {
    const { numbers, log_bytes, open_turns, inbox_posts, inbox_bytes } = delta;
    this.#addToRoom.run(numbers, log_bytes, open_turns, inbox_posts, inbox_bytes, roomId);
  }

  insert(roomId: string, name: string, createdAt: number): void {
    this.#insert.run(roomId, name, createdAt);
  }

  revise(roomId: string, name: string, revision: number): void {
    this.#revise.run(name, revision, roomId);
  }

  insertRoster(roomId: string, revision: number, members: readonly Member[], rosterDigest: string): void {
    this.#insertRoster.run(roomId, revision, JSON.stringify(members), rosterDigest);
  }
}

function parseRoom([room_id, name, revision, members, roster_digest, created_at]: RawRoom): RoomRecord {
  const parsed = parseStored(membersSchema, members, `the roster of room ${room_id}`);
  return { room_id, name, revision, members: parsed, roster_digest, created_at };
}
