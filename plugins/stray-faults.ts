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

type ProcessEvent = "unhandledRejection" | "uncaughtException";

/** Of the process: several hosts in it share what listens. */
const running = new AsyncLocalStorage<Running>();
let isListening = false;

/**
 * What the code of a plugin in the host's own thread is entered through, so that what it begins is known as its own: faults
 * that no call has any more, of a promise that nobody holds, of a timer that throws. They would end the process. Once there
 * was such a plugin they are caught, counted against the one whose code began it, and what belongs to nobody here is thrown
 * on, as if nobody had listened. That stays so when the plugin was taken out and its host is closed: its code may go on, and
 * what listens keeps no process alive. What runs in a bare microtask (`queueMicrotask`) belongs to nobody. Other listeners of
 * the process hear of all of it.
 */
export function strayGuard(parts: InstanceParts): Guard {
  if (!isListening) {
    isListening = true;
    process.on("unhandledRejection", onRejection);
    process.on("uncaughtException", onException);
  }
  const entered = { parts, faults: 0 };
  return (run) => running.run(entered, run);
}

function onRejection(fault: unknown): void {
  if (blame(fault) || hasOthers("unhandledRejection")) return;
  throwOn(fault);
}

/** A fault that is on its way to whoever else listens. */
let passing: { readonly fault: unknown } | null = null;

/** Also of what a main module throws: it comes here alone, though its origin says that it is a rejection. */
function onException(fault: unknown): void {
  const isPassed = passing !== null && passing.fault === fault;
  passing = null;
  if (isPassed) return;
  if (blame(fault) || hasOthers("uncaughtException")) return;
  throwOn(fault);
}

/** Whether it is some plugin's. One that was taken out is not told of again: it may go on for ever. */
function blame(fault: unknown): boolean {
  const entered = running.getStore();
  if (entered === undefined) return false;
  entered.faults++;
  if (entered.faults > maxStrayFaults) return true;
  const { onFault, onGivenUp } = entered.parts;
  onFault(`its code failed where nobody waits for it: ${messageOf(fault)}`, fault);
  if (entered.faults === maxStrayFaults) onGivenUp(`it failed so ${maxStrayFaults} times, and is taken out`);
  return true;
}

function hasOthers(event: ProcessEvent): boolean {
  return process.listenerCount(event) > 1;
}

/** As the process would without a listener of ours: with its stack and status 1, or to whoever else listens. */
function throwOn(fault: unknown): void {
  passing = { fault };
  if (!hasOthers("uncaughtException")) process.off("uncaughtException", onException);
  process.nextTick(() => {
    throw fault;
  });
}
