import type { ActivityEvent } from "./activity.ts";
import type { Attempt } from "./attempt.ts";

/** Where activity goes: the queues of the consumers. It runs no plugin code before it returns (I5). */
export interface ActivitySink {
  /** False: nobody listens, and no event is built. */
  readonly listening: boolean;
  /**
   * @param kind the kind's number in the table of kinds
   * @param bytes estimate of the event, see `envelopeBytes`
   */
  push(event: ActivityEvent, attempt: Attempt, kind: number, bytes: number): void;
}
