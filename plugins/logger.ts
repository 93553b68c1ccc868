import { cleanPayload, messageOf, noRedaction, type Report } from "../core/index.ts";
import type { Logger } from "./plugin.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * A logger for hosts that were given none: warnings and errors are reported, with the plugin's id and the fields in
 * their text; the rest is dropped.
 */
export function reportingLogger(report: Report): Logger {
  const silent = (): void => undefined;
  const say =
    (code: string) =>
    (message: string, { plugin, ...fields }: Fields = {}): void => {
      const text = `${message}${fieldsText(fields)}`;
      report(
        typeof plugin === "string"
          ? { code, message: `plugin ${plugin}: ${text}`, subject: plugin }
          : { code, message: text },
      );
    };
  return { debug: silent, info: silent, warn: say("plugin_warning"), error: say("plugin_error") };
}

/** ` {"port":80}`; "" for none. An error is its message; whatever else stands there, it gives JSON. */
function fieldsText(fields: Fields): string {
  if (Object.keys(fields).length === 0) return "";
  const told = Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? messageOf(value) : value]);
  return ` ${JSON.stringify(cleanPayload(Object.fromEntries(told), noRedaction).payload)}`;
}

/** The same logger, with the plugin's id in each line's fields. */
export function loggerOf(logger: Logger, plugin: string): Logger {
  const say =
    (level: keyof Logger) =>
    (message: string, fields: Fields = {}): void =>
      logger[level](message, { ...fields, plugin });
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}
