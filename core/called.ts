import type { Clock } from "./clock.ts";
import type { ErrorCode } from "./errors.ts";
import type { JsonObject } from "./frames.ts";

/** A call that had no effect, and why. */
export interface Refused<Code extends ErrorCode = ErrorCode> {
  readonly refused: Code;
  readonly message: string;
  /** What a client is told beside the code. */
  readonly data?: JsonObject | undefined;
}

/** What a call is answered, and what it causes: that comes behind the answer. */
export interface Called<Result> {
  readonly result: Result;
  /**
   * Tells, and begins, what the call caused. To be called once the answer is on its way; whoever cannot, because the
   * caller has gone, need not: it happens by itself in the next turn of the event loop. Without effect the second time.
   */
  readonly begin: () => void;
}

/** A refusal as a value. */
export function refuse<Code extends ErrorCode>(refused: Code, message: string, data?: JsonObject): Refused<Code> {
  return data === undefined ? { refused, message } : { refused, message, data };
}

/** An answer, and the effect that comes behind it. */
export function called<Result>(clock: Clock, result: Result, effect: () => void): Called<Result> {
  let isDue = true;
  const begin = (): void => {
    if (!isDue) return;
    isDue = false;
    effect();
  };
  clock.defer(begin);
  return { result, begin };
}
