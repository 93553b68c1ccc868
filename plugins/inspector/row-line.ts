import type { TurnSettled } from "../../core/index.ts";
import type { LogRow } from "../../rooms/index.ts";
import { counted } from "../counted.ts";

/** What a line shows of a row, out of a database or over the wire. */
export type ShownRow = LogRow extends infer Row
  ? Row extends LogRow
    ? Pick<Row, "seq" | "kind" | "thread_id" | "member_id" | "task_id" | "execution_generation" | "payload">
    : never
  : never;

/** `12  turn.settled  main  m-planner  k-...#1  completed  "text"  5 ms, ...`: on one line whatever the texts are. */
export function rowLine(row: ShownRow): string {
  const head = `${row.seq}  ${row.kind}  ${row.thread_id}  ${row.member_id}  ${row.task_id}#${row.execution_generation}`;
  if (row.kind === "turn.settled") return `${head}  ${settledText(row.payload)}`;
  const { cause, input } = row.payload;
  const texts = input.map((item) => {
    if ("text" in item) return `${item.author.display_name ?? item.author.id}: ${item.text}`;
    return "message_id" in item ? `${item.message_id} (row ${item.row_seq})` : `row ${item.row_seq}`;
  });
  return `${head}  ${cause}  ${quoted(texts)}`;
}

function settledText({ status, reason_code, text, error, ...figures }: TurnSettled): string {
  const reason = reason_code === null ? "" : ` (${reason_code})`;
  const why = error === null ? "" : `  error ${quoted(error)}`;
  return `${status}${reason}  ${quoted(text)}${why}  ${figuresText(figures)}`;
}

/** What nobody reported is said to be so: it is no 0. */
function figuresText(figures: Pick<TurnSettled, "duration_ms" | "activity_count" | "usage">): string {
  const { duration_ms: ms, activity_count: count, usage } = figures;
  const used = `usage ${usage === null ? "not reported" : JSON.stringify(usage)}`;
  if (ms === null || count === null) return `it may have run: time and events are not known, ${used}`;
  return `${ms} ms, ${counted(count, "event")}, ${used}`;
}

function quoted(texts: string | readonly string[]): string {
  return JSON.stringify(texts);
}
