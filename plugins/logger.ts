import type { Report } from "../core/index.ts";
import type { Logger } from "./plugin.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A logger for hosts that were given none: warnings and errors are reported, the rest is dropped. */
export function reportingLogger(report: Report): Logger {
  const silent = (): void => undefined;
  const say =
    (code: string) =>
    (message: string, fields: Fields = {}): void =>
      report({ code, message, ...(typeof fields["plugin"] === "string" ? { subject: fields["plugin"] } : {}) });
  return { debug: silent, info: silent, warn: say("plugin_warning"), error: say("plugin_error") };
}

/** The same logger, with the plugin's id in each line's fields. */
export function loggerOf(logger: Logger, plugin: string): Logger {
  const say =
    (level: keyof Logger) =>
    (message: string, fields: Fields = {}): void =>
      logger[level](message, { ...fields, plugin });
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}
