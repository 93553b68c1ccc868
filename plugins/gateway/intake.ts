/** What an intake stands between. */
export interface IntakeParts<Message> {
  readonly handle: (message: Message) => void;
  /** Whether so many replies wait that nothing more is to be asked. */
  readonly isFull: () => boolean;
  /** Stops and starts the reading of the transport. */
  readonly pause: () => void;
  readonly resume: () => void;
}

/**
 * A client's messages on their way to be handled. While too many replies wait for it, its transport is not read, and what
 * was read already (a piece of the transport's, with as many messages as it holds) waits here: a client that asks and does
 * not read costs no memory.
 */
export class Intake<Message> {
  readonly #parts: IntakeParts<Message>;
  #waiting: Message[] = [];
  #isPaused = false;

  constructor(parts: IntakeParts<Message>) {
    this.#parts = parts;
  }

  /** Takes a message, and handles it when those before it are. */
  push(message: Message): void {
    this.#waiting.push(message);
    this.go();
  }

  /** Handles what waits, as far as there is room for replies. To be called when there is room again. */
  go(): void {
    const { handle, isFull, pause, resume } = this.#parts;
    for (;;) {
      const isBlocked = isFull();
      if (isBlocked !== this.#isPaused) {
        this.#isPaused = isBlocked;
        if (isBlocked) pause();
        else resume();
      }
      const message = isBlocked ? undefined : this.#waiting.shift();
      if (message === undefined) return;
      handle(message);
    }
  }

  /** Forgets what waits. */
  clear(): void {
    this.#waiting = [];
  }
}
