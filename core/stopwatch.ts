import type { Clock } from "./clock.ts";

/** Monotonic time between starts and stops: a step of the wall clock changes nothing. */
export class Stopwatch {
  readonly #clock: Clock;
  #before = 0;
  #startedAt: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get elapsedMs(): number {
    return this.#before + (this.#startedAt === null ? 0 : this.#clock.monotonic() - this.#startedAt);
  }

  start(): void {
    this.#startedAt ??= this.#clock.monotonic();
  }

  stop(): void {
    this.#before = this.elapsedMs;
    this.#startedAt = null;
  }
}
