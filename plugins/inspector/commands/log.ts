import { cleanPayload, createRedactor } from "../../../core/index.ts";
import type { LogRow } from "../../../rooms/index.ts";
import type { Output } from "../../output.ts";
import { jsonText, terminalText } from "../../terminal-text.ts";
import type { LookOptions } from "../look-options.ts";
import { roomOf, withLog } from "../open-log.ts";
import { rowLine } from "../row-line.ts";

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
