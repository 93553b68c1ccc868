import { RoomtapError } from "../../core/index.ts";
import type { LogRow, Room, RoomHost, RoomSnapshot } from "../../rooms/index.ts";

/** The real rooms of a test host, when it was opened with some. */
export class TestRooms {
  readonly #host: RoomHost | null;

  constructor(host: RoomHost | null) {
    this.#host = host;
  }

  /** One to post to. @throws RoomtapError `unknown_room` */
  room(roomId: string): Room {
    return this.#open(roomId).room(roomId);
  }

  /** As plugins are told it by `ctx.rooms.state`. @throws RoomtapError `unknown_room` */
  state(roomId: string): Promise<RoomSnapshot> {
    return this.room(roomId).snapshot();
  }

  /** All rows of its log. @throws RoomtapError `unknown_room` */
  async log(roomId: string): Promise<readonly LogRow[]> {
    const host = this.#open(roomId);
    const rows: LogRow[] = [];
    for (let hasMore = true; hasMore;) {
      const page = await host.log(roomId, { since_seq: rows.length });
      rows.push(...page.rows);
      hasMore = page.has_more;
    }
    return rows;
  }

  /** Resolves when nothing moves without a person. */
  async quiet(): Promise<void> {
    await this.#host?.quiet();
  }

  #open(roomId: string): RoomHost {
    if (this.#host !== null) return this.#host;
    throw new RoomtapError("unknown_room", `no room ${roomId}: the test host was opened without rooms`);
  }
}
