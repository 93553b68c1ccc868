import type { ActivityEvent, ActivityKind } from "../core/index.ts";

/** `meta`: ids, names, sizes and outcomes. `standard`: long fields cut to `maxEventBytes`. `full`: whole, by grant. */
export type PayloadLevel = "meta" | "standard" | "full";

/** What a consumer may see beyond the rest. */
export type Grant = "reasoning" | "approvals" | "full";

/**
 * Gets the events of a consumer, one at a time: the next one comes when what this returned has settled.
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

/** What a consumer wants, what it may see, and how much it may hold. */
export interface ConsumerOptions {
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
  /** Events held at most, at least 1. Default 1,024. More of them ride out longer pauses, and cost memory meanwhile. */
  readonly maxEvents?: number;
  /** Estimated bytes held at most, at least 16 KiB. Default 4 MiB. */
  readonly maxBytes?: number;
  /** Estimated bytes of one event, 512 to `maxBytes`. Default 16 KiB; at level `full` it is `maxBytes`. */
  readonly maxEventBytes?: number;
  /** A handler that runs longer is reported `stalled`, once. Default 30,000; it is never interrupted. */
  readonly stallMs?: number;
  readonly handler: Handler;
}

/** Counters of one consumer. published = delivered + merged + dropped + depth (a merged delta is one in `depth`). */
export interface ConsumerStats {
  readonly id: string;
  /** Events that passed its filter and grants, gaps left out. */
  readonly published: number;
  /** Calls of the handler, gaps left out. */
  readonly delivered: number;
  /** Deltas that went into another one. */
  readonly merged: number;
  readonly dropped: number;
  readonly dropped_by_kind: { readonly [kind: string]: number };
  /** Gaps that were told. */
  readonly gaps: number;
  readonly failures: { readonly thrown: number; readonly rejected: number; readonly stalled: number };
  /** Events and estimated bytes held now. */
  readonly depth: number;
  readonly bytes: number;
  /** Wall ms since the oldest held event; null when none is held. */
  readonly oldest_age_ms: number | null;
  /** An event that starts or ends something was dropped. */
  readonly lagging: boolean;
  /** A call that has not settled yet. */
  readonly running: boolean;
  /** Of every 64th call, until what it returned settled; null before the first. */
  readonly handler_ms: { readonly p50: number; readonly p99: number } | null;
}

/** A registration. */
export interface Subscription {
  readonly id: string;
  stats(): ConsumerStats;
  /**
   * Ends it. When it returns no further event starts; a call that runs may finish; what was held counts as dropped.
   * Safe to call twice.
   */
  dispose(): void;
}
