import { cleanReport, cleanText, type Notice, type Redactor, type Report } from "../core/index.ts";
import { oneLine } from "./terminal-text.ts";

/** A notice's message is at most so long, and the stack beside it. UTF-16 units. */
const maxMessageUnits = 1_000;
const maxStackUnits = 8_000;

/** The same report for faults as they come: secrets masked in the message, which is brought on one line and cut. */
export function maskedReport(report: Report, redactor: Redactor): Report {
  const onOneLine: Report = (notice) => report({ ...notice, message: oneLine(notice.message, maxMessageUnits) });
  return cleanReport(onOneLine, redactor);
}

/** Reports as warnings of the process, with the stack of what was thrown as their detail. Secrets are masked. */
export function warningReport(redactor: Redactor): Report {
  return (notice) => {
    const { code, cause } = notice;
    const stack = cause instanceof Error && typeof cause.stack === "string" ? cleanText(cause.stack, redactor) : null;
    process.emitWarning(maskedMessage(notice, redactor), {
      type: "RoomtapWarning",
      code,
      ...(stack === null ? {} : { detail: stack.slice(0, maxStackUnits).toWellFormed() }),
    });
  };
}

// Masked first: a secret that is cut in two, or broken by a space, is found no more.
function maskedMessage({ message }: Notice, redactor: Redactor): string {
  return oneLine(cleanText(message, redactor), maxMessageUnits);
}
