import type { Clock } from "../core/index.ts";
import { DurationBuckets } from "./stats.ts";

/** How often the handler's time is measured: every 64th call. */
const sampleEvery = 64;

/** A handler's misbehaviour, by kind. */
export type Failure = "thrown" | "rejected" | "stalled";

/** What `call` gives for a call that has not settled. */
export const pending = Symbol("pending");

/** A call that is awaited. */
interface Running {
  /** Monotonic ms. */
  readonly since: number;
  isStalled: boolean;
}

interface Parts<Given, Token> {
  readonly handler: (given: Given) => unknown;
  readonly clock: Clock;
  readonly stallMs: number;
  readonly onFailure: (failure: Failure, cause?: unknown) => void;
  /** A call that was awaited is over. `value` is what it gave: undefined when it rejected. */
  readonly onSettled: (token: Token, value: unknown) => void;
}

/**
 * Calls a handler. Whatever it does, throw, reject or hang, is told to `onFailure` and goes no further. How many calls run
 * at a time is the caller's choice.
 */
export class HandlerCalls<Given, Token> {
  /** Calls whose promise has not settled. */
  running = 0;
  readonly times = new DurationBuckets();
  readonly #handler: (given: Given) => unknown;
  readonly #parts: Parts<Given, Token>;
  /** In order of their start. */
  readonly #awaited = new Set<Running>();
  #count = 0;
  #stallWatch: (() => void) | null = null;
  #closed = false;

  constructor(parts: Parts<Given, Token>) {
    this.#handler = parts.handler;
    this.#parts = parts;
  }

  /**
   * Calls the handler. Gives what it returned, undefined when it threw, and `pending` when it returned a promise: then
   * `onSettled` is told of the token.
   */
  call(given: Given, token: Token): unknown {
    if (this.#count++ % sampleEvery === 0) return this.#callTimed(given, token);
    try {
      const result = this.#handler(given);
      // Most handlers return nothing: that is seen before anything else.
      return result !== undefined && isThenable(result) ? this.#await(result, token, false) : result;
    } catch (fault) {
      this.#parts.onFailure("thrown", fault);
      return undefined;
    }
  }

  /** Stops watching for stalls; calls that run may finish. */
  close(): void {
    this.#closed = true;
    this.#stallWatch?.();
    this.#stallWatch = null;
  }

  #callTimed(given: Given, token: Token): unknown {
    const { clock, onFailure } = this.#parts;
    const startedAt = clock.monotonic();
    try {
      const result = this.#handler(given);
      if (isThenable(result)) return this.#await(result, token, true);
      this.times.add(clock.monotonic() - startedAt);
      return result;
    } catch (fault) {
      onFailure("thrown", fault);
      return undefined;
    }
  }

  #await(result: PromiseLike<unknown>, token: Token, timed: boolean): typeof pending {
    const { clock, stallMs, onFailure, onSettled } = this.#parts;
    const call: Running = { since: clock.monotonic(), isStalled: false };
    this.#awaited.add(call);
    this.running++;
    // One timer watches over all calls: a timer for each would cost more than most of them.
    // A handler may have ended its own registration in the call that is awaited here.
    if (!this.#closed) this.#stallWatch ??= clock.after(stallMs, () => this.#lookForStall());
    const settled = (value?: unknown): void => {
      this.#awaited.delete(call);
      this.running--;
      if (timed) this.times.add(clock.monotonic() - call.since);
      onSettled(token, value);
    };
    // A thenable of another make may throw, or settle twice: a promise of ours does neither.
    void Promise.resolve(result).then(settled, (fault: unknown) => {
      onFailure("rejected", fault);
      settled();
    });
    return pending;
  }

  #lookForStall(): void {
    this.#stallWatch = null;
    const { clock, stallMs, onFailure } = this.#parts;
    for (const call of this.#awaited) {
      if (call.isStalled) continue;
      const left = call.since + stallMs - clock.monotonic();
      if (left > 0) {
        this.#stallWatch = clock.after(left, () => this.#lookForStall());
        return;
      }
      call.isStalled = true;
      onFailure("stalled");
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
