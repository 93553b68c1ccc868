import { Signal, type OpenRequest, type Tap } from "../core/index.ts";
import type { AttemptRun } from "./attempt-run.ts";
import type { Room } from "./room.ts";

/** Knows when nothing moves any more in the rooms of a host without a person. */
export class HostQuiet {
  readonly #rooms: () => readonly Room[];
  readonly #tap: Tap;
  #waiters: (() => void)[] = [];
  /** Fires at the next commit, whoever makes it. */
  #committed = new Signal();

  constructor(rooms: () => readonly Room[], tap: Tap) {
    this.#rooms = rooms;
    this.#tap = tap;
  }

  /** To be called when something moved. */
  changed(): void {
    if (this.#waiters.length === 0 || !this.#isQuiet()) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** To be called after each commit. */
  committed(): void {
    this.#committed.fire();
    this.#committed = new Signal();
  }

  /** As `RoomHost.quiet`. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.changed();
    });
  }

  /** As `RoomHost.finish`. */
  async finish(): Promise<readonly OpenRequest[]> {
    const unanswered: OpenRequest[] = [];
    for (;;) {
      await this.wait();
      // Somebody may have answered between the word that all is quiet and this line.
      if (!this.#isQuiet()) continue;
      const waiting = this.#runs;
      if (waiting.length === 0) {
        const next = this.#committed.fired;
        // Where another process drives, its commits say when the posts have had their turns.
        if (!(await this.#isOwedElsewhere())) return unanswered;
        await next;
        continue;
      }
      for (const run of waiting) {
        unanswered.push(...this.#tap.requests.open(run.attempt));
        run.stop("shutdown");
      }
      await Promise.all(waiting.map((run) => run.done));
    }
  }

  get #runs(): readonly AttemptRun[] {
    return this.#rooms().flatMap((room) => [...room.runs]);
  }

  async #isOwedElsewhere(): Promise<boolean> {
    const others = this.#rooms().filter((room) => !room.isDriven && room.damage === null);
    return (await Promise.all(others.map((room) => room.isOwed()))).includes(true);
  }

  #isQuiet(): boolean {
    return this.#rooms().every((room) => !room.isPlanning) && this.#runs.every((run) => run.waits);
  }
}
