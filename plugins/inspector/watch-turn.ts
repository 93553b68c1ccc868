import { systemClock, type ActivityEvent, type Clock, type RequestEntry } from "../../core/index.ts";
import {
  CallError,
  type Client,
  type Json,
  type LogRow,
  type RoomListener,
  type RunningAttempt,
} from "../client/index.ts";
import type { FoundTurn } from "./find-turn.ts";
import { KeptActivity } from "./view/kept-activity.ts";

/** How long the last events of an attempt may come behind its row. */
const lastEventsMs = 2_000;

/** A turn as it was seen. */
export interface WatchedTurn {
  readonly rows: readonly LogRow[];
  readonly events: readonly ActivityEvent[];
  /** What its open attempt had shown when the watching began. */
  readonly running: readonly RunningAttempt[];
  readonly hasReasoning: boolean;
}

/**
 * Looks at a turn that may be open: what it has shown, and with `until` what it does, until an attempt of it has settled.
 * @param options.until resolves when it is to end before; without it the look is one instant
 */
export async function watchTurn(
  client: Client,
  turn: FoundTurn,
  options: { readonly until?: Promise<unknown> | undefined; readonly clock?: Clock },
): Promise<WatchedTurn> {
  const { until, clock = systemClock } = options;
  const rows = [...turn.rows];
  const kept = new KeptActivity();
  const running: RunningAttempt[] = [];
  const ended = endOf(turn, clock);
  const isOwn = (place: { readonly turn_id: string } | null): boolean => place?.turn_id === turn.turn_id;
  const listener: RoomListener = {
    onState: ({ open_requests }, attempts) => {
      const own = attempts.filter(({ coordinates }) => isOwn(coordinates));
      // After a reconnect the beginning is known, and what was missed is a hole.
      if (running.length === 0) running.push(...own.map((attempt) => withRequests(attempt, open_requests)));
      if (attempts.every(({ coordinates }) => !isOwn(coordinates))) ended.resolve();
    },
    onRow: (row) => {
      if (!isOwn(row) || rows.some(({ seq }) => seq === row.seq)) return;
      rows.push(row);
      if (row.kind === "turn.settled") ended.settled(row.payload.activity_count);
    },
    onActivity: (event) => {
      if (!isOwn(event.coordinates)) return;
      kept.push(event);
      if (event.kind === "turn.settled") ended.resolve();
    },
    onEnd: (error) => ended.reject(error),
  };
  const since_seq = turn.rows.reduce((last, row) => (isOwn(row) ? Math.max(last, row.seq) : last), 0);
  const { subscription, hasReasoning } = await subscribe(client, { room_id: turn.room_id, since_seq }, listener);
  const hasGone = new Promise<void>((resolve) => void client.onEnd(() => resolve()));
  if (until !== undefined) await Promise.race([ended.promise, until, hasGone]);
  await subscription.close().catch(() => undefined);
  ended.resolve();
  return { rows, events: kept.events, running, hasReasoning };
}

/** Its open requests with what is asked, as far as the caller may see it, instead of their ids. */
function withRequests(attempt: RunningAttempt, entries: readonly RequestEntry[]): RunningAttempt {
  const ids = new Set<unknown>(attempt.open_requests);
  const known = entries.filter(({ id }) => ids.has(id)) as unknown as readonly Json[];
  const others = attempt.open_requests.filter((request) => !known.some(({ id }) => id === (request as unknown)));
  return { ...attempt, open_requests: [...known, ...others] };
}

/** With the reasoning, if the caller was granted it. */
async function subscribe(
  client: Client,
  request: { readonly room_id: string; readonly since_seq: number },
  listener: RoomListener,
) {
  try {
    return { subscription: await client.subscribeRoom({ ...request, reasoning: true }, listener), hasReasoning: true };
  } catch (fault) {
    if (!(fault instanceof CallError) || fault.reason !== "not_granted") throw fault;
    return { subscription: await client.subscribeRoom(request, listener), hasReasoning: false };
  }
}

/** Resolves when an attempt has settled and its last event has come, or had time to. */
function endOf(turn: FoundTurn, clock: Clock) {
  let resolve = (): void => undefined;
  let reject: (fault: unknown) => void = () => undefined;
  const promise = new Promise<void>((done, fail) => {
    [resolve, reject] = [done, fail];
  });
  promise.catch(() => undefined);
  let stopTimer = (): void => undefined;
  const end = (): void => {
    stopTimer();
    resolve();
  };
  if (!isOpen(turn)) end();
  const settled = (count: number | null): void => {
    // Of an attempt whose host died no further event comes.
    if (count === null) end();
    else stopTimer = clock.after(lastEventsMs, end);
  };
  return { promise, resolve: end, reject, settled };
}

/** Whether its last attempt has not settled, as far as its rows say. */
export function isOpen({ turn_id, rows }: Pick<FoundTurn, "turn_id" | "rows">): boolean {
  return rows.findLast((row) => row.turn_id === turn_id)?.kind === "turn.started";
}
