import { cleanPayload, createRedactor, type TurnSettled } from "../../../core/index.ts";
import type { LogRow } from "../../../rooms/index.ts";
import type { Output } from "../../output.ts";
import { jsonText, terminalText } from "../../terminal-text.ts";
import type { LookOptions } from "../look-options.ts";
import { roomOf, withLog } from "../open-log.ts";

/** What `roomtap log` is asked for. */
export interface LogOptions extends LookOptions {
  readonly room: string;
  /** Show texts as they are stored, secrets included. */
  readonly raw: boolean;
  /** Literals to mask beside the default rules. */
  readonly secrets: readonly string[];
}

/**
 * Prints the rows of a room, oldest first: a line each. Texts are masked unless `raw` asks for them as they are: a row
 * may be older than the rule that knows its secret.
 */
export async function logCommand(options: LogOptions, { out }: Output): Promise<number> {
  const redactor = createRedactor({ literals: options.secrets });
  return withLog(options.db, async (log) => {
    const { room_id } = await roomOf(log, options.room);
    for (let after_seq = 0; ;) {
      const page = await log.read(room_id, { after_seq });
      for (const row of page.rows) {
        // Masking changes texts, never the shape.
        const masked = { ...row, payload: cleanPayload(row.payload, redactor).payload } as unknown as LogRow;
        const shown = options.raw ? row : masked;
        await out(options.json ? jsonText(shown) : terminalText(rowLine(shown)));
      }
      if (!page.has_more) return 0;
      after_seq = page.cursor;
    }
  });
}

/** `12  turn.settled  main  m-planner  k-...#1  completed  "text"  5 ms, ...`: on one line whatever the texts are. */
function rowLine(row: LogRow): string {
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
  return `${ms} ms, ${count} events, ${used}`;
}

function quoted(texts: string | readonly string[]): string {
  return JSON.stringify(texts);
}
