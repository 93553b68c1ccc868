import type { ActivityEvent, ActivityKind, Coordinates, JsonObject } from "../../core/index.ts";
import type { AttemptSnapshot, LogRow } from "../../rooms/index.ts";

/** What a consumer's queue does with one event: hands it on, merges it into the delta before, or drops it. */
export type Handling = "pass" | "merge" | "drop";

export type MiddleKind = "message.delta" | "reasoning.delta" | "tool.started" | "turn.error";

export interface ModelAttempt {
  readonly middles: readonly MiddleKind[];
  /** By place; beyond its end `pass`. */
  readonly handlings: readonly Handling[];
}

/** One attempt in a model of a room: what it says, and what a queue makes of it. */
export class ModelledAttempt {
  readonly coordinates: Coordinates;
  readonly kinds: readonly ActivityKind[];
  readonly #handlings: readonly Handling[];
  /** Events that were published so far. */
  published = 0;
  startedSeq = 0;
  settledSeq = 0;

  constructor(index: number, { middles, handlings }: ModelAttempt) {
    this.coordinates = {
      room_id: "r1",
      thread_id: "main",
      member_id: `m-${index}`,
      turn_id: `t-${index}`,
      task_id: `k-${index}`,
      execution_generation: 1,
    };
    this.kinds = ["turn.started", ...middles, "turn.settled"];
    this.#handlings = handlings;
  }

  get isOver(): boolean {
    return this.published === this.kinds.length;
  }

  /** What it has streamed of a kind by its event `n`. Each piece names its number, so no two are alike. */
  text(kind: ActivityKind, n: number): string {
    return this.kinds
      .slice(0, n)
      .map((each, place) => (each === kind ? `<${place + 1}>` : ""))
      .join("");
  }

  snapshot(): AttemptSnapshot {
    const { coordinates, published: n } = this;
    const text = this.text("message.delta", n);
    const reasoning_offset = this.text("reasoning.delta", n).length;
    return { coordinates, n, text, offset: text.length, reasoning_offset, tools: [], open_requests: [] };
  }

  row(kind: "turn.started" | "turn.settled"): LogRow {
    const seq = kind === "turn.started" ? this.startedSeq : this.settledSeq;
    return { ...this.coordinates, kind, seq, payload: {} } as unknown as LogRow;
  }

  /** What its consumer is handed, in order: merged, with gaps, and whole again behind a gap in a text. */
  delivered(): readonly ActivityEvent[] {
    const events: ActivityEvent[] = [];
    const broken = new Set<ActivityKind>();
    for (const [place, kind] of this.kinds.entries()) {
      const [n, last] = [place + 1, events.at(-1)];
      const handling = this.#handlings[place] ?? "pass";
      if (handling === "drop") {
        broken.add(kind);
        if (last?.kind === "gap") events[events.length - 1] = this.#gap(last.payload.first_n ?? n, n);
        else events.push(this.#gap(n, n));
      } else if (handling === "merge" && last?.kind === kind && isDelta(kind)) {
        events[events.length - 1] = this.#delta(kind, last.n_from ?? last.n ?? n, n, isHealed(last));
      } else if (isDelta(kind)) {
        events.push(this.#delta(kind, n, n, broken.delete(kind)));
      } else {
        events.push(
          this.#event(kind, n, { row: { seq: kind === "turn.started" ? this.startedSeq : this.settledSeq } }),
        );
      }
    }
    return events;
  }

  #delta(kind: ActivityKind, from: number, n: number, healed: boolean): ActivityEvent {
    const before = this.text(kind, from - 1).length;
    const text = this.text(kind, n);
    const payload = healed ? { text, offset: 0, snapshot: true } : { text: text.slice(before), offset: before };
    return { ...this.#event(kind, n, payload), ...(from < n ? { n_from: from } : {}) };
  }

  #gap(first_n: number, last_n: number): ActivityEvent {
    const kinds: Record<string, number> = {};
    for (const kind of this.kinds.slice(first_n - 1, last_n)) kinds[kind] = (kinds[kind] ?? 0) + 1;
    const dropped = last_n - first_n + 1;
    return this.#event("gap", null, { dropped, withheld: 0, first_n, last_n, kinds, reason: "overflow" });
  }

  #event(kind: ActivityKind, n: number | null, payload: JsonObject): ActivityEvent {
    return { v: 1, coordinates: this.coordinates, kind, n, seq: null, at: 0, payload } as unknown as ActivityEvent;
  }
}

function isDelta(kind: ActivityKind): boolean {
  return kind === "message.delta" || kind === "reasoning.delta";
}

function isHealed({ payload }: ActivityEvent): boolean {
  return "snapshot" in payload;
}
