import type {
  ActivityEvent,
  Coordinates,
  MemberEntry,
  RequestEntry,
  TurnSettled,
  TurnStarted,
} from "../../core/index.ts";
import type { Json } from "./wire.ts";

interface RowOf<Kind extends string, Payload> extends Coordinates {
  /** Gapless from 1 in each room. */
  readonly seq: number;
  readonly kind: Kind;
  readonly event_id: string;
  readonly payload: Payload;
  /** Wall ms. */
  readonly created_at: number;
  readonly prev_hash: string;
  readonly hash: string;
}

/** A row of a room's log. */
export type LogRow = RowOf<"turn.started", TurnStarted> | RowOf<"turn.settled", TurnSettled>;

/** The state of a room, as far as the types know it. */
export interface RoomStateEntry {
  readonly room: { readonly room_id: string; readonly name: string; readonly roster: readonly RosterEntry[] } & Json;
  readonly members: readonly MemberEntry[];
  readonly open_requests: readonly RequestEntry[];
  readonly [key: string]: unknown;
}

/** A member as a roster lists it. */
export interface RosterEntry {
  readonly member_id: string;
  readonly handle: string;
  readonly [key: string]: unknown;
}

/** An attempt that runs while a room is subscribed to: what it has shown up to its event `n`. */
export interface RunningAttempt {
  readonly coordinates: Coordinates;
  readonly n: number;
  readonly text: string;
  /** UTF-16 units that it has streamed; more than `text` has when that is only a beginning. */
  readonly offset?: number;
  readonly tools: readonly Json[];
  readonly open_requests: readonly Json[];
}

/** A post as the room tells of it. */
export interface RoomMessage {
  readonly room_id: string;
  readonly message_id: string;
  readonly thread_id: string;
  readonly author: Json;
  readonly text: string;
  readonly at: number;
  readonly state: "queued" | "started" | "closed";
}

export type { ActivityEvent, Coordinates, MemberEntry, RequestEntry };
