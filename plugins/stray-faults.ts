import { AsyncLocalStorage } from "node:async_hooks";
import { messageOf } from "../core/index.ts";
import type { Guard } from "./inline-code.ts";
import type { InstanceParts } from "./instance.ts";

/** So many faults of code that runs later, and a plugin in the host's thread is taken out. */
export const maxStrayFaults = 5;

/** A plugin whose code runs. */
interface Running {
  readonly parts: InstanceParts;
  faults: number;
}

/**
 * Faults of plugins in the host's own thread that no call has any more: a promise that nobody holds, a timer that throws.
 * They would end the process. While there is such a plugin they are caught, counted against the one whose code began it,
 * and what belongs to nobody here is thrown on, as if nobody had listened.
 */
export class StrayFaults {
  readonly #running = new AsyncLocalStorage<Running>();
  #isListening = false;

  /** What the code of a plugin is entered through, so that what it begins is known as its own. */
  guard(parts: InstanceParts): Guard {
    this.#listen();
    const running = { parts, faults: 0 };
    return (run) => this.#running.run(running, run);
  }

  /** Listens no more. */
  close(): void {
    if (!this.#isListening) return;
    this.#isListening = false;
    process.off("unhandledRejection", this.#onRejection);
    process.off("uncaughtException", this.#onException);
    this.#running.disable();
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    process.on("unhandledRejection", this.#onRejection);
    process.on("uncaughtException", this.#onException);
  }

  readonly #onRejection = (fault: unknown): void => this.#judge(fault, "unhandledRejection");

  readonly #onException = (fault: unknown, origin: string): void => {
    // What the handler of rejections threw on comes here as well.
    if (origin === "uncaughtException") this.#judge(fault, "uncaughtException");
  };

  #judge(fault: unknown, event: "unhandledRejection" | "uncaughtException"): void {
    const running = this.#running.getStore();
    if (running === undefined) return this.#throwOn(fault, event);
    const { onFault, onGivenUp } = running.parts;
    running.faults++;
    onFault(`its code failed where nobody waits for it: ${messageOf(fault)}`, fault);
    if (running.faults === maxStrayFaults) onGivenUp(`it failed so ${maxStrayFaults} times, and is taken out`);
  }

  /** As the process would without a listener of ours; whoever else listens decides. */
  #throwOn(fault: unknown, event: "unhandledRejection" | "uncaughtException"): void {
    if (process.listenerCount(event) > 1) return;
    process.off("uncaughtException", this.#onException);
    process.nextTick(() => {
      throw fault;
    });
  }
}
