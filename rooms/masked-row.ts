import type { Tap } from "../core/index.ts";
import type { LogRow } from "./log-row.ts";

/** A row as it may leave: secrets are masked in its payload, whose hash stays that of the row as it is stored. */
export function maskedRow(row: LogRow, tap: Tap): LogRow {
  return { ...row, payload: tap.seam.clean(row.payload).payload } as unknown as LogRow;
}
