import { cleanText } from "./clean.ts";
import { messageOf, RoomtapError, type Report } from "./errors.ts";
import { limits } from "./options.ts";
import type { Redactor } from "./redact.ts";
import { cutUtf8 } from "./utf8.ts";

/**
 * A report whose notices hold no secret (I13): what a frame, an agent or a plugin threw may say anything. Texts are masked
 * and then cut to 4,096 bytes; a cause becomes a plain error of the same name, text and stack, without its other fields.
 */
export function cleanReport(report: Report, redactor: Redactor): Report {
  const clean = (text: string): string => cutUtf8(cleanText(text, redactor), limits.maxErrorTextBytes);
  return ({ code, message, subject, cause }) => {
    report({
      code,
      message: clean(message),
      ...(subject === undefined ? {} : { subject: clean(subject) }),
      ...(cause === undefined ? {} : { cause: cleanFault(cause, clean) }),
    });
  };
}

function cleanFault(fault: unknown, clean: (text: string) => string): Error {
  const message = clean(messageOf(fault));
  try {
    if (!(fault instanceof Error)) return new Error(message);
    const copy = fault instanceof RoomtapError ? new RoomtapError(fault.code, message) : new Error(message);
    copy.name = clean(String(fault.name));
    copy.stack = clean(String(fault.stack ?? message));
    return copy;
  } catch {
    // What was thrown throws when it is read.
    return new Error(message);
  }
}
