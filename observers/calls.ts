import type { Clock } from "../core/index.ts";
import type { Books } from "./books.ts";
import type { Delivery } from "./delivery.ts";
import type { DurationBuckets } from "./stats.ts";

/** What a consumer holds, as far as the calls of its handler are concerned. */
export interface Held {
  /** What `take` would give takes so many bytes, by estimate. */
  readonly nextBytes: number;
  /** The next event or gap, as it is to be handed out; undefined when none may go now. */
  take(): Delivery | undefined;
  /** Takes back what was handled. */
  release(delivery: Delivery): void;
  /** Takes back what reached nobody, in order. */
  lose(lost: readonly Delivery[]): void;
  /** Whoever handles from now on knows nothing of before. */
  renew(): void;
}

/** What the calls of a handler are made with. */
export interface CallParts {
  readonly held: Held;
  readonly books: Books;
  readonly clock: Clock;
  readonly stallMs: number;
  /** A call that was awaited is over: there may be room for another one. */
  readonly onSettled: () => void;
}

/** Events that the handler has and that are not delivered yet. */
export interface InHand {
  readonly events: number;
  readonly bytes: number;
  /** Wall time of the oldest; null when there is none. */
  readonly oldestAt: number | null;
}

export const emptyHand: InHand = { events: 0, bytes: 0, oldestAt: null };

/** The calls of one handler: with each event, several side by side, or with batches. */
export interface Calls {
  /** Calls that have not settled. */
  readonly running: number;
  /** Whether no further call may start before one has settled. */
  readonly isFull: boolean;
  readonly times: DurationBuckets;
  readonly inHand: InHand;
  /** Calls the handler with what is to be told next. False when it may not be called now, or nothing is there. */
  callNext(): boolean;
  /** Watches for stalls no more; calls that run may finish. */
  close(): void;
}
