import type { Clock } from "./clock.ts";

/** Wall time in ms, read from the clock once per turn of the event loop: events of one turn bear one time. */
export class TickTime {
  readonly #clock: Clock;
  #at = 0;
  #isRead = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#isRead ? this.#at : this.#read();
  }

  #read(): number {
    this.#at = this.#clock.now();
    this.#isRead = true;
    this.#clock.defer(() => {
      this.#isRead = false;
    });
    return this.#at;
  }
}
