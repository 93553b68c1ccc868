import { limits } from "../../core/index.ts";

/** What one room's log may take. */
export interface Quota {
  /** Default 100,000. */
  readonly maxRoomRows: number;
  /** Size of the rows as `rowBytes` counts it, with the longest numbers they could have. Default 256 MiB. */
  readonly maxRoomBytes: number;
}

export const defaultQuota: Quota = { maxRoomRows: limits.maxRoomRows, maxRoomBytes: limits.maxRoomBytes };

/** What a room's log takes. */
export interface Usage {
  readonly rows: number;
  readonly bytes: number;
  /** Attempts that started and have not settled: each is charged with the largest settle there can be. */
  readonly openTurns: number;
}

/** Whether the rows fit and every open turn can still be settled. */
export function hasRoomFor(usage: Usage, quota: Quota): boolean {
  return (
    usage.rows + usage.openTurns <= quota.maxRoomRows &&
    usage.bytes + usage.openTurns * limits.maxRowBytes <= quota.maxRoomBytes
  );
}

/** Whether one more turn can start, however large its two rows are. Posts are accepted only while this holds. */
export function hasRoomForTurn(usage: Usage, quota: Quota): boolean {
  const started = { rows: usage.rows + 1, bytes: usage.bytes + limits.maxRowBytes, openTurns: usage.openTurns + 1 };
  return hasRoomFor(started, quota);
}
