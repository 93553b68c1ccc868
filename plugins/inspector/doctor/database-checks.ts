import { existsSync, statSync } from "node:fs";
import { RoomtapError } from "../../../core/index.ts";
import { verifyRows, type LeaseRow, type SqliteLogReader } from "../../../rooms/index.ts";
import { counted } from "../../counted.ts";
import { holderOf } from "../lease-holder.ts";
import { withLog } from "../open-log.ts";
import { fine, problem, problemOf, warning, type Finding } from "./finding.ts";

const mebibyte = 1_048_576;
/** A host moves its WAL into the file at 16 MiB: one that is much longer is kept by somebody. */
const maxQuietWalBytes = 64 * mebibyte;
/** Rows at the end of each log whose hashes are checked. */
const lastRows = 64;

/** What is to be looked at. */
export interface DatabaseToCheck {
  readonly db: string;
  /** Somebody named it; one that nobody named need not be there. */
  readonly isNamed: boolean;
}

/** The database: that it is there, opens, fits together, and who drives its rooms. Looking changes nothing. */
export async function databaseFindings({ db, isNamed }: DatabaseToCheck): Promise<readonly Finding[]> {
  if (!isNamed && !existsSync(db)) return [fine("database", `no ${db} here; --db names another one`)];
  try {
    return await withLog(db, async (log) => {
      const rooms = await log.roomIds();
      return [
        fine("database", `${log.file} opens, its schema is that of this version, ${counted(rooms.length, "room")}`),
        await roomsFinding(log, rooms),
        ...(await leaseFindings(log, rooms)),
        walFinding(`${log.file}-wal`),
      ];
    });
  } catch (fault) {
    return [problemOf("database", fault)];
  }
}

/** What stands beside the rows of each room, and the last of them; all rows are the business of `verify`. */
async function roomsFinding(log: SqliteLogReader, rooms: readonly string[]): Promise<Finding> {
  const remedy = `Run \`roomtap verify --db ${log.file}\`, and restore the file from a backup.`;
  for (const roomId of rooms) {
    const wrong = await roomProblem(log, roomId);
    if (wrong !== null) return problem("rooms", `room ${roomId}: ${wrong}`, remedy);
  }
  return fine("rooms", "sums, rosters, posts and the last rows of each room fit together (verify checks all rows)");
}

async function roomProblem(log: SqliteLogReader, roomId: string): Promise<string | null> {
  try {
    const check = await log.roomCheck(roomId);
    if (check === undefined) return "nothing is found under its id";
    if (check.problem !== null) return check.problem.message;
    const rows = await log.storedRows(roomId, Math.max(0, check.head_seq - lastRows));
    const [first, last] = [rows[0], rows.at(-1)];
    // A host may have appended more meanwhile.
    if ((last?.seq ?? 0) < check.head_seq) return `its last row is row ${check.head_seq}, which is not there`;
    if (first === undefined) return null;
    const link = verifyRows(rows, { seq: first.seq - 1, hash: first.prev_hash });
    return "kind" in link ? link.message : null;
  } catch (fault) {
    if (fault instanceof RoomtapError && fault.code === "log_corrupt") return fault.message;
    throw fault;
  }
}

async function leaseFindings(log: SqliteLogReader, rooms: readonly string[]): Promise<readonly Finding[]> {
  const leases: LeaseRow[] = [];
  for (const roomId of rooms) leases.push(await log.lease(roomId));
  return judgeLeases(leases.map((lease) => ({ room_id: lease.room_id, holder: holderOf(lease) })));
}

/** Pure. */
export function judgeLeases(
  leases: readonly { readonly room_id: string; readonly holder: ReturnType<typeof holderOf> }[],
): readonly Finding[] {
  const of = (holder: string): readonly string[] =>
    leases.flatMap((lease) => (lease.holder === holder ? [lease.room_id] : []));
  const [alive, gone, unknown] = [of("alive"), of("gone"), of("unknown")];
  const findings: Finding[] = [];
  if (gone.length > 0) {
    const message = `${named(gone)} ${gone.length === 1 ? "was" : "were"} driven by a process that has gone without a word`;
    findings.push(
      warning("leases", message, "Start `roomtap up`: it takes them over at once, and settles what was open."),
    );
  }
  if (unknown.length > 0) {
    const message = `${named(unknown)}: held by a process of another machine or container, or of which nothing is known`;
    findings.push(
      warning("leases", message, "If it has gone, a host takes them over after 15 s without a sign of life."),
    );
  }
  if (findings.length > 0) return findings;
  return [
    fine("leases", alive.length === 0 ? "no room is driven now" : `${named(alive)}: driven by a process that lives`),
  ];
}

function named(rooms: readonly string[]): string {
  const shown = rooms.slice(0, 5).join(", ");
  const more = rooms.length > 5 ? ` and ${rooms.length - 5} more` : "";
  return `${rooms.length === 1 ? "room" : "rooms"} ${shown}${more}`;
}

function walFinding(path: string): Finding {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return judgeWal(bytes);
}

/** Pure. */
export function judgeWal(bytes: number): Finding {
  const size = `the write-ahead log has ${Math.ceil(bytes / mebibyte)} MiB`;
  if (bytes <= maxQuietWalBytes) return fine("wal", size);
  const remedy = "End what reads the database for long; the next `roomtap up` moves it into the file.";
  return warning("wal", `${size}: somebody keeps it from being moved into the file`, remedy);
}
