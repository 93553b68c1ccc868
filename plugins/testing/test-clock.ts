import { manualClock, systemClock, type ManualClock, type Undo } from "../../core/index.ts";

/** Time that goes on when it is told to, while the turns of the event loop are real. It counts the timers that wait. */
export class TestClock implements ManualClock {
  readonly #time = manualClock();
  readonly #waiting = new Set<symbol>();

  /** Timers that wait. */
  get timers(): number {
    return this.#waiting.size;
  }

  now(): number {
    return this.#time.now();
  }

  monotonic(): number {
    return this.#time.monotonic();
  }

  after(delayMs: number, run: () => void): Undo {
    const timer = Symbol("timer");
    const undo = this.#time.after(delayMs, () => {
      this.#waiting.delete(timer);
      run();
    });
    this.#waiting.add(timer);
    return () => {
      this.#waiting.delete(timer);
      undo();
    };
  }

  defer(run: () => void): void {
    systemClock.defer(run);
  }

  advance(ms: number): void {
    this.#time.advance(ms);
  }

  setNow(ms: number): void {
    this.#time.setNow(ms);
  }

  tick(): number {
    return this.#time.tick();
  }
}
