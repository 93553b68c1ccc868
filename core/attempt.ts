import { activityKinds, type ActivityKind } from "./activity.ts";
import type { Coordinates } from "./coordinates.ts";
import { Execution } from "./execution.ts";
import type { Redactor } from "./redact.ts";
import type { Session } from "./sessions.ts";
import { sourceOf } from "./turn-source.ts";

/** The number of a kind: its place in the table of kinds. */
export const kindIndex: ReadonlyMap<ActivityKind, number> = new Map(activityKinds.map((kind, index) => [kind, index]));

export function kindNumber(kind: ActivityKind): number {
  return kindIndex.get(kind) ?? 0;
}

/** An execution of a room member's task: its frames are room activity, stamped with its coordinates and numbered. */
export class Attempt extends Execution {
  readonly coordinates: Coordinates;
  /** The number of the last event. */
  n = 0;
  readonly #counts = new Uint32Array(activityKinds.length);

  constructor(coordinates: Coordinates, session: Session, origin: string | null, redactor: Redactor) {
    super(session, { id: coordinates.turn_id, source: sourceOf(origin) }, redactor);
    this.coordinates = coordinates;
  }

  /** The next `n`, counted for its kind. */
  count(kind: number): number {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    return ++this.n;
  }

  /** Events so far, by kind; kinds without any are left out. */
  counts(): { readonly [kind: string]: number } {
    const counts: Record<string, number> = {};
    activityKinds.forEach((kind, index) => {
      const count = this.#counts[index] ?? 0;
      if (count > 0) counts[kind] = count;
    });
    return counts;
  }
}
