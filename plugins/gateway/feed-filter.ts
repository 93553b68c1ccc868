import type { ActivityEvent, Coordinates, EventOf } from "../../core/index.ts";
import type { AttemptSnapshot, LogRow } from "../../rooms/index.ts";

/** Attempts of which rows were told and no end of their activity: more than that many run elsewhere, and have none here. */
const maxKnown = 1_024;

/** What a client knows of an attempt by the snapshot: its events up to `n`, and how much of each text that was. */
interface Known {
  readonly n: number;
  readonly offset: number;
  readonly reasoning_offset: number;
}

const nothing: Known = { n: 0, offset: 0, reasoning_offset: 0 };

type DeltaEvent = EventOf<"message.delta"> | EventOf<"reasoning.delta">;

/**
 * What of a room's activity comes behind a snapshot: of an attempt that ran then, the events above its `n`; of one that has
 * a row behind the snapshot, all; of those that had ended, nothing, for their rows are in the log. So nothing is missing and
 * nothing comes twice. Pure but for what it remembers.
 */
export class FeedFilter {
  readonly #known = new Map<string, Known>();

  constructor(attempts: readonly AttemptSnapshot[]) {
    for (const { coordinates, n, offset, reasoning_offset } of attempts) {
      this.#known.set(keyOf(coordinates), { n, offset, reasoning_offset });
    }
  }

  /** A row behind the snapshot is told: its attempt begins by it, or ended elsewhere. */
  told(row: LogRow): void {
    const key = keyOf(row);
    if (this.#known.has(key)) return;
    this.#known.set(key, nothing);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
  }

  /** Whether `pass` has all it needs. If not, a row that is not told yet may change its mind. */
  knows({ coordinates }: ActivityEvent): boolean {
    return coordinates === null || this.#known.has(keyOf(coordinates));
  }

  /** The event as it is to be told; null when the snapshot has it. */
  pass(event: ActivityEvent): ActivityEvent | null {
    const { coordinates } = event;
    // Counts what could not be told by attempt.
    if (coordinates === null) return event;
    const key = keyOf(coordinates);
    const known = this.#known.get(key);
    if (known === undefined) return null;
    if (isEnd(event)) this.#known.delete(key);
    if (event.kind === "gap") return gapBehind(event, known.n);
    if (event.n !== null && event.n <= known.n) return null;
    return isDelta(event) ? deltaBehind(event, known) : event;
  }
}

/** Whether no more events of its attempt come. */
function isEnd(event: ActivityEvent): boolean {
  return event.kind === "turn.settled" || (event.kind === "gap" && "turn.settled" in event.payload.kinds);
}

function isDelta(event: ActivityEvent): event is DeltaEvent {
  return event.kind === "message.delta" || event.kind === "reasoning.delta";
}

/** A gap without what the snapshot has. Counts of one that began before are at most so many: which went is not known. */
function gapBehind(event: EventOf<"gap">, n: number): ActivityEvent | null {
  const { payload } = event;
  const { first_n, last_n, dropped, withheld, kinds } = payload;
  if (first_n === null || last_n === null || first_n > n) return event;
  if (last_n <= n) return null;
  const atMost = (count: number): number => Math.min(count, last_n - n);
  const counts = Object.fromEntries(Object.entries(kinds).map(([kind, count]) => [kind, atMost(count)]));
  const behind = { first_n: n + 1, dropped: atMost(dropped), withheld: atMost(withheld), kinds: counts };
  return { ...event, payload: { ...payload, ...behind } };
}

/** A delta that was merged over the edge of the snapshot, without what that has. A snapshot of a text stands for all of it. */
function deltaBehind(event: DeltaEvent, known: Known): ActivityEvent {
  const { n_from, payload } = event;
  if (n_from === undefined || n_from > known.n) return event;
  const numbered = { ...event, n_from: known.n + 1 };
  if (payload.snapshot === true) return numbered;
  const offset = event.kind === "message.delta" ? known.offset : known.reasoning_offset;
  // At level `meta` there is no text, and the size of its rest is not known.
  const text = "text" in payload ? { text: payload.text.slice(offset - payload.offset) } : {};
  return { ...numbered, payload: { ...text, offset } } as ActivityEvent;
}

function keyOf({ task_id, execution_generation }: Pick<Coordinates, "task_id" | "execution_generation">): string {
  return `${task_id}#${execution_generation}`;
}
