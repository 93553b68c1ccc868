import { errorTable, messageOf, RoomtapError, type ErrorCode } from "../../core/index.ts";
import type { FaultData } from "./messages.ts";

/** UTF-16 units. */
const maxMessageUnits = 8_192;

/** A fault as plain data: what was thrown may be anything, also what cannot be cloned. */
export function faultData(fault: unknown): FaultData {
  const stack = stackOf(fault);
  return {
    code: fault instanceof RoomtapError ? fault.code : null,
    message: messageOf(fault).slice(0, maxMessageUnits).toWellFormed(),
    ...(stack === undefined ? {} : { stack }),
  };
}

/** The same fault on the other side, with the stack that it had there. */
export function faultOf({ code, message, stack }: FaultData): Error {
  const fault = isCode(code) ? new RoomtapError(code, message) : new Error(message);
  if (stack !== undefined) fault.stack = stack;
  return fault;
}

function isCode(code: string | null): code is ErrorCode {
  return code !== null && Object.hasOwn(errorTable, code);
}

function stackOf(fault: unknown): string | undefined {
  try {
    if (fault instanceof Error && typeof fault.stack === "string") return fault.stack.slice(0, maxMessageUnits);
  } catch {
    // It throws when it is read.
  }
  return undefined;
}
