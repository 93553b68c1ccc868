import { clientDefaults } from "./options.ts";

/** What a client does after a close: whether it comes back, how long it waits at least, and what it must not send again. */
export interface CloseVerdict {
  readonly comesBack: boolean;
  readonly waitMs: number;
  /** The largest message that was not answered caused the close. */
  readonly blamesMessage: boolean;
}

const comeBack: CloseVerdict = { comesBack: true, waitMs: 0, blamesMessage: false };
const stayAway: CloseVerdict = { comesBack: false, waitMs: 0, blamesMessage: false };
const dropMessage: CloseVerdict = { comesBack: true, waitMs: 0, blamesMessage: true };

/**
 * By close code. Every other code, 1005 and 1006 (no close frame) among them, is a drop like any other.
 * 1000: the server meant the end. 4401, 4403: the same credential or Origin would be refused again. 4409: a newer
 * connection has this id, and two that took it from each other would never end. 4410: a person ended it.
 */
const verdicts: ReadonlyMap<number, CloseVerdict> = new Map([
  [1000, stayAway],
  [1003, dropMessage],
  [1007, dropMessage],
  [1009, dropMessage],
  [4401, stayAway],
  [4403, stayAway],
  [4409, stayAway],
  [4410, stayAway],
  [4429, { ...comeBack, waitMs: clientDefaults.busyRetryMs }],
]);

/** What to do after a close with this code; null when there was no close frame. Pure. */
export function verdictOf(code: number | null): CloseVerdict {
  return (code === null ? undefined : verdicts.get(code)) ?? comeBack;
}

/** How the waits between attempts grow. */
export interface RetryOptions {
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  readonly stableMs: number;
}

/**
 * The waits between attempts to reconnect. Each range begins where the one before ends and is twice as wide, so that each
 * wait is longer than the last, and clients that lost one server at once come back spread out.
 */
export class Backoff {
  readonly #options: RetryOptions;
  #attempts = 0;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** A connection ended that had stood for `stoodMs`. Only a stable one makes the next wait a first one again. */
  ended(stoodMs: number): void {
    if (stoodMs >= this.#options.stableMs) this.#attempts = 0;
  }

  /** The next wait in ms. @param unit a random number from 0 to below 1 */
  next(unit: number): number {
    const { firstRetryMs, maxRetryMs } = this.#options;
    const attempt = this.#attempts++;
    const to = Math.min(maxRetryMs, firstRetryMs * 2 ** attempt);
    // At the longest wait the range stays as it is.
    const from = attempt === 0 ? 0 : Math.min(maxRetryMs / 2, firstRetryMs * 2 ** (attempt - 1));
    return from + unit * (to - from);
  }
}
