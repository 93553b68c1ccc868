import type { Append, RoomLog, SqliteRoomLog } from "../../rooms/index.ts";
import { SqliteDatabase } from "../../rooms/sqlite/database.ts";
import { interposed } from "../support/interposed.ts";

/** What a process has to do so that it comes to a point. */
export type Need = "stop" | "retry" | "pause" | "cancel" | "rest" | "close" | "new_file" | "crash_before";

export interface FaultPoint {
  /** The process is killed here, between two instructions. */
  readonly where: string;
  /** How often a round usually comes here; the seed says at which time it is fatal. Default 1. */
  readonly times?: number;
  readonly needs?: Need;
}

/** Every point at which a process is killed by itself; at any other instruction the parent kills it, by chance. */
export const faultPoints = {
  "migrate.begin": { where: "before the first statement of a schema step", needs: "new_file", times: 2 },
  "migrate.step": { where: "in a schema step, before it is counted", needs: "new_file", times: 2 },
  "migrate.version": { where: "in a schema step, before its commit", needs: "new_file", times: 2 },
  "accept.before": { where: "a post is asked for, nothing of it is stored", times: 3 },
  "accept.post": { where: "in the transaction: the post is stored, its receipt is not", times: 3 },
  "accept.receipt": { where: "in the transaction: the receipt is stored, the room's counters are not", times: 3 },
  "accept.after": { where: "the post is durable, nobody was told", times: 3 },
  "start.before": { where: "a start is decided", times: 6 },
  "start.after": { where: "a start is durable, its runner was not called", times: 6 },
  "turn.called": { where: "the runner is called and has done nothing", times: 6 },
  "turn.middle": { where: "in mid-turn: frames are out, a tool is open", times: 4 },
  "turn.asked": { where: "a turn waits for a person" },
  "turn.answered": { where: "a turn goes on after its answer" },
  "turn.end": { where: "the runner is about to say its end", times: 6 },
  "settle.before": { where: "a turn has ended, its settle is not written", times: 6 },
  "settle.after": { where: "a settle is durable, nobody was told", times: 6 },
  "log.insert": { where: "in the transaction: a row is inserted, its head is not", times: 10 },
  "inbox.update": { where: "in the transaction: a post is owed to one less, counters are as before", times: 3 },
  "inbox.delete": { where: "in the transaction: a post has left, counters are as before", times: 3 },
  "room.count": { where: "in the transaction: behind its last statement, the counters of the room", times: 10 },
  "due.put": { where: "in the transaction: a due time is stored with the settle" },
  "commit.before": { where: "all statements are done, the commit is not", times: 20 },
  "commit.after": { where: "the commit is done, its promise is not settled", times: 20 },
  "claim.before": { where: "a lease is to be claimed", times: 2 },
  "claim.row": { where: "in the transaction: the lease has the new generation" },
  "claim.after": { where: "the lease is claimed, nothing was read", times: 2 },
  "renew.before": { where: "leases are to be renewed", needs: "rest", times: 2 },
  "renew.row": { where: "in the transaction: one of two leases is renewed", needs: "rest", times: 2 },
  "renew.after": { where: "leases are renewed, the holder does not know", needs: "rest", times: 2 },
  "rerun.after": { where: "recovery: a safe attempt is asked for again, it is not settled yet", needs: "crash_before" },
  "abandon.before": { where: "recovery: what a dead host left open is not settled yet", needs: "crash_before" },
  "abandon.after": { where: "recovery: what was open is settled, nothing was planned", needs: "crash_before" },
  "stop.before": { where: "a stop is asked for, its fence is not drawn", needs: "stop" },
  "stop.fence": { where: "in the transaction: the fence is drawn, posts are still owed", needs: "stop" },
  "stop.after": { where: "the fence is durable, no runner was told", needs: "stop" },
  "retry.before": { where: "a retry is asked for", needs: "retry" },
  "retry.row": { where: "in the transaction: the retry is stored, counters are as before", needs: "retry" },
  "retry.after": { where: "a retry is durable, nobody was told", needs: "retry" },
  "retry.take": { where: "in the transaction: the start has taken its retry", needs: "retry" },
  "pause.before": { where: "a pause or a resume is asked for", needs: "pause" },
  "pause.after": { where: "a pause or a resume is durable, nobody was told", needs: "pause" },
  "cancel.before": { where: "a post is to be closed", needs: "cancel" },
  "cancel.after": { where: "a post is closed, nobody was told", needs: "cancel" },
  "checkpoint.before": { where: "closing: a folded state is to be stored", needs: "close" },
  "checkpoint.row": { where: "in the transaction: the folded state is stored", needs: "close" },
  "checkpoint.after": { where: "closing: a folded state is stored, the lease is held", needs: "close" },
  "release.before": { where: "closing: a lease is to be given back", needs: "close", times: 2 },
  "release.after": { where: "closing: a lease is given back, the file is open", needs: "close", times: 2 },
} as const satisfies Record<string, FaultPoint>;

