import type { ConsumerStats } from "../../client/index.ts";
import { oneLine } from "../../terminal-text.ts";
import { durationText } from "../../duration-text.ts";
import { tableLines, type Column } from "./table-lines.ts";

const columns: readonly Column[] = [
  { title: "CONSUMER" },
  { title: "DEPTH", align: "right" },
  { title: "BYTES", align: "right" },
  { title: "OLDEST", align: "right" },
  { title: "DELIVERED", align: "right" },
  { title: "MERGED", align: "right" },
  { title: "DROPPED", align: "right" },
  { title: "GAPS", align: "right" },
  { title: "FAILED", align: "right" },
  { title: "P99", align: "right" },
  { title: "STATE" },
];

const maxIdUnits = 48;

/** A heading, and a line for each consumer. What was not measured yet is a dash, never 0. Pure. */
export function consumerTable(consumers: readonly ConsumerStats[]): readonly string[] {
  return tableLines(columns, consumers.map(cellsOf));
}

function cellsOf(stats: ConsumerStats): readonly string[] {
  const { depth, bytes, oldest_age_ms, delivered, merged, dropped, gaps, handler_ms } = stats;
  const { thrown, rejected } = stats.failures;
  return [
    oneLine(stats.id, maxIdUnits),
    String(depth),
    String(bytes),
    oldest_age_ms === null ? "-" : durationText(oldest_age_ms),
    ...[delivered, merged, dropped, gaps, thrown + rejected].map(String),
    handler_ms === null ? "-" : durationText(handler_ms.p99),
    consumerState(stats),
  ];
}

/** What an operator has to know first. */
export function consumerState({ lagging, failures, running, depth }: ConsumerStats): string {
  const words = [
    ...(lagging ? ["lagging"] : []),
    ...(failures.stalled > 0 ? [`stalled ${failures.stalled}`] : []),
    ...(running > 0 ? [`running ${running}`] : []),
  ];
  if (words.length > 0) return words.join(", ");
  return depth > 0 ? "waiting" : "idle";
}
