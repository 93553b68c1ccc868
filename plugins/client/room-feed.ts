import { AttemptNumbers, type ActivityLoss } from "./attempt-numbers.ts";
import type { CallError } from "./errors.ts";
import type { ResultOf } from "./methods.ts";
import { clientLimits } from "./options.ts";
import type { PatientCall } from "./patient-call.ts";
import type { ActivityEvent, LogRow, MemberEntry, RoomMessage, RoomStateEntry, RunningAttempt } from "./room-types.ts";
import { isJson, type WireEvent } from "./wire.ts";

/** What of a room is wanted. */
export interface RoomRequest {
  readonly room_id: string;
  /** Rows above this one; without it those that the server gives by itself. */
  readonly since_seq?: number;
  /** Kinds of activity, e.g. `tool.started`; without it all. Rows come whole in any case. */
  readonly kinds?: readonly string[];
  readonly payload?: "meta" | "standard" | "full";
  readonly reasoning?: boolean;
}

/** Who is told of a room. Each row comes once and in order, over every reconnect. */
export interface RoomListener {
  /** The room as it stood when the subscription began, and again after each reconnect. */
  onState?(state: RoomStateEntry, attempts: readonly RunningAttempt[]): void;
  onRow?(row: LogRow): void;
  onActivity?(event: ActivityEvent): void;
  onMessage?(message: RoomMessage): void;
  onMember?(entry: MemberEntry): void;
  /** Activity that did not come; rows are never lost. */
  onLoss?(loss: ActivityLoss): void;
  /** The server refused to go on: nothing more comes. */
  onEnd?(error: CallError): void;
}

/** How a feed reaches the server. */
export interface FeedParts {
  readonly call: PatientCall;
  /** Calls a listener; what it throws goes no further. */
  readonly tell: (run: () => void) => void;
}

/** One room, subscribed to: rows by number, activity by attempt, over every reconnect. */
export class RoomFeed {
  readonly #request: RoomRequest;
  readonly #listener: RoomListener;
  readonly #parts: FeedParts;
  readonly #numbers: AttemptNumbers;
  #cursor: number | null;
  #hasBegun = false;
  /** This subscription goes on from an earlier one. */
  #isReturn = false;
  /** Events that wait until older rows were read; null when none wait. */
  #parked: WireEvent[] | null = null;
  #overflowed = false;
  #run = 0;

  constructor(request: RoomRequest, listener: RoomListener, parts: FeedParts) {
    this.#request = request;
    this.#listener = listener;
    this.#parts = parts;
    this.#numbers = new AttemptNumbers(request.kinds !== undefined);
    this.#cursor = request.since_seq ?? null;
  }

  get roomId(): string {
    return this.#request.room_id;
  }

  /** `seq` of the last row that was handed out; null before the first. */
  get cursor(): number | null {
    return this.#cursor;
  }

  /**
   * Subscribes, from the last row on. Resolves when the rows that were there have been handed out. Called once for each
   * connection; a later call makes an earlier one end without effect.
   */
  async start(): Promise<void> {
    const run = ++this.#run;
    this.#parked = [];
    this.#overflowed = false;
    const { since_seq: _, ...wanted } = this.#request;
    const params = this.#cursor === null ? wanted : { ...wanted, since_seq: this.#cursor };
    let until = 0;
    let hasMore = false;
    await this.#parts.call("rooms.subscribe", params, (result) => {
      if (run !== this.#run) return;
      const reply = result as ResultOf<"rooms.subscribe">;
      until = reply.latest_seq;
      hasMore = reply.has_more;
      this.#began(reply);
      if (!hasMore) this.#release();
    });
    while (hasMore && run === this.#run) hasMore = await this.#readOn(run, until);
    if (run !== this.#run || this.#parked === null) return;
    if (this.#overflowed) await this.start();
    else this.#release();
  }

  /** Ends it: nothing more is handed out. */
  stop(): void {
    this.#run += 1;
    this.#parked = [];
  }

  /** The server refused to go on. */
  refused(error: CallError): void {
    this.#parts.tell(() => this.#listener.onEnd?.(error));
  }

  /** An event of the `room.*` family, of this room. */
  onEvent(event: WireEvent): void {
    if (this.#parked === null) return this.#handOut(event);
    if (this.#parked.length >= clientLimits.maxParkedRoomEvents) {
      this.#parked = [];
      this.#overflowed = true;
    }
    if (!this.#overflowed) this.#parked.push(event);
  }

  #began({ state, rows, cursor, attempts }: ResultOf<"rooms.subscribe">): void {
    // What came before the reply belongs to a subscription whose place this one took.
    this.#parked = [];
    this.#parts.tell(() => this.#listener.onState?.(state, attempts));
    this.#isReturn = this.#hasBegun;
    this.#hasBegun = true;
    if (this.#isReturn) this.#lost(this.#numbers.returned(attempts));
    else this.#numbers.begin(attempts);
    this.#cursor ??= rows[0] === undefined ? cursor : rows[0].seq - 1;
    for (const row of rows) this.#row(row, this.#isReturn);
  }

  /** One page of rows. Gives whether there are more up to `until`. */
  async #readOn(run: number, until: number): Promise<boolean> {
    const params = { room_id: this.roomId, since_seq: this.#cursor ?? 0 };
    let hasMore = false;
    await this.#parts.call("groups.log", params, (result) => {
      if (run !== this.#run) return;
      const { events, has_more } = result as ResultOf<"groups.log">;
      for (const row of events) this.#row(row, this.#isReturn);
      hasMore = has_more && events.length > 0 && (this.#cursor ?? 0) < until;
    });
    return hasMore;
  }

  #release(): void {
    const parked = this.#parked ?? [];
    this.#parked = null;
    for (const event of parked) this.#handOut(event);
  }

  #handOut({ type, payload }: WireEvent): void {
    const listener = this.#listener;
    const data: unknown = payload;
    switch (type) {
      case "room.log":
        return this.#row(data as LogRow, false);
      case "room.activity": {
        const event = data as ActivityEvent;
        this.#lost(this.#numbers.saw(event));
        return this.#parts.tell(() => listener.onActivity?.(event));
      }
      case "room.message":
        return this.#parts.tell(() => listener.onMessage?.(data as RoomMessage));
      case "room.member":
        return this.#parts.tell(() => listener.onMember?.(data as MemberEntry));
    }
  }

  /** @param isMissed it was written while no connection stood, so its attempt's events were missed too */
  #row(row: LogRow, isMissed: boolean): void {
    if (row.seq <= (this.#cursor ?? 0)) return;
    this.#cursor = row.seq;
    this.#parts.tell(() => this.#listener.onRow?.(row));
    if (isMissed) this.#lost(this.#numbers.missedRow(row));
  }

  #lost(losses: readonly ActivityLoss[]): void {
    for (const loss of losses) this.#parts.tell(() => this.#listener.onLoss?.(loss));
  }
}

/** The room that a `room.*` event is about; null when it names none. */
export function roomOfEvent({ payload }: WireEvent): string | null {
  if (typeof payload?.["room_id"] === "string") return payload["room_id"];
  const coordinates = payload?.["coordinates"];
  return isJson(coordinates) && typeof coordinates["room_id"] === "string" ? coordinates["room_id"] : null;
}
