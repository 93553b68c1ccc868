import { messageOf, RoomtapError, type ErrorCode } from "../../core/index.ts";

/** The result code SQLite gave, e.g. `SQLITE_BUSY_SNAPSHOT`; undefined for what is no fault of SQLite. */
export function sqliteCode(fault: unknown): string | undefined {
  if (!(fault instanceof Error) || !("code" in fault) || typeof fault.code !== "string") return undefined;
  return fault.code.startsWith("SQLITE_") ? fault.code : undefined;
}

/** Somebody else holds a lock for now: the same work may succeed when it is begun anew. */
export function isBusy(fault: unknown): boolean {
  const code = sqliteCode(fault);
  return code !== undefined && /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code);
}

export function isDamage(fault: unknown): boolean {
  const code = sqliteCode(fault);
  return code !== undefined && /^SQLITE_(CORRUPT|IOERR_SHORT_READ|IOERR_CORRUPTFS)/.test(code);
}

interface Meaning {
  readonly prefix: string;
  readonly code: ErrorCode;
  readonly text: string;
}

// The first prefix that fits decides.
const meanings: readonly Meaning[] = [
  { prefix: "SQLITE_BUSY", code: "log_busy", text: "is locked by another process" },
  { prefix: "SQLITE_LOCKED", code: "log_busy", text: "is locked by another connection" },
  { prefix: "SQLITE_PROTOCOL", code: "log_busy", text: "is locked by another process" },
  { prefix: "SQLITE_FULL", code: "log_full", text: "cannot grow: the disk or the size limit is full" },
  // The shared memory file could not be made longer.
  { prefix: "SQLITE_IOERR_SHMSIZE", code: "log_full", text: "has no room for its -shm file: the disk is full" },
  { prefix: "SQLITE_READONLY", code: "log_read_only", text: "cannot be written" },
  { prefix: "SQLITE_CORRUPT", code: "log_corrupt", text: "is damaged" },
  { prefix: "SQLITE_IOERR_SHORT_READ", code: "log_corrupt", text: "is cut off" },
  { prefix: "SQLITE_IOERR_CORRUPTFS", code: "log_corrupt", text: "lies on a damaged file system" },
  { prefix: "SQLITE_NOTADB", code: "log_foreign", text: "is not a SQLite database" },
  { prefix: "SQLITE_CANTOPEN", code: "log_unavailable", text: "cannot be opened" },
  { prefix: "SQLITE_", code: "log_unavailable", text: "cannot be used" },
];

/** The coded error for whatever was thrown while working on `file`; one that has a code keeps it. Damage names the file. */
export function logFault(fault: unknown, file: string): RoomtapError {
  if (fault instanceof RoomtapError) {
    if (fault.code !== "log_corrupt" || fault.message.startsWith(file)) return fault;
    return new RoomtapError("log_corrupt", `${file}: ${fault.message}`, { cause: fault });
  }
  const sqlite = sqliteCode(fault);
  const meaning = sqlite === undefined ? undefined : meanings.find(({ prefix }) => sqlite.startsWith(prefix));
  const detail = sqlite === undefined ? messageOf(fault) : `${sqlite}: ${messageOf(fault)}`;
  const message = `${file} ${meaning?.text ?? "cannot be used"} (${detail})`;
  return new RoomtapError(meaning?.code ?? "log_unavailable", message, { cause: fault });
}
