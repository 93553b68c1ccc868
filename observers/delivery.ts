import type { ActivityEvent, Attempt } from "../core/index.ts";
import type { GapCount } from "./gap.ts";
import type { Entry, Lane } from "./lane.ts";

/** Why an event counts as dropped: the queue was full, or it was handed out and reached nobody. */
export type LossCause = "overflow" | "unhandled";

/** Who counts what the queue does to events. */
export interface Losses {
  merged: number;
  /** @param count events of the seam that `event` stands for */
  drop(attempt: Attempt, event: ActivityEvent, kind: number, count: number, cause: LossCause): void;
  /** Of the attempt nothing waits, and nothing will come. */
  ended(attempt: Attempt): void;
  /** Wall time, for a gap that no event follows. */
  at(): number;
}

/** What a consumer is to be told next. */
export interface Delivery {
  event: ActivityEvent;
  /** null for a gap. */
  readonly attempt: Attempt | null;
  /** Whether the attempt is over with it. */
  readonly isLast: boolean;
  /** What it took in the queue, by estimate; 0 for a gap. */
  bytes: number;
  /** Whose turn it was; null for a gap without coordinates. */
  readonly lane: Lane | null;
  /** What it was in the queue: an event that waited, or a gap's counts. */
  readonly from: Entry | GapCount;
}

export interface QueueBounds {
  readonly maxEvents: number;
  readonly maxBytes: number;
  readonly maxEventBytes: number;
}

/**
 * How events are handed out: `serial` lets go of them at once; of `side_by_side` an attempt's next one waits until the one
 * before came back (`release`); what went out in a `batch` may also come back as lost (`lose`).
 */
export type HandOut = "serial" | "side_by_side" | "batch";
