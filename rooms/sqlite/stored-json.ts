import type { z } from "zod";
import { RoomtapError } from "../../core/index.ts";
import { problemText } from "../problem-text.ts";

/**
 * Parses a column that holds JSON.
 * @param what names the row in the message
 * @throws RoomtapError `log_corrupt`
 */
export function parseStored<Value>(schema: z.ZodType<Value>, text: string, what: string): Value {
  try {
    return schema.parse(JSON.parse(text));
  } catch (fault) {
    throw new RoomtapError("log_corrupt", `${what} cannot be read: ${problemText(fault)}`, { cause: fault });
  }
}
