import { limits } from "../core/index.ts";
import { emptyGap, joinGaps, type GapCount } from "./gap.ts";
import type { Lane } from "./lane.ts";

/**
 * Gaps that stand behind everything that waits of their attempt. Such a gap is open while an event of the attempt may
 * follow; it is due, before the next event of anybody, when none will. Bounds: 256 open and 256 due ones; what is beyond is
 * counted in one gap without coordinates.
 */
export class PendingGaps {
  readonly #open = new Set<Lane>();
  readonly #due = new Set<Lane>();
  #rest: GapCount | null = null;

  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** How many are due. */
  dueCount = 0;

  /** The lane whose gap has to be closed before another one can be opened; undefined while there is room. */
  get inTheWay(): Lane | undefined {
    if (this.#open.size < limits.maxGapAttempts) return undefined;
    const [oldest] = this.#open;
    return oldest;
  }

  /** The lane's open gap, opened if it has none. */
  open(lane: Lane): GapCount {
    if (lane.gap === null) {
      lane.gap = emptyGap(lane.attempt.coordinates);
      this.#open.add(lane);
    }
    return lane.gap;
  }

  /** Takes out the lane's open gap; null if it has none. */
  take(lane: Lane): GapCount | null {
    const { gap } = lane;
    if (gap !== null) this.#open.delete(lane);
    lane.gap = null;
    return gap;
  }

  /** Makes the lane's open gap due: by name, if it may be told now and there is room for it. */
  close(lane: Lane, mayBeNamed: boolean): void {
    const gap = this.take(lane);
    if (gap === null) return;
    if (!mayBeNamed || (lane.due === null && this.#due.size >= limits.maxGapAttempts)) {
      this.joinRest(gap);
    } else if (lane.due === null) {
      lane.due = gap;
      this.#due.add(lane);
      this.dueCount++;
    } else {
      joinGaps(lane.due, gap);
    }
  }

  /** Counts a gap in the one that has no coordinates. */
  joinRest(gap: GapCount): void {
    if (this.#rest === null) this.dueCount++;
    this.#rest ??= emptyGap(null);
    joinGaps(this.#rest, gap);
  }

  /** Takes out the gap that is due first, and its lane; that of the gap without coordinates is null. */
  shift(): { readonly lane: Lane | null; readonly gap: GapCount } | undefined {
    const [lane] = this.#due;
    const gap = lane === undefined ? this.#rest : lane.due;
    if (gap === null) return undefined;
    this.dueCount--;
    if (lane === undefined) {
      this.#rest = null;
      return { lane: null, gap };
    }
    this.#due.delete(lane);
    lane.due = null;
    return { lane, gap };
  }

  clear(): void {
    this.#open.clear();
    this.#due.clear();
    this.#rest = null;
    this.dueCount = 0;
  }
}
