import type { ActivityEvent } from "../../core/index.ts";
import type { ActivityLoss, LogRow } from "../client/index.ts";
import { counted } from "../counted.ts";
import { jsonText, oneLine, terminalText } from "../terminal-text.ts";

/** Longest payload on a line. UTF-16 units. */
const maxPayloadUnits = 160;

/** What a tail has seen, and where it goes on. */
export interface TailSummary {
  readonly rows: number;
  /** Events by kind; starts and ends of turns stand under `rows`. */
  readonly events: { readonly [kind: string]: number };
  /** Events that did not come. */
  readonly lost: number;
  /** The last row; null when it is not known. */
  readonly since: number | null;
}

/** Counts what a tail is told. */
export class TailCounts {
  #since: number | null;
  #rows = 0;
  #lost = 0;
  readonly #events = new Map<string, number>();

  /** @param since the row behind which it begins; null while it is not known */
  constructor(since: number | null) {
    this.#since = since;
  }

  /** Where it began, when nobody said it and no row came. */
  begin(cursor: number | null): void {
    this.#since ??= cursor;
  }

  /** @param isShown rows that are not shown are passed over, and are not read again all the same */
  row({ seq }: LogRow, isShown: boolean): void {
    if (isShown) this.#rows += 1;
    this.#since = seq;
  }

  activity({ kind }: ActivityEvent): void {
    if (kind !== "gap") this.#events.set(kind, (this.#events.get(kind) ?? 0) + 1);
  }

  loss({ events }: ActivityLoss): void {
    this.#lost += events;
  }

  summary(): TailSummary {
    const events = Object.fromEntries(this.#events);
    return { rows: this.#rows, events, lost: this.#lost, since: this.#since };
  }
}

/** `  7  tool.started  main  m-planner  k-...#1  {...}`: on one line whatever the payload is. */
export function activityLine({ coordinates, kind, n, payload }: ActivityEvent): string {
  const where = coordinates === null ? "-" : placeOf(coordinates);
  return terminalText(`  ${n ?? "-"}  ${kind}  ${where}  ${oneLine(jsonText(payload), maxPayloadUnits)}`);
}

/** What did not come, and of which attempt. */
export function lossLine({ coordinates, first_n, last_n, events, reason }: ActivityLoss): string {
  const where = coordinates === null ? "of several attempts" : `${first_n}..${last_n} of ${placeOf(coordinates)}`;
  return terminalText(`! ${counted(events, "event")} lost (${reason})  ${where}`);
}

/** How many there were, what was lost, and how to go on. */
export function summaryLine(room: string, { rows, events, lost, since }: TailSummary): string {
  const kinds = Object.entries(events).map(([kind, count]) => `${kind} ${count}`);
  const total = Object.values(events).reduce((sum, count) => sum + count, 0);
  const listed = kinds.length === 0 ? "" : ` (${kinds.join(", ")})`;
  const next = since === null ? "" : `; go on with: roomtap tail ${room} --since ${since}`;
  return `${counted(rows, "row")}, ${counted(total, "event")}${listed}, lost: ${lost}${next}`;
}

function placeOf({
  thread_id,
  member_id,
  task_id,
  execution_generation,
}: NonNullable<ActivityEvent["coordinates"]>): string {
  return `${thread_id}  ${member_id}  ${task_id}#${execution_generation}`;
}
