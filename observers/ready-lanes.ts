import type { Lane } from "./lane.ts";

/** Lanes whose next event may go, the one with the oldest event first: a heap in which each lane knows its place. */
export class ReadyLanes {
  readonly #heap: Lane[] = [];

  /** The lane with the oldest event; undefined when no lane is ready. */
  get first(): Lane | undefined {
    return this.#heap[0];
  }

  /** Puts a lane where it belongs: in by its first event, or out while it has none or is in somebody's hands. */
  look(lane: Lane): void {
    if (lane.first === null || lane.inHand > 0) {
      this.#remove(lane);
    } else {
      if (lane.place === -1) this.#put(lane, this.#heap.length);
      this.#settle(lane);
    }
  }

  clear(): void {
    for (const lane of this.#heap) lane.place = -1;
    this.#heap.length = 0;
  }

  #remove(lane: Lane): void {
    const { place } = lane;
    if (place === -1) return;
    lane.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === lane) return;
    this.#put(last, place);
    this.#settle(last);
  }

  /** Moves a lane up or down until it is older than what is below it, and no older than what is above. */
  #settle(lane: Lane): void {
    for (;;) {
      const at = lane.place;
      const above = this.#heap[(at - 1) >> 1];
      const below = this.#older(this.#heap[2 * at + 1], this.#heap[2 * at + 2]);
      const other = at > 0 && isOlder(lane, above) ? above : isOlder(below, lane) ? below : undefined;
      if (other === undefined) return;
      const { place } = other;
      this.#put(other, at);
      this.#put(lane, place);
    }
  }

  #older(a: Lane | undefined, b: Lane | undefined): Lane | undefined {
    return isOlder(b, a) ? b : a;
  }

  #put(lane: Lane, place: number): void {
    this.#heap[place] = lane;
    lane.place = place;
  }
}

/** Whether a lane's first event came before another's; false if there is no such lane. */
function isOlder(a: Lane | undefined, b: Lane | undefined): boolean {
  return (a?.first?.order ?? Infinity) < (b?.first?.order ?? -Infinity);
}
