/** One metric: what it is, what it is called after, and what it is told by. */
export interface Meter {
  readonly type: "counter" | "gauge" | "histogram";
  /** One sentence. It is the metric's help. */
  readonly help: string;
  /** Labels of its own; `room` comes beside them when rooms are told apart. */
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
  /** It is about the plugin itself: no room stands beside its labels. */
  readonly isOwn?: boolean;
}

const turnSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800];
const firstTextSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const toolSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600];
const personSeconds = [1, 5, 15, 30, 60, 300, 900, 3_600, 14_400, 86_400];

/** The one table of metrics. Units are base units: seconds. */
export const meterTable = {
  roomtap_turns_started_total: { type: "counter", help: "Attempts that started, by cause.", labels: ["cause"] },
  roomtap_turns_total: {
    type: "counter",
    help: "Attempts that settled. A cancelled one is no failure; an abandoned one may have run.",
    labels: ["status", "reason_code"],
  },
  roomtap_turn_retries_total: {
    type: "counter",
    help: "Attempts that started at a task that had been attempted before.",
    labels: [],
  },
  roomtap_turn_duration_seconds: {
    type: "histogram",
    help: "How long attempts took.",
    labels: ["status"],
    buckets: turnSeconds,
  },
  roomtap_turn_duration_unreported_total: {
    type: "counter",
    help: "Attempts that settled and whose duration nobody knows.",
    labels: [],
  },
  roomtap_turn_first_text_seconds: {
    type: "histogram",
    help: "From the start of an attempt to its first text, by wall time.",
    labels: [],
    buckets: firstTextSeconds,
  },
  roomtap_turn_first_text_unreported_total: {
    type: "counter",
    help: "Attempts with text whose start or first piece did not come by itself.",
    labels: [],
  },
  roomtap_turn_tokens_total: {
    type: "counter",
    help: "Tokens that runners reported, by what they were for.",
    labels: ["type"],
  },
  roomtap_turn_usage_unreported_total: {
    type: "counter",
    help: "Attempts that settled without figures of tokens that are known here. They are in no other number of tokens.",
    labels: [],
  },
  roomtap_turn_errors_total: { type: "counter", help: "Errors that agents told of while a turn ran.", labels: [] },
  roomtap_tools_started_total: { type: "counter", help: "Tool calls that started.", labels: ["tool"] },
  roomtap_tools_total: {
    type: "counter",
    help: "Tool calls that ended. Of outcome unknown: they ended and nobody said how.",
    labels: ["outcome", "tool"],
  },
  roomtap_tool_duration_seconds: {
    type: "histogram",
    help: "How long tool calls took.",
    labels: ["outcome", "tool"],
    buckets: toolSeconds,
  },
  roomtap_tool_duration_unreported_total: {
    type: "counter",
    help: "Tool calls that ended and whose duration nobody knows.",
    labels: [],
  },
  roomtap_requests_opened_total: { type: "counter", help: "Questions that agents asked.", labels: ["method"] },
  roomtap_requests_total: {
    type: "counter",
    help: "Questions that were resolved, by how.",
    labels: ["method", "outcome"],
  },
  roomtap_request_answer_seconds: {
    type: "histogram",
    help: "How long a person took to answer, by wall time. Answers of a policy are not in it.",
    labels: ["method"],
    buckets: personSeconds,
  },
  roomtap_events_lost_total: {
    type: "counter",
    help: "Events that this plugin lost at its queue, by kind: so much the numbers above are too low. Other plugins count their own.",
    labels: ["kind"],
    isOwn: true,
  },
  roomtap_events_withheld_total: {
    type: "counter",
    help: "Events that this plugin did not get for want of a grant.",
    labels: [],
    isOwn: true,
  },
  roomtap_events_waiting: {
    type: "gauge",
    help: "Events that wait for this plugin: they are not in the numbers above yet.",
    labels: [],
    isOwn: true,
  },
  roomtap_events_handled_total: {
    type: "counter",
    help: "Events that this plugin has counted.",
    labels: [],
    isOwn: true,
  },
} as const satisfies Record<string, Meter>;

/** The name of a metric. */
export type MeterName = keyof typeof meterTable;

/** A step of a counter, or a value for a histogram. */
export interface Measurement {
  readonly name: MeterName;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
