import type { ActivityEvent, Coordinates } from "../../../core/index.ts";
import type { LogRow, RunningAttempt } from "../../client/index.ts";
import { attemptKey } from "../view/attempt-key.ts";

/** What a lane shows is bounded; what came first goes first. */
export const timelineBounds = { maxAttempts: 2_000, maxMarks: 500, binMs: 100, maxBins: 6_000 } as const;

/** A tool call on its attempt's bar. */
export interface ToolSpan {
  readonly tool_id: string;
  readonly name: string;
  /** Wall ms. */
  readonly from: number;
  /** null while it is open, or its end was not seen. */
  to: number | null;
  /** null while it is open. */
  outcome: string | null;
}

/** An instant on a bar: a question, its answer, an error, a loss. */
export interface Mark {
  readonly kind: "opened" | "resolved" | "error" | "lost" | "withheld";
  readonly at: number;
  readonly text: string;
}

/** One execution as a bar in its member's lane. */
export interface AttemptBar {
  readonly coordinates: Coordinates;
  /** Wall ms. */
  from: number;
  /** Whether `from` is its start: else it was under way when somebody began to look. */
  isWhole: boolean;
  /** null while it runs. */
  to: number | null;
  /** A word of the log; null while it runs. */
  status: string | null;
  reason: string | null;
  /** The last ones. */
  readonly tools: ToolSpan[];
  /** Tool calls that began, those of `tools` and all before them. */
  calls: number;
  readonly marks: Mark[];
  /** UTF-16 units of text by bin of `binMs` since `from`. */
  readonly density: number[];
  /** Events that were told as lost. */
  lost: number;
  /** The last thing that is known to have happened. */
  last: number;
}

/** The lanes of one room: bars by member, in order of their starts. Fed by rows and activity, in any order of the two. */
export class Timeline {
  readonly #bars = new Map<string, AttemptBar>();
  /** Events that came, for rates. */
  events = 0;

  /** In order of their starts. */
  get bars(): readonly AttemptBar[] {
    return [...this.#bars.values()];
  }

  bar(coordinates: Coordinates): AttemptBar | undefined {
    return this.#bars.get(attemptKey(coordinates));
  }

  /** What runs when somebody begins to look. */
  seed(attempts: readonly RunningAttempt[], now: number): void {
    for (const { coordinates, tools } of attempts) {
      const bar = this.#barOf(coordinates, now);
      for (const { tool_id, name, since } of tools as readonly { tool_id: string; name: string; since: number }[]) {
        bar.from = Math.min(bar.from, since);
        if (bar.tools.every((tool) => tool.tool_id !== tool_id)) {
          openTool(bar, { tool_id, name }, since);
        }
      }
    }
  }

  row(row: LogRow): void {
    const bar = this.#barOf(row, row.created_at);
    if (row.kind === "turn.started") {
      bar.from = Math.min(bar.from, row.created_at);
      bar.isWhole = true;
      return;
    }
    this.#end(bar, { at: row.created_at, status: row.payload.status, reason: row.payload.reason_code });
  }

  activity(event: ActivityEvent): void {
    this.events++;
    const { coordinates, at } = event;
    if (coordinates === null) return;
    const bar = this.#barOf(coordinates, at);
    bar.last = Math.max(bar.last, at);
    switch (event.kind) {
      case "turn.started":
        bar.isWhole = true;
        bar.from = Math.min(bar.from, at);
        return;
      case "turn.settled":
        return this.#end(bar, { at, status: event.payload.status, reason: event.payload.reason_code });
      case "tool.started":
        return openTool(bar, event.payload, at);
      case "tool.completed":
        return endTool(bar, event.payload, at);
      case "message.delta":
      case "reasoning.delta":
        return addText(bar, at, event.payload.text?.length ?? 1);
      case "request.opened":
        return mark(bar, { kind: "opened", at, text: event.payload.command ?? event.payload.method });
      case "request.resolved":
        return mark(bar, { kind: "resolved", at, text: event.payload.choice ?? event.payload.outcome });
      case "turn.error":
        return mark(bar, { kind: "error", at, text: event.payload.message });
      case "gap":
        return addGap(bar, event.payload, at);
      case "message.interim":
      case "tool.output_risk":
    }
  }

  /** Activity that did not come over a reconnect. */
  loss(coordinates: Coordinates | null, count: number, at: number): void {
    if (coordinates !== null) addGap(this.#barOf(coordinates, at), { dropped: count, withheld: 0 }, at);
  }

  #end(bar: AttemptBar, end: { readonly at: number; readonly status: string; readonly reason: string | null }): void {
    bar.to ??= end.at;
    bar.last = Math.max(bar.last, end.at);
    bar.status = end.status;
    bar.reason = end.reason;
    for (const tool of bar.tools) tool.to ??= end.at;
  }

  #barOf(coordinates: Coordinates, at: number): AttemptBar {
    const key = attemptKey(coordinates);
    const known = this.#bars.get(key);
    if (known !== undefined) return known;
    const bar: AttemptBar = {
      ...{ coordinates, from: at, isWhole: false, to: null, status: null, reason: null },
      ...{ tools: [], calls: 0, marks: [], density: [], lost: 0, last: at },
    };
    this.#bars.set(key, bar);
    const [oldest] = this.#bars.keys();
    if (this.#bars.size > timelineBounds.maxAttempts && oldest !== undefined) this.#bars.delete(oldest);
    return bar;
  }
}

function openTool(bar: AttemptBar, { tool_id, name }: { readonly tool_id: string; readonly name: string }, at: number) {
  if (bar.tools.length >= timelineBounds.maxMarks) bar.tools.shift();
  bar.tools.push({ tool_id, name, from: at, to: null, outcome: null });
  bar.calls++;
}

function endTool(
  bar: AttemptBar,
  {
    tool_id,
    name,
    outcome,
    duration_ms = 0,
  }: { tool_id: string; name: string; outcome: string; duration_ms?: number | undefined },
  at: number,
): void {
  const tool = bar.tools.findLast((each) => each.tool_id === tool_id);
  if (tool === undefined) {
    openTool(bar, { tool_id, name }, at - duration_ms);
    return endTool(bar, { tool_id, name, outcome }, at);
  }
  [tool.to, tool.outcome] = [at, outcome];
}

function addText(bar: AttemptBar, at: number, units: number): void {
  const bin = Math.floor((at - bar.from) / timelineBounds.binMs);
  if (bin < 0 || bin >= timelineBounds.maxBins) return;
  while (bar.density.length <= bin) bar.density.push(0);
  bar.density[bin] = (bar.density[bin] ?? 0) + units;
}

function addGap(bar: AttemptBar, { dropped, withheld }: { dropped: number; withheld: number }, at: number): void {
  bar.lost += dropped;
  if (dropped > 0) mark(bar, { kind: "lost", at, text: `${dropped} events lost` });
  if (withheld > 0) mark(bar, { kind: "withheld", at, text: `${withheld} events withheld: not granted` });
}

function mark(bar: AttemptBar, given: Mark): void {
  const last = bar.marks.at(-1);
  if (given.kind === "withheld" && last?.kind === "withheld") return;
  if (bar.marks.length >= timelineBounds.maxMarks) bar.marks.shift();
  bar.marks.push(given);
}
