import type { ActivityEvent, Coordinates, EventOf } from "../../../core/index.ts";
import { attemptKey } from "./attempt-key.ts";

/** Events kept, and UTF-16 units of streamed text in them. Further ones are counted, and told as a gap. */
export const keptActivityBounds = { maxEvents: 10_000, maxTextUnits: 4_194_304 } as const;

/**
 * Keeps the activity of a turn while it is watched. Neighbouring deltas of a kind become one; what comes beyond the bounds
 * becomes a gap of its attempt, so that nobody takes what is kept for all there was.
 */
export class KeptActivity {
  readonly #bounds: { readonly maxEvents: number; readonly maxTextUnits: number };
  readonly #events: ActivityEvent[] = [];
  readonly #beyond = new Map<string, EventOf<"gap">>();
  #units = 0;

  constructor(bounds: { readonly maxEvents: number; readonly maxTextUnits: number } = keptActivityBounds) {
    this.#bounds = bounds;
  }

  /** What is kept, with a gap for what is not. */
  get events(): readonly ActivityEvent[] {
    return [...this.#events, ...this.#beyond.values()];
  }

  push(event: ActivityEvent): void {
    const units = isDelta(event) ? event.payload.text.length : 0;
    const merged = this.#merged(event);
    const isFull = this.#units + units > this.#bounds.maxTextUnits || this.#events.length >= this.#bounds.maxEvents;
    if (merged !== undefined && this.#units + units <= this.#bounds.maxTextUnits) {
      this.#events.splice(-1, 1, merged);
    } else if (!isFull) {
      this.#events.push(event);
    } else {
      this.#leaveOut(event);
      return;
    }
    this.#units += units;
  }

  /** The last event and this one as one, if they are pieces of one text that follow each other. */
  #merged(event: ActivityEvent): ActivityEvent | undefined {
    const last = this.#events.at(-1);
    if (last === undefined || !isDelta(last) || !isDelta(event) || last.kind !== event.kind) return undefined;
    const first = event.n_from ?? event.n;
    const follows = isSame(last.coordinates, event.coordinates) && last.n !== null && first === last.n + 1;
    const isNext = event.payload.snapshot !== true && event.payload.offset === endOf(last);
    if (!follows || !isNext || last.truncated !== undefined || event.truncated !== undefined) return undefined;
    const { payload } = last;
    return {
      ...event,
      n_from: last.n_from ?? last.n,
      payload: { ...payload, text: `${payload.text}${event.payload.text}` },
    };
  }

  #leaveOut(event: ActivityEvent): void {
    const { coordinates, kind, n } = event;
    if (coordinates === null || n === null) return;
    const key = attemptKey(coordinates);
    const first = event.n_from ?? n;
    const before = this.#beyond.get(key)?.payload;
    const count = n - first + 1;
    const kinds = { ...before?.kinds, [kind]: (before?.kinds[kind] ?? 0) + count };
    const payload = {
      ...{ dropped: (before?.dropped ?? 0) + count, withheld: 0, kinds, reason: "overflow" as const },
      ...{ first_n: before?.first_n ?? first, last_n: n },
    };
    this.#beyond.set(key, { v: 1, coordinates, kind: "gap", n: null, seq: null, at: event.at, payload });
  }
}

type DeltaEvent = EventOf<"message.delta"> | EventOf<"reasoning.delta">;

function isDelta(event: ActivityEvent): event is DeltaEvent {
  return event.kind === "message.delta" || event.kind === "reasoning.delta";
}

function endOf({ payload }: DeltaEvent): number {
  return payload.offset + payload.text.length;
}

function isSame(a: Coordinates, b: Coordinates): boolean {
  return a.task_id === b.task_id && a.execution_generation === b.execution_generation;
}
