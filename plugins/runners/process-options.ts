import type { Clock, Report } from "../../core/index.ts";

/** Times and bounds of a runner's child. */
export const processDefaults = {
  /** How long a new child may take until its runner is there. A module may have much to load. */
  startTimeoutMs: 60_000,
  /**
   * How long a turn that was asked to stop may take to end. Then its child is killed, which alone frees one that is in an
   * endless loop; other turns in that child are lost. More than `cancelGraceMs` of `acpDefaults`, after which an agent in a
   * child is given up by itself.
   */
  stopGraceMs: 15_000,
  /** How long a child may take to close its runner; then it is killed. */
  closeGraceMs: 5_000,
  /** One line that a child writes. A child that writes a longer one is killed; `emit` refuses a frame that would be one. */
  maxLineBytes: 8_388_608,
  /**
   * What was told to a child and has not left. Beyond it no correction is handed on, and a child that asks without reading
   * what it is answered is killed. Bytes.
   */
  maxBacklogBytes: 8_388_608,
  /** Corrections that a child has not answered; one more is not taken. */
  maxCorrections: 32,
  /** Notices of one child that are handed on; later ones are dropped. */
  maxNotices: 64,
  /** Turns that have ended and whose late frames are still counted as such; of more the oldest is forgotten. */
  maxEndedTurns: 16,
} as const;

/** What the runner of a config with `process` works with. */
export interface ProcessOptions {
  readonly clock: Clock;
  /** Hears of children that are lost or ignore a stop, and what a child's own runner reports. */
  readonly report: Report;
  /** Other times and bounds than `processDefaults`. */
  readonly limits?: Partial<Record<keyof typeof processDefaults, number>> | undefined;
}
