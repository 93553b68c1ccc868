import { limits, messageOf, type ActivityEvent, type Undo } from "../../core/index.ts";
import type { LogRow } from "../../rooms/index.ts";
import type { PluginContext, RoomSummary } from "../plugin.ts";
import { emptyBoard, type Board } from "./board.ts";
import type { CrewConfig } from "./config.ts";
import { reduceEvent } from "./reduce.ts";
import { refresh, seed } from "./seed.ts";

/** After a turn began or ended, others begin or cease to wait; only the room's state tells. So long behind, in one look. */
const lookAfterMs = 200;

interface BoardRoom {
  board: Board;
  /** Resolves when it has been seeded, or could not be. */
  seeding: Promise<void>;
  isSeeded: boolean;
  /** A gap told of a loss that rows can make good. */
  hasLost: boolean;
  /** Ends the wait for the next look; null while none is due. */
  stopLook: Undo | null;
  readonly watchers: Set<() => void>;
}

/** A board for each room, kept up to date by events, and joined with what the room says of itself. */
export class RoomBoards {
  readonly #context: PluginContext;
  readonly #config: CrewConfig;
  readonly #rooms = new Map<string, BoardRoom>();

  constructor(context: PluginContext, config: CrewConfig) {
    this.#context = context;
    this.#config = config;
  }

  /** The rooms that are open now and have a board, by id. Boards of rooms that are gone are forgotten. */
  async list(): Promise<readonly RoomSummary[]> {
    const { rooms } = this.#config;
    const open = (await this.#context.rooms.list()).filter(
      ({ room_id }) => rooms === undefined || rooms.includes(room_id),
    );
    for (const roomId of this.#rooms.keys()) {
      if (!open.some(({ room_id }) => room_id === roomId)) this.#forget(roomId);
    }
    await Promise.all(open.map(({ room_id }) => this.#room(room_id).seeding));
    return open;
  }

  /** The board of a room as it is now; null for a room that has none. */
  async board(roomId: string): Promise<Board | null> {
    const known = this.#rooms.get(roomId);
    if (known === undefined && !(await this.list()).some(({ room_id }) => room_id === roomId)) return null;
    await known?.seeding;
    return this.now(roomId);
  }

  /** The board of a room that was asked for before; null once it is gone. */
  now(roomId: string): Board | null {
    return this.#rooms.get(roomId)?.board ?? null;
  }

  /** Takes an event. Its room is seeded before, so that nothing stands on a board twice. */
  async take(event: ActivityEvent): Promise<void> {
    const { coordinates } = event;
    if (coordinates === null) {
      // Whatever attempt it was: what rooms and rows can tell is read again.
      for (const [roomId, room] of this.#rooms) {
        this.#set(room, reduceEvent(room.board, event));
        this.#lost(roomId, room);
      }
      return;
    }
    const { room_id } = coordinates;
    if (this.#config.rooms?.includes(room_id) === false) return;
    const room = this.#room(room_id);
    await room.seeding;
    if (!room.isSeeded && event.kind === "turn.started") await (room.seeding = this.#seed(room_id, room));
    this.#set(room, reduceEvent(room.board, event));
    if (event.kind === "gap" && isTurnLost(event.payload.kinds)) this.#lost(room_id, room);
    if (event.kind === "turn.started" || event.kind === "turn.settled") this.#lookSoon(room_id, room);
  }

  /** Calls `told` at each change of a room's board, until it is undone. */
  watch(roomId: string, told: () => void): Undo {
    const watchers = this.#rooms.get(roomId)?.watchers;
    watchers?.add(told);
    return () => void watchers?.delete(told);
  }

  /** Asks a room who waits, is paused or is to stop: no event tells that. What cannot be asked stays as it is known. */
  async look(roomId: string): Promise<void> {
    const room = this.#rooms.get(roomId);
    if (room === undefined) return;
    try {
      if (room.hasLost) {
        room.hasLost = false;
        await this.#join(roomId, room);
        return;
      }
      const state = await this.#context.rooms.state(roomId);
      this.#set(room, refresh(room.board, state));
    } catch (fault) {
      this.#context.logger.debug("a room could not be looked at", { room_id: roomId, problem: messageOf(fault) });
    }
  }

  /** Ends all waits. */
  close(): void {
    for (const roomId of this.#rooms.keys()) this.#forget(roomId);
  }

  #room(roomId: string): BoardRoom {
    const known = this.#rooms.get(roomId);
    if (known !== undefined) return known;
    const [oldest] = this.#rooms.keys();
    if (this.#rooms.size >= limits.maxRooms && oldest !== undefined) this.#forget(oldest);
    const room: BoardRoom = {
      board: emptyBoard(roomId, { keepTurns: this.#config.keepTurns }),
      ...{ seeding: Promise.resolve(), isSeeded: false, hasLost: false, stopLook: null, watchers: new Set() },
    };
    this.#rooms.set(roomId, room);
    room.seeding = this.#seed(roomId, room);
    return room;
  }

  async #seed(roomId: string, room: BoardRoom): Promise<void> {
    try {
      await this.#join(roomId, room);
      room.isSeeded = true;
    } catch (fault) {
      // Its events show what happens from now on; the next turn asks again.
      this.#context.logger.warn("a room does not say what it does", { room_id: roomId, problem: messageOf(fault) });
    }
  }

  async #join(roomId: string, room: BoardRoom): Promise<void> {
    const { rooms } = this.#context;
    const state = await rooms.state(roomId);
    const { latest_seq } = state.log;
    const wanted = 4 * this.#config.keepTurns * Math.max(1, state.room.roster.length);
    const rows: LogRow[] = [];
    let after = Math.max(0, latest_seq - Math.min(wanted, limits.maxPageRows));
    while (after < latest_seq) {
      const page = await rooms.log(roomId, { after });
      const last = page.rows.at(-1);
      if (last === undefined) break;
      rows.push(...page.rows);
      after = last.seq;
    }
    this.#set(room, seed(room.board, state, { rows }));
  }

  #set(room: BoardRoom, board: Board): void {
    if (room.board === board) return;
    room.board = board;
    for (const told of room.watchers) told();
  }

  #lost(roomId: string, room: BoardRoom): void {
    room.hasLost = true;
    this.#lookSoon(roomId, room);
  }

  #lookSoon(roomId: string, room: BoardRoom): void {
    if (this.#context.signal.aborted) return;
    room.stopLook ??= this.#context.clock.after(lookAfterMs, () => {
      room.stopLook = null;
      void this.look(roomId);
    });
  }

  #forget(roomId: string): void {
    const room = this.#rooms.get(roomId);
    room?.stopLook?.();
    this.#rooms.delete(roomId);
    for (const told of room?.watchers ?? []) told();
  }
}

function isTurnLost(kinds: Readonly<Record<string, number>>): boolean {
  return (kinds["turn.started"] ?? 0) + (kinds["turn.settled"] ?? 0) > 0;
}
