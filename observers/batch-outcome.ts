import type { BatchFailures, BatchOutcome } from "./observer.ts";

/** A batch's outcome, read and checked. */
export interface ReadOutcome {
  /** Events from the beginning that were handled. */
  readonly handled: number;
  /** Places that were not, when they are told one by one. */
  readonly lost?: ReadonlySet<number>;
  readonly failures: BatchFailures;
  readonly fresh: boolean;
}

/**
 * Reads what the call of a batch gave. What is no `BatchOutcome`, or no such number, says nothing: the batch was handled.
 * @param length events of the batch
 */
export function readOutcome(value: unknown, length: number): ReadOutcome {
  const nothing: ReadOutcome = { handled: length, failures: {}, fresh: false };
  if (typeof value !== "object" || value === null) return nothing;
  try {
    const { handled, lost, failures, fresh } = value as { readonly [Name in keyof BatchOutcome]: unknown };
    return {
      handled: isCount(handled) ? Math.min(handled, length) : length,
      ...(Array.isArray(lost) ? { lost: new Set(lost.filter(isCount)) } : {}),
      failures: typeof failures === "object" && failures !== null ? readFailures(failures) : {},
      fresh: fresh === true,
    };
  } catch {
    // It throws when it is read: a proxy, or a getter.
    return nothing;
  }
}

function readFailures(given: { readonly [Name in keyof BatchFailures]: unknown }): BatchFailures {
  const { thrown, rejected, stalled, message } = given;
  return {
    thrown: isCount(thrown) ? thrown : 0,
    rejected: isCount(rejected) ? rejected : 0,
    stalled: isCount(stalled) ? stalled : 0,
    message: typeof message === "string" ? message : undefined,
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
