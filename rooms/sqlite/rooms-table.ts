import { z } from "zod";
import { idSchema, isId, RoomtapError } from "../../core/index.ts";
import type { Member, RoomRecord, StopFence } from "../room-record.ts";
import { profileSchema } from "../roster.ts";
import type { SqliteDatabase } from "./database.ts";
import type { InboxDelta } from "./inbox-table.ts";
import { parseStored } from "./stored-json.ts";

/** What a change must know of its room. */
export interface RoomState {
  /** The number that the next post gets. */
  readonly next_number: number;
  readonly log_bytes: number;
  readonly open_turns: number;
  /** Posts and retries. */
  readonly inbox_posts: number;
  readonly inbox_bytes: number;
  /** Of those, posts that nobody is owed. */
  readonly closed_posts: number;
  readonly closed_bytes: number;
  readonly disbanded_at: number | null;
  /** 0: never claimed. */
  readonly lease_generation: number;
  /** Whether somebody holds the lease. */
  readonly is_leased: 0 | 1;
}

/** How much an append or a post adds to each; may be negative. */
export interface RoomDelta extends InboxDelta {
  readonly numbers: number;
  readonly rows: number;
  readonly log_bytes: number;
  readonly open_turns: number;
}

const memberSchema = z.strictObject({
  member_id: idSchema,
  handle: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/),
  display_name: z.string(),
  runner_kind: z.string().nullable(),
  profile: profileSchema.optional(),
});
export const membersSchema = z.array(memberSchema);

const idsSchema = z.array(z.string());

/** Which rooms come next in the order of their ids. */
export interface RoomsAfter {
  /** The last one that is left out; "" for none. */
  readonly after: string;
  /** How many are left out behind it. */
  readonly skip: number;
  readonly limit: number;
  readonly include_disbanded: boolean;
}

/** Rooms that follow each other. */
export interface RoomsPiece {
  /** Those that can be read: a damaged one does not hide the others. */
  readonly rooms: readonly RoomRecord[];
  /** How many there were, damaged ones among them. */
  readonly count: number;
  readonly last: string;
}

type RawRoom = [
  room_id: string,
  name: string,
  revision: number,
  members: string | null,
  digest: string | null,
  created_at: number,
  paused: string,
  stop_post_number: number | null,
  stop_seq: number | null,
  disbanded_at: number | null,
];

const roomQuery =
  "SELECT room_id, name, revision, members, roster_digest, created_at, paused, stop_post_number, stop_seq, disbanded_at" +
  " FROM rooms LEFT JOIN rosters USING (room_id, revision)";

/** Statements over rooms and rosters. Each is synchronous; the caller holds the transaction. */
export class RoomsTable {
  readonly #room;
  readonly #after;
  readonly #ids;
  readonly #active;
  readonly #state;
  readonly #addToRoom;
  readonly #insert;
  readonly #revise;
  readonly #insertRoster;
  readonly #rosterAt;
  readonly #formerHandle;
  readonly #setPaused;
  readonly #setStop;
  readonly #setDisbanded;

