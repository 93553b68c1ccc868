import type { LogRow } from "./log-row.ts";
import type { RoomReader } from "./room-reader.ts";

/** Rows of nobody's interest that are read along, rather than asking once more. */
const widestGap = 8;

/**
 * The rows at those places of the log; one that is not there is left out. Rows that lie close together are read at once:
 * a thread's transcript is a question or two, not one for each text.
 * @param seqs ascending
 * @throws what the log throws
 */
export async function readRows(
  log: Pick<RoomReader, "read">,
  roomId: string,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, LogRow>> {
  const wanted = new Set(seqs);
  const rows = new Map<number, LogRow>();
  for (const { first, last } of rangesOf(seqs)) {
    for (let cursor = first - 1; cursor < last;) {
      const page = await log.read(roomId, { after_seq: cursor, limit: last - cursor });
      for (const row of page.rows) if (wanted.has(row.seq)) rows.set(row.seq, row);
      if (page.cursor === cursor) break;
      cursor = page.cursor;
    }
  }
  return rows;
}

/** Ranges that cover ascending places, each with gaps of at most `widestGap`. Pure. */
export function rangesOf(seqs: readonly number[]): readonly { readonly first: number; readonly last: number }[] {
  const ranges: { first: number; last: number }[] = [];
  for (const seq of seqs) {
    const present = ranges.at(-1);
    if (present !== undefined && seq - present.last <= widestGap) present.last = seq;
    else ranges.push({ first: seq, last: seq });
  }
  return ranges;
}