export type PointName = keyof typeof faultPoints;

export const pointNames = Object.keys(faultPoints) as readonly PointName[];

export function pointOf(name: PointName): FaultPoint {
  return faultPoints[name];
}

/** Is told of each point that is come to, and does not return from a fatal one. */
export type Reach = (point: PointName) => void;

/** Points behind a statement, by how its text begins. */
const statements: readonly (readonly [begin: string, point: PointName])[] = [
  ["INSERT INTO inbox", "accept.post"],
  ["INSERT INTO receipts", "accept.receipt"],
  ["INSERT INTO log", "log.insert"],
  ["UPDATE inbox", "inbox.update"],
  ["DELETE FROM inbox", "inbox.delete"],
  ["INSERT OR REPLACE INTO due_times", "due.put"],
  ["INSERT INTO leases", "claim.row"],
  ["UPDATE leases SET renewal", "renew.row"],
  ["UPDATE rooms SET stop_post_number", "stop.fence"],
  ["UPDATE rooms SET next_number", "room.count"],
  ["INSERT INTO retries", "retry.row"],
  ["DELETE FROM retries WHERE room_id = ? AND task_id", "retry.take"],
  ["INSERT OR REPLACE INTO checkpoints", "checkpoint.row"],
];

/** Reaches points between the statements of every transaction in this process, those of a migration among them. */
export function plantInDatabase(reach: Reach): void {
  // oxlint-disable-next-line typescript/unbound-method -- each is called below, with its own `this`
  const { prepare, exec, pragma, transact } = SqliteDatabase.prototype;
  Object.assign(SqliteDatabase.prototype, {
    prepare(this: SqliteDatabase, sql: string) {
      const statement = prepare.call(this, sql);
      const point = statements.find(([begin]) => sql.trimStart().startsWith(begin))?.[1];
      return point === undefined ? statement : watchedStatement(statement, () => reach(point));
    },
    exec(this: SqliteDatabase, sql: string) {
      reach("migrate.begin");
      exec.call(this, sql);
      reach("migrate.step");
    },
    pragma(this: SqliteDatabase, text: string) {
      const value = pragma.call(this, text);
      if (text.startsWith("user_version = ")) reach("migrate.version");
      return value;
    },
    async transact<Result>(this: SqliteDatabase, work: () => Result): Promise<Result> {
      const result = (await transact.call(this, () => {
        const value = work();
        reach("commit.before");
        return value;
      })) as Result;
      reach("commit.after");
      return result;
    },
  });
}

type AnyStatement = ReturnType<SqliteDatabase["prepare"]>;

/** The statement, with a word behind each of its runs. */
function watchedStatement(statement: AnyStatement, behind: () => void): AnyStatement {
  const watched: AnyStatement = new Proxy(statement, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...bound: unknown[]): unknown => {
        const result: unknown = value.apply(target, bound);
        if (key === "run" || key === "get") behind();
        // `pluck` and `raw` give the statement itself.
        return result === target ? watched : result;
      };
    },
  });
  return watched;
}

function appendName({ rows }: Append): "start" | "settle" | "abandon" {
  const [row] = rows;
  if (row?.kind !== "turn.settled") return "start";
  return row.payload.status === "abandoned" ? "abandon" : "settle";
}

/** The log, with points before and behind each of its changes. */
export function plantInLog(log: SqliteRoomLog, reach: Reach): SqliteRoomLog {
  const around = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    reachNamed(`${name}.before`, reach);
    const result = await work();
    reachNamed(`${name}.after`, reach);
    return result;
  };
  const planted: Partial<RoomLog> = {
    append: (append) => around(appendName(append), () => log.append(append)),
    accept: (post) => around("accept", () => log.accept(post)),
    stop: (stop) => around("stop", () => log.stop(stop)),
    putRetry: (retry) => around(retry.cause === "retry" ? "retry" : "rerun", () => log.putRetry(retry)),
    setPaused: (pause) => around("pause", () => log.setPaused(pause)),
    closePost: (post) => around("cancel", () => log.closePost(post)),
    putCheckpoint: (checkpoint) => around("checkpoint", () => log.putCheckpoint(checkpoint)),
    claimLease: (claim) => around("claim", () => log.claimLease(claim)),
    renewLeases: (held, holder) => around("renew", () => log.renewLeases(held, holder)),
    releaseLease: (...lease) => around("release", () => log.releaseLease(...lease)),
  };
  return interposed(log, planted);
}

function reachNamed(name: string, reach: Reach): void {
  if (Object.hasOwn(faultPoints, name)) reach(name as PointName);
}
