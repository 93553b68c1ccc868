import { RoomtapError } from "../core/index.ts";
import type { OpenOptions } from "./sqlite/open.ts";
import { openSqliteLogReader as openReader, type SqliteLogReader } from "./sqlite/reader.ts";

/**
 * Opens a log to look at it, also while a host lives. Changes no byte of the file, leaves no file behind.
 * @throws RoomtapError `invalid_params` for options that are none; `log_not_found`, `log_foreign`, `log_newer_schema`,
 * `log_corrupt`, `log_busy`, ...
 */
export async function openSqliteLogReader(options: OpenOptions): Promise<SqliteLogReader> {
  const problem = problemOf(options);
  if (problem !== null) throw new RoomtapError("invalid_params", problem);
  return await openReader(options);
}

/** What is wrong with options from a caller that no compiler has checked; null when nothing is. */
function problemOf(given: unknown): string | null {
  if (typeof given !== "object" || given === null) {
    return `openSqliteLogReader: expected { file, clock }, got ${typeof given}`;
  }
  const { file, clock } = given as { readonly file?: unknown; readonly clock?: unknown };
  if (typeof file !== "string" || file === "") return `file: expected the path of a database, got ${typeof file}`;
  if (typeof clock === "object" && clock !== null) return null;
  return `clock: expected a clock, such as systemClock, got ${typeof clock}`;
}