  constructor(database: SqliteDatabase) {
    this.#room = database.prepare<[string], RawRoom>(`${roomQuery} WHERE room_id = ?`).raw();
    this.#after = database
      .prepare<[after: string, disbanded: 0 | 1, limit: number, skip: number], RawRoom>(
        `${roomQuery} WHERE room_id > ? AND (disbanded_at IS NULL OR ?) ORDER BY room_id LIMIT ? OFFSET ?`,
      )
      .raw();
    this.#ids = database.prepare<[], string>("SELECT CAST(room_id AS TEXT) FROM rooms ORDER BY room_id").pluck();
    this.#active = database.prepare<[], number>("SELECT count(*) FROM rooms WHERE disbanded_at IS NULL").pluck();
    this.#state = database.prepare<[string], RoomState>(
      "SELECT next_number, log_bytes, open_turns, inbox_posts, inbox_bytes, closed_posts, closed_bytes, disbanded_at," +
        " ifnull(generation, 0) AS lease_generation, ifnull(released, 1) = 0 AS is_leased" +
        " FROM rooms LEFT JOIN leases USING (room_id) WHERE room_id = ?",
    );
    this.#addToRoom = database.prepare<[RoomDelta & { room_id: string }]>(
      "UPDATE rooms SET next_number = next_number + @numbers, head_seq = head_seq + @rows," +
        " log_bytes = log_bytes + @log_bytes, open_turns = max(0, open_turns + @open_turns)," +
        " inbox_posts = inbox_posts + @inbox_posts, inbox_bytes = inbox_bytes + @inbox_bytes," +
        " closed_posts = closed_posts + @closed_posts, closed_bytes = closed_bytes + @closed_bytes" +
        " WHERE room_id = @room_id",
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
    this.#rosterAt = database
      .prepare<[string, number], [members: string, digest: string]>(
        "SELECT members, roster_digest FROM rosters WHERE room_id = ? AND revision = ?",
      )
      .raw();
    this.#formerHandle = database
      .prepare<[string, string], string>(
        "SELECT member.value ->> 'handle' FROM rosters, json_each(members) AS member" +
          " WHERE room_id = ? AND member.value ->> 'member_id' = ? ORDER BY revision DESC LIMIT 1",
      )
      .pluck();
    this.#setPaused = database.prepare<[string, string]>("UPDATE rooms SET paused = ? WHERE room_id = ?");
    this.#setStop = database.prepare<[number, number, string]>(
      "UPDATE rooms SET stop_post_number = ?, stop_seq = ? WHERE room_id = ?",
    );
    this.#setDisbanded = database.prepare<[number, string]>("UPDATE rooms SET disbanded_at = ? WHERE room_id = ?");
  }

  /** @throws RoomtapError `log_corrupt` for one that cannot be read */
  room(roomId: string): RoomRecord | undefined {
    const raw = this.#room.get(roomId);
    return raw && parseRoom(raw);
  }

  /** Of all, whether they can be read or not. Ids are ASCII: the order of their bytes is that of their UTF-16 units. */
  ids(): string[] {
    return this.#ids.all();
  }

  /** Those that can be read. */
  readable(): RoomRecord[] {
    return this.ids().flatMap((roomId) => unlessDamaged(() => this.room(roomId)));
  }

  after({ after, skip, limit, include_disbanded }: RoomsAfter): RoomsPiece {
    const raw = this.#after.all(after, include_disbanded ? 1 : 0, limit, skip);
    const rooms = raw.flatMap((each) => unlessDamaged(() => parseRoom(each)));
    return { rooms, count: raw.length, last: raw.at(-1)?.[0] ?? after };
  }

  /** How many there are that are not disbanded. */
  activeCount(): number {
    return this.#active.get() ?? 0;
  }

  state(roomId: string): RoomState | undefined {
    return this.#state.get(roomId);
  }

  addToRoom(roomId: string, delta: RoomDelta): void {
    this.#addToRoom.run({ ...delta, room_id: roomId });
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

  /** The roster of one of the room's revisions. */
  rosterAt(roomId: string, revision: number): Pick<RoomRecord, "members" | "roster_digest"> | undefined {
    const raw = this.#rosterAt.get(roomId, revision);
    if (raw === undefined) return undefined;
    return { members: parseStored(membersSchema, raw[0], `the roster of room ${roomId}`), roster_digest: raw[1] };
  }

  /** The handle under which the member was last on the room's roster, of any revision. */
  formerHandle(roomId: string, memberId: string): string | undefined {
    return this.#formerHandle.get(roomId, memberId);
  }

  setPaused(roomId: string, memberIds: readonly string[]): void {
    this.#setPaused.run(JSON.stringify(memberIds), roomId);
  }

  setStop(roomId: string, { post_number, seq }: StopFence): void {
    this.#setStop.run(post_number, seq, roomId);
  }

  setDisbanded(roomId: string, at: number): void {
    this.#setDisbanded.run(at, roomId);
  }
}

function unlessDamaged(read: () => RoomRecord | undefined): RoomRecord[] {
  try {
    const room = read();
    return room === undefined ? [] : [room];
  } catch (fault) {
    if (fault instanceof RoomtapError && fault.code === "log_corrupt") return [];
    throw fault;
  }
}

function parseRoom(raw: RawRoom): RoomRecord {
  const [room_id, name, revision, members, roster_digest, created_at, paused, post_number, seq, disbanded_at] = raw;
  if (!isId(room_id)) throw new RoomtapError("log_corrupt", `room ${raw[0]} has an id that is none`);
  if (typeof name !== "string") throw new RoomtapError("log_corrupt", `room ${room_id} has a name that is no text`);
  if (members === null || roster_digest === null) {
    throw new RoomtapError("log_corrupt", `room ${room_id} has no roster of its revision ${revision}`);
  }
  return {
    room_id,
    name,
    revision,
    members: parseStored(membersSchema, members, `the roster of room ${room_id}`),
    roster_digest,
    created_at,
    paused: parseStored(idsSchema, paused, `what is paused in room ${room_id}`),
    stop: post_number === null || seq === null ? null : { post_number, seq },
    disbanded_at,
  };
}
