import { messageOf, type ActivityEvent } from "../../core/index.ts";
import type { HandlerRegistration } from "../services.ts";
import type { BatchAck } from "./messages.ts";

/** What a batch is run with. */
export interface BatchRun {
  readonly handler: HandlerRegistration["handler"];
  readonly options: HandlerRegistration["options"];
  /** Told of each event that was handled, by its place in the batch. */
  readonly mark: (place: number) => void;
}

/**
 * Hands a batch to a plugin's handler in the way that its options ask for: event by event, in lists, or so many attempts
 * side by side, those of one always serially. Never rejects: what the handler throws is counted.
 */
export async function runBatch(run: BatchRun, events: readonly ActivityEvent[]): Promise<BatchAck> {
  const calls = new Calls(run);
  const { options } = run;
  const batch = "batch" in options ? options.batch : undefined;
  const { concurrency = 1 } = options;
  if (batch !== undefined) {
    for (let from = 0; from < events.length; from += batch) {
      const list = events.slice(from, from + batch);
      await calls.make(
        Object.freeze(list),
        list.map((_, index) => from + index),
      );
    }
  } else {
    const lanes = concurrency === 1 ? [[...events.keys()]] : lanesOf(events);
    const next = lanes.values();
    const work = async (): Promise<void> => {
      for (const lane of next) {
        for (const place of lane) {
          const running = calls.make(events[place], [place]);
          // Most handlers return nothing: they are not waited for.
          if (running !== null) await running;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, lanes.length) }, work));
  }
  return calls.ack;
}

/** Places of each attempt's events, in the order of their first ones. */
function lanesOf(events: readonly ActivityEvent[]): number[][] {
  const lanes = new Map<string, number[]>();
  for (const [place, { coordinates }] of events.entries()) {
    const key =
      coordinates === null ? "" : `${coordinates.room_id}\n${coordinates.turn_id}\n${coordinates.execution_generation}`;
    const lane = lanes.get(key);
    if (lane === undefined) lanes.set(key, [place]);
    else lane.push(place);
  }
  return [...lanes.values()];
}

class Calls {
  readonly #run: BatchRun;
  readonly #counts = { thrown: 0, rejected: 0 };
  /** The first of each kind. */
  readonly #messages = new Map<string, string>();

  constructor(run: BatchRun) {
    this.#run = run;
  }

  get ack(): BatchAck {
    const message = [...this.#messages.values()].join("; ");
    return { ...this.#counts, ...(message === "" ? {} : { message }) };
  }

  /** A promise when the handler gave one; it never rejects. */
  make(given: unknown, places: readonly number[]): Promise<void> | null {
    const { handler, mark } = this.#run;
    const isHandled = (): void => {
      for (const place of places) mark(place);
    };
    try {
      const result = handler(given as never);
      if (!isThenable(result)) {
        isHandled();
        return null;
      }
      const rejected = (fault: unknown): void => this.#fail("rejected", fault);
      return Promise.resolve(result)
        .then(() => undefined, rejected)
        .then(isHandled);
    } catch (fault) {
      this.#fail("thrown", fault);
      isHandled();
      return null;
    }
  }

  #fail(kind: "thrown" | "rejected", fault: unknown): void {
    this.#counts[kind]++;
    if (!this.#messages.has(kind)) this.#messages.set(kind, messageOf(fault).slice(0, 1_000));
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
