import { limits, messageOf, type Clock, type MemberEntry } from "../../core/index.ts";
import {
  CallError,
  LinkError,
  type Client,
  type ConsumerStats,
  type RoomListener,
  type RosterEntry,
} from "../client/index.ts";
import { roomsOfServer } from "./row-sources.ts";
import type { TopData, TopRoom } from "./view/top-model.ts";

/** Looks at the list of rooms once in so many refreshes. */
const roomsEvery = 10;

/** Follows the members of rooms over one connection, and asks for consumers now and then. */
export class TopFeed {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #wanted: readonly string[];
  readonly #onChange: () => void;
  readonly #rooms = new Map<string, TopRoom>();
  #unfollowed = 0;
  #consumers: readonly ConsumerStats[] | null = null;
  #problem: string | null = null;
  /** The server's wall clock less this one's, in ms. */
  #skewMs = 0;
  #refreshes = 0;

  /**
   * @param parts.rooms those to follow; none: all that the caller may see
   * @param parts.onChange called when a member's state has changed
   */
  constructor(parts: {
    readonly client: Client;
    readonly clock: Clock;
    readonly rooms: readonly string[];
    readonly onChange: () => void;
  }) {
    this.#client = parts.client;
    this.#clock = parts.clock;
    this.#wanted = parts.rooms;
    this.#onChange = parts.onChange;
  }

  /** What is known now. */
  data(): TopData {
    return {
      at: this.#clock.now() + this.#skewMs,
      rooms: [...this.#rooms.values()].sort((a, b) => (a.room_id < b.room_id ? -1 : 1)),
      unfollowed: this.#unfollowed,
      consumers: this.#consumers,
      consumers_problem: this.#problem,
      is_connected: this.#client.state === "open",
    };
  }

  /**
   * Follows rooms that are not followed yet, and asks for consumers. While no connection stands nothing is asked.
   * @throws CallError for a room that was named and is refused
   */
  async refresh(): Promise<void> {
    if (this.#client.state !== "open") return;
    const isFirst = this.#refreshes === 0;
    try {
      if (this.#refreshes++ % roomsEvery === 0) await this.#followRooms();
    } catch (fault) {
      // A connection that was lost meanwhile is made again, and asked again.
      if (isFirst || !(fault instanceof LinkError)) throw fault;
    }
    try {
      const { at, consumers } = await this.#client.call("consumers.list", {});
      this.#skewMs = at - this.#clock.now();
      this.#consumers = consumers;
      this.#problem = null;
    } catch (fault) {
      this.#consumers = null;
      this.#problem = problemOf(fault);
    }
  }

  async #followRooms(): Promise<void> {
    const all = this.#wanted.length > 0 ? this.#wanted : await roomsOfServer(this.#client);
    const rooms = all.slice(0, limits.maxRoomSubscriptions);
    this.#unfollowed = all.length - rooms.length;
    for (const roomId of rooms) await (this.#rooms.has(roomId) ? this.#readRoster(roomId) : this.#follow(roomId));
  }

  async #follow(room_id: string): Promise<void> {
    const listener: RoomListener = {
      onState: ({ room, members }) => this.#change(room_id, { members, handles: handlesOf(room.roster), ended: null }),
      onMember: (entry) => this.#change(room_id, { members: changed(this.#rooms.get(room_id)?.members ?? [], entry) }),
      onEnd: (error) => this.#change(room_id, { members: [], ended: error.message }),
    };
    try {
      // Rows and activity are nobody's business here.
      await this.#client.subscribeRoom({ room_id, kinds: [], payload: "meta" }, listener);
    } catch (fault) {
      if (!(fault instanceof CallError) || this.#wanted.length > 0) throw fault;
      // A room that was disbanded between the list and the call.
      this.#change(room_id, { ended: fault.message });
    }
  }

  /** Who came and who left: what members do is told by itself, the roster is not. */
  async #readRoster(room_id: string): Promise<void> {
    const before = this.#rooms.get(room_id);
    if (before === undefined || before.ended !== null) return;
    try {
      const { room } = await this.#client.call("rooms.state", { room_id });
      const handles = handlesOf(room.roster);
      const members = (this.#rooms.get(room_id)?.members ?? []).filter(({ member_id }) => handles.has(member_id));
      this.#change(room_id, { handles, members });
    } catch (fault) {
      if (!(fault instanceof CallError)) throw fault;
      this.#change(room_id, { members: [], ended: fault.message });
    }
  }

  #change(room_id: string, changes: Partial<TopRoom>): void {
    const unknown: TopRoom = { room_id, handles: new Map(), members: [], ended: null };
    this.#rooms.set(room_id, { ...unknown, ...this.#rooms.get(room_id), ...changes });
    this.#onChange();
  }
}

function handlesOf(roster: readonly RosterEntry[]): ReadonlyMap<string, string> {
  return new Map(roster.map(({ member_id, handle }) => [member_id, handle]));
}

/** The entries with that of one member as it is now. */
function changed(entries: readonly MemberEntry[], entry: MemberEntry): readonly MemberEntry[] {
  const isKnown = entries.some(({ member_id }) => member_id === entry.member_id);
  if (!isKnown) return [...entries, entry];
  return entries.map((each) => (each.member_id === entry.member_id ? entry : each));
}

function problemOf(fault: unknown): string {
  if (!(fault instanceof CallError)) return messageOf(fault);
  if (fault.reason === "insufficient_scope") return "this credential may not see them: they need the scope admin";
  return fault.reason === "unknown_method" ? "the server is older, and does not tell of them" : fault.message;
}
