import type { DueRow, InboxRow, RetryRow } from "./inbox-row.ts";
import type { LeaseRow } from "./lease-row.ts";
import type { Head, Page } from "./log-row.ts";
import type { RoomRecord } from "./room-record.ts";

/** What can be read of rooms. */
export interface RoomReader {
  /** @throws RoomtapError `log_corrupt` when it cannot be read */
  room(roomId: string): Promise<RoomRecord | undefined>;
  /** In order of `room_id` by UTF-16 units. A damaged one is left out; `room` tells what is wrong with it. */
  rooms(): Promise<readonly RoomRecord[]>;
  /** Some of them, in the same order. */
  roomPage(page: RoomPageRequest): Promise<RoomPage>;
  head(roomId: string): Promise<Head>;
  /**
   * A page of rows above `after_seq`: at most 500 rows or 2 MiB of payload, whichever comes first, always at least one
   * if there is one. No read position is kept between pages. A long page is read in pieces, each in a turn of the event
   * loop of its own.
   * @throws RoomtapError `log_corrupt` (names the seq) when a stored row is no row
   */
  read(roomId: string, page: { readonly after_seq: number; readonly limit?: number }): Promise<Page>;
  /** Posts that stand in the inbox, by number. */
  inbox(roomId: string): Promise<readonly InboxRow[]>;
  /** All that a plan needs beside the folded state, of one instant. */
  planInput(roomId: string): Promise<PlanInput | undefined>;
  /** The stored checkpoint as it is, unchecked; undefined when there is none. */
  checkpoint(roomId: string): Promise<unknown>;
}

/** Which rooms are to be read. */
export interface RoomPageRequest {
  /** Whether disbanded rooms are among them. Default false. */
  readonly include_disbanded?: boolean | undefined;
  /** Brought into 1 .. 500, the default. */
  readonly limit?: number | undefined;
  /** How many to leave out at the beginning. Default 0. */
  readonly offset?: number | undefined;
}

/** Some of the rooms, in order of their ids. */
export interface RoomPage {
  /** A damaged one is left out. */
  readonly rooms: readonly RoomRecord[];
  /** Pass as `offset` to read on; null when there are no more. */
  readonly next_offset: number | null;
}

/** A room, what waits in it, and where it stands, of one instant. */
export interface PlanInput {
  readonly room: RoomRecord;
  /** By number. */
  readonly inbox: readonly InboxRow[];
  /** In the order in which they were asked for. */
  readonly retries: readonly RetryRow[];
  /** By due time. */
  readonly due: readonly DueRow[];
  readonly head: Head;
  /** Of the log, as the quota counts them. */
  readonly log_bytes: number;
  readonly lease: LeaseRow;
}

/** A folded state in the database: a cache, never trusted over the log. */
export interface StoredCheckpoint {
  /** Of the format of the state. */
  readonly version: number;
  readonly through_seq: number;
  readonly log_hash: string;
  readonly digest: string;
  /** Canonical JSON of the state. */
  readonly state: string;
}
