import type { Clock } from "./clock.ts";
import type { JsonObject } from "./frames.ts";
import { hostErrors, type ErrorEntry } from "./host-errors.ts";
import { wireErrors } from "./wire-errors.ts";

/** A word for a fault that callers may rely on: a key of `errorTable`. */
export type ErrorCode = keyof typeof hostErrors | keyof typeof wireErrors;

/** The one table of error codes, in alphabetical order. `ERRORS.md` repeats it, and a test compares the two. */
export const errorTable = sorted({ ...hostErrors, ...wireErrors });

/** The one error class of roomtap. `code` is a key of `errorTable`; `message` is for people and no contract. */
export class RoomtapError extends Error {
  readonly code: ErrorCode;
  /** What a client is told beside the code: JSON, without secrets. */
  readonly data: JsonObject | undefined;
  readonly #remedy: string | undefined;

  /** @param options.remedy what to do in this case; default: what the table says of the code */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown; data?: JsonObject; remedy?: string }) {
    super(message, options);
    this.name = "RoomtapError";
    this.code = code;
    this.data = options?.data;
    this.#remedy = options?.remedy;
  }

  /** What a person can do about it. */
  get remedy(): string {
    return this.#remedy ?? errorTable[this.code].remedy;
  }
}

/** One fault that nobody awaits: a handler that threw, a room that became read-only, a queue that lags. */
export interface Notice {
  /** A word for machines, e.g. `handler_threw`, `lagging`, `stalled`, or an error code. */
  readonly code: string;
  readonly message: string;
  /** Who it is about: a consumer, a plugin, a room. */
  readonly subject?: string;
  readonly cause?: unknown;
}

/** The one channel for faults that nobody awaits. Never throws. */
export type Report = (notice: Notice) => void;

/**
 * A report that tells in a later turn of the event loop: whoever listens is in nobody's way, may do what it likes, and
 * what it throws goes no further.
 */
export function reportLater(report: Report, clock: Clock): Report {
  return (notice) => {
    clock.defer(() => {
      try {
        report(notice);
      } catch {
        // There is nobody left to tell.
      }
    });
  };
}

/** Whether it is trouble of a store that may go by itself: the same step may be tried again later. */
export function isPassing(fault: unknown): fault is RoomtapError {
  if (!(fault instanceof RoomtapError)) return false;
  return ["log_busy", "log_full", "log_read_only", "log_unavailable"].includes(fault.code);
}

/** The text of anything thrown, for a message. Never throws. */
export function messageOf(fault: unknown): string {
  try {
    if (fault instanceof Error) return String(fault.message);
    return typeof fault === "string" ? fault : Object.prototype.toString.call(fault);
  } catch {
    // What was thrown throws when it is read.
    return "something that cannot be read";
  }
}

function sorted(table: Readonly<Record<ErrorCode, ErrorEntry>>): Readonly<Record<ErrorCode, ErrorEntry>> {
  const entries = Object.entries(table).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries) as Record<ErrorCode, ErrorEntry>;
}
