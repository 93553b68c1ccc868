import { limits, RoomtapError } from "../core/index.ts";
import type { Page } from "./log-row.ts";
import { pageLimit } from "./page-limit.ts";
import { maskedRow } from "./masked-row.ts";
import { defaultPolicy } from "./policy.ts";
import { RoomFollower } from "./room-follower.ts";
import type { RoomPage, RoomPageRequest } from "./room-reader.ts";
import type { RoomRecord } from "./room-record.ts";
import { entriesOf, stateOf } from "./room-snapshot.ts";
import type { RoomState } from "./room-state.ts";
import type { Room } from "./room.ts";
import type { HostParts } from "./tenure-parts.ts";
import { verifyRoom, type RoomVerdict } from "./verify.ts";

/** Whether a room that was disbanded may be read: it may for 90 days. Default false. */
export interface Readable {
  readonly include_disbanded?: boolean | undefined;
}

/** Which rows of a room are to be read. */
export interface LogPageRequest extends Readable {
  /** The rows above it. Default 0. */
  readonly since_seq?: number | undefined;
  /** From 1; at most 500, the default. */
  readonly limit?: number | undefined;
}

/** Rows masked in one turn of the event loop. */
const rowsAtOnce = 16;

/**
 * What can be read of all rooms of the database, whoever drives them. Each answer is read in pieces, so that it holds the
 * event loop no longer than one of them takes, however many are asked for at once.
 */
export class RoomCatalog {
  readonly #host: Pick<HostParts, "log" | "tap" | "clock" | "turns">;
  readonly #opened: (roomId: string) => Room | undefined;

  /** @param opened the room that is open in this process, if it is */
  constructor(host: Pick<HostParts, "log" | "tap" | "clock" | "turns">, opened: (roomId: string) => Room | undefined) {
    this.#host = host;
    this.#opened = opened;
  }

  /** As `RoomHost.page`. */
  page(page: RoomPageRequest): Promise<RoomPage> {
    return this.#host.log.roomPage(page);
  }

  /** As `RoomHost.verify`. A room that cannot be read is checked, and found to be damaged. */
  async verify(roomId: string): Promise<RoomVerdict> {
    const { log, clock } = this.#host;
    const isThere = (await log.roomIds()).includes(roomId);
    if (!isThere) throw new RoomtapError("unknown_room", `there is no room ${roomId}`);
    return verifyRoom(log, roomId, clock);
  }

  /**
   * The room as it stands in the database.
   * @throws RoomtapError `unknown_room`, `room_disbanded`, `history_expired` (disbanded more than 90 days ago), `log_corrupt`
   */
  async record(roomId: string, { include_disbanded = false }: Readable = {}): Promise<RoomRecord> {
    await this.#host.turns.next();
    const record = await this.#host.log.room(roomId);
    if (record === undefined) throw new RoomtapError("unknown_room", `there is no room ${roomId}`);
    const { disbanded_at } = record;
    if (disbanded_at === null) return record;
    if (!include_disbanded) throw new RoomtapError("room_disbanded", `room ${roomId} was disbanded`);
    if (this.#host.clock.now() - disbanded_at < limits.disbandedHistoryMs) return record;
    throw new RoomtapError("history_expired", `room ${roomId} was disbanded more than 90 days ago`);
  }

  /** As `RoomHost.log`. */
  async log(roomId: string, page: LogPageRequest): Promise<Page> {
    const { since_seq = 0 } = page;
    const limit = pageLimit(page.limit, limits.maxPageRows);
    if (!(Number.isSafeInteger(since_seq) && since_seq >= 0)) {
      throw new RoomtapError("invalid_params", `since_seq: expected a whole number from 0, got ${since_seq}`);
    }
    await this.record(roomId, page);
    const read = await this.#host.log.read(roomId, { after_seq: since_seq, limit });
    if (since_seq > read.latest_seq) {
      throw new RoomtapError(
        "cursor_ahead",
        `the log of room ${roomId} ends at ${read.latest_seq}, before ${since_seq}`,
      );
    }
    const rows = [];
    for (const [index, row] of read.rows.entries()) {
      if (index % rowsAtOnce === 0) await this.#host.turns.next();
      rows.push(maskedRow(row, this.#host.tap));
    }
    return { ...read, rows };
  }

  /** As `RoomHost.state`. */
  async state(roomId: string, options: Readable): Promise<RoomState> {
    await this.record(roomId, options);
    const room = this.#opened(roomId);
    if (room !== undefined) return room.state();
    const { tap, clock } = this.#host;
    return new RoomFollower(roomId, defaultPolicy, this.#host).look((look) => {
      const members = entriesOf(look, { before: [], roomsBefore: 0, now: clock.now() });
      return stateOf(look, members, tap);
    });
  }
}
