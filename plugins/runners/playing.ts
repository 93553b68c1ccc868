import type { Correction } from "../../core/index.ts";
import { unroll, type Script, type Step } from "./script.ts";

/** A script that is played in one turn: which step comes next, also when it is corrected meanwhile. */
export class Playing {
  readonly #steer: Script["steer"];
  readonly #stop: AbortSignal;
  /** What is left, what comes next last. */
  #left: Iterator<Step, void>[];
  #redirected = new AbortController();
  #waits: AbortSignal;
  #isOver = false;

  /** @param stop ends it wherever it stands */
  constructor({ steps, steer }: Script, stop: AbortSignal) {
    this.#steer = steer;
    this.#stop = stop;
    this.#left = [unroll(steps)];
    this.#waits = this.#nextWaits();
  }

  get isStopped(): boolean {
    return this.#stop.aborted;
  }

  /** Ends what a step waits for: a stop, or a redirect. */
  get waits(): AbortSignal {
    return this.#waits;
  }

  /** The next step; undefined when none is left. */
  next(): Step | undefined {
    for (let steps = this.#left.at(-1); steps !== undefined; steps = this.#left.at(-1)) {
      const { done, value } = steps.next();
      if (done !== true) return value;
      this.#left.pop();
    }
    return undefined;
  }

  /** Plays the steps for a correction next. False when the script has none, or is over. */
  correct(kind: Correction["kind"]): boolean {
    if (this.#steer === undefined || this.#isOver || this.isStopped) return false;
    if (kind === "steer") {
      this.#left.push(unroll(this.#steer));
      return true;
    }
    this.#left = [unroll(this.#steer)];
    const redirected = this.#redirected;
    this.#redirected = new AbortController();
    this.#waits = this.#nextWaits();
    redirected.abort();
    return true;
  }

  /** No step is left: what comes now is too late. */
  finish(): void {
    this.#isOver = true;
  }

  #nextWaits(): AbortSignal {
    return this.#steer === undefined ? this.#stop : AbortSignal.any([this.#stop, this.#redirected.signal]);
  }
}
