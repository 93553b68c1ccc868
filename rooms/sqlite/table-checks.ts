import { messageOf, RoomtapError } from "../../core/index.ts";
import type { InboxRow } from "../inbox-row.ts";
import { rosterDigest } from "../roster.ts";
import type { Orphan, RoomCheck, TableProblem } from "../verify.ts";
import { bodyDigest, inboxBytes } from "./accept.ts";
import type { SqliteDatabase } from "./database.ts";
import { isDamage } from "./faults.ts";
import { membersSchema } from "./rooms-table.ts";
import { parseStored } from "./stored-json.ts";
import type { Tables } from "./tables.ts";

/** Problems of the file that are named; one broken page can make thousands. */
const maxFileProblems = 20;

/** All tables whose rows belong to a room. */
const ofRooms = [
  "log",
  "rosters",
  "inbox",
  "receipts",
  "leases",
  "retries",
  "due_times",
  "stops",
  "renames",
  "checkpoints",
] as const;

const orphanQuery = ofRooms
  .map(
    (table) =>
      `SELECT CAST(room_id AS TEXT) AS room_id, '${table}' AS "table", count(*) AS rows FROM ${table}` +
      " WHERE room_id NOT IN (SELECT room_id FROM rooms) GROUP BY room_id",
  )
  .join(" UNION ALL ");

interface Counters {
  readonly head_seq: number;
  readonly next_number: number;
  readonly log_bytes: number;
  readonly open_turns: number;
  readonly inbox_posts: number;
  readonly inbox_bytes: number;
  readonly closed_posts: number;
  readonly closed_bytes: number;
}

interface RawRoster {
  readonly revision: number;
  readonly members: string;
  readonly roster_digest: string;
}

/** Compares what the tables say with each other. Each call is synchronous; the caller holds the transaction. */
export class TableChecks {
  readonly #tables: Tables;
  readonly #integrity;
  readonly #orphans;
  readonly #counters;
  readonly #rosters;
  readonly #lastReceipt;

  constructor(database: SqliteDatabase, tables: Tables) {
    this.#tables = tables;
    this.#integrity = database.prepare<[], string>(`PRAGMA integrity_check(${maxFileProblems})`).pluck();
    this.#orphans = database.prepare<[], Orphan>(`${orphanQuery} ORDER BY room_id`);
    this.#counters = database.prepare<[string], Counters>(
      "SELECT head_seq, next_number, log_bytes, open_turns, inbox_posts, inbox_bytes, closed_posts, closed_bytes" +
        " FROM rooms WHERE room_id = ?",
    );
    this.#rosters = database.prepare<[string], RawRoster>(
      "SELECT revision, members, roster_digest FROM rosters WHERE room_id = ? ORDER BY revision",
    );
    this.#lastReceipt = database
      .prepare<[string], number | null>("SELECT max(number) FROM receipts WHERE room_id = ?")
      .pluck();
  }

  /** What SQLite finds wrong with pages, indexes and constraints. */
  file(): string[] {
    try {
      return this.#integrity.all().filter((line) => line !== "ok");
    } catch (fault) {
      if (isDamage(fault)) return [messageOf(fault)];
      throw fault;
    }
  }

  orphans(): Orphan[] {
    return this.#orphans.all();
  }

  room(roomId: string): RoomCheck | undefined {
    const counters = this.#counters.get(roomId);
    if (counters === undefined) return undefined;
    const { head_seq, log_bytes, open_turns } = counters;
    const problem =
      found("room", () => this.#roomProblem(roomId, counters)) ??
      found("roster", () => this.#rosterProblem(roomId)) ??
      found("inbox", () => this.#inboxProblem(roomId, counters)) ??
      found("counters", () => this.#counterProblem(roomId, counters)) ??
      found("lease", () => void this.#tables.leases.lease(roomId));
    return { head_seq, log_bytes, open_turns, problem: problem ?? null };
  }

  #roomProblem(roomId: string, { head_seq, next_number }: Counters): string | undefined {
    const stop = this.#tables.rooms.room(roomId)?.stop ?? null;
    if (stop === null || (stop.seq <= head_seq && stop.post_number < next_number)) return undefined;
    return `its last stop stands behind row ${stop.seq} and post ${stop.post_number}, which it does not have`;
  }

  #rosterProblem(roomId: string): string | undefined {
    const revision = this.#tables.rooms.room(roomId)?.revision ?? 0;
    let expected = 1;
    for (const roster of this.#rosters.all(roomId)) {
      if (roster.revision !== expected) break;
      const what = `revision ${expected} of its roster`;
      const members = parseStored(membersSchema, roster.members, what);
      if (rosterDigest(members) !== roster.roster_digest) return `${what} was changed: its digest does not fit`;
      expected += 1;
    }
    return expected > revision ? undefined : `revision ${expected} of its roster is missing`;
  }

  #inboxProblem(roomId: string, { head_seq, next_number }: Counters): string | undefined {
    for (const post of this.#tables.inbox.posts(roomId)) {
      const what = `post ${post.number} in its inbox`;
      const receipt = this.#tables.inbox.receipt(roomId, post.message_id);
      if (receipt === undefined) return `${what} has no receipt`;
      if (receipt.body_digest !== bodyDigest(post)) return `${what} was changed: it is not what its receipt says`;
      if (post.number >= next_number) return `${what} has a number that was not given yet`;
      if ((post.row_seq ?? 0) > head_seq) return `${what} is carried by row ${post.row_seq}, which is not there`;
    }
    const last = this.#lastReceipt.get(roomId) ?? 0;
    return last < next_number ? undefined : `receipt ${last} has a number that was not given yet`;
  }

  #counterProblem(roomId: string, counters: Counters): string | undefined {
    const { inbox, waiting } = this.#tables;
    const posts = inbox.posts(roomId);
    const closed = posts.filter(({ owed }) => owed.length === 0);
    const counted = {
      inbox_posts: posts.length + waiting.retries(roomId).length,
      inbox_bytes: total(posts),
      closed_posts: closed.length,
      closed_bytes: total(closed),
    };
    const wrong = (Object.keys(counted) as (keyof typeof counted)[]).find((key) => counted[key] !== counters[key]);
    return wrong && `${wrong} says ${counters[wrong]}, and there are ${counted[wrong]}`;
  }
}

function total(posts: readonly InboxRow[]): number {
  return posts.reduce((bytes, post) => bytes + inboxBytes(post), 0);
}

/** What `check` finds; a row that cannot be read is a finding. */
function found(kind: TableProblem["kind"], check: () => string | undefined | void): TableProblem | undefined {
  try {
    const message = check();
    return typeof message === "string" ? { kind, message } : undefined;
  } catch (fault) {
    if (!(fault instanceof RoomtapError) || fault.code !== "log_corrupt") throw fault;
    return { kind, message: fault.message };
  }
}
