import { estimateBytes, limits, type ClientLine, type JsonObject } from "../../core/index.ts";

interface Held {
  readonly type: string;
  readonly payload: JsonObject;
}

/**
 * A client's line that can be held for a while: what comes meanwhile waits, in order. At 256 events or 4 MiB all of it goes
 * out, and nothing is held until it is asked for again.
 */
export class HeldLine implements ClientLine {
  readonly #line: ClientLine;
  #held: Held[] | null = null;
  #bytes = 0;

  constructor(line: ClientLine) {
    this.#line = line;
  }

  tell(type: string, payload: JsonObject): void {
    if (this.#held === null) {
      this.#line.tell(type, payload);
      return;
    }
    this.#held.push({ type, payload });
    this.#bytes += estimateBytes(payload);
    if (this.#held.length > limits.maxHeldRoomEvents || this.#bytes > limits.maxHeldRoomBytes) this.release();
  }

  hold(): void {
    this.#held ??= [];
  }

  /** Lets out what is held. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.#bytes = 0;
    for (const { type, payload } of held) this.#line.tell(type, payload);
  }

  close(): void {
    this.#held = null;
    this.#line.close();
  }
}
