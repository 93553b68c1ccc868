import { cleanPayload, limits, messageOf, noRedaction, type Clock } from "../../core/index.ts";
import type { Logger } from "../plugin.ts";
import type { GuestLine } from "./guest-line.ts";
import { LineBudget, withDropped } from "./line-budget.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A logger whose lines go to the host's. Those above 100 in a second are dropped, and counted in the next one. */
export function guestLogger(line: GuestLine, clock: Clock): Logger {
  const budget = new LineBudget(clock);
  const say =
    (level: keyof Logger) =>
    (message: string, fields: Fields = {}): void => {
      const place = budget.take();
      if (place === null) return;
      const text = String(message).slice(0, limits.maxLogLineUnits).toWellFormed();
      line.note("log", { level, message: text, fields: withDropped(plain(fields), place.dropped) });
    };
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}

/** Whatever stands there, as JSON has it. An error is its message. */
function plain(fields: Fields): Record<string, unknown> {
  const told = Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? messageOf(value) : value]);
  const { payload, bytes } = cleanPayload(Object.fromEntries(told), noRedaction);
  const most = limits.maxLogFieldUnits;
  // A value is estimated at 16 bytes more than its text, so beyond this it cannot fit: no text is made of it.
  return bytes <= 17 * most && JSON.stringify(payload).length <= most
    ? { ...payload }
    : { omitted: `fields of more than ${most} characters` };
}
