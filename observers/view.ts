import { envelopeBytes, kindIndex, type ActivityEvent } from "../core/index.ts";
import { isDelta } from "./coalesce.ts";
import { boundsOf, treatmentsOf, type KindTreatment, type Treatment } from "./consumer-options.ts";
import type { ConsumerOptions } from "./observer.ts";
import { atMeta, freezeEvent, type SharedShapes } from "./payload.ts";
import type { QueueBounds } from "./delivery.ts";

/** What one consumer sees of the events: by its filter, its grants, its level and its bounds. */
export class View {
  readonly bounds: QueueBounds;
  /** Up to this estimate an event cannot be over `maxEventBytes`. */
  readonly plainBytes: number;
  /** By the kind's number: 1 where the treatment is `pass`. */
  readonly passes: Uint8Array;
  /** null: all of them. */
  readonly rooms: ReadonlySet<string> | null;
  readonly #treatments: readonly KindTreatment[];
  readonly #shapes: SharedShapes;

  constructor(options: ConsumerOptions, shapes: SharedShapes) {
    this.bounds = boundsOf(options);
    this.plainBytes = this.bounds.maxEventBytes + envelopeBytes;
    this.#treatments = treatmentsOf(options);
    this.passes = Uint8Array.from(this.#treatments, (treatment) => (treatment === "pass" ? 1 : 0));
    this.rooms = options.rooms === undefined ? null : new Set(options.rooms);
    this.#shapes = shapes;
  }

  treatmentOf(event: ActivityEvent, kind: number): Treatment {
    if (this.rooms !== null && !this.rooms.has(event.coordinates?.room_id ?? "")) return "skip";
    const treatment = this.#treatments[kind] ?? "skip";
    if (treatment !== "meta_of_approval") return treatment;
    return "method" in event.payload && event.payload.method !== "approval" ? "pass" : "meta";
  }

  /** The event as far as it is granted, and cut to `maxEventBytes`. Deltas are short, and cut they would be broken. */
  shape(event: ActivityEvent, bytes: number, treatment: Treatment): ActivityEvent {
    if (isDelta(event)) return event;
    if (treatment === "meta") return this.#shapes.meta(event);
    const { maxEventBytes } = this.bounds;
    return bytes - envelopeBytes <= maxEventBytes ? event : this.#shapes.cut(event, maxEventBytes);
  }

  /** The shaped event as it is handed out, frozen. Of a delta the text had to stay until here, for merging and healing. */
  finish(event: ActivityEvent): ActivityEvent {
    const isMeta = isDelta(event) && this.#treatments[kindIndex.get(event.kind) ?? 0] === "meta";
    const finished = isMeta ? atMeta(event) : event;
    freezeEvent(finished);
    return finished;
  }
}
