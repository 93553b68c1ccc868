import type { ActivityEvent, Clock } from "../core/index.ts";
import type { Handler } from "./observer.ts";
import { DurationBuckets } from "./stats.ts";

/** How often the handler's time is measured: every 64th call. */
const sampleEvery = 64;

/** A handler's misbehaviour, by kind. */
export type Failure = "thrown" | "rejected" | "stalled";

/**
 * The calls of one handler, one at a time. Whatever it does, throw, reject or hang, is counted and told to `onFailure`,
 * and goes no further.
 */
export class HandlerCalls {
  /** A call whose promise has not settled. */
  running = false;
  readonly times = new DurationBuckets();
  readonly failures = { thrown: 0, rejected: 0, stalled: 0 };
  readonly #handler: Handler;
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #onFailure: (failure: Failure, cause?: unknown) => void;
  readonly #onSettled: () => void;
  #count = 0;
  #since = 0;
  #stallWatch: (() => void) | null = null;
  #closed = false;

  constructor(parts: {
    readonly handler: Handler;
    readonly clock: Clock;
    readonly stallMs: number;
    readonly onFailure: (failure: Failure, cause?: unknown) => void;
    /** A call that was awaited is over. */
    readonly onSettled: () => void;
  }) {
    this.#handler = parts.handler;
    this.#clock = parts.clock;
    this.#stallMs = parts.stallMs;
    this.#onFailure = parts.onFailure;
    this.#onSettled = parts.onSettled;
  }

  call(event: ActivityEvent): void {
    if (this.#count++ % sampleEvery === 0) {
      this.#callTimed(event);
      return;
    }
    try {
      const result = this.#handler(event);
      // Most handlers return nothing: that is seen before anything else.
      if (result !== undefined && isThenable(result)) this.#await(result, false);
    } catch (fault) {
      this.#fail("thrown", fault);
    }
  }

  /** Stops watching for stalls; a call that runs may finish. */
  close(): void {
    this.#closed = true;
    this.#stallWatch?.();
    this.#stallWatch = null;
  }

  #callTimed(event: ActivityEvent): void {
    const startedAt = this.#clock.monotonic();
    try {
      const result = this.#handler(event);
      if (isThenable(result)) this.#await(result, true);
      else this.times.add(this.#clock.monotonic() - startedAt);
    } catch (fault) {
      this.#fail("thrown", fault);
    }
  }

  #await(result: PromiseLike<unknown>, timed: boolean): void {
    this.running = true;
    this.#since = this.#clock.monotonic();
    // One timer watches over all calls: a timer for each would cost more than most of them.
    // A handler may have ended its own registration in the call that is awaited here.
    if (!this.#closed) this.#stallWatch ??= this.#clock.after(this.#stallMs, () => this.#lookForStall());
    const settled = (): void => {
      this.running = false;
      if (timed) this.times.add(this.#clock.monotonic() - this.#since);
      this.#onSettled();
    };
    // A thenable of another make may throw, or settle twice: a promise of ours does neither.
    void Promise.resolve(result).then(settled, (fault: unknown) => {
      this.#fail("rejected", fault);
      settled();
    });
  }

  #lookForStall(): void {
    this.#stallWatch = null;
    if (!this.running) return;
    const left = this.#since + this.#stallMs - this.#clock.monotonic();
    if (left > 0) this.#stallWatch = this.#clock.after(left, () => this.#lookForStall());
    else this.#fail("stalled");
  }

  #fail(failure: Failure, cause?: unknown): void {
    this.failures[failure]++;
    this.#onFailure(failure, cause);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
