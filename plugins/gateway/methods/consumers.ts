import { z } from "zod";
import type { ConsumerStats } from "../../../observers/index.ts";
import { defineMethod, type Method } from "../rpc-table.ts";

const count = z.int().min(0);

/** Counters of a consumer; open, because they may grow. */
const statsSchema: z.ZodType<ConsumerStats> = z.looseObject({
  id: z.string(),
  published: count,
  delivered: count,
  merged: count,
  dropped: count,
  dropped_by_kind: z.record(z.string(), count),
  gaps: count,
  failures: z.object({ thrown: count, rejected: count, stalled: count }),
  depth: count,
  bytes: count,
  oldest_age_ms: z.number().nullable(),
  lagging: z.boolean(),
  running: count,
  handler_ms: z.object({ p50: z.number(), p99: z.number() }).nullable(),
});

/** What an operator wants to know of the consumers of a host. */
export const consumerMethods: readonly Method[] = [
  defineMethod({
    name: "consumers.list",
    summary: "Counters of all consumers of activity, in the order in which they were registered; no payloads.",
    params: z.object({}),
    // `at`: wall ms of the server.
    result: z.object({ at: z.number(), consumers: z.array(statsSchema) }),
    handler: (_params, { host }) => ({ at: host.clock.now(), consumers: [...host.observers.stats()] }),
  }),
];
