import type { LiveSession } from "../core/index.ts";

/** In which sessions each client has a seat. */
export class SeatPlaces {
  readonly #places = new Map<string, Set<LiveSession>>();

  /** In order of coming. */
  of(clientId: string): readonly LiveSession[] {
    return [...(this.#places.get(clientId) ?? [])];
  }

  add(clientId: string, live: LiveSession): void {
    const places = this.#places.get(clientId) ?? new Set();
    places.add(live);
    this.#places.set(clientId, places);
  }

  delete(clientId: string, live: LiveSession): void {
    const places = this.#places.get(clientId);
    places?.delete(live);
    if (places?.size === 0) this.#places.delete(clientId);
  }
}
