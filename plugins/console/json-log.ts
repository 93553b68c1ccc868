import type { Writable } from "node:stream";
import type { Logger } from "../plugin.ts";

/** How much is logged, the most first. */
export const logLevels = ["debug", "info", "warn", "error"] as const;
/** A word of `logLevels`. */
export type LogLevel = (typeof logLevels)[number];

/** A log of JSON lines; none without a level. What writes it is loaded only when it is asked for. */
export async function jsonLog(level: LogLevel | undefined, stream: Writable): Promise<Logger | undefined> {
  if (level === undefined) return undefined;
  const { pino } = await import("pino");
  const log = pino({ level, base: null, formatters: { level: (label) => ({ level: label }) } }, stream);
  return {
    debug: (message, fields = {}) => log.debug(fields, message),
    info: (message, fields = {}) => log.info(fields, message),
    warn: (message, fields = {}) => log.warn(fields, message),
    error: (message, fields = {}) => log.error(fields, message),
  };
}
