import type { ActivityEvent, ActivityKind } from "../core/index.ts";

/** `meta`: ids, names, sizes and outcomes. `standard`: long fields cut to `maxEventBytes`. `full`: whole, by grant. */
export type PayloadLevel = "meta" | "standard" | "full";

/** What a consumer may see beyond the rest. */
export type Grant = "reasoning" | "approvals" | "full";

/**
 * Gets the events of a consumer, one at a time: the next one comes when what this returned has settled. With `concurrency`
 * that holds for each attempt, and so many attempts go side by side.
 *
 * What it may rely on:
 * - events of one attempt come in order of `n`; an event is frozen and shared with other consumers;
 * - `n` has no holes that are not explained: a hole is told by a `gap` before the next event of that attempt, or is made
 *   by this consumer's own filter;
 * - what it emits itself comes in a later turn of the event loop;
 * - at its bound neighbouring deltas come merged (`n_from` .. `n`), then the oldest are dropped, before anything else is;
 * - the first delta of a kind behind a gap in it has `payload.snapshot`: its text is everything so far;
 * - whatever the handler does, throw or hang, changes nothing for the turn and for other consumers.
 */
export type Handler = (event: ActivityEvent) => unknown;

/**
 * Gets the events of a consumer in batches, gaps among them at their places: as many as are there, at least one. The next
 * batch comes when what this returned has settled; of a promise, what it settles with. All that `Handler` may rely on holds
 * here too. What it gives may be a `BatchOutcome`; anything else, and a throw or a rejection, says that the whole batch was
 * handled.
 */
export type BatchHandler = (events: readonly ActivityEvent[]) => unknown;

/** What became of a batch: for a handler that hands it on to somewhere else, from where it may not come back. */
export interface BatchOutcome {
  /**
   * Events of the batch from this index on, gaps counted, reached nobody. They count as dropped, and are told by gaps
   * before the next event of their attempt, or of anybody when the attempt has ended; what a lost gap told is told again
   * with them. The next batch comes at once, so settle when somebody can handle it. Default: all were handled.
   */
  readonly handled?: number | undefined;
  /** The same by place, for one who hands on several attempts side by side. Of an attempt all behind a lost one are lost. */
  readonly lost?: readonly number[] | undefined;
  /** How handlers further on misbehaved. Added to the consumer's own; each kind is reported once. */
  readonly failures?: BatchFailures | undefined;
  /**
   * Whoever handles from now on knows nothing of before: of each attempt the first delta of a kind comes with everything
   * so far, as it does behind a gap, though no gap is told.
   */
  readonly fresh?: boolean | undefined;
}

/** Counts of misbehaviour, and what is known of it. */
export interface BatchFailures {
  readonly thrown?: number | undefined;
  readonly rejected?: number | undefined;
  readonly stalled?: number | undefined;
  /** Stands in the report. */
  readonly message?: string | undefined;
}

/** What a consumer wants, what it may see, and how much it may hold. */
export interface ConsumerSettings {
  /** Names the consumer in stats and notices; unique among those registered. */
  readonly id: string;
  /** Kinds that it wants; default all. A `gap` comes whatever is asked for. */
  readonly kinds?: readonly ActivityKind[];
  /** Rooms that it wants, by `room_id`; default all. */
  readonly rooms?: readonly string[];
  /** Default none. Without `reasoning` those deltas are withheld; without `approvals` these requests come at `meta`. */
  readonly grants?: readonly Grant[];
  /** Default `standard`. `full` needs the grant of that name. */
  readonly payload?: PayloadLevel;
  /** Events that wait at most, at least 1. Default 1,024. More of them ride out longer pauses, and cost memory meanwhile. */
  readonly maxEvents?: number;
  /** Estimated bytes that wait at most, at least 16 KiB. Default 4 MiB. */
  readonly maxBytes?: number;
  /** Estimated bytes of one event, 512 to `maxBytes`. Default 16 KiB; at level `full` it is `maxBytes`. */
  readonly maxEventBytes?: number;
  /** A call that runs longer is reported `stalled`, the first time. Default 30,000; it is never interrupted. */
  readonly stallMs?: number;
}

/** A consumer whose handler is called with each event. */
export interface EventConsumerOptions extends ConsumerSettings {
  /**
   * Calls that run side by side, 1 to 64, never two of one attempt. Default 1: no event overtakes another. With more a
   * slow call holds up its own attempt alone, and events of different attempts come in no certain order.
   */
  readonly concurrency?: number | undefined;
  readonly batch?: undefined;
  readonly handler: Handler;
}

/** A consumer whose handler is called with batches. */
export interface BatchConsumerOptions extends ConsumerSettings {
  /**
   * Events of one batch at most, 1 to 1,024. It also ends before the event that takes it over 1 MiB by estimate. Larger
   * ones cost less per event, and more of them are at stake in one call.
   */
  readonly batch: number;
  /** Batches come one at a time: more than 1 is refused. */
  readonly concurrency?: 1 | undefined;
  readonly handler: BatchHandler;
}

/** A registration: without `batch` the handler gets events, with it batches of them. */
export type ConsumerOptions = EventConsumerOptions | BatchConsumerOptions;

/**
 * Counters of one consumer. published = delivered + merged + dropped + depth (a merged delta is one in `depth`), at any time.
 */
export interface ConsumerStats {
  readonly id: string;
  /** Events that passed its filter and grants, gaps left out. */
  readonly published: number;
  /** Events that the handler was called with, gaps left out; those of a batch once its call has settled. */
  readonly delivered: number;
  /** Deltas that went into another one. */
  readonly merged: number;
  readonly dropped: number;
  readonly dropped_by_kind: { readonly [kind: string]: number };
  /** Gaps that were told; those of a batch once its call has settled. */
  readonly gaps: number;
  readonly failures: { readonly thrown: number; readonly rejected: number; readonly stalled: number };
  /** Events and estimated bytes held now: what waits, and the batch that the handler has. */
  readonly depth: number;
  readonly bytes: number;
  /** Wall ms since the oldest held event; null when none is held. */
  readonly oldest_age_ms: number | null;
  /** An event that starts or ends something was dropped. */
  readonly lagging: boolean;
  /** Calls that have not settled yet: up to `concurrency`. */
  readonly running: number;
  /** Of every 64th call, a batch being one, until what it returned settled; null before the first. */
  readonly handler_ms: { readonly p50: number; readonly p99: number } | null;
}

/** A registration. */
export interface Subscription {
  readonly id: string;
  stats(): ConsumerStats;
  /** Whoever handles from now on knows nothing of before: as `fresh` of a batch's outcome, between two batches. */
  renew(): void;
  /**
   * Ends it. When it returns no further call starts; calls that run may finish; what waited counts as dropped. A batch
   * that the handler has stays in `depth` until its call settles. Safe to call twice.
   */
  dispose(): void;
}
